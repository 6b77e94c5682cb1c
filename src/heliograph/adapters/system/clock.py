"""The machine's clock."""

import time


class SystemClock:
    """The wall clock, and one that never goes back."""

    __slots__ = ()

    def now(self) -> int:
        """Milliseconds since the Unix epoch, UTC. May jump."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        return time.monotonic()
