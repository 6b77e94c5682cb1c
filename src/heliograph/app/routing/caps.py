"""Caps of connectors: the most parts that an operator takes in a day and in a month of UTC."""

from collections.abc import Mapping
from typing import NamedTuple

from heliograph.app.configuration import Connector
from heliograph.domain.calendar import month_start
from heliograph.domain.series import Grain


class PartsTaken(NamedTuple):
    """Parts that an operator took."""

    today: int
    month: int
    """Since the beginning of the month."""


class UsedCap(NamedTuple):
    """A cap of a connector, and its use."""

    words: str
    """The obstacle of a connector at this cap."""
    period: str
    """`day` or `month`."""
    most: int
    used: int


def parts_taken(connector: int, parts: Mapping[tuple[int, int], int], now: int) -> PartsTaken:
    """Returns the parts of a connector from `parts` by connector and day (see `app.ports.Measurements`)."""
    today, month = Grain.DAY.start(now), month_start(now)
    days = {day: count for (of, day), count in parts.items() if of == connector and day >= month}
    return PartsTaken(days.get(today, 0), sum(days.values()))


def caps_of(connector: Connector, parts: Mapping[tuple[int, int], int], now: int) -> list[UsedCap]:
    """Returns the caps of a connector."""
    taken = parts_taken(connector.id, parts, now)
    caps = (
        UsedCap("at its cap for today", "day", connector.max_day, taken.today),
        UsedCap("at its cap for this month", "month", connector.max_month, taken.month),
    )
    return [each for each in caps if each.most]
