"""Figures of reports that are made of counts: shares and delays."""

from typing import Final

from heliograph.domain.series import Cell
from heliograph.domain.sketch import Sketch, quantile

BY: Final = ("time", "account", "connector", "country", "code", "reason")
"""Kinds of rows that a table of a report may have."""


def delivery_share(cell: Cell) -> float | None:
    """Returns the share of the messages that ended as delivered; None where none has ended."""
    return cell.delivered / cell.ended if cell.ended else None


def delay(sketch: Sketch, share: float) -> int | None:
    """Returns the delay (ms) that this share does not exceed; None where there is none."""
    found = quantile(sketch, share)
    return None if found is None else round(found)
