"""Hosts by their address, and the networks that they are in."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


def address_of(host: str) -> Address | None:
    """None where the text is no address. One of IPv4 is the same when it is written as one of IPv6 (RFC 4291, 2.5.5.2),
    as a socket that takes both has it."""
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
