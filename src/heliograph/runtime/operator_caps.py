"""Caps: the most parts that an operator takes in a day and in a month of UTC, over all nodes.

    answers --commit--> counters of this process --once a second--> parts by connector and day, in the store
                                                                                    |
    `LaneWindow.quota`: parts that this lane may still send  <----------------------+

A lane's quota is this node's share of the parts that are left, less its parts in flight. The parts of other nodes are
known a second later. Until then they may have used up their shares of what was left a second ago, and these are not
available here. So several nodes stay within a cap together. At a cap `LaneWindow.cap` has the words, messages take
another candidate, and the rest waits for the next day or month.

What can go wrong: a crash loses the count of the last second, or of WRITE_ROUNDS without a cap. If the answer to a
write is lost, its parts count twice.
"""

from collections.abc import Callable, Iterator, Mapping
from math import ceil
from typing import Final

from heliograph.app.configuration import Connector
from heliograph.app.dispatch.lane_window import NO_QUOTA
from heliograph.app.ports import Clock, Measurements
from heliograph.app.routing.caps import UsedCap, caps_of
from heliograph.domain.calendar import month_start
from heliograph.domain.series import Grain
from heliograph.runtime.carriers import Carriers

WRITE_ROUNDS: Final = 5
"""Rounds between two writes of the counts while no connector has a cap: the series write as often."""


class OperatorCaps:
    """Counts the parts that operators take, and keeps each lane within the caps of its connector."""

    def __init__(
        self, measurements: Measurements, taken: Callable[[], Mapping[int, int]], carriers: Carriers, clock: Clock
    ) -> None:
        """`taken` returns the parts that operators took since the start of the process, by connector."""
        self._measurements = measurements
        self._taken = taken
        self._carriers = carriers
        self._clock = clock
        self._round = 0
        self._written: dict[int, int] = {}
        """Parts of `taken` that the store has."""
        self._stored: Mapping[tuple[int, int], int] = {}
        self._left: dict[int, int] = {}
        """Parts that were left a round ago, by connector."""

    async def look(self) -> None:
        """Writes the new counts, and sets the quotas. Called once a second. Raises Unavailable: the quotas of before
        then hold on."""
        self._round += 1
        now, capped = self._clock.now(), self._capped()
        if capped or self._round % WRITE_ROUNDS == 0:
            await self.write()
        if capped:
            self._stored = await self._measurements.parts(month_start(now))
        self._set_quotas(capped, now)

    async def write(self) -> None:
        """Writes the counts since the last call. Raises Unavailable."""
        taken, written = self._taken(), self._written
        new = {of: count - written.get(of, 0) for of, count in taken.items() if of > 0 and count > written.get(of, 0)}
        if new:
            await self._measurements.add_parts(Grain.DAY.start(self._clock.now()), new)
            written.update({of: taken[of] for of in new})

    def used(self) -> Iterator[tuple[Connector, UsedCap]]:
        """Yields each cap with its use, over all nodes."""
        now = self._clock.now()
        parts = self._parts(now)
        for connector in self._capped().values():
            for each in caps_of(connector, parts, now):
                yield connector, each

    def _capped(self) -> dict[int, Connector]:
        return {of: each for of, each in self._carriers.live().items() if each.max_day or each.max_month}

    def _parts(self, now: int) -> Mapping[tuple[int, int], int]:
        """Returns the stored parts, and the parts of this process that are not stored yet."""
        parts, today = dict(self._stored), Grain.DAY.start(now)
        for connector, count in self._taken().items():
            parts[connector, today] = parts.get((connector, today), 0) + count - self._written.get(connector, 0)
        return parts

    def _set_quotas(self, capped: Mapping[int, Connector], now: int) -> None:
        parts, dispatcher = self._parts(now), self._carriers.dispatcher
        for number, lane in dispatcher.lanes.items():
            window = lane.window
            if number not in capped:
                window.quota, window.cap = NO_QUOTA, ""
                continue
            nearest = min(caps_of(capped[number], parts, now), key=lambda each: each.most - each.used)
            left, share = nearest.most - nearest.used, self._carriers.share(number)
            ours = min(share * left, left - (1 - share) * self._left.get(number, left))
            self._left[number] = left
            had, under_way = window.quota, window.in_flight + len(window.ready) + len(window.marked)
            window.quota = ceil(ours) - under_way
            window.cap = "" if left > 0 else nearest.words
            if window.quota < 0 <= had:
                lane.unready()  # the parts that are not written yet
            if had <= 0 < window.quota:
                dispatcher.gathering.wake()
