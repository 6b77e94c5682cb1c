"""The PROXY protocol, by which a proxy tells the address of its client before the client's octets.

    version 1   PROXY TCP4 192.0.2.1 198.51.100.1 40112 2775\\r\\n
    version 2   12 octets of signature, version and command, family, length, addresses, TLVs

Source: "The PROXY protocol, versions 1 and 2" (HAProxy), 2.1 and 2.2. A header is read only from proxies that the
settings trust. Other clients could give any address.
"""

from ipaddress import IPv4Address, IPv6Address, ip_address
from struct import Struct
from typing import Final

from heliograph.net.proxies import Address

_V1: Final = b"PROXY "
_V1_OCTETS: Final = 107
"""Octets of a header of version 1, at most (2.1)."""

_V2: Final = b"\r\n\r\n\x00\r\nQUIT\n"
_V2_HEAD: Final = Struct(">12sBBH")
_V2_OCTETS: Final = 4_096
"""Octets of a header of version 2 that are read; addresses and usual TLVs take less than 600."""

_LOCAL: Final = 0x20
"""Version 2, command LOCAL: the proxy speaks for itself, for example to check the server's health."""

_TCP4: Final = 0x11
_TCP6: Final = 0x21
_PORTS: Final = Struct(">HH")


class ProxyHeaderError(Exception):
    """The octets begin as a header of the PROXY protocol and are none. The connection must be closed."""


class ProxyHeader:
    """Reads the header from the first octets of a connection, which may come in pieces."""

    def __init__(self) -> None:
        self._octets = b""
        self.client: Address | None = None
        """The client, once it is known; None if the proxy names no client."""

    def feed(self, data: bytes) -> bytes | None:
        """Returns the octets behind the header, or None while it is incomplete. Octets that begin otherwise are
        returned as they are. Raises ProxyHeaderError.
        """
        self._octets += data
        octets = self._octets
        if octets[: len(_V1)] == _V1[: len(octets)]:
            return self._first_version(octets)
        if octets[: len(_V2)] == _V2[: len(octets)]:
            return self._second_version(octets)
        return octets

    def _first_version(self, octets: bytes) -> bytes | None:
        line, end, rest = octets.partition(b"\r\n")
        if not end:
            if len(octets) > _V1_OCTETS:
                raise ProxyHeaderError("the line of the PROXY protocol does not end")
            return None
        words = line.decode("latin-1").split(" ")
        if len(words) >= 2 and words[1] == "UNKNOWN":
            return rest
        try:
            family, source, port = words[1], ip_address(words[2]), int(words[4])
        except (ValueError, IndexError):
            raise ProxyHeaderError("the line of the PROXY protocol has no client") from None
        if len(words) != 6 or family != f"TCP{source.version}" or not 0 <= port <= 65_535:
            raise ProxyHeaderError("the line of the PROXY protocol has no client")
        self.client = (str(source), port)
        return rest

    def _second_version(self, octets: bytes) -> bytes | None:
        if len(octets) < _V2_HEAD.size:
            return None
        _, command, family, length = _V2_HEAD.unpack_from(octets)
        end = _V2_HEAD.size + length
        if command >> 4 != 2 or command & 0x0F > 1 or end > _V2_OCTETS:
            raise ProxyHeaderError("the header of the PROXY protocol has an unknown version, command or size")
        if len(octets) < end:
            return None
        if command != _LOCAL:
            self.client = _client(family, octets[_V2_HEAD.size : end])
        return octets[end:]


def _client(family: int, addresses: bytes) -> Address | None:
    """Returns the client of a header of version 2; None for a family that has no IP address."""
    if family not in (_TCP4, _TCP6):
        return None
    octets = 4 if family == _TCP4 else 16
    if len(addresses) < 2 * octets + _PORTS.size:
        raise ProxyHeaderError("the header of the PROXY protocol is too short for its addresses")
    source = addresses[:octets]
    host = IPv4Address(source) if family == _TCP4 else IPv6Address(source)
    return str(host), _PORTS.unpack_from(addresses, 2 * octets)[0]
