"""Recent activity: how much happened in each of the last seconds, kept in memory for people to look at."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping

from heliograph.runtime.tasks import end

SECONDS = 300
"""Seconds that are kept."""

Counts = Mapping[str, int]


class RecentActivity:
    """Samples ascending counters once a second. `names`: the counters that are kept."""

    def __init__(self, read: Callable[[], Counts], names: tuple[str, ...]) -> None:
        """`read` returns all counters; a missing name counts as 0."""
        self._read = read
        self._series = {name: deque([0] * SECONDS, maxlen=SECONDS) for name in names}
        self._before = dict.fromkeys(names, 0)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._remember(self._read())
        self._task = asyncio.get_running_loop().create_task(self._run(), name="recent activity")

    async def stop(self) -> None:
        if self._task is not None:
            await end(self._task)

    def sample(self) -> None:
        """Closes the current second and begins the next."""
        counts = self._read()
        for name, series in self._series.items():
            series.append(max(0, counts.get(name, 0) - self._before[name]))
        self._remember(counts)

    def series(self, name: str) -> list[int]:
        """Counts of each second, the latest last."""
        return list(self._series[name])

    def rate(self, name: str, seconds: int = 5) -> float:
        """Returns the average a second over the last few seconds, for example 12.4."""
        return sum(self.series(name)[-seconds:]) / seconds

    def _remember(self, counts: Counts) -> None:
        for name in self._before:
            self._before[name] = counts.get(name, 0)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            due += 1.0
            await asyncio.sleep(max(0.0, due - loop.time()))
            self.sample()
