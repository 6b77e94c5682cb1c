import pytest

from heliograph.domain.message import ids

# Laid out by hand from RFC 9562, 5.7: milliseconds, version 7, counter 3, worker 3, variant 10, the tail.
MS = 0x01941F297C00
KEY = MS << 12 | 3 << 5 | 3
TAIL = 0x01B69B4BA630F34E
HEX = "01941f297c007063" + "81b69b4ba630f34e"
UUID = "01941f29-7c00-7063-81b6-9b4ba630f34e"


def test_the_layout_is_that_of_the_standard() -> None:
    assert ids.to_hex(KEY, TAIL) == HEX
    assert ids.to_uuid(KEY, TAIL) == UUID


@pytest.mark.parametrize("text", [HEX, HEX.upper(), UUID, UUID.upper(), "01941F297c007063" + HEX[16:]])
def test_both_forms_are_read_in_any_case(text: str) -> None:
    assert ids.parse(text) == (KEY, TAIL)


@pytest.mark.parametrize(
    "text",
    [
        "",
        HEX[:-1],
        HEX + "0",
        HEX + "\n",
        " " + HEX,
        "g" + HEX[1:],
        HEX[:12] + "4" + HEX[13:],  # version 4
        HEX[:16] + "c" + HEX[17:],  # another variant
        HEX[:16] + "0" + HEX[17:],
        UUID.replace("-", "", 1),
        UUID.replace("-", "_"),
        "{" + UUID + "}",
        "urn:uuid:" + UUID,
        HEX.replace("0", "\N{FULLWIDTH DIGIT ZERO}"),
        "0x" + HEX[2:],
        HEX[:4] + "_" + HEX[5:],
    ],
)
def test_what_is_no_id_of_ours(text: str) -> None:
    assert ids.parse(text) is None


def test_time_of_a_key() -> None:
    assert ids.time_of(KEY) == MS
    assert ids.first_key_at(MS) <= KEY < ids.first_key_at(MS + 1)


def test_the_first_key_of_a_millisecond_holds_the_worker() -> None:
    assert ids.IdSequence(5).next(MS) == MS << 12 | 5


def test_the_129th_key_of_a_millisecond_runs_ahead_of_the_clock() -> None:
    sequence = ids.IdSequence(0)
    keys = [sequence.next(MS) for _ in range(129)]
    assert {ids.time_of(key) for key in keys[:128]} == {MS}
    assert ids.time_of(keys[128]) == MS + 1


def test_a_clock_that_goes_back_does_not_matter() -> None:
    sequence = ids.IdSequence(0)
    first = sequence.next(MS)
    assert sequence.next(MS - 60_000) == first + ids.WORKERS


def test_a_sequence_continues_above_the_last_key_of_any_worker() -> None:
    last = ids.IdSequence(31).next(MS)
    assert ids.IdSequence(0, last).next(MS - 1) > last


@pytest.mark.parametrize("worker", [-1, 32])
def test_a_worker_number_beyond_five_bits_is_refused(worker: int) -> None:
    with pytest.raises(ValueError, match="0 to 31"):
        ids.IdSequence(worker)


def test_keys_fit_a_signed_64_bit_column_to_the_end_of_time() -> None:
    assert ids.first_key_at((1 << 48) - 1) + 0xFFF < 1 << ids.KEY_BITS < 1 << 63
