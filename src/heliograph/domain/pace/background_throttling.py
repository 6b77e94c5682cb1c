"""Tells throttle answers that are about the pace from those that are not.

An operator that took fifty a second, and still throttles the same share at forty-five, does not mean the pace: the
queues of single recipients are full, or it throttles at random. It shows in two ways.

- **Suspicion.** A pace stood, and was throttled all the same. A raise from there is not taken back for one throttle
  answer: it may cost as many as a try can afford at this pace.
- **Trials.** Each cut is one. Until enough parts were answered the pace neither falls nor rises, as either would be by
  luck. A limit throttles next to nothing after a cut or two, since the pace is then what it took. Where cuts in a row
  leave the share of throttle answers as it was, they were in vain: this share is noise from then on, the pace is taken
  back to where it was before them, and no more than the noise is news.

BackgroundThrottling is forgotten when parts enough are taken without any.
"""

from math import sqrt
from typing import Final

from heliograph.domain.pace.goodput import Goodput

FLOOR: Final = 0.005
"""Share of throttle answers that a pace is not cut for which has stood."""

MOST: Final = 0.5
"""The greatest share of them that is noise: an operator that takes less means the pace."""

SPARE_S: Final = 0.04
"""Seconds of the pace: so many parts may be throttled before a suspected raise is taken back. Of 50 a second it is two,
of 5 none, so that a try costs less than a hundredth of what is sent between two."""

CLEAN: Final = 100
"""Parts taken without a throttle answer after which nothing is suspected."""

DEVIATIONS: Final = 2.0
"""Standard deviations (of counts: square roots) beyond what is expected that are no luck."""

FEWEST: Final = 10
"""Answers of a trial, at least: fewer decide nothing."""

ANSWERS: Final = 20
"""Answers of a trial, at least, unless it has `REFUSALS`."""

MOST_ANSWERS: Final = 150
"""Answers of a trial, at most: for a small share more would take too long."""

REFUSALS: Final = 6
"""Throttle answers that decide a trial, and that one would have if the cut were in vain."""

NONE: Final = 5
"""Throttle answers that a trial without one would have, at least, if the cut were in vain: few have none."""

ALIKE: Final = 2.5
"""Factor by which the throttle answers after a cut in vain differ from those expected, at most."""

ALIKE_PARTS: Final = 3
"""Parts by which they may be more besides."""

DEEP: Final = 0.99
"""Share of the pace that a cut leaves which is a trial, at most."""

TRIALS: Final = 3
"""Cuts in a row that must have been in vain: a burst may deceive one, and others who share a limit two."""

MUCH: Final = 0.15
"""Share of throttle answers from which on one less is enough, as each cut costs so much of the pace."""

GONE: Final = 4
"""Throttle answers that noise would have had, after which without any there is none."""

WEIGHT: Final = 200
"""Answers that change the share of the noise by half of what they differ."""

CREEP: Final = 1.3
"""Factor by which noise may become more than it was found to be: what is beyond is for the pace."""


def is_beyond(refused: int, expected: float, spare: float = 0.0) -> bool:
    """Whether more parts were throttled than are expected, by more than luck and `spare`."""
    return refused > expected + DEVIATIONS * sqrt(expected) + spare


class BackgroundThrottling:
    """Remembers the cuts of a pace since it last stood, and the noise that they showed."""

    __slots__ = (
        "_answers",
        "_before",
        "_found",
        "_in_vain",
        "_last",
        "_rate",
        "_refused",
        "cuts",
        "share",
        "suspected",
    )

    def __init__(self) -> None:
        self.share = 0.0
        """Share of the parts that are put off whatever the pace."""
        self._found = 0.0
        """The share when it was found."""
        self.suspected = False
        """Whether a pace that stood was throttled all the same."""
        self.cuts = 0
        """Cuts since the pace last stood."""
        self._in_vain = 0
        """Number of the last ones that were in vain, one after the other."""
        self._refused = self._answers = 0
        """Throttle answers, and answers, before those in vain and since."""
        self._before = 0.0
        """Share of the throttle answers among these."""
        self._rate = self._last = 0.0
        """The pace before the first cut in vain, and before the last cut."""

    def forget(self) -> None:
        """Forgets noise, suspicion and cuts."""
        self.share = 0.0
        self.suspected = False
        self.cuts = 0

    def spare(self, rate: float, step: float) -> float:
        """Throttle answers for which a pace of `rate` that was raised by `step`, a share, is not taken back. A limit in
        so wide a step would throttle more, even where nothing is suspected."""
        return SPARE_S * rate * (1.0 if self.suspected else step)

    def is_exceeded(self, goodput: Goodput, spare: float) -> bool:
        """Whether more was throttled than noise and `spare` explain; without either each throttle answer is more."""
        least = 1.5 if self.share else 0.0
        return is_beyond(goodput.refused, self.share * goodput.answers, max(spare, least))

    def shows(self, step: float) -> float:
        """Answers at a pace after which a limit would have shown that its last step, a share, passed: what it throttles
        is more than chance makes of the noise."""
        return (1 + DEVIATIONS**2 * self.share / step) / step if self.share else 0.0

    def stood(self, goodput: Goodput, *, raised: bool) -> None:
        """Notes what a pace was answered that is about to be raised. `raised`: it was so before, and what is throttled
        may be for that."""
        self.cuts = 0
        if goodput.refused:
            self.suspected = True
        elif goodput.took >= CLEAN:
            self.suspected = False
        if goodput.refused == 0 and goodput.took * max(FLOOR, self.share) >= GONE:
            self.share = 0.0
        elif self.share and not raised:
            change = (goodput.share_refused - self.share) * goodput.answers / (goodput.answers + WEIGHT)
            self.share = min(CREEP * self._found, self.share + change)

    def is_trying(self, goodput: Goodput) -> bool:
        """Whether the last cut needs more answers, and the pace is to be left as it is until then."""
        if not self.cuts or goodput.answers < FEWEST:
            return self.cuts > 0
        share = max(FLOOR, self._before)
        needed = max(ANSWERS, REFUSALS / share) if goodput.refused else NONE / share
        return goodput.answers < min(MOST_ANSWERS, needed) and goodput.refused < REFUSALS

    def cut_had_no_effect(self, goodput: Goodput) -> bool:
        """Whether about as much is throttled as before the last cut."""
        expected = self._before * goodput.answers
        return self.cuts > 0 and max(2.0, expected / ALIKE) <= goodput.refused <= expected * ALIKE + ALIKE_PARTS

    def cut(self, rate: float, goodput: Goodput) -> float | None:
        """Notes that a pace of `rate` is to be cut. Returns the pace before the last cuts instead, if they were in
        vain; from then on what they had throttled is noise."""
        if self.cut_had_no_effect(goodput) and rate < DEEP * self._last:
            self._in_vain += 1
        else:
            self._in_vain = self._refused = self._answers = 0
            self._rate = rate
        self.cuts += 1
        self._last = rate
        self._refused += goodput.refused
        self._answers += goodput.answers
        self._before = self._refused / self._answers
        if self._in_vain < TRIALS - (self._before >= MUCH) or self._before > MOST:
            return None
        self.share = self._found = self._before
        self.cuts = self._in_vain = 0
        return self._rate
