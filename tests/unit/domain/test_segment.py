import pytest

from heliograph.domain.message.state import Kind
from heliograph.domain.text.repertoire import Encoding, Repertoire
from heliograph.domain.text.segment import count, hex_problem, split
from tests.support.cases import for_each

GSM7, UCS2, BINARY = Encoding.GSM7, Encoding.UCS2, Encoding.BINARY
SMILE = "\U0001f600"  # two UTF-16 code units


@for_each(
    ("content", "kind", "encoding", "sizes"),
    [
        ("", Kind.TEXT, GSM7, [0]),
        ("a" * 160, Kind.TEXT, GSM7, [160]),
        ("a" * 161, Kind.TEXT, GSM7, [153, 8]),
        ("a" * 306, Kind.TEXT, GSM7, [153, 153]),
        ("a" * 307, Kind.TEXT, GSM7, [153, 153, 1]),
        ("€" * 80, Kind.TEXT, GSM7, [160]),
        ("€" * 81, Kind.TEXT, GSM7, [152, 10]),
        # 306 septets, but an escape pair would be cut
        ("a" * 152 + "€" + "a" * 152, Kind.TEXT, GSM7, [152, 153, 1]),
        ("a" * 151 + "€" + "a" * 153, Kind.TEXT, GSM7, [153, 153]),
        ("a" * 160, Kind.FLASH, GSM7, [160]),
        ("ж" * 70, Kind.TEXT, UCS2, [140]),
        ("ж" * 71, Kind.TEXT, UCS2, [134, 8]),
        ("ж" * 134, Kind.FLASH, UCS2, [134, 134]),
        ("ж" * 135, Kind.TEXT, UCS2, [134, 134, 2]),
        ("a" * 71, Kind.UNICODE, UCS2, [134, 8]),
        (SMILE * 35, Kind.TEXT, UCS2, [140]),
        (SMILE * 36, Kind.TEXT, UCS2, [132, 12]),
        ("a" * 66 + SMILE + "a" * 66, Kind.TEXT, UCS2, [132, 134, 2]),
        ("", Kind.BINARY, BINARY, [0]),
        ("00" * 140, Kind.BINARY, BINARY, [140]),
        ("Ff" * 141, Kind.BINARY, BINARY, [134, 7]),
        ("00" * 268, Kind.BINARY, BINARY, [134, 134]),
    ],
)
def test_sizes_of_the_parts(content: str, kind: Kind, encoding: Encoding, sizes: list[int]) -> None:
    result = split(content, kind)
    assert result.encoding is encoding
    assert [len(part) for part in result.parts] == sizes
    assert count(content, kind) == (encoding, len(sizes))


@pytest.mark.parametrize(
    ("content", "kind", "sizes"),
    [
        ("a" * 160, Kind.TEXT, [160]),
        ("a" * 161, Kind.TEXT, [152, 9]),
        ("ж" * 71, Kind.TEXT, [132, 10]),
        ("00" * 141, Kind.BINARY, [133, 8]),
    ],
)
def test_a_16_bit_reference_takes_an_octet_more(content: str, kind: Kind, sizes: list[int]) -> None:
    assert [len(part) for part in split(content, kind, header_octets=7).parts] == sizes


def test_what_the_parts_hold() -> None:
    assert split("5€@", Kind.TEXT).parts == [b"5\x1be\x00"]
    assert split("5€", Kind.UNICODE).parts == [b"\x005\x20\xac"]
    assert split(SMILE, Kind.TEXT).parts == [b"\xd8\x3d\xde\x00"]
    assert split("0aFF", Kind.BINARY).parts == [b"\x0a\xff"]


def test_half_of_an_escape_pair_stays_at_the_end_of_a_numbered_part() -> None:
    numbered = b"\0\3\7\2\1"
    assert split("5\x1b", Kind.TEXT, elements=numbered).parts == [b"5\x1b"]
    assert [len(part) for part in split("a" * 153 + "\x1b", Kind.TEXT, elements=numbered).parts] == [147, 7]
    assert split("ж\x1b", Kind.TEXT, elements=numbered).parts == ["ж ".encode("utf-16-be")]
    assert split("5\x1b", Kind.TEXT).encoding is UCS2


def test_labels() -> None:
    assert [encoding.label for encoding in Encoding] == ["GSM-7", "UCS-2", "binary", "Latin-1"]


@pytest.mark.parametrize("content", ["00", "0aF9", "DEADBEEF"])
def test_good_binary_content(content: str) -> None:
    assert hex_problem(content) is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "empty"),
        ("0", "odd"),
        ("abc", "odd"),
        ("0 0", "hexadecimal"),
        ("00 11", "hexadecimal"),
        ("0x", "hexadecimal"),
        ("gg", "hexadecimal"),
        ("00\n", "hexadecimal"),
        ("٠٠", "hexadecimal"),
    ],
)
def test_bad_binary_content_says_why(content: str, reason: str) -> None:
    problem = hex_problem(content)
    assert problem is not None
    assert reason in problem
    if content:
        with pytest.raises(ValueError, match=reason):
            split(content, Kind.BINARY)


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        count("\ud83d", Kind.TEXT)


@pytest.mark.parametrize(
    ("elements", "text", "encoding", "octets"),
    [
        ("240101", "ş€", GSM7, b"\x1bs\x1be"),
        ("250101", "ş€", GSM7, b"\x1d\x04"),
        ("250106", "A@", UCS2, b"\0A\0@"),  # the default alphabet would be read by Hindi's table
        ("240163", "a", GSM7, b"a"),
    ],
)
def test_a_text_is_encoded_by_the_tables_that_its_header_selects(
    elements: str, text: str, encoding: Encoding, octets: bytes
) -> None:
    cut = split(text, Kind.TEXT, elements=bytes.fromhex(elements))
    assert (cut.encoding, cut.parts, cut.elements.hex()) == (encoding, [octets], elements)
    assert split(text, Kind.TEXT, 6, Repertoire("latin1"), bytes.fromhex(elements)).encoding is UCS2
