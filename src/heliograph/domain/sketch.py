"""Sketches of durations: the number of values in each of some hundred buckets, which become wider as values grow.

A sketch is a `dict` from bucket to count. Two sketches are merged by adding their counts, in any order; the result is
the sketch of all values. A quantile is accurate to 1/32 of the value (`RELATIVE_ERROR`): values below 32 have a bucket
each, and above that each doubling is divided into 16, as in HdrHistogram.
"""

from collections.abc import Mapping
from itertools import accumulate
from typing import Final

Sketch = dict[int, int]

RELATIVE_ERROR: Final = 1 / 32
"""The largest relative error of a quantile."""

_EXACT: Final = 32
_BITS: Final = 4
"""Each doubling has two to this power of buckets."""

_MORE: Final = 0x80


def add(sketch: Sketch, value: int, count: int = 1) -> None:
    """Counts so many equal values. A negative value, after the clock was set back, counts as zero."""
    bucket = _USUAL[value] if 0 <= value < _USUAL_END else bucket_of(value)
    sketch[bucket] = sketch.get(bucket, 0) + count


def bucket_of(value: int) -> int:
    """Returns the bucket of a value. A negative value is in the first."""
    if value < _EXACT:
        return max(0, value)
    shift = value.bit_length() - _BITS - 1
    return (shift << _BITS) + (value >> shift)


_USUAL_END: Final = 2_048
_USUAL: Final = [bucket_of(value) for value in range(_USUAL_END)]
"""The buckets of the values below 2,048, in which nearly all delays in milliseconds are."""


def middle_of(bucket: int) -> float:
    """Returns the value in the middle of a bucket."""
    if bucket < _EXACT:
        return bucket
    shift = (bucket >> _BITS) - 1
    low = (bucket - (shift << _BITS)) << shift
    return low + ((1 << shift) - 1) / 2


def merge(sketch: Sketch, other: Mapping[int, int]) -> None:
    """Adds the counts of the other sketch."""
    for bucket, count in other.items():
        sketch[bucket] = sketch.get(bucket, 0) + count


def take_away(sketch: Sketch, other: Mapping[int, int]) -> None:
    """Subtracts the counts of another sketch that was merged into it."""
    for bucket, count in other.items():
        left = sketch.get(bucket, 0) - count
        if left > 0:
            sketch[bucket] = left
        else:
            sketch.pop(bucket, None)


def quantile(sketch: Mapping[int, int], share: float) -> float | None:
    """Returns the value that this share of the values does not exceed, for example 0.95; None for an empty sketch."""
    total = sum(sketch.values())
    if not total:
        return None
    rank = max(1, -int(-share * total // 1))
    bucket = 0
    for bucket in sorted(sketch):
        rank -= sketch[bucket]
        if rank <= 0:
            break
    return middle_of(bucket)


def encode_sketch(sketch: Mapping[int, int]) -> bytes:
    """Packs a sketch: for each bucket its distance from the previous bucket and its count, seven bits in an octet."""
    packed = bytearray()
    before = 0
    for bucket in sorted(sketch):
        for number in (bucket - before, sketch[bucket]):
            while number >= _MORE:
                packed.append(number & (_MORE - 1) | _MORE)
                number >>= 7
            packed.append(number)
        before = bucket
    return bytes(packed)


def decode_sketch(packed: bytes) -> Sketch:
    """Unpacks octets of `encode_sketch`."""
    first = 1 + (len(packed) > 1 and packed[0] >= _MORE)
    rest = packed[first:]
    if rest.isascii() and packed[first - 1 : first].isascii():
        # the usual case: each number has an octet, except for the first bucket
        bucket = packed[0] & (_MORE - 1) if packed else 0
        bucket |= packed[1] << 7 if first > 1 else 0
        return dict(zip(accumulate(rest[1::2], initial=bucket), rest[::2], strict=False))
    sketch: Sketch = {}
    bucket = number = shift = 0
    is_bucket = True
    for octet in packed:
        number |= (octet & (_MORE - 1)) << shift
        if octet & _MORE:
            shift += 7
            continue
        if is_bucket:
            bucket += number
        else:
            sketch[bucket] = number
        is_bucket = not is_bucket
        number = shift = 0
    return sketch
