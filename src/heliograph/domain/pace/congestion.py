"""Congestion: the load that an operator reports with its answers (SMPP v5.0, 4.8.4.18), and its effect on the pace."""

from math import inf
from typing import Final

NEARING: Final = 80
"""congestion_state from which on the pace is not raised: the operator nears congestion (SMPP v5.0, 4.8.4.18)."""

CONGESTED: Final = 90
"""congestion_state from which on the pace is reduced."""

EASE: Final = 0.98
"""Factor of a reduction, applied to the pace or to the goodput."""

EASE_S: Final = 1.0
"""Seconds between two reductions, and before the first."""

CALM_S: Final = 2.0
"""Seconds without a report of congestion after which the next report begins a new congestion."""

EASE_TO: Final = 0.5
"""Share of the pace at the start of the congestion that reductions leave: other senders may be its cause."""

EASE_LEAST: Final = 10.0
"""Parts a second below which congestion does not reduce the pace: fewer do not congest an operator."""


class Congestion:
    """Remembers an operator's reports of congestion. Times are monotonic seconds."""

    __slots__ = ("_at", "_eased_at", "_eased_from")

    def __init__(self) -> None:
        self._at = self._eased_at = -inf
        self._eased_from = inf

    def eased(self, now: float, percent: int, rate: float, took: float | None) -> float | None:
        """Returns the reduced pace at a load of `percent`; None if the pace stays as it is. `took` is the goodput in
        parts a second, None if unknown."""
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
