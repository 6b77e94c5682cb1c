"""Message ids: UUIDv7 (RFC 9562, 5.7), kept as an ascending integer key and a random tail.

    bits  48                 4    7        5       2    62
          Unix milliseconds  7    counter  worker  10   tail

The *key* is the milliseconds, the counter and the worker: 60 bits, so that it fits a signed 64-bit column and rows are
appended at the end of their table. The *tail* is random, so that an id cannot be guessed.
"""

import re
from struct import Struct
from typing import Final

WORKERS: Final = 32
"""Processes that can make ids side by side (5 bits)."""

KEY_BITS: Final = 60
TAIL_BITS: Final = 62

_WORKER_BITS: Final = 5
_COUNTER_BITS: Final = 7
_LOW_BITS: Final = _WORKER_BITS + _COUNTER_BITS

_LOW_MASK: Final = (1 << _LOW_BITS) - 1
_VERSION: Final = 7 << 12
_VARIANT: Final = 0b10 << TAIL_BITS
_TAIL_MASK: Final = (1 << TAIL_BITS) - 1

_PACK: Final = Struct(">QQ").pack
_FORM = re.compile(
    r"[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}|[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}",
    re.IGNORECASE | re.ASCII,
).fullmatch


class IdSequence:
    """The keys of a worker, strictly ascending.

    The sequence runs ahead of the clock if the clock goes back, or if a millisecond needs more than 128 keys. So keys
    never repeat. The clock catches up later.
    """

    __slots__ = ("_last", "_worker")

    def __init__(self, worker: int, last: int = 0) -> None:
        """Makes a sequence with keys above `last`, the highest key in the store (of any worker)."""
        if not 0 <= worker < WORKERS:
            raise ValueError(f"a worker number is 0 to {WORKERS - 1}, not {worker}")
        self._worker = worker
        self._last = last >> _WORKER_BITS

    def next(self, now: int) -> int:
        tick = now << _COUNTER_BITS
        if tick <= self._last:
            tick = self._last + 1
        self._last = tick
        return tick << _WORKER_BITS | self._worker


def to_hex(key: int, tail: int) -> str:
    """Returns an id as API results show it, for example `019e2b1c5f3a70008c1de1f5a0b7c3d2`."""
    return _PACK(key >> _LOW_BITS << 16 | _VERSION | key & _LOW_MASK, _VARIANT | tail).hex()


def to_uuid(key: int, tail: int) -> str:
    """Returns an id as delivery receipts show it, for example `019e2b1c-5f3a-7000-8c1d-e1f5a0b7c3d2`."""
    text = to_hex(key, tail)
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def parse(text: str) -> tuple[int, int] | None:
    """Returns key and tail of an id in either form and any case, for example `019e2b1c5f3a70008c1de1f5a0b7c3d2`; None
    if it cannot be our id."""
    if _FORM(text) is None:
        return None
    number = int(text.replace("-", ""), 16)
    high = number >> 64
    return high >> 16 << _LOW_BITS | high & _LOW_MASK, number & _TAIL_MASK


def worker_of(key: int) -> int:
    """The number of the worker that made the key."""
    return key & WORKERS - 1


def time_of(key: int) -> int:
    """Returns when the id was made, in ms since the epoch (a little ahead when the sequence ran ahead)."""
    return key >> _LOW_BITS


def first_key_at(ms: int) -> int:
    """The lowest key that an id made at `ms` can have."""
    return ms << _LOW_BITS
