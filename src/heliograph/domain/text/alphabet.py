"""The GSM 7 bit default alphabet and its extension table (3GPP TS 23.038, 6.2.1 and 6.2.1.1).

Septets are unpacked, one in each octet. A character of the extension table is the escape 0x1B and another septet.
"""

import codecs
import re
from typing import Final

ESCAPE = 0x1B

HALF_ESCAPE: Final = chr(ESCAPE)
"""Ends the text of a part whose sender put the escape here, and the septet after it into the next part."""

DEFAULT: Final = (
    "@£$¥èéùìòÇ\nØø\rÅå"
    "Δ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ"
    " !\"#¤%&'()*+,-./"
    "0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNO"
    "PQRSTUVWXYZÄÖÑÜ§"
    "¿abcdefghijklmno"
    "pqrstuvwxyzäöñüà"
)
EXTENSION: Final[dict[int, str]] = {
    0x0A: "\f",
    0x14: "^",
    0x28: "{",
    0x29: "}",
    0x2F: "\\",
    0x3C: "[",
    0x3D: "~",
    0x3E: "]",
    0x40: "|",
    0x65: "€",
}

_TO_SEPTETS: dict[int, bytes] = {
    **{ord(char): bytes([code]) for code, char in enumerate(DEFAULT) if code != ESCAPE},
    **{ord(char): bytes([ESCAPE, code]) for code, char in EXTENSION.items()},
}
# 0x80 to 0xFF are no septets; they read as U+FFFD.
_FROM_SEPTETS = DEFAULT + "\N{REPLACEMENT CHARACTER}" * 128
# Septets after an escape, by the character of that code in the default table. A receiver shows that character if the
# extension table has none, and a space for an escape without extension (6.2.1.1, note 1).
_EXTENDED = {DEFAULT[code]: char for code, char in EXTENSION.items()} | {"\x1b": " ", "": " "}
_ESCAPED = re.compile("\x1b(.?)", re.DOTALL)

# Characters whose ASCII code equals their septet: all except controls (LF and CR do) and $@[\]^_`{|}~.
_SAME_AS_ASCII: Final = bytes(code for code, char in enumerate(DEFAULT) if ord(char) == code != ESCAPE)


GSM: Final = "gsm"
"""The alphabet of this module, as operators' default alphabet."""

CODECS: Final[dict[str, str]] = {"latin1": "latin-1", "ascii": "ascii"}
"""The codecs of the other alphabets."""


def has_letters(text: str, alphabet: str) -> bool:
    """True if an operator's alphabet (`gsm`, `latin1` or `ascii`) has every character of a text that GSM 7 bit has."""
    codec = CODECS.get(alphabet)
    if codec is None or text.isascii():
        return True
    try:
        text.encode(codec)
    except UnicodeEncodeError:
        return False
    return True


def encode(text: str) -> bytes | None:
    """Returns the septets of a text, or None if it has a character outside the alphabet."""
    if is_plain(text):
        return text.encode("ascii")
    try:
        return codecs.charmap_encode(text, "strict", _TO_SEPTETS)[0]
    except UnicodeEncodeError:
        return None


def latin1(text: str) -> bytes | None:
    """Returns the octets of a text in ISO 8859-1, or None if it has a character outside it."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return None


def is_plain(text: str) -> bool:
    """True if every character is a single septet with its ASCII code: a fast test for the common case."""
    return text.isascii() and not text.encode("ascii").translate(None, _SAME_AS_ASCII)


def ends_in_escape(septets: bytes) -> bool:
    """True if the last septet is an escape without the septet after it."""
    return (len(septets) - len(septets.rstrip(b"\x1b"))) % 2 == 1


def decode(septets: bytes) -> str:
    """The text of unpacked septets. Never fails: an octet over 0x7F reads as U+FFFD."""
    text = codecs.charmap_decode(septets, "strict", _FROM_SEPTETS)[0]
    if "\x1b" not in text:
        return text
    return _ESCAPED.sub(lambda match: _EXTENDED.get(match[1], match[1]), text)
