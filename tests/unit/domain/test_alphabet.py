import pytest

from heliograph.domain.text.alphabet import decode, encode, is_plain
from tests.support.cases import for_each

# 3GPP TS 23.038, 6.2.1: the code points that are not those of ASCII.
DEFAULT = {
    0x00: "@", 0x01: "£", 0x02: "$", 0x03: "¥", 0x04: "è", 0x05: "é", 0x06: "ù", 0x07: "ì",
    0x08: "ò", 0x09: "Ç", 0x0A: "\n", 0x0B: "Ø", 0x0C: "ø", 0x0D: "\r", 0x0E: "Å", 0x0F: "å",
    0x10: "\u0394", 0x11: "_", 0x12: "\u03a6", 0x13: "\u0393", 0x14: "\u039b", 0x15: "\u03a9",
    0x16: "\u03a0", 0x17: "\u03a8", 0x18: "\u03a3", 0x19: "\u0398", 0x1A: "\u039e",
    0x1C: "Æ", 0x1D: "æ", 0x1E: "ß", 0x1F: "É", 0x24: "\u00a4", 0x40: "\u00a1",
    0x5B: "Ä", 0x5C: "Ö", 0x5D: "Ñ", 0x5E: "Ü", 0x5F: "\u00a7", 0x60: "\u00bf",
    0x7B: "ä", 0x7C: "ö", 0x7D: "ñ", 0x7E: "ü", 0x7F: "à",
}  # fmt: skip
# 6.2.1.1, the extension table.
EXTENSION = {
    0x0A: "\f", 0x14: "^", 0x28: "{", 0x29: "}", 0x2F: "\\",
    0x3C: "[", 0x3D: "~", 0x3E: "]", 0x40: "|", 0x65: "€",
}  # fmt: skip


@for_each("code", [code for code in range(128) if code != 0x1B])
def test_every_code_of_the_default_alphabet(code: int) -> None:
    char = DEFAULT.get(code, chr(code))
    assert encode(char) == bytes([code])
    assert decode(bytes([code])) == char
    assert is_plain(char) is (ord(char) == code)


@pytest.mark.parametrize(("code", "char"), EXTENSION.items())
def test_every_code_of_the_extension_table(code: int, char: str) -> None:
    assert encode(char) == bytes([0x1B, code])
    assert decode(bytes([0x1B, code])) == char
    assert not is_plain(char)


def test_the_alphabet_has_nothing_else() -> None:
    members = {char for char in map(chr, range(0x110000)) if encode(char) is not None}
    assert len(members) == 127 + 10


@pytest.mark.parametrize(
    "text",
    # Small c with cedilla, the backtick, the escape and look-alikes of Greek and typographic characters.
    ["ç", "`", "\x1b", "\t", "\0", "\x7f", "α", "Α", "’", "…", "–", "ê", "\u00a0", "ж", "😀", "\ud800"],
)
def test_near_misses_are_outside(text: str) -> None:
    assert encode(text) is None
    assert encode("fine " + text + " fine") is None
    assert not is_plain(text)


def test_a_text_with_both_tables() -> None:
    assert encode("5€ @{a}") == b"\x35\x1b\x65\x20\x00\x1b\x28\x61\x1b\x29"
    assert encode("") == b""


@pytest.mark.parametrize(
    ("septets", "text"),
    [
        (b"\x1ba", "a"),  # 6.2.1.1, note 1: as in the default table
        (b"x\x1b", "x "),
        (b"\x1b\x1b", " "),
        (b"\x1b\x1be", " e"),
        (b"a\x80\xff", "a\ufffd\ufffd"),
        (b"\x1b\xe5", "\ufffd"),
        (b"", ""),
    ],
)
def test_what_an_encoder_never_makes_is_decoded_all_the_same(septets: bytes, text: str) -> None:
    assert decode(septets) == text
