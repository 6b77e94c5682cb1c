from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.domain.message.state import Kind
from heliograph.domain.text import alphabet, inbound
from heliograph.domain.text.header import named_tables, national_elements
from heliograph.domain.text.repertoire import Encoding, Repertoire
from heliograph.domain.text.segment import count, split, split_into

PLAIN = "abcXYZ 019,.\n"
GSM = PLAIN + "@$_éÇΔ" + "^{}[]\\~|€\f"
ANY = GSM + "жç`\u0301\U0001f600\U0001f468\u200d"


def texts(letters: str, most: int) -> st.SearchStrategy[str]:
    """Texts around every limit: runs of one letter between single ones."""
    run = st.builds(str.__mul__, st.sampled_from(PLAIN), st.integers(1, 160))
    return st.lists(st.one_of(st.sampled_from(letters), run), max_size=most).map("".join)


GSM_TEXTS = texts(GSM, 40)
TEXTS = st.one_of(texts(PLAIN, 8), GSM_TEXTS, texts(ANY, 40), st.text(max_size=400))
TEXT_KINDS = st.sampled_from([Kind.TEXT, Kind.UNICODE, Kind.FLASH])
HEADERS = st.sampled_from([6, 7])


@given(st.text(GSM, max_size=100))
def test_septets_are_read_back(text: str) -> None:
    septets = alphabet.encode(text)
    assert septets is not None
    assert alphabet.decode(septets) == text


@given(st.text(max_size=50))
def test_a_text_is_in_the_alphabet_when_all_its_characters_are(text: str) -> None:
    assert (alphabet.encode(text) is None) is any(alphabet.encode(char) is None for char in text)
    assert not alphabet.is_plain(text) or alphabet.encode(text) == text.encode("ascii")


@given(st.binary(max_size=100))
def test_any_octets_decode(octets: bytes) -> None:
    assert len(alphabet.decode(octets)) <= len(octets)


@given(TEXTS, TEXT_KINDS)
@example("", Kind.TEXT)
def test_the_count_is_that_of_the_split(text: str, kind: Kind) -> None:
    result = split(text, kind)
    assert count(text, kind) == (result.encoding, len(result.parts))


