"""Cookies as browsers and others send them."""

import pytest

from heliograph.console.app import _cookies


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("heliograph_theme=dark; heliograph_session=abc", {"heliograph_theme": "dark", "heliograph_session": "abc"}),
        ('other="; heliograph_session=abc', {"heliograph_session": "abc"}),
        ('heliograph_theme= heliograph_session="evil"', {"heliograph_theme": ""}),
        ('heliograph_theme=x heliograph_session="evil"', {"heliograph_theme": "x"}),
        ("heliograph_session", {}),
        ("__Host-heliograph_session=abc", {"__Host-heliograph_session": "abc"}),
        ("__host-heliograph_session=abc", {}),
    ],
)
def test_each_cookie_is_read_from_its_own_part_alone(header: str, found: dict[str, str]) -> None:
    assert _cookies(header) == found
