"""The limits of lanes, which change with their connectors' timetables. For example, a connector sends 100 a second by
day and 300 by night."""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass

from heliograph.app.dispatch.lane import Lane
from heliograph.app.ports import Clock
from heliograph.domain.pace.timetable import HeldRate, Timetable

LEAST_S = 0.001
MOST_S = 60.0
"""Seconds. Longest time until the wall clock is read again, because it may have been set."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit of a lane."""

    timetable: Timetable | None
    rate: float
    """Parts a second outside of the timetable's spans; 0 is no limit."""
    share: float
    """Share of the rate that this node has."""
    drains: bool = False
    """Whether nothing new is sent, because of the connector's state."""

    def held(self, now: int) -> HeldRate:
        """Returns the rate in force on this node at `now`, in ms since the epoch."""
        if self.timetable is None:
            return HeldRate(self.rate * self.share)
        found = self.timetable.held(now, self.rate)
        return HeldRate(None if found.rate is None else found.rate * self.share, found.until)


class LaneLimits:
    """Sets the limit of each lane, again whenever another span of its timetable begins."""

    def __init__(self, clock: Clock, wake: Callable[[], None]) -> None:
        """`wake` is called when a rate has risen, and more may be sent."""
        self._clock = clock
        self._wake = wake
        self._lanes: dict[int, tuple[Lane, Limit]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def set(self, lane: Lane, limit: Limit) -> None:
        """Sets the limit of a lane. The caller must then call `watch`."""
        self._lanes[lane.connector] = (lane, limit)
        self._apply(lane, limit)

    def watch(self, connectors: Collection[int]) -> None:
        """Forgets all connectors but these, and waits for the next change of the others."""
        for gone in self._lanes.keys() - connectors:
            del self._lanes[gone]
        self._wait()

    def held(self, connector: int, rate: float) -> HeldRate:
        """Returns the rate in force now; `rate` if the connector has no limit of its own here."""
        found = self._lanes.get(connector)
        return HeldRate(rate) if found is None else found[1].held(self._clock.now())

    def close(self) -> None:
        """Stops waiting for changes."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _apply(self, lane: Lane, limit: Limit) -> None:
        rate, window = limit.held(self._clock.now()).rate, lane.window
        was_still, window.drains = window.off or window.drains, limit.drains
        if rate is None:
            window.off = True
            lane.unready()
            return
        window.pace.limit(self._clock.monotonic(), rate)
        window.off = False
        if limit.drains and not was_still:
            lane.unready()
        elif was_still and not limit.drains:
            self._wake()

    def _wait(self) -> None:
        self.close()
        now = self._clock.now()
        changes = [limit.held(now).until for _, limit in self._lanes.values() if limit.timetable is not None]
        first = min((change for change in changes if change is not None), default=None)
        if first is not None:
            delay = min(MOST_S, max(LEAST_S, (first - now) / 1000))
            self._timer = asyncio.get_running_loop().call_later(delay, self._change)

    def _change(self) -> None:
        """Applies the present rates, and wakes a commit, which then sends as much as they allow."""
        for lane, limit in self._lanes.values():
            self._apply(lane, limit)
        self._wake()
        self._wait()