@given(st.binary(max_size=600))
def test_the_count_is_that_of_the_split_for_octets_too(octets: bytes) -> None:
    result = split(octets.hex(), Kind.BINARY)
    assert b"".join(result.parts) == octets
    assert count(octets.hex(), Kind.BINARY) == (Encoding.BINARY, len(result.parts))
    assert len(result.parts) == (1 if len(octets) <= 140 else -(-len(octets) // 134))


@given(TEXTS, TEXT_KINDS, HEADERS)
def test_each_part_is_whole_and_they_make_the_text(text: str, kind: Kind, header: int) -> None:
    """Each part is decoded alone: a cut pair would not survive that."""
    cut = split(text, kind, header)
    encoding, parts = cut.encoding, cut.parts
    if encoding is Encoding.GSM7:
        assert "".join(alphabet.decode(part) for part in parts) == text
    else:
        assert "".join(part.decode("utf-16-be") for part in parts) == text


@given(TEXTS, TEXT_KINDS, HEADERS)
def test_each_part_fits_and_is_as_full_as_can_be(text: str, kind: Kind, header: int) -> None:
    cut = split(text, kind, header)
    encoding, parts = cut.encoding, cut.parts
    single, several = (160, (140 - header) * 8 // 7) if encoding is Encoding.GSM7 else (140, (140 - header) // 2 * 2)
    if len(parts) == 1:
        assert len(parts[0]) <= single
        return
    assert sum(map(len, parts)) > single
    pair = 2 if encoding is Encoding.GSM7 else 4  # octets that may not be cut
    assert all(several - pair < len(part) <= several for part in parts[:-1])
    assert 0 < len(parts[-1]) <= several


@given(TEXTS)
def test_gsm_is_used_exactly_where_it_can_be(text: str) -> None:
    assert (split(text, Kind.TEXT).encoding is Encoding.GSM7) is (alphabet.encode(text) is not None)
    assert split(text, Kind.FLASH) == split(text, Kind.TEXT)
    assert split(text, Kind.UNICODE).encoding is Encoding.UCS2


@given(GSM_TEXTS)
def test_text_that_both_can_carry_never_costs_more_in_gsm(text: str) -> None:
    # An escape pair takes as much as a code unit where the parts are short enough.
    assert count(text, Kind.TEXT)[1] <= count(text, Kind.UNICODE)[1]


@given(TEXTS, TEXT_KINDS, HEADERS, st.sampled_from(["latin1", "ascii"]))
@example("€" + "x" * 80, Kind.TEXT, 6, "latin1")
def test_no_letter_is_lost_in_an_operators_alphabet(text: str, kind: Kind, header: int, operators: str) -> None:
    cut = split(text, kind, header, Repertoire(operators))
    if cut.encoding is Encoding.GSM7:
        assert "".join(map(alphabet.decode, cut.parts)).encode(alphabet.CODECS[operators]).decode("latin-1") == text
    else:
        assert b"".join(cut.parts).decode("utf-16-be") == text
    assert cut.encoding is split(text, kind, header).encoding or not alphabet.has_letters(text, operators)
    again = split(text, kind, repertoire=Repertoire(operators))
    assert count(text, kind, Repertoire(operators)) == (cut.encoding, len(again.parts))


TABLES = st.sampled_from(
    [(0, 0), *((0, each) for each in range(1, 14)), *((each, each) for each in (1, 3, *range(4, 14)))]
)
NATIONAL = st.text(st.sampled_from("abc 1€ğşİñáçãõअआइকখগಅಆതമరలاب\n[~"), min_size=1, max_size=400)


@given(NATIONAL | TEXTS, TEXT_KINDS, st.lists(TABLES, max_size=4), st.booleans(), st.binary(max_size=30))
def test_a_text_in_any_alphabet_is_read_as_it_was_and_fits(
    text: str, kind: Kind, tables: list[tuple[int, int]], latin1: bool, elements: bytes
) -> None:
    repertoire = Repertoire(latin1=latin1, tables=tuple(tables))
    cut = split(text, kind, repertoire=repertoire, elements=elements)
    coding = {Encoding.GSM7: 0, Encoding.UCS2: 8, Encoding.LATIN1: 3}[cut.encoding]
    own = named_tables(elements)
    data = inbound.UserData(
        coding, b"".join(cut.parts), None, *(own if any(own) else named_tables(cut.elements[len(elements) :]))
    )
    assert inbound.text_of(data, "gsm") == text
    header = (1 if cut.elements else 0) + len(cut.elements) + (0 if len(cut.parts) == 1 else 6 - bool(cut.elements))
    for part in cut.parts:
        octets = -(-len(part) * 7 // 8) if cut.encoding is Encoding.GSM7 else len(part)
        assert header + octets <= 140
    assert len(cut.parts) <= len(split(text, kind, elements=elements).parts)


@given(NATIONAL | TEXTS, TEXT_KINDS, st.lists(TABLES, max_size=4), st.booleans(), TABLES)
def test_a_text_is_read_as_it_was_by_the_tables_of_its_senders_header(
    text: str, kind: Kind, tables: list[tuple[int, int]], latin1: bool, own: tuple[int, int]
) -> None:
    repertoire = Repertoire(latin1=latin1, tables=tuple(tables))
    cut = split(text, kind, repertoire=repertoire, elements=national_elements(*own))
    coding = {Encoding.GSM7: 0, Encoding.UCS2: 8, Encoding.LATIN1: 3}[cut.encoding]
    shifts = named_tables(cut.elements)
    assert own in (shifts, (0, 0))
    assert inbound.text_of(inbound.UserData(coding, b"".join(cut.parts), None, *shifts), "gsm") == text


@given(TEXTS, TEXT_KINDS, st.integers(1, 12))
def test_a_text_goes_in_just_as_many_parts_as_were_charged(text: str, kind: Kind, total: int) -> None:
    least = len(split(text, kind).parts)
    cut = split_into(total, text, kind)
    if total < least:
        assert cut is None
    elif cut is not None:
        assert len(cut.parts) == total
        assert b"".join(cut.parts) == b"".join(split(text, kind).parts)
    else:
        # of a short text not every number can be made: two neighbouring limits may be one part apart and more
        assert total > least
        assert len(text) < 2 * total * total
