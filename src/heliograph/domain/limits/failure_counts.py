"""Counts of failed sign-ins in bounded memory. An attacker cannot displace counts by failing on purpose.

Names are 16 octets of a keyed hash, so they look random to an attacker. Names are counted exactly while there is room.
Further names within the window are counted together in a sketch of fixed size (count-min). A sketch may count a name
too high, never too low.
"""

from array import array
from typing import Final

EXACT: Final = 20_000
"""Names counted exactly at once."""

TIMES: Final = 100
"""Most failures counted for a name; no limit is higher."""

ROWS: Final = 4
COLUMNS: Final = 16_384
"""Size of the sketch: two generations of ROWS x COLUMNS counters of two octets, 256 KiB."""

MOST: Final = 0xFFFF


class FailureCounts:
    """Counts failures within the last `window` seconds. Times are seconds of a monotonic clock."""

    def __init__(self, window: float, exact: int = EXACT) -> None:
        self.window = window
        self._room = exact
        self._times: dict[bytes, list[float]] = {}
        """Times of failures, ascending; the name with the latest failure is last."""
        self._sketch: Sketch | None = None

    def __len__(self) -> int:
        """The names that are counted exactly."""
        return len(self._times)

    def count(self, name: bytes, now: float) -> int:
        """Returns the number of the name's failures within the window. A name in the sketch may be counted too high."""
        times = self._times.get(name)
        if times is not None:
            since = now - self.window
            found = sum(1 for at in times if at > since)
            if found or self._sketch is None:
                return found
        return 0 if self._sketch is None else self._sketch.count(name, now)

    def wait(self, name: bytes, most: int, now: float) -> float:
        """Returns the seconds until the name has fewer than `most` failures in the window; 0 if it has now."""
        if self.count(name, now) < most:
            return 0.0
        times = self._times.get(name, [])
        return self.window if len(times) < most else max(times[-most] + self.window - now, 0.001)

    def add(self, name: bytes, at: float, now: float) -> None:
        """Counts a failure at `at`, which is not after `now`."""
        since = now - self.window
        if at <= since:
            return
        times = self._times.pop(name, None)
        if times is None:
            if len(self._times) >= self._room:
                self._drop_old(since)
            if len(self._times) >= self._room:
                if self._sketch is None:
                    self._sketch = Sketch(self.window, now)
                self._sketch.add(name, now)
                return
            times = []
            if self._sketch is not None:
                # the name's count in the sketch stays
                times = [now] * min(self._sketch.count(name, now), TIMES)
        times = [each for each in times if each > since]
        times.append(at)
        times.sort()
        self._times[name] = times[-TIMES:]

    def _drop_old(self, since: float) -> None:
        """Drops the names with the oldest failures, if these are outside the window."""
        while self._times:
            name = next(iter(self._times))
            if self._times[name][-1] > since:
                return
            del self._times[name]


class Sketch:
    """Counts many names in little memory, over the present and the previous window. Never counts too low."""

    def __init__(self, window: float, now: float) -> None:
        self._window = window
        self._begun = now
        self._cells = _cells()
        self._before = _cells()

    def add(self, name: bytes, now: float) -> None:
        self._turn(now)
        cells = _cells_of(name)
        # only the smallest counters of a name grow: the others already count other names
        least = min(self._cells[cell] for cell in cells)
        for cell in cells:
            if self._cells[cell] == least < MOST:
                self._cells[cell] = least + 1

    def count(self, name: bytes, now: float) -> int:
        self._turn(now)
        cells = _cells_of(name)
        return min(self._cells[cell] for cell in cells) + min(self._before[cell] for cell in cells)

    def _turn(self, now: float) -> None:
        past = now - self._begun
        if past < self._window:
            return
        self._before = self._cells if past < 2 * self._window else _cells()
        self._cells = _cells()
        self._begun = now


def _cells() -> "array[int]":
    return array("H", bytes(2 * ROWS * COLUMNS))


def _cells_of(name: bytes) -> list[int]:
    return [row * COLUMNS + int.from_bytes(name[4 * row : 4 * row + 4], "big") % COLUMNS for row in range(ROWS)]
