"""The machine's clock."""

from time import monotonic, time_ns
from typing import Final

_monotonic: Final = monotonic
_time_ns: Final = time_ns


class SystemClock:
    """The wall clock, and a monotonic clock."""

    __slots__ = ()

    def now(self) -> int:
        """Milliseconds since the Unix epoch, UTC. May jump."""
        return _time_ns() // 1_000_000

    def monotonic(self) -> float:
        return _monotonic()
