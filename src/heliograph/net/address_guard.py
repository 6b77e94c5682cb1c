"""The guard of callback addresses: callbacks never reach the gateway's own networks, unless the settings allow it.

The tables follow the IANA special-purpose registries (RFC 6890 and its updates). They are repeated here because the
tables of the standard library differ between versions of Python.
"""

import unicodedata
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from heliograph.domain.security.host import network_of

IPAddress = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

METADATA = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",  # most clouds
        "169.254.170.2",  # container credentials
        "168.63.129.16",  # a public address, yet the host's own agent
        "100.100.100.200",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
    )
)

REFUSED_V4 = tuple(
    (IPv4Network(network), reason)
    for network, reason in (
        ("0.0.0.0/32", "unspecified"),
        ("0.0.0.0/8", "reserved"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "shared (carrier-grade NAT)"),
        ("127.0.0.0/8", "loopback"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "reserved for documentation"),
        ("192.88.99.0/24", "reserved"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "reserved for benchmarks"),
        ("198.51.100.0/24", "reserved for documentation"),
        ("203.0.113.0/24", "reserved for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
    )
)

REFUSED_V6 = tuple(
    (IPv6Network(network), reason)
    for network, reason in (
        ("::/128", "unspecified"),
        ("::1/128", "loopback"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private"),
        ("ff00::/8", "multicast"),
        ("64:ff9b:1::/48", "private"),
        ("2001:db8::/32", "reserved for documentation"),
        ("3fff::/20", "reserved for documentation"),
        ("2001::/23", "reserved"),
    )
)

GLOBAL_V6 = IPv6Network("2000::/3")
"""The only part of the IPv6 space that is assigned to hosts of the public internet."""
COMPATIBLE = IPv6Network("::/96")
NAT64 = IPv6Network("64:ff9b::/96")
TEREDO = IPv6Network("2001::/32")

LOCAL_NAMES = frozenset(
    ("localhost", "localhost.localdomain", "localhost6", "localhost6.localdomain6", "ip6-localhost", "ip6-loopback")
)
LOOPBACK = (ip_address("127.0.0.1"), ip_address("::1"))

USUAL_PORTS: Final = ("80", "443", "1024-65535")
"""Ports of the web and unprivileged ports. System services, such as SMTP on 25, listen on the others."""

_HIGHEST_PORT: Final = 65_535


class PortSet:
    """Ports, given as numbers and ranges, for example `443` and `8000-8999`. Raises ValueError with a sentence for
    people if an entry is neither.
    """

    __slots__ = ("_ranges", "texts")

    def __init__(self, texts: Sequence[str] = USUAL_PORTS) -> None:
        self.texts = tuple(texts)
        self._ranges = tuple(_range(text) for text in texts)

    def __contains__(self, port: int) -> bool:
        return any(first <= port <= last for first, last in self._ranges)

    def __str__(self) -> str:
        return ", ".join(self.texts) or "none"


class AddressGuard:
    """Refuses addresses outside the public internet, and ports outside `ports`. Networks in `allowed` are
    exceptions.
    """

    def __init__(self, allowed: Sequence[Network | str] = (), ports: Sequence[str] = USUAL_PORTS) -> None:
        self._allowed = tuple(network_of(str(network)) for network in allowed)
        self._ports = PortSet(ports)

    def forbidden_port(self, port: int) -> str | None:
        """Returns why a port may not be called, in a few words for people, or None if it may."""
        return None if port in self._ports else f"port {port} is none of {self._ports}"

    def refusal(self, address: IPAddress) -> str | None:
        """Returns why the address may not be called, in a word or two for people, or None if it may."""
        if any(address in network for network in self._allowed):
            return None
        if address in METADATA:
            return "cloud metadata"
        if isinstance(address, IPv4Address):
            return next((reason for network, reason in REFUSED_V4 if address in network), None)
        return self._refusal_v6(address)

    def _refusal_v6(self, address: IPv6Address) -> str | None:
        if address.scope_id is not None:
            return "link-local"
        if address.ipv4_mapped is not None:
            return self.refusal(address.ipv4_mapped)
        if address not in TEREDO:
            reason = next((reason for network, reason in REFUSED_V6 if address in network), None)
            if reason is not None:
                return reason
        if address in COMPATIBLE:
            return self.refusal(IPv4Address(int(address))) or "reserved"
        for inner in _carried(address):
            reason = self.refusal(inner)
            if reason is not None:
                return f"leads to {inner}: {reason}"
        if address in GLOBAL_V6 or address in NAT64:
            return None
        return "reserved"

    def forbidden_host(self, host: str) -> str | None:
        """Returns why a URL's host is forbidden, or None, as far as it is known without DNS.

        Accepts every spelling that a resolver would read as an address: `2130706433`, `0x7f.1`, `0177.0.0.1`, `[::1]`,
        full-width digits. Names are checked at each connection.
        """
        name = plain_host(host)
        if name is None:
            return "not a valid host"
        try:
            address = literal_address(name)
        except ValueError:
            return "not a valid address"
        if address is not None:
            return self.refusal(address)
        if (name in LOCAL_NAMES or name.endswith(".localhost")) and all(map(self.refusal, LOOPBACK)):
            return "loopback"
        return None


def _carried(address: IPv6Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses that a transition address leads to: 6to4 (RFC 3056), Teredo (RFC 4380), NAT64 (RFC 6052)."""
    if address.sixtofour is not None:
        return (address.sixtofour,)
    if address.teredo is not None:
        return address.teredo
    if address in NAT64:
        return (IPv4Address(int(address) & 0xFFFF_FFFF),)
    return ()


def plain_host(host: str) -> str | None:
    """Returns the host of a URL in the form for lookups: compatibility characters folded, lower case, no brackets or
    trailing dot, A-labels. None if it is malformed.
    """
    name = unicodedata.normalize("NFKC", host).lower()
    if name.startswith("[") and name.endswith("]"):
        return name[1:-1] if ":" in name else None
    name = name.removesuffix(".")
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii")
        except UnicodeError:
            return None
    allowed = name.replace("-", "").replace("_", "").replace(".", "").replace(":", "").isalnum()
    return name if allowed and len(name) <= 253 and ".." not in name else None


def literal_address(name: str) -> IPAddress | None:
    """Returns the address that this host spells, or None if it is a name. A host that ends in a number is never a name.

    Raises ValueError if the host looks like an address and is malformed.
    """
    if ":" in name:
        return IPv6Address(name)
    parts = name.split(".")
    if not _is_number(parts[-1]):
        return None
    if len(parts) > 4:
        raise ValueError(name)
    *leading, last = [_number(part) for part in parts]
    if any(value > 255 for value in leading) or last >= 256 ** (4 - len(leading)):
        raise ValueError(name)
    total = last
    for position, value in enumerate(leading):
        total += value << 8 * (3 - position)
    return IPv4Address(total)


def _is_number(part: str) -> bool:
    return part.isdigit() or (part.startswith("0x") and all(c in "0123456789abcdef" for c in part[2:]))


def _number(part: str) -> int:
    """Reads a part of an IPv4 address as `inet_aton` does: hexadecimal after 0x, octal after 0, otherwise decimal."""
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    if len(part) > 1 and part.startswith("0"):
        return int(part, 8)
    return int(part)


def _range(text: str) -> tuple[int, int]:
    first, dash, last = text.partition("-")
    if not dash:
        last = first
    if not (_is_port(first) and _is_port(last) and int(first) <= int(last)):
        raise ValueError(f"{text!r} is no port and no range of ports; write 443 or 1024-65535")
    return int(first), int(last)


def _is_port(text: str) -> bool:
    return len(text) <= 5 and text.isascii() and text.isdigit() and 0 < int(text) <= _HIGHEST_PORT
