"""The address policy, address by address."""

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.net.address_guard import AddressGuard, literal_address, plain_host
from tests.support.cases import for_each

REFUSED = {
    "loopback": [
        "127.0.0.1",
        "127.255.255.254",
        "127.0.0.0",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:7f00:1",
        "::127.0.0.1",
    ],
    "private": [
        "10.0.0.0",
        "10.255.255.255",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.0.1",
        "192.168.255.255",
        "fc00::1",
        "fd12:3456::1",
        "fdff:ffff::",
        "fec0::1",
        "::ffff:10.1.2.3",
        "::192.168.1.1",
        "64:ff9b:1::1",
        "64:ff9b:1:ffff::8.8.8.8",
    ],
    "link-local": ["169.254.0.1", "169.254.255.255", "fe80::1", "febf::1", "fe80::1%eth0", "::ffff:169.254.1.1"],
    "cloud metadata": [
        "169.254.169.254",
        "169.254.170.2",
        "::ffff:169.254.169.254",
        "::ffff:a9fe:a9fe",
        "fd00:ec2::254",
        "168.63.129.16",
        "100.100.100.200",
    ],
    "shared": ["100.64.0.0", "100.127.255.255", "::ffff:100.64.1.1"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1", "ff00::"],
    "unspecified": ["0.0.0.0", "::", "::ffff:0.0.0.0"],
    "broadcast": ["255.255.255.255", "::ffff:255.255.255.255"],
    "reserved": [
        "0.0.0.1",
        "0.255.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.7",
        "240.0.0.1",
        "255.255.255.254",
        "::8.8.8.8",
        "::ffff:0:8.8.8.8",
        "100::1",
        "400::1",
        "1fff::1",
        "4000::1",
        "5f00::1",
        "8000::1",
        "2001:1::1",
        "2001:20::1",
        "2001:db8::1",
        "3fff::1",
    ],
    "leads to": [
        "2002:7f00:1::1",
        "2002:0a00:0001::",
        "2002:c0a8:0101::1",
        "2002:a9fe:a9fe::",
        "64:ff9b::127.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b::169.254.169.254",
        # Teredo: its server is 8.8.8.8; the client's address is written with all bits turned over.
        "2001:0:808:808:0:0:80ff:fffe",
        "2001:0:7f00:1:0:0:f7f7:f7f7",
    ],
}

FINE = [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2000::1",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2606:4700::1111",
    "2a00:1450:4001::1",
    "::ffff:8.8.8.8",
    "2002:808:808::1",
    "64:ff9b::8.8.8.8",
    "2001:0:808:808:0:0:f7f7:f7f7",
]


@for_each(("reason", "text"), [(reason, text) for reason, texts in REFUSED.items() for text in texts])
def test_refused(reason: str, text: str) -> None:
    assert (AddressGuard().refusal(ip_address(text)) or "").startswith(reason)


@for_each("text", FINE)
def test_fine(text: str) -> None:
    assert AddressGuard().refusal(ip_address(text)) is None


def test_a_network_may_be_allowed_in_ipv6_form() -> None:
    guard = AddressGuard(["::ffff:10.1.0.0/112"])
    found = [guard.refusal(ip_address(text)) for text in ("10.1.2.3", "::ffff:10.1.2.3", "10.2.0.0")]
    assert found == [None, None, "private"]


@given(st.ip_addresses(v=4))
def test_no_address_that_the_registry_calls_local_is_let_through(address: IPv4Address | IPv6Address) -> None:
    if AddressGuard().refusal(address) is None:
        assert address.is_global
        assert not address.is_multicast


@given(st.ip_addresses(v=4))
def test_an_address_in_disguise_is_treated_as_itself(address: IPv4Address | IPv6Address) -> None:
    guard = AddressGuard()
    number = int(address)
    refused = guard.refusal(address) is not None
    mapped = IPv6Address(0xFFFF_0000_0000 | number)
    nat64 = IPv6Address(int(IPv6Address("64:ff9b::")) | number)
    sixtofour = IPv6Address(0x2002 << 112 | number << 80)
    teredo = IPv6Address(0x2001 << 112 | 0x08080808 << 64 | (number ^ 0xFFFF_FFFF))
    for disguised in (mapped, nat64, sixtofour, teredo):
        assert (guard.refusal(disguised) is not None) == refused


def test_allowed_networks_are_let_through_and_nothing_else() -> None:
    guard = AddressGuard(["127.0.0.0/8", "fd00::/8", "169.254.169.254/32"])
    for text in ("127.0.0.1", "fd00::1", "::ffff:127.0.0.1", "2002:7f00:1::", "169.254.169.254", "8.8.8.8"):
        assert guard.refusal(ip_address(text)) is None
    for text in ("::1", "10.0.0.1", "fc00::1", "169.254.169.253"):
        assert guard.refusal(ip_address(text)) is not None


FORBIDDEN_HOSTS = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "2130706433",
    "017700000001",
    "0x7f000001",
    "0x7f.1",
    "0X7F.0.0.1",
    "0177.0.0.1",
    "0177.0x0.0.1",
    "127.0.0.1.",
    "0",
    "0x",
    "0.0.0.0",
    "10.0.0.1",
    "167772161",
    "192.168.257",
    "0xa9fea9fe",
    "169.254.169.254",
    "2852039166",
    "0xa9.254.0251.0376",
    "[::1]",
    "::1",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[0:0:0:0:0:ffff:7f00:1]",
    "[fd00:ec2::254]",
    "[fe80::1%25eth0]",
    "[fe80::1%eth0]",
    "[64:ff9b::7f00:1]",
    "[2002:7f00:1::]",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "foo.localhost",
    "localhost.localdomain",
    "ip6-localhost",
    # full-width digits, circled ones and the ideographic full stop
    "１２７.０.０.１",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
    "ｌocalhost",
]
INVALID_HOSTS = [
    "",
    "256.1.1.1",
    "1.2.3.4.5",
    "1.2.3.256",
    "09.1.1.1",
    "0x100000000",
    "4294967296",
    "1.16777216",
    "a..b",
    "a b",
    "a/b",
    "a@b",
    "a\\b",
    "a%2eb",
    "a\r\nb",
    "[::1",
    "[gg::1]",
    "[1.2.3.4]",
    "x" * 254,
    "foo.1",
    "foo.0x7f",
]
FINE_HOSTS = [
    "example.com",
    "EXAMPLE.com.",
    "hooks.example-site.co.uk",
    "xn--bcher-kva.example",
    "bücher.example",
    "8.8.8.8",
    "134744072",
    "0x8.0x8.0x8.0x8",
    "[2606:4700::1111]",
    "1e100.net",
    "127.0.0.1.example.com",
    "a_b.example.com",
    "localhost.example.com",
    "0x7f.1.example",
]


