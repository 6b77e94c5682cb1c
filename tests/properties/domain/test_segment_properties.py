from hypothesis import example, given
from hypothesis import strategies as st

from heliograph.domain import alphabet
from heliograph.domain.message import Kind
from heliograph.domain.segment import Encoding, count, split

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
    cut = split(text, kind, header, operators)
    if cut.encoding is Encoding.GSM7:
        assert "".join(map(alphabet.decode, cut.parts)).encode(alphabet.CODECS[operators]).decode("latin-1") == text
    else:
        assert b"".join(cut.parts).decode("utf-16-be") == text
    assert cut.encoding is split(text, kind, header).encoding or not alphabet.has_letters(text, operators)
    assert count(text, kind, operators) == (cut.encoding, len(split(text, kind, default=operators).parts))
