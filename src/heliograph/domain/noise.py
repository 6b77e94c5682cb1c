"""Tells throttle answers that are about the pace from those that are not.

A cut of the pace is a trial. An operator's limit throttles next to nothing after one or two of them, as the pace is
then what it took; a recipient's full queue refuses the same share at any pace.
"""

from math import sqrt
from typing import Final

from heliograph.domain.goodput import Goodput

LEAST: Final = 0.015
"""The smallest share of throttle answers that is noise, and the greatest."""

MOST: Final = 0.5

ANSWERS: Final = 20
"""Answers of a trial, at least."""

REFUSALS: Final = 4
"""Throttle answers that a trial is expected to have, at least, if the cut before it was in vain."""

TRIALS: Final = (4, 2)
"""Trials in a row that have the same share: of answers that mean the pace, as far as their status says, and of
ESME_RMSGQFUL, which may mean a queue of the operator's or of one recipient's."""

SAME: Final = 1.7
"""Factor by which a trial's share is off the mean of them, at most."""

DEPTH: Final = (0.3, 0.05)
"""Share of the pace by which they took it down, at least, likewise."""

WORSE: Final = 0.03
"""Share by which noise may be more than half as much again as was found; beyond that the pace is refused."""

STOOD: Final = 50
"""Parts taken without a throttle answer after which there is no noise."""


class Trial:
    """Answers at one pace."""

    __slots__ = ("answers", "full", "rate", "refused")

    def __init__(self, rate: float, goodput: Goodput) -> None:
        self.rate = rate
        self.refused = goodput.refused
        self.full = goodput.full
        self.answers = goodput.answers

    @property
    def share(self) -> float:
        return self.refused / max(1, self.answers)


class Noise:
    """Remembers the trials of a pace since it last stood, and the noise that they showed."""

    __slots__ = ("_found", "_trials", "share")

    def __init__(self) -> None:
        self.share = 0.0
        """Share of the parts that are put off whatever the pace."""
        self._found = 0.0
        self._trials: list[Trial] = []

    def forget(self) -> None:
        self.share = 0.0
        self._trials = []

    def explains(self, goodput: Goodput) -> bool:
        """Whether a throttle answer may be noise."""
        if not self.share:
            return False
        chance = 2 * sqrt(self.share / max(1, goodput.answers))
        return goodput.answers < ANSWERS or goodput.share_refused <= 1.5 * self.share + WORSE + chance

    def stood(self, goodput: Goodput) -> None:
        """Notes what a pace was answered that is about to be raised."""
        if goodput.refused == 0 and goodput.took >= STOOD:
            self.forget()
        elif self.share and goodput.answers >= ANSWERS:
            self.share = min(self._found * SAME, (3 * self.share + goodput.share_refused) / 4)

    def is_trying(self, goodput: Goodput) -> bool:
        """Whether the trial under way needs more answers, and the pace is to be left as it is until then."""
        if not self._trials:
            return False
        share = self._trials[-1].share
        return goodput.answers < _enough(share) and goodput.share_refused <= 2 * share + WORSE

    def cut(self, rate: float, goodput: Goodput) -> int:
        """Notes that a pace is to be cut; returns how many cuts there were in a row."""
        self._trials.append(Trial(rate, goodput))
        return len(self._trials)

    def found(self) -> float | None:
        """Returns the pace before the last cuts, if they were in vain; from then on their share is noise."""
        full = 2 * sum(each.full for each in self._trials) > sum(each.refused for each in self._trials)
        trials, depth = TRIALS[full], DEPTH[full]
        last = self._trials[-trials:]
        refused, answers = sum(each.refused for each in last), sum(each.answers for each in last)
        share = refused / max(1, answers)
        if (
            len(last) < trials
            or share > SAME * (self._found or 1)
            or not LEAST <= share <= MOST
            or answers < trials * _enough(share)
            or last[-1].rate > (1 - depth) * last[0].rate
            or not all(share / SAME <= each.share <= share * SAME for each in last)
        ):
            return None
        rate = max(each.rate for each in self._trials)
        self.share = self._found = share
        self._trials = []
        return rate


def _enough(share: float) -> float:
    return max(ANSWERS, REFUSALS / max(share, LEAST))
