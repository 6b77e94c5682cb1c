"""The memory of paces: operators' limits are learnt once, and known after a restart and on other nodes.

The store has the pace of all binds of a connector together. A node uses its share of it, and begins with nine tenths of
that (`pace.RESUMED`) whenever its share of the binds changes: at its start, or when it takes over from another node.

What can go wrong: nodes share a connector and learn different paces. The last one that is kept holds for all, but only
until their next throttle answer or raise.
"""

from typing import Final

from heliograph.app.ports import Clock, Measurements
from heliograph.domain.pace.pace import LearntPace
from heliograph.runtime.carriers import Carriers

KEEP_ROUNDS: Final = 30
"""Rounds between two looks for paces that changed: a crash loses half a minute of learning."""

CHANGED: Final = 0.05
"""Share by which a pace must have changed to be kept again: it moves by as much while nothing is learnt."""


class PaceMemory:
    """Keeps the paces of this node's lanes, and gives them to lanes that begin."""

    def __init__(self, measurements: Measurements, carriers: Carriers, clock: Clock) -> None:
        self._measurements = measurements
        self._carriers = carriers
        self._clock = clock
        self._round = 0
        self._shares: dict[int, float] = {}
        self._kept: dict[int, LearntPace] = {}

    async def look(self) -> None:
        """Resumes the paces of connectors with another share than a round ago, and keeps paces now and then. Called
        once a second. Raises Unavailable."""
        self._round += 1
        carriers = self._carriers
        shares = {number: share for number in carriers.live() if (share := carriers.share(number))}
        begun = [number for number, share in shares.items() if share != self._shares.get(number)]
        if begun:
            kept = await self._measurements.paces()
            now = self._clock.monotonic()
            for number in begun:
                if number in kept:
                    rate, is_limit = kept[number]
                    lane = carriers.dispatcher.lane(number)
                    lane.window.pace.resume(now, LearntPace(rate * shares[number], is_limit))
        self._shares = shares
        if self._round % KEEP_ROUNDS == 0:
            await self.keep()

    async def keep(self) -> None:
        """Keeps the paces that changed since the last call. Raises Unavailable."""
        changed = {}
        for number, share in self._shares.items():
            learnt = self._carriers.dispatcher.lane(number).window.pace.learnt()
            if number <= 0 or learnt is None:  # a connector of a development run, or nothing is known
                continue
            whole = LearntPace(learnt.rate / share, learnt.is_limit)
            before = self._kept.get(number)
            if before is None or before.is_limit != whole.is_limit or _differ(before.rate, whole.rate):
                changed[number] = whole
        if changed:
            await self._measurements.keep_paces(changed)
            self._kept.update(changed)


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > CHANGED * one
