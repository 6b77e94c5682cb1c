"""Proxies in front of the gateway, and the client addresses that they report."""

from collections.abc import Sequence

from heliograph.domain.security.host import LONGEST_HOST, NetworkSet, network_of

Address = tuple[str, int]
"""Host and port; the port is 0 where it is unknown."""

_MAPPED = "::ffff:"


class Proxies:
    """`trusted` are addresses and networks, for example `10.0.0.0/8`. Raises ValueError if an entry is neither."""

    def __init__(self, trusted: Sequence[str]) -> None:
        self._trusted = NetworkSet(network_of(each, strict=False) for each in trusted)

    def trust(self, host: str) -> bool:
        return len(host) <= LONGEST_HOST and self._trusted.has(host)

    def client(self, peer: Address, forwarded: bytes | None) -> Address:
        """Returns the client of a request from `peer` with this X-Forwarded-For (several are joined by commas).

        Each proxy appends the address from which it got the request. So only entries appended by trusted proxies count.
        """
        if forwarded is None or not self.trust(peer[0]):
            return peer
        client = peer
        for entry in reversed(forwarded.decode("latin-1").split(",")):
            named = _host_and_port(entry.strip())
            if not named[0]:
                break
            client = named
            if not self.trust(client[0]):
                break
        return client


def is_loopback(host: str) -> bool:
    return host.startswith("127.") or host == "::1"


def unmapped(host: str) -> str:
    """Returns the IPv4 address if a socket for both families writes it as IPv6: `192.0.2.1` for `::ffff:192.0.2.1`."""
    return host.removeprefix(_MAPPED) if "." in host else host


def last_named(forwarded: bytes) -> str:
    """Returns the host that the last proxy says it has the request from."""
    return _host_and_port(forwarded.rpartition(b",")[2].decode("latin-1").strip())[0][:LONGEST_HOST]


def _host_and_port(entry: str) -> Address:
    """Reads `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1` or `[2001:db8::1]:80`. Any other text is taken as a host."""
    if entry.startswith("["):
        host, bracket, port = entry[1:].partition("]")
        if not bracket or (port and not port.startswith(":")):
            return entry, 0
        port = port[1:]
    elif entry.count(":") == 1:
        host, _, port = entry.partition(":")
        if not _is_port(port):
            return entry, 0
    else:
        return entry, 0
    return host, int(port) if _is_port(port) else 0


def _is_port(text: str) -> bool:
    return len(text) <= 5 and text.isascii() and text.isdigit()
