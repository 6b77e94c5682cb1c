"""From a URL to an origin and a path."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.http_client.request import OriginAddress, parse, split_plain, standing_lines


@pytest.mark.parametrize(
    ("address", "host"),
    [
        (OriginAddress(False, "example.com", 80), "example.com"),
        (OriginAddress(False, "example.com", 443), "example.com:443"),
        (OriginAddress(True, "example.com", 443), "example.com"),
        (OriginAddress(True, "example.com", 8443), "example.com:8443"),
        (OriginAddress(False, "2606:4700::1111", 80), "[2606:4700::1111]"),
        (OriginAddress(False, "2606:4700::1111", 81), "[2606:4700::1111]:81"),
    ],
)
def test_host_header(address: OriginAddress, host: str) -> None:
    assert f"\r\nHost: {host}\r\n" in standing_lines(address)


@pytest.mark.parametrize(
    ("url", "address", "path"),
    [
        ("http://example.com", OriginAddress(False, "example.com", 80), "/"),
        ("https://example.com/", OriginAddress(True, "example.com", 443), "/"),
        ("HTTP://EXAMPLE.com:8080/A?b=C", OriginAddress(False, "example.com", 8080), "/A?b=C"),
        ("http://example.com?x=1", OriginAddress(False, "example.com", 80), "/?x=1"),
        ("http://example.com/a?", OriginAddress(False, "example.com", 80), "/a?"),
        ("http://example.com/a?#b", OriginAddress(False, "example.com", 80), "/a?"),
        ("http://example.com/a#b?", OriginAddress(False, "example.com", 80), "/a"),
        ("http://example.com./a", OriginAddress(False, "example.com", 80), "/a"),
        ("http://bücher.example/", OriginAddress(False, "xn--bcher-kva.example", 80), "/"),
        ("http://example.com/ü x?q=ä", OriginAddress(False, "example.com", 80), "/%C3%BC%20x?q=%C3%A4"),
        ("http://example.com/%2f%zz", OriginAddress(False, "example.com", 80), "/%2f%zz"),
        ("http://2130706433/x", OriginAddress(False, "127.0.0.1", 80), "/x"),
        ("http://[::1]:81/x", OriginAddress(False, "::1", 81), "/x"),
    ],
)
def test_parse(url: str, address: OriginAddress, path: str) -> None:
    assert parse(url) == (address, path)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/x",
        "example.com/x",
        "ftp://example.com/",
        "http://",
        "http:///x",
        "http://:80/",
        "http://user@example.com/",
        "http://user:word@example.com/",
        "http://example.com:0/",
        "http://example.com:65536/",
        "http://example.com:x/",
        "http://[::1/",
        "http://256.256.256.256/",
        "http://a b/",
        "http://a\\@b/",
    ],
)
def test_no_usable_url(url: str) -> None:
    with pytest.raises(ValueError, match="URL"):
        parse(url)


@given(st.text(max_size=60))
def test_a_path_never_holds_what_could_end_the_line(rest: str) -> None:
    url = f"http://example.com/{rest}"
    try:
        paths = [parse(url)[1], split_plain(url)[1]]
    except ValueError:
        return
    for path in paths:
        assert all("!" <= char <= "~" for char in path)


@given(st.from_regex(r"https?://[a-z0-9.:]{1,20}/[!-~]{0,30}", fullmatch=True))
def test_the_short_way_agrees_with_the_long_one(url: str) -> None:
    prefix, path = split_plain(url)
    if not path:
        return
    assert url == prefix + path
    try:
        _, long_path = parse(url)
    except ValueError:
        return
    assert long_path == path
