"""Sketches of durations: the number of values in each of some hundred buckets, which become wider as values grow.

A sketch is a `dict` from bucket to count. Two sketches are merged by adding their counts, in any order; the result is
the sketch of all values. A quantile is accurate to 1/32 of the value (`RELATIVE_ERROR`): values below 32 have a bucket
each, and above that each doubling is divided into 16, as in HdrHistogram.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from struct import pack, unpack
from typing import Final

Sketch = dict[int, int]

RELATIVE_ERROR: Final = 1 / 32
"""The largest relative error of a quantile."""

_EXACT: Final = 32
_BITS: Final = 4
"""Each doubling has two to this power of buckets."""

_FORMATS: Final = {1: "B", 2: "H", 4: "I", 8: "Q"}
"""Formats of the module `struct`, by the octets of a number."""

_FARTHEST: Final = 255
"""The largest distance that an octet has. Buckets that are farther apart have empty buckets between them."""


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
    """Packs a sketch: the octets of a count (1, 2, 4 or 8), the first bucket (2 octets), for each further bucket its
    distance from the previous bucket (1 octet), and the counts. Numbers are little-endian. An empty sketch has no
    octets.
    """
    if not sketch:
        return b""
    buckets = sorted(sketch)
    distances, counts = bytearray(), [sketch[buckets[0]]]
    for before, bucket in pairwise(buckets):
        empty, distance = divmod(bucket - before - 1, _FARTHEST)
        distances += bytes([_FARTHEST]) * empty + bytes([distance + 1])
        counts += [0] * empty + [sketch[bucket]]
    octets = next(octets for octets in _FORMATS if max(counts) >> 8 * octets == 0)
    packed = pack(f"<{len(counts)}{_FORMATS[octets]}", *counts)
    return bytes([octets]) + buckets[0].to_bytes(2, "little") + distances + packed


def decode_sketch(packed: bytes) -> Sketch:
    """Unpacks octets of `encode_sketch`."""
    sums: list[int] = []
    add_packed(packed, sums)
    return sketch_of(sums)


def add_packed(packed: bytes, sums: list[int]) -> None:
    """Adds the counts of a packed sketch to a list of counts by bucket, which grows as needed. A sum of many sketches
    takes a third of the time of `decode_sketch` and `merge`."""
    if not packed:
        return
    octets = packed[0]
    number = (len(packed) - 2) // (1 + octets)
    distances, rest = packed[3 : 2 + number], packed[2 + number :]
    counts: Sequence[int] = rest if octets == 1 else unpack(f"<{number}{_FORMATS[octets]}", rest)
    first = packed[1] | packed[2] << 8
    missing = first + sum(distances) + 1 - len(sums)
    if missing > 0:
        sums.extend([0] * missing)
    for bucket, count in zip(accumulate(distances, initial=first), counts, strict=True):
        sums[bucket] += count


def sketch_of(sums: Sequence[int]) -> Sketch:
    """Returns the sketch with these counts by bucket."""
    return {bucket: count for bucket, count in enumerate(sums) if count}
