"""Who is believed about the clients behind them."""

import pytest

from heliograph.net.proxies import Proxies
from tests.support.cases import for_each

PROXY = ("10.0.0.1", 4000)


@for_each(
    ("peer", "forwarded", "client"),
    [
        (PROXY, None, PROXY),
        (PROXY, b"198.51.100.7", ("198.51.100.7", 0)),
        (PROXY, b" 198.51.100.7:99 ", ("198.51.100.7", 99)),
        (PROXY, b"[2001:db8::7]:99", ("2001:db8::7", 99)),
        (PROXY, b"[2001:db8::7]", ("2001:db8::7", 0)),
        (PROXY, b"2001:db8::7", ("2001:db8::7", 0)),
        (PROXY, b"198.51.100.7, 203.0.113.9", ("203.0.113.9", 0)),
        (PROXY, b"198.51.100.7, 10.9.9.9, 192.0.2.1", ("198.51.100.7", 0)),
        (PROXY, b"10.1.1.1,10.2.2.2", ("10.1.1.1", 0)),
        (PROXY, b"198.51.100.7, unknown", ("unknown", 0)),
        (PROXY, b"[10.1.1.1", ("[10.1.1.1", 0)),
        (PROXY, b"[10.1.1.1]x", ("[10.1.1.1]x", 0)),
        (PROXY, b"198.51.100.7:http", ("198.51.100.7:http", 0)),
        (PROXY, b"198.51.100.7:\xb2", ("198.51.100.7:\xb2", 0)),
        (PROXY, b"x" * 300, ("x" * 300, 0)),
        (PROXY, b"", PROXY),
        (PROXY, b"198.51.100.7,", PROXY),
        (("192.0.2.1", 1), b"198.51.100.7", ("198.51.100.7", 0)),
        (("192.0.2.2", 1), b"198.51.100.7", ("192.0.2.2", 1)),
        (("::ffff:10.0.0.1", 1), b"198.51.100.7", ("198.51.100.7", 0)),
        (("::ffff:192.0.2.2", 1), b"198.51.100.7", ("::ffff:192.0.2.2", 1)),
        (("2001:DB8:1::5", 1), b"198.51.100.7", ("198.51.100.7", 0)),
        (("", 0), b"198.51.100.7", ("", 0)),
    ],
)
def test_the_client_is_whom_the_last_trusted_one_names(
    peer: tuple[str, int], forwarded: bytes | None, client: tuple[str, int]
) -> None:
    proxies = Proxies(["10.0.0.0/8", "192.0.2.1", "2001:db8:1::/48"])
    assert proxies.client(peer, forwarded) == client


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(ValueError, match="proxy"):
        Proxies(["proxy"])
