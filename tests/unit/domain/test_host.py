"""Which texts are addresses, and in which networks those are."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.domain.security.host import (
    REMEMBERED,
    Address,
    AllowedHosts,
    NetworkSet,
    address_of,
    is_within,
    network,
    network_of,
)

NO_ADDRESSES = [
    "", " ", "localhost", "192.0.2", "192.0.2.256", "192.0.2.01", "192.0.2.1 ", "192.0.2.1:80", "192.0.2.1/32",
    "3221225985", "[2001:db8::1]", "2001:db8::1/64", "2001:db8:::1", "::ffff:192.0.2.256", "fe80::1%", "١.٢.٣.٤",
    "192.0.2.1\0",
]  # fmt: skip

differences = st.just(0) | st.integers(0, 127).map(lambda bit: 1 << bit) | st.integers(0, (1 << 128) - 1)
"""Bits in which an address is another one."""


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:DB8:0::1", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("::FFFF:c000:201", "192.0.2.1"),
        ("::ffff:192.0.2.1%eth0", "192.0.2.1"),
        ("::192.0.2.1", "::c000:201"),
        ("64:ff9b::192.0.2.1", "64:ff9b::c000:201"),
    ],
)
def test_an_address_of_ipv4_is_one_in_either_form(text: str, address: str) -> None:
    assert address_of(text) == ip_address(address)


def test_a_network_of_ipv4_is_one_in_either_form() -> None:
    for text, expected in (
        ("192.0.2.0/24", "192.0.2.0/24"),
        ("::ffff:192.0.2.0/120", "192.0.2.0/24"),
        ("::ffff:192.0.2.7", "192.0.2.7/32"),
        ("::ffff:0:0/96", "0.0.0.0/0"),
        ("::ffff:0:0/95", "::fffe:0:0/95"),
        ("2001:db8::/32", "2001:db8::/32"),
    ):
        found = network_of(text, strict=False)
        assert found == ip_network(expected)
        assert NetworkSet([found]).has("::ffff:192.0.2.7") == NetworkSet([found]).has("192.0.2.7")
    with pytest.raises(ValueError, match="host bits"):
        network_of("::ffff:192.0.2.7/120")


@pytest.mark.parametrize("text", NO_ADDRESSES)
def test_what_is_no_address_is_in_no_network(text: str) -> None:
    assert address_of(text) is None
    assert not is_within(text, (ip_network("0.0.0.0/0"), ip_network("::/0")))


@pytest.mark.parametrize(
    ("host", "within"),
    [
        ("192.0.2.0", True),
        ("192.0.2.255", True),
        ("192.0.3.0", False),
        ("::ffff:192.0.2.7", True),
        ("::ffff:192.0.3.7", False),
        ("2001:db8::7", True),
        ("2001:db8::7%eth0", True),
        ("2001:db9::7", False),
        ("::", False),
    ],
)
def test_a_host_is_within_any_of_the_networks(host: str, within: bool) -> None:
    assert is_within(host, (ip_network("192.0.2.0/24"), ip_network("2001:db8::/32"))) is within
    assert not is_within(host, ())


def test_mapped_addresses_are_not_in_the_network_of_ipv6_that_has_them() -> None:
    assert not is_within("::ffff:192.0.2.1", (ip_network("::ffff:0:0/96"), ip_network("::/0")))


@given(st.ip_addresses(), st.integers(0, 128), differences)
@example(IPv6Address("::ffff:192.0.2.1"), 0, 0)
def test_an_address_is_in_a_network_whose_leading_bits_it_has(base: Address, length: int, difference: int) -> None:
    width = base.max_prefixlen
    length, difference = min(length, width), difference & ((1 << width) - 1)
    networks = (ip_network(f"{base}/{length}", strict=False),)
    address = type(base)(int(base) ^ difference)
    mapped = isinstance(address, IPv6Address) and address.ipv4_mapped is not None
    within = difference >> (width - length) == 0 and not mapped
    assert is_within(str(address), networks) is within
    if isinstance(address, IPv4Address):
        assert is_within(f"::ffff:{address}", networks) is within
        assert is_within(f"::ffff:{int(address) >> 16:x}:{int(address) & 0xFFFF:x}", networks) is within


def test_a_set_of_networks_says_the_same_each_time_and_remembers_so_many_hosts() -> None:
    networks = NetworkSet(ip_network(each) for each in ("192.0.2.0/24", "2001:db8::/32"))
    hosts = {
        "192.0.2.7": True,
        "::ffff:192.0.2.7": True,
        "192.0.3.7": False,
        "": False,
        "2001:db8::1": True,
        "x" * 99: False,
    }
    for _ in range(3):
        assert {host: networks.has(host) for host in hosts} == hosts
    for number in range(REMEMBERED + 10):
        assert not networks.has(f"198.51.{number >> 8}.{number & 255}")
    assert len(networks._found) == REMEMBERED
    assert {host: networks.has(host) for host in hosts} == hosts


@given(st.text() | st.text("0123456789abcdef.:%/", max_size=45))
def test_any_text_is_an_address_or_none(text: str) -> None:
    address = address_of(text)
    assert address is None or address == address_of(str(address))
    assert is_within(text, (ip_network("0.0.0.0/0"), ip_network("::/0"))) is (address is not None)


@pytest.mark.parametrize(
    ("entries", "host", "address", "allowed"),
    [
        ((), "evil.example", "203.0.113.9", True),
        (("192.0.2.0/24",), "a.example", "192.0.2.7", True),
        (("192.0.2.0/24",), "a.example", "203.0.113.9", False),
        (("192.0.2.0/24",), "a.example", "::ffff:192.0.2.7", True),
        (("192.0.2.7", "2001:db8::/32"), "192.0.2.7", "192.0.2.7", True),
        (("192.0.2.7", "2001:db8::/32"), "192.0.2.8", "192.0.2.8", False),
        (("192.0.2.7", "2001:db8::/32"), "a.example", "2001:db8::9", True),
        (("a.example",), "A.Example.", "203.0.113.9", True),
        (("A.Example.",), "a.example", "203.0.113.9", True),
        (("a.example",), "b.a.example", "203.0.113.9", False),
        (("a.example",), "203.0.113.9", "203.0.113.9", False),
    ],
)
def test_hosts_are_allowed_by_name_or_by_where_they_lead(
    entries: tuple[str, ...], host: str, address: str, allowed: bool
) -> None:
    assert AllowedHosts(entries).allows(host, address) is allowed


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("", "x", False),
    ],
)
def test_addresses_of_one_subscriber(one: str, other: str, same: bool) -> None:
    assert (network(one) == network(other)) is same
