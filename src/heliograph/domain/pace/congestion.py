"""Congestion: the load that an operator tells with its answers (SMPP v5.0, 4.8.4.18), and what it does to the pace."""

from math import inf
from typing import Final

NEARING: Final = 80
"""congestion_state from which on the pace is not raised: the operator nears congestion (SMPP v5.0, 4.8.4.18)."""

CONGESTED: Final = 90
"""congestion_state from which on the pace is cut."""

EASE: Final = 0.98
"""Factor that a cut for congestion applies to the pace, or to the rate that the operator took."""

EASE_S: Final = 1.0
"""Seconds between two such cuts, and before the first."""

CALM_S: Final = 2.0
"""Seconds without word of congestion after which the next one is another."""

EASE_TO: Final = 0.5
"""Share of the pace at which congestion began that such cuts leave, since others may be its cause."""

EASE_LEAST: Final = 10.0
"""Parts a second down to which congestion cuts the pace: fewer do not congest an operator."""


class Congestion:
    """Remembers an operator's word of congestion. Times are seconds of one clock."""

    __slots__ = ("_at", "_eased_at", "_eased_from")

    def __init__(self) -> None:
        self._at = self._eased_at = -inf
        self._eased_from = inf

    def eased(self, now: float, percent: int, rate: float, took: float | None) -> float | None:
        """Returns the pace that is left of `rate` where the operator, of whom `took` parts a second are known to be
        taken, is `percent` loaded; None where it stays as it is."""
        if percent < CONGESTED:
            return None
        calm, self._at = now - self._at, now
        if calm >= CALM_S:
            self._eased_at = now
            self._eased_from = inf
        if now - self._eased_at < EASE_S or took is None:
            return None
        self._eased_at = now
        if self._eased_from == inf:
            self._eased_from = min(rate, took)
        eased = max(min(rate, took) * EASE, self._eased_from * EASE_TO, EASE_LEAST)
        return eased if eased < rate else None
