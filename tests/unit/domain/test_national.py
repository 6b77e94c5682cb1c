"""National tables against words, against the names of characters in Unicode, and against those of gsmcodecs."""

import unicodedata

import pytest
from gsmcodecs import GSMCHARMAPS

from heliograph.domain.text import alphabet
from heliograph.domain.text.national import LANGUAGES, decode, encode, has_locking

SCRIPTS = {
    4: "BENGALI", 5: "GUJARATI", 6: "DEVANAGARI", 7: "KANNADA", 8: "MALAYALAM", 9: "ORIYA", 10: "GURMUKHI",
    11: "TAMIL", 12: "TELUGU", 13: "ARABIC",
}  # fmt: skip
SEPTETS = bytes(septet for septet in range(0x80) if septet != alphabet.ESCAPE)


@pytest.mark.parametrize(
    ("septets", "locking", "single", "text"),
    [
        (b"\x0cra\x1d \x07\x04", 1, 0, "ğraş ı€"),
        (b"\x1bG\x1bI\x1bS\x1bc\x1bg\x1bi\x1bs\x1be", 0, 1, "ĞİŞçğış€"),
        (b"ma\x7dana \x1ba\x1bi\x1bo\x1bu\x1b\x09", 0, 2, "mañana áíóúç"),
        (b"n\x7bo \x1bc", 3, 0, "não c"),
        (b"\x1b\x15\x1b|\x1b\x7f", 0, 3, "Ωõâ"),
        (b"\x4c\x51", 6, 0, "सि"),
        (b"\x1b\x1c\x1b\x1d", 0, 6, "०१"),
        (b"\x24\x3d", 7, 0, "ಡಪ"),
        (b"a,b.c", 8, 0, "a,b.c"),
        (b"\x1bA\x1b\x3c\x1b\x19", 0, 12, "A[Θ"),
    ],
)
def test_words(septets: bytes, locking: int, single: int, text: str) -> None:
    assert decode(septets, locking, single) == text


@pytest.mark.parametrize(("language", "script"), SCRIPTS.items())
def test_characters_are_of_the_languages_script(language: int, script: str) -> None:
    own = [char for char in decode(SEPTETS, language, 0) if char > "\x7f"]
    assert len(own) == len(set(own)) > 50
    assert {unicodedata.name(char).split()[0] for char in own} == {script}


@pytest.mark.parametrize("language", [language for language in SCRIPTS if language != 13])
def test_a_locking_table_is_in_the_order_of_unicode(language: int) -> None:
    own = [char for char in decode(SEPTETS, language, 0) if char > "\x7f"]
    assert own == sorted(own)


@pytest.mark.parametrize("language", SCRIPTS)
def test_a_single_shift_table_has_the_ten_digits(language: int) -> None:
    text = decode(b"".join(b"\x1b%c" % septet for septet in SEPTETS), 0, language)
    digits = [unicodedata.digit(char) for char in text if char > "\x7f" and unicodedata.category(char) == "Nd"]
    assert digits == list(range(10))


@pytest.mark.parametrize("language", [0, 2, 14, 255])
def test_languages_without_a_table_have_the_default_one(language: int) -> None:
    assert decode(SEPTETS, language, 0) == alphabet.decode(SEPTETS)


def test_what_a_table_lacks() -> None:
    assert decode(b"\x1bk\x1b\x1b\x1b", 1, 1) == "k  "
    assert decode(b"\x80\x1b\xff", 6, 6) == "\ufffd\ufffd"


@pytest.mark.parametrize("language", [0, *LANGUAGES.values()])
def test_tables_are_those_of_gsmcodecs(language: int) -> None:
    """The exceptions are in the docstring of `heliograph.domain.text.national`."""
    theirs = GSMCHARMAPS[language]
    corrected = {0x2C: ","} if language > 3 else {}
    corrected |= {0x24: "ಡ"} if language == 7 else {}
    assert has_locking(language) is (language > 0 and "locking" in theirs)
    locking = {septet: chr(code) for septet, code in theirs.get("locking", {}).get("decode", {}).items()} | corrected
    for septet in SEPTETS if locking else b"":
        assert decode(bytes((septet,)), language, 0) == locking.get(septet, " ")
    single = {septet: chr(code) for septet, code in theirs["singleShift"]["decode"].items()}
    for septet in SEPTETS:
        shifted = decode(bytes((alphabet.ESCAPE, septet)), 0, language)
        assert shifted == single.get(septet, decode(bytes((septet,)), 0, 0))
    for text in single.values():
        assert decode(encode(text, 0, language) or b"", 0, language) == text
