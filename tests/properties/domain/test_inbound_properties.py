from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.message.state import Kind
from heliograph.domain.text import alphabet, inbound, national
from heliograph.domain.text.inbound import UserData, read, text_of
from heliograph.domain.text.repertoire import Encoding
from heliograph.domain.text.segment import split

OCTETS = st.binary(max_size=200)
CODINGS = st.integers(0, 255)
DEFAULTS = st.sampled_from(["gsm", "latin1", "ascii"])
LETTERS = st.sampled_from("abc 019@$é{}€жç\U0001f600")
TEXTS = st.text(LETTERS, min_size=200, max_size=600)
SAR = st.none() | st.tuples(st.integers(0, 0xFFFF), st.integers(0, 255), st.integers(0, 255))


def parts_of(text: str, kind: Kind, reference: int, *, wide: bool) -> list[UserData]:
    cut = split(text, kind, 7 if wide else 6)
    coding = 8 if cut.encoding is Encoding.UCS2 else 0
    total = len(cut.parts)
    headers = [
        b"\6\x08\4%c%c%c%c" % (reference >> 8, reference & 0xFF, total, number)
        if wide
        else b"\5\0\3%c%c%c" % (reference & 0xFF, total, number)
        for number in range(1, total + 1)
    ]
    return [read(header + octets, coding, has_header=True) for header, octets in zip(headers, cut.parts, strict=True)]


@given(OCTETS, CODINGS, st.booleans(), SAR, DEFAULTS)
def test_any_octets_are_read(
    octets: bytes, coding: int, has_header: bool, sar: tuple[int, int, int] | None, default: str
) -> None:
    data = read(octets, coding, has_header=has_header, sar=sar)
    assert octets.endswith(data.octets)
    text_of(data, default).encode()  # whatever it is, it can be written
    if data.position is not None:
        _, total, number = data.position
        assert 1 <= number <= total > 1
        joined = inbound.join([data], default)
        assert (joined.text, joined.octets, joined.complete) == (text_of(data, default), data.octets, False)


@given(TEXTS, st.sampled_from([Kind.TEXT, Kind.UNICODE]), st.integers(0, 0xFFFF), st.booleans(), st.data())
def test_what_we_encode_is_joined_in_any_order_with_any_repeats(
    text: str, kind: Kind, reference: int, wide: bool, data: st.DataObject
) -> None:
    parts = parts_of(text, kind, reference, wide=wide)
    again = data.draw(st.lists(st.sampled_from(parts), max_size=5))
    joined = inbound.join(data.draw(st.permutations(parts + again)), "gsm")
    assert (joined.text, joined.parts, joined.complete) == (text, len(parts), True)


@given(TEXTS, st.data())
def test_some_parts_give_what_they_hold_in_any_order(text: str, data: st.DataObject) -> None:
    parts = parts_of(text, Kind.UNICODE, 7, wide=False)
    some = data.draw(
        st.lists(st.sampled_from(parts), min_size=1, unique_by=lambda part: part.octets + bytes(part.position or ()))
    )
    joined = inbound.join(some, "gsm")
    kept = sorted(some, key=lambda part: part.position or (0, 0, 0))
    assert joined.octets == b"".join(part.octets for part in kept)
    assert joined.text == "".join(text_of(part, "gsm") for part in kept)
    assert joined.complete is (len(some) == len(parts))


@given(TEXTS, TEXTS, st.integers(0, 255), st.integers(1, 255), st.data())
def test_two_references_are_never_mixed(one: str, other: str, reference: int, step: int, data: st.DataObject) -> None:
    mine = parts_of(one, Kind.TEXT, reference, wide=False)
    theirs = parts_of(other, Kind.TEXT, (reference + step) % 256, wide=False)
    mixed = data.draw(st.permutations(mine + theirs))
    assert inbound.join(mixed, "gsm").text == (one if mixed[0] in mine else other)


@given(OCTETS)
def test_without_a_language_the_tables_are_the_alphabet(septets: bytes) -> None:
    assert national.decode(septets, 0, 0) == alphabet.decode(septets)


@given(OCTETS, st.integers(0, 255), st.integers(0, 255))
def test_any_octets_decode_in_any_language(octets: bytes, locking: int, single: int) -> None:
    assert len(national.decode(octets, locking, single)) <= len(octets)
