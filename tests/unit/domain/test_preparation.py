import pytest

from heliograph.domain.text.preparation import decode_content
from tests.support.cases import for_each


@for_each(
    ("text", "meant"),
    [
        ("Hello%20World", "Hello World"),
        ("Hello+World", "Hello World"),
        ("Hello World", "Hello World"),
        ("1 + 1", "1 + 1"),
        ("50% off", "50% off"),
        ("50%+off", "50%+off"),
        ("C++", "C  "),
        ("a%2Bb", "a+b"),
        ("100%25", "100%"),
        ("%E2%82%AC", "€"),
        ("%e2%82%ac", "€"),
        ("%F0%9F%98%80", "😀"),
        ("caf%C3%A9", "café"),
        ("caf%E9", "caf%E9"),  # Latin-1
        ("%ED%A0%80", "%ED%A0%80"),  # a surrogate
        ("%C0%80", "%C0%80"),  # an overlong form
        ("é%20a", "é%20a"),
        ("a%2", "a%2"),
        ("a%", "a%"),
        ("%zz", "%zz"),
        ("a%20b\n", "a%20b\n"),
        ("a&b=c+d", "a&b=c+d"),
        ("-_.~*+", "-_.~* "),
        ("%2520", "%20"),
        ("", ""),
    ],
)
def test_auto(text: str, meant: str) -> None:
    assert decode_content(text, "auto") == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [("a%20b", "a b"), ("1 + 1", "1   1"), ("50% off", "50% off"), ("é%20a", "é a"), ("a&b=c+d", "a&b=c d")],
)
def test_always(text: str, meant: str) -> None:
    assert decode_content(text, "always") == meant


def test_always_refuses_octets_that_are_not_utf_8() -> None:
    with pytest.raises(ValueError, match="UTF-8"):
        decode_content("caf%E9", "always")


@pytest.mark.parametrize("text", ["a%20b", "C++", "", "caf%E9"])
def test_never(text: str) -> None:
    rule: str = "never"
    assert decode_content(text, rule) == text
