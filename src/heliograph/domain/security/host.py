"""Hosts by name and address, such as `smsc.example.net` and `192.0.2.1`, and networks, such as `10.0.0.0/8`."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

REMEMBERED: Final = 4_096
"""Most hosts in the cache of a `NetworkSet`."""

LONGEST_HOST: Final = 64
"""Characters of the longest host in the cache: no address is longer."""

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_MAPPED: Final = IPv6Network("::ffff:0:0/96")
"""IPv4 addresses in IPv6 form."""


def address_of(host: str) -> Address | None:
    """Returns the address that a text spells, or None. An IPv4 address in IPv6 form (RFC 4291, 2.5.5.2) is returned as
    IPv4, because a dual-stack socket writes it so.
    """
    try:
        address = ip_address(host)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def network_of(text: str, *, strict: bool = True) -> Network:
    """Returns the network that a text spells. An IPv4 network in IPv6 form, such as `::ffff:192.0.2.0/120`, is returned
    as IPv4, because `address_of` returns its addresses so. Raises ValueError; if `strict`, for host bits too."""
    network = ip_network(text, strict=strict)
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        return IPv4Network((int(network.network_address) & 0xFFFFFFFF, network.prefixlen - _MAPPED.prefixlen))
    return network


def is_within(host: str, networks: tuple[Network, ...]) -> bool:
    """True if the host is an address in one of the networks."""
    address = address_of(host)
    return address is not None and any(address in network for network in networks)


class NetworkSet:
    """Networks with a cache, for checks of the same few hosts. Each host is parsed once."""

    __slots__ = ("_found", "networks")

    def __init__(self, networks: Iterable[Network]) -> None:
        self.networks = tuple(networks)
        self._found: dict[str, bool] = {}

    def has(self, host: str) -> bool:
        """Returns True if the host is an address in one of the networks."""
        found = self._found.get(host)
        if found is None:
            found = is_within(host, self.networks)
            if len(host) <= LONGEST_HOST:
                if len(self._found) >= REMEMBERED:
                    del self._found[next(iter(self._found))]
                self._found[host] = found
        return found


class AllowedHosts:
    """Hosts to which connections are allowed, by name, address or network; empty allows all."""

    def __init__(self, entries: Iterable[str] = ()) -> None:
        networks: list[Network] = []
        names: list[str] = []
        for entry in entries:
            try:
                networks.append(network_of(entry))
            except ValueError:
                names.append(_plain(entry))
        self._networks = tuple(networks)
        self._names = frozenset(names)

    @property
    def limited(self) -> bool:
        return bool(self._networks or self._names)

    def allows(self, host: str, address: str) -> bool:
        """Whether a connection to `address` is allowed, to which `host` was resolved. A listed name may have any
        address."""
        return not self.limited or _plain(host) in self._names or is_within(address, self._networks)


def _plain(name: str) -> str:
    return name.lower().removesuffix(".")


def network(host: str) -> str:
    """Returns the network that counts as a client: for IPv6 a subscriber's /64, such as `2001:db8::/64` for
    `2001:db8::1`. A text other than an address counts as itself."""
    if ":" not in host:
        return host
    found = address_of(host)
    if isinstance(found, IPv6Address):
        return f"{IPv6Address(int(found) >> 64 << 64)}/64"
    return host if found is None else str(found)
