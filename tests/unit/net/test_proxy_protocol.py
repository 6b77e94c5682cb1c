"""Headers of the PROXY protocol, in pieces, and octets that are none."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.net.proxies import Address
from heliograph.net.proxy_protocol import ProxyHeader, ProxyHeaderError

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
BIND = b"\0\0\0\x20\0\0\0\x09"


def second(command: int, family: int, body: bytes) -> bytes:
    return SIGNATURE + struct.pack(">BBH", command, family, len(body)) + body


V4 = bytes((192, 0, 2, 1)) + bytes((198, 51, 100, 1)) + struct.pack(">HH", 40112, 2775)
V6 = bytes.fromhex("20010db8000000000000000000000001") * 2 + struct.pack(">HH", 40112, 2775)

HEADERS: list[tuple[bytes, Address | None]] = [
    (b"PROXY TCP4 192.0.2.1 198.51.100.1 40112 2775\r\n", ("192.0.2.1", 40112)),
    (b"PROXY TCP6 2001:db8::1 2001:db8::2 40112 2775\r\n", ("2001:db8::1", 40112)),
    (b"PROXY UNKNOWN\r\n", None),
    (b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", None),
    (second(0x21, 0x11, V4), ("192.0.2.1", 40112)),
    (second(0x21, 0x21, V6), ("2001:db8::1", 40112)),
    (second(0x21, 0x11, V4 + b"\x20\0\1x"), ("192.0.2.1", 40112)),
    (second(0x20, 0x00, b""), None),
    (second(0x21, 0x31, bytes(216)), None),
    (b"", None),
]


@pytest.mark.parametrize(("header", "client"), HEADERS)
@given(cut=st.integers(0, 300))
def test_a_header_is_read_whole_or_in_pieces(header: bytes, client: Address | None, cut: int) -> None:
    octets = header + BIND
    reader = ProxyHeader()
    first = reader.feed(octets[:cut]) if cut else None
    rest = reader.feed(octets[cut:]) if first is None else first + octets[cut:]
    assert (rest, reader.client) == (BIND, client)


@pytest.mark.parametrize(
    "octets",
    [
        b"PROXY TCP4 192.0.2.1\r\n",
        b"PROXY TCP4 nobody 198.51.100.1 40112 2775\r\n",
        b"PROXY TCP6 192.0.2.1 198.51.100.1 40112 2775\r\n",
        b"PROXY TCP4 192.0.2.1 198.51.100.1 70000 2775\r\n",
        b"PROXY " + b"x" * 200,
        second(0x31, 0x11, V4),
        second(0x22, 0x11, V4),
        second(0x21, 0x11, V4[:8]),
        second(0x21, 0x11, bytes(5_000)),
    ],
)
def test_what_is_no_header_ends_the_connection(octets: bytes) -> None:
    with pytest.raises(ProxyHeaderError):
        ProxyHeader().feed(octets)


@given(st.binary(max_size=200))
def test_any_octets_are_read_or_refused(octets: bytes) -> None:
    reader = ProxyHeader()
    try:
        rest = reader.feed(octets)
    except ProxyHeaderError:
        return
    assert rest is None or octets.endswith(rest)
