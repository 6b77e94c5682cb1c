"""Background throttling: throttle answers that come at any pace, so that a lower pace does not help.

If an operator throttles the same share of parts at 50 a second and at 45, the pace is not the cause. For example, the
queues of single recipients are full, or it throttles at random. The pace finds out in two ways:

- **Suspicion.** A pace has stood although it was throttled. The next raise is not taken back for a single throttle
  answer: it may cost as many as a try can afford at this pace (`SPARE_S`).
- **Trials.** Each reduction is a trial. Until enough parts are answered the pace stays, because fewer answers are
  chance. With a real limit, throttling nearly ends after a reduction or two, since the pace is then the goodput. If
  `TRIALS` reductions in a row leave the share of throttle answers as it was, they had no effect. The share is accepted
  as background from then on, and the pace returns to where it was before them.

The background is forgotten once enough parts are taken without a throttle answer.
"""

from math import sqrt
from typing import Final

from heliograph.domain.pace.goodput import Goodput

FLOOR: Final = 0.005
"""Share of throttle answers up to which a pace that has stood is not reduced."""

MOST: Final = 0.5
"""Largest share of throttle answers that can be background. An operator that takes less means the pace."""

SPARE_S: Final = 0.04
"""Seconds of the pace. As many parts may be throttled before a suspected raise is taken back: two at 50 a second, none
at 5. A try then costs less than 1 % of the parts between two tries."""

CLEAN: Final = 100
"""Parts taken without a throttle answer after which nothing is suspected."""

DEVIATIONS: Final = 2.0
"""Standard deviations above the expected number that count as significant. The deviation of a count is its square root.
"""

FEWEST: Final = 10
"""Answers that a trial needs, at least."""

ANSWERS: Final = 20
"""Answers of a trial, at least, unless `REFUSALS` of them are throttle answers."""

MOST_ANSWERS: Final = 150
"""Answers of a trial, at most: for a small share more would take too long."""

REFUSALS: Final = 6
"""Throttle answers that decide a trial. A trial is long enough to expect as many if the reduction had no effect."""

NONE: Final = 5
"""Expected number of throttle answers in a trial if the reduction had no effect. A trial that expects 5 or more and
sees none proves that the lower pace helped."""

ALIKE: Final = 2.5
"""Factor by which the throttle answers after a reduction without effect differ from the expected number, at most."""

ALIKE_PARTS: Final = 3
"""Parts by which they may exceed that besides: small numbers vary more."""

DEEP: Final = 0.99
"""Share of the pace that a reduction leaves, at most, to count as a trial."""

TRIALS: Final = 3
"""Reductions in a row that must have had no effect. A burst may spoil one trial, and other senders on a shared limit
two."""

MUCH: Final = 0.15
"""Share of throttle answers from which on one trial less is enough: each reduction costs that much of the pace."""

GONE: Final = 4
"""Expected number of throttle answers of the background. If none came instead, the background is gone."""

WEIGHT: Final = 200
"""Answers that move the share of the background half of the way to what they show."""

CREEP: Final = 1.3
"""Factor by which the background may grow beyond the share that was found. More than that is due to the pace."""


def is_beyond(refused: int, expected: float, spare: float = 0.0) -> bool:
    """Returns whether more parts were throttled than expected, by more than luck and `spare`."""
    return refused > expected + DEVIATIONS * sqrt(expected) + spare


class BackgroundThrottling:
    """Remembers the reductions of a pace since it last stood, and the background that they showed."""

    __slots__ = (
        "_answers",
        "_before",
        "_found",
        "_last",
        "_rate",
        "_refused",
        "_without_effect",
        "reductions",
        "share",
        "suspected",
    )

    def __init__(self) -> None:
        self.share = 0.0
        """Share of the parts that are throttled at any pace."""
        self._found = 0.0
        """The share as it was found by trials."""
        self.suspected = False
        """Whether a pace has stood although it was throttled."""
        self.reductions = 0
        """Reductions since the pace last stood."""
        self._without_effect = 0
        """Number of the last reductions in a row that had no effect."""
        self._refused = self._answers = 0
        """Throttle answers, and answers, since before the first of these reductions."""
        self._before = 0.0
        """Share of the throttle answers among them."""
        self._rate = self._last = 0.0
        """The pace before the first of these reductions, and before the last reduction."""

    def forget(self) -> None:
        """Forgets background, suspicion and reductions."""
        self.share = 0.0
        self.suspected = False
        self.reductions = 0

    def spare(self, rate: float, step: float) -> float:
        """Returns the throttle answers that do not take back a pace of `rate` that was raised by the share `step`. A
        limit within a wide step would throttle more, even if nothing is suspected."""
        return SPARE_S * rate * (1.0 if self.suspected else step)

    def is_exceeded(self, goodput: Goodput, spare: float) -> bool:
        """Returns whether more was throttled than background and `spare` explain. Without both, a single throttle
        answer is more."""
        least = 1.5 if self.share else 0.0
        return is_beyond(goodput.refused, self.share * goodput.answers, max(spare, least))

    def answers_needed(self, step: float) -> float:
        """Returns the number of answers after which a limit within the last step (a share, such as 0.1) would have
        shown, by more throttle answers than the background makes by chance."""
        return (1 + DEVIATIONS**2 * self.share / step) / step if self.share else 0.0

    def stood(self, goodput: Goodput, *, raised: bool) -> None:
        """Learns from the answers to a pace that has stood and is about to be raised. `raised`: it was raised before,
        and that may be the cause of throttle answers."""
        self.reductions = 0
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
        """Returns whether the trial of the last reduction needs more answers. The pace stays as it is until then."""
        if not self.reductions or goodput.answers < FEWEST:
            return self.reductions > 0
        share = max(FLOOR, self._before)
        needed = max(ANSWERS, REFUSALS / share) if goodput.refused else NONE / share
        return goodput.answers < min(MOST_ANSWERS, needed) and goodput.refused < REFUSALS

    def reduction_had_no_effect(self, goodput: Goodput) -> bool:
        """Returns whether about the same share is throttled as before the last reduction."""
        expected = self._before * goodput.answers
        return self.reductions > 0 and max(2.0, expected / ALIKE) <= goodput.refused <= expected * ALIKE + ALIKE_PARTS

    def reduce(self, rate: float, goodput: Goodput) -> float | None:
        """Notes a reduction of a pace of `rate`. If the last reductions had no effect, returns the pace before them
        instead, and accepts their share as background."""
        if self.reduction_had_no_effect(goodput) and rate < DEEP * self._last:
            self._without_effect += 1
        else:
            self._without_effect = self._refused = self._answers = 0
            self._rate = rate
        self.reductions += 1
        self._last = rate
        self._refused += goodput.refused
        self._answers += goodput.answers
        self._before = self._refused / self._answers
        if self._without_effect < TRIALS - (self._before >= MUCH) or self._before > MOST:
            return None
        self.share = self._found = self._before
        self.reductions = self._without_effect = 0
        return self._rate
