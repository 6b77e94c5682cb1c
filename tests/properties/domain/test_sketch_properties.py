from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.sketch import (
    RELATIVE_ERROR,
    add_packed,
    bucket_of,
    decode_sketch,
    encode_sketch,
    merge,
    middle_of,
    quantile,
)

VALUES = st.integers(0, 1 << 40)
SKETCHES = st.dictionaries(st.integers(0, 700), st.integers(1, 1 << 40))


def sketch_of(values: list[int]) -> dict[int, int]:
    return dict(Counter(map(bucket_of, values)))


@given(VALUES)
def test_the_middle_of_a_values_bucket_is_near_it(value: int) -> None:
    assert abs(middle_of(bucket_of(value)) - value) <= value * RELATIVE_ERROR


@given(VALUES)
def test_buckets_ascend_with_the_values_and_have_no_gaps(value: int) -> None:
    assert bucket_of(value + 1) - bucket_of(value) in (0, 1)


@given(st.integers(max_value=0))
def test_what_is_below_zero_counts_as_zero(value: int) -> None:
    assert bucket_of(value) == 0


@given(st.lists(VALUES, min_size=1), st.floats(0, 1))
def test_a_quantile_is_as_near_to_the_value_of_its_rank_as_promised(values: list[int], share: float) -> None:
    found = quantile(sketch_of(values), share)
    exact = sorted(values)[max(0, -int(-share * len(values) // 1) - 1)]
    assert found is not None
    assert abs(found - exact) <= exact * RELATIVE_ERROR


@given(st.lists(VALUES), st.lists(VALUES), st.lists(VALUES))
def test_sketches_merge_in_any_order_into_that_of_all_values(one: list[int], two: list[int], three: list[int]) -> None:
    left: dict[int, int] = {}
    for values in (one, two, three):
        merge(left, sketch_of(values))
    right = sketch_of(three)
    rest = sketch_of(two)
    merge(rest, sketch_of(one))
    merge(right, rest)
    assert left == right == sketch_of(one + two + three)


@given(SKETCHES)
def test_what_was_packed_is_unpacked(sketch: dict[int, int]) -> None:
    assert decode_sketch(encode_sketch(sketch)) == sketch


@given(st.lists(SKETCHES))
def test_packed_sketches_add_up_as_merged_sketches_do(sketches: list[dict[int, int]]) -> None:
    merged: dict[int, int] = {}
    sums: list[int] = []
    for sketch in sketches:
        merge(merged, sketch)
        add_packed(encode_sketch(sketch), sums)
    assert {bucket: count for bucket, count in enumerate(sums) if count} == merged


def test_an_empty_sketch_has_no_quantile() -> None:
    assert quantile({}, 0.5) is None
    assert encode_sketch({}) == b""


def test_a_busy_minute_takes_few_octets() -> None:
    values = [20 + n % 400 for n in range(10_000)]
    assert len(encode_sketch(sketch_of(values))) < 300
