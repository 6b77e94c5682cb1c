"""Hosts by their address, and the networks that they are in."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


def address_of(host: str) -> Address | None:
    """Returns the address that a text spells, None if it spells none. An IPv4 address in IPv6 form (RFC 4291, 2.5.5.2)
    is returned as IPv4, since a socket for both writes it so."""
    try:
        address = ip_address(host)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def is_within(host: str, networks: tuple[Network, ...]) -> bool:
    """Whether the host's address is in one of the networks; what is no address is in none."""
    address = address_of(host)
    return address is not None and any(address in network for network in networks)
