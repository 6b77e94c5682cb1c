"""URLs for receipts, as far as their text tells."""

import pytest

from heliograph.app.sending.callback_url import CallbackUrls
from heliograph.domain.error import Fault
from heliograph.net.address_guard import AddressGuard

GUARD = AddressGuard(ports=("80", "443", "8000-8999"))
URLS = CallbackUrls(GUARD.forbidden_host, GUARD.forbidden_port)


@pytest.mark.parametrize("url", ["https://example.com", "http://example.com:80/x", "https://example.com:8443/y?z"])
def test_ports_that_are_allowed(url: str) -> None:
    URLS.check(url)
    assert URLS.refusal(url) is None


@pytest.mark.parametrize(
    "url", ["https://example.com:22/", "http://example.com:9000/x?y", "https://[2606:4700::1]:25/"]
)
def test_ports_that_are_not(url: str) -> None:
    for _ in range(2):
        with pytest.raises(Fault, match=r"port \d+ is none of 80, 443, 8000-8999") as caught:
            URLS.check(url)
        assert caught.value.field == "dlr-url"
    assert "callbacks.allowed_ports" in (URLS.refusal(url) or "")
