"""Counts facts that the store rejected, and logs them at a limited rate."""

from collections import Counter

from heliograph.app.commit.isolate import PieceFate, RejectedPiece
from heliograph.app.ports import Clock, Journal

LINES = 60
"""Log lines a minute; further rejected facts are only counted, and the next line has their number."""

MINUTE_S = 60.0


class RefusedFacts:
    """Counts and logs the rejected facts of a run."""

    def __init__(self, clock: Clock, journal: Journal) -> None:
        self.counts: Counter[PieceFate] = Counter()
        self._clock = clock
        self._journal = journal
        self._until = 0.0
        self._said = 0
        self._unsaid = 0

    def note(self, misfit: RejectedPiece) -> None:
        self.counts[misfit.fate] += 1
        now = self._clock.monotonic()
        if now >= self._until:
            self._until, self._said = now + MINUTE_S, 0
        if self._said == LINES:
            self._unsaid += 1
            return
        self._said += 1
        before, self._unsaid = self._unsaid, 0
        self._journal.say("error", "store.refused", **misfit.shown(), **({"unsaid": before} if before else {}))
