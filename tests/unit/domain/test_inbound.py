import pytest

from heliograph.domain.text import inbound
from heliograph.domain.text.inbound import UserData, read, text_of
from tests.support.cases import for_each


def text(octets: bytes, coding: int = 0, default: str = "gsm") -> str:
    return text_of(UserData(coding, octets), default)


@pytest.mark.parametrize(
    ("header", "place"),
    [
        ("0500034d0201", (0x4D, 2, 1)),
        ("0608040c4d0302", (0x0C4D, 3, 2)),
        ("0700034d02010003", None),  # the second element breaks off, and the first is not believed either
        ("082401010003ff0302", (0xFF, 3, 2)),
        ("0a00034d020100034e0202", (0x4E, 2, 2)),  # the last of two holds
        ("0500034d0200", None),
        ("0500034d0203", None),
        ("0500034d0101", None),  # the only part
        ("0500034d0001", None),
        ("050002024d01", None),
        ("0500094d0201", None),  # longer than the header
        ("0100", None),
        ("00", None),
    ],
)
def test_places_of_headers(header: str, place: tuple[int, int, int] | None) -> None:
    data = read(bytes.fromhex(header) + b"text", 0, has_header=True)
    assert (data.position, data.octets) == (place, b"text")


def test_a_header_longer_than_the_message_is_none() -> None:
    data = read(b"\x50hello", 0, has_header=True)
    assert (data.position, data.octets) == (None, b"\x50hello")
    assert read(b"", 0, has_header=True).octets == b""


def test_without_the_indicator_there_is_no_header() -> None:
    assert read(b"\x05\x00\x03\x4d\x02\x01", 0, has_header=False).position is None


def test_other_elements_are_kept_aside() -> None:
    data = read(bytes.fromhex("0b05040b8423f000034d0201") + b"x", 4, has_header=True)
    assert (data.elements, data.position, data.octets) == (((5, bytes.fromhex("0b8423f0")),), (0x4D, 2, 1), b"x")


@pytest.mark.parametrize("sar", [(7, 2, 0), (7, 2, 3), (7, 1, 1), (7, 0, 0), (7, 256, 1), (7, 1 << 64, 1)])
def test_numbers_beside_the_octets_that_cannot_be(sar: tuple[int, int, int]) -> None:
    assert read(b"x", 0, has_header=False, sar=sar).position is None


@pytest.mark.parametrize("reference", [0x0203, 0x7F_0000_0203, (1 << 4_000) + 0x0203])
def test_the_low_octets_of_a_long_reference_count(reference: int) -> None:
    assert read(b"x", 0, has_header=False, sar=(reference, 255, 3)).position == (0x0203, 255, 3)


def test_a_header_counts_for_more_than_the_numbers_beside_it() -> None:
    assert read(b"\x05\x00\x03\x4d\x02\x01x", 0, has_header=True, sar=(9, 3, 3)).position == (0x4D, 2, 1)
    assert read(b"\x03\x24\x01\x01x", 0, has_header=True, sar=(9, 3, 3)).position == (9, 3, 3)


@for_each(
    ("octets", "coding", "default", "expected"),
    [
        (b"\x00 \x1be", 0x00, "gsm", "@ €"),
        (b"\xe9t\xe9", 0x00, "latin1", "été"),
        (b"stop", 0x00, "ascii", "stop"),
        (b"@", 0x01, "gsm", "@"),
        (b"\xfc", 0x03, "gsm", "ü"),
        (b"\x04\x36", 0x08, "gsm", "ж"),
        (b"\x04\x36\x04", 0x08, "gsm", "ж\ufffd"),
        (b"\xd8\x3d\x04\x36", 0x08, "gsm", "\ufffdж"),
        (b"\xd8\x3d\xde\x00", 0x08, "gsm", "\U0001f600"),
        (b"\xff\xfe\x36\x04", 0x08, "gsm", "ж"),
        (b"\xfe\xff\x04\x36", 0x08, "gsm", "ж"),
        (b"\x00", 0x10, "gsm", "@"),
        (b"\x04\x36", 0x18, "gsm", "ж"),
        (b"\x04\x36", 0xE0, "gsm", "ж"),
        (b"\x00", 0xC8, "gsm", "@"),
        (b"\x00", 0xF0, "gsm", "@"),
        (b"\x00", 0x50, "gsm", "@"),
        (b"\x00", 0x04, "gsm", ""),
        (b"\x00", 0xF5, "gsm", ""),
        (b"\x00", 0x30, "gsm", ""),
        (b"\x00", 0x90, "gsm", ""),
    ],
)
def test_alphabets_by_data_coding(octets: bytes, coding: int, default: str, expected: str) -> None:
    assert text(octets, coding, default) == expected


def test_what_is_binary() -> None:
    assert [coding for coding in range(0x20) if not text(b"AA", coding, "gsm")] == [
        0x02, 0x04, 0x05, 0x06, 0x07, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F,
        0x14, 0x15, 0x16, 0x17, 0x1C, 0x1D, 0x1E, 0x1F,
    ]  # fmt: skip


def part(number: int, octets: bytes, *, total: int = 3, reference: int = 7, coding: int = 0) -> UserData:
    return UserData(coding, octets, (reference, total, number))


def test_an_incomplete_message() -> None:
    joined = inbound.join([part(3, b"c"), part(1, b"a")], "gsm")
    assert (joined.text, joined.octets, joined.parts, joined.complete) == ("ac", b"ac", 2, False)


def test_parts_of_differing_codings() -> None:
    parts = [part(1, b"a\x1b"), part(2, b"\x04\x36", coding=8), part(3, b"e")]
    assert inbound.join(parts, "gsm").text == "a \u0436e"
    binary = [part(1, b"a"), part(2, b"\x01", coding=4), part(3, b"c")]
    joined = inbound.join(binary, "gsm")
    assert (joined.text, joined.octets) == ("ac", b"a\x01c")


def test_pairs_cut_by_the_end_of_a_part() -> None:
    assert inbound.join([part(2, b"e", total=2), part(1, b"\x1b", total=2)], "gsm").text == "€"
    halves = [part(1, b"\xd8\x3d", total=2, coding=8), part(2, b"\xde\x00", total=2, coding=8)]
    assert inbound.join(halves, "gsm").text == "\U0001f600"
    # Across a missing part the halves do not belong together.
    assert inbound.join([part(1, b"\x1b"), part(3, b"e")], "gsm").text == " e"


def test_another_messages_parts_are_left_out() -> None:
    parts = [part(1, b"a", total=2), part(2, b"x", reference=8, total=2), part(2, b"b", total=2), part(2, b"y")]
    assert inbound.join(parts, "gsm").text == "ab"


def test_no_part_at_all() -> None:
    with pytest.raises(ValueError, match="no part"):
        inbound.join([UserData(0, b"x")], "gsm")
