from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.message import ids

KEYS = st.integers(0, (1 << ids.KEY_BITS) - 1)
TAILS = st.integers(0, (1 << ids.TAIL_BITS) - 1)
WORKERS = st.integers(0, ids.WORKERS - 1)
CLOCKS = st.lists(st.one_of(st.integers(1_735_689_600_000, 1_735_689_600_003), st.integers(0, 1 << 47)), max_size=400)


@given(KEYS, TAILS)
def test_both_forms_are_read_back(key: int, tail: int) -> None:
    for text in (ids.to_hex(key, tail), ids.to_uuid(key, tail)):
        assert ids.parse(text) == ids.parse(text.upper()) == (key, tail)


@given(KEYS, TAILS)
def test_it_is_a_version_7_uuid(key: int, tail: int) -> None:
    uuid = UUID(ids.to_hex(key, tail))
    assert str(uuid) == ids.to_uuid(key, tail)
    assert uuid.version == 7
    assert uuid.variant == "specified in RFC 4122"
    assert uuid.int >> 80 == ids.time_of(key)


@given(st.tuples(KEYS, TAILS), st.tuples(KEYS, TAILS))
def test_text_sorts_as_keys_do(one: tuple[int, int], other: tuple[int, int]) -> None:
    assert (ids.to_hex(*one) < ids.to_hex(*other)) is (one < other)


@given(st.uuids(), st.booleans())
def test_uuids_of_others_are_read_only_where_they_look_like_ours(uuid: UUID, dashes: bool) -> None:
    parsed = ids.parse(str(uuid) if dashes else uuid.hex)
    if uuid.version == 7:
        assert parsed is not None
        assert ids.to_uuid(*parsed) == str(uuid)
    else:
        assert parsed is None


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    parsed = ids.parse(text)
    if parsed is not None:
        assert text.lower() in (ids.to_hex(*parsed), ids.to_uuid(*parsed))


@given(WORKERS, st.integers(0, 1 << 59), CLOCKS)
def test_keys_strictly_ascend_whatever_the_clock_does(worker: int, last: int, clock: list[int]) -> None:
    sequence = ids.IdSequence(worker, last)
    keys = [sequence.next(now) for now in clock]
    assert all(before < after for before, after in zip([last, *keys], keys, strict=False))
    assert all(key % ids.WORKERS == worker for key in keys)
    assert all(ids.time_of(key) >= now for key, now in zip(keys, clock, strict=True))


@given(WORKERS, WORKERS, CLOCKS, CLOCKS)
def test_two_workers_never_make_the_same_key(one: int, other: int, clock: list[int], other_clock: list[int]) -> None:
    if one == other:
        return
    first, second = ids.IdSequence(one), ids.IdSequence(other)
    assert not {first.next(now) for now in clock} & {second.next(now) for now in other_clock}