@for_each("host", FORBIDDEN_HOSTS)
def test_forbidden_host(host: str) -> None:
    assert AddressGuard().forbidden_host(host) is not None


@for_each("host", INVALID_HOSTS)
def test_invalid_host(host: str) -> None:
    assert (AddressGuard(["0.0.0.0/0", "::/0"]).forbidden_host(host) or "").startswith("not a valid")


@pytest.mark.parametrize("host", FINE_HOSTS)
def test_fine_host(host: str) -> None:
    assert AddressGuard().forbidden_host(host) is None


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "localhost", "a.localhost", "0x7f.1"])
def test_hosts_of_an_allowed_network(host: str) -> None:
    assert AddressGuard(["127.0.0.0/8"]).forbidden_host(host) is None


@given(st.ip_addresses(v=4), st.sampled_from(["{}", "{:#x}", "0{:o}"]))
def test_any_spelling_of_an_address_is_read_as_that_address(address: IPv4Address | IPv6Address, form: str) -> None:
    number = int(address)
    octets = [form.format(octet) for octet in address.packed]
    for spelling in (
        form.format(number),
        ".".join(octets),
        f"{octets[0]}.{form.format(number & 0xFFFFFF)}",
        f"{octets[0]}.{octets[1]}.{form.format(number & 0xFFFF)}",
    ):
        assert literal_address(spelling) == address


@given(st.text(max_size=40))
def test_no_text_breaks_the_check(host: str) -> None:
    AddressGuard().forbidden_host(host)
    name = plain_host(host)
    assert name is None or name.isascii()
