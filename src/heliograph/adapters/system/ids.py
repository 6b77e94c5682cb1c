"""Random bits for ids."""

import os
from struct import Struct

from heliograph.domain.message.ids import TAIL_BITS

_DRAWN = 512
"""Tails drawn at a time. A system call costs more than the randomness itself."""

_UNPACK = Struct(f"<{_DRAWN}Q").unpack
_EXCESS_BITS = 64 - TAIL_BITS


class RandomIds:
    """Draws tails from the system's secure randomness: who knows many of them can guess no other."""

    __slots__ = ("_tails",)

    def __init__(self) -> None:
        self._tails: list[int] = []

    def tail(self) -> int:
        """Returns 62 random bits."""
        if not self._tails:
            self._tails = [bits >> _EXCESS_BITS for bits in _UNPACK(os.urandom(8 * _DRAWN))]
        return self._tails.pop()
