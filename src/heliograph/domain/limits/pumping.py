"""The pumping guard's judgement: whether an account's traffic to a range of numbers looks like SMS pumping. Pure.

A fraudster who shares an operator's revenue, or has stolen a key, sends to numbers without readers. Three signs show
it: many messages to a range that had few before, consecutive numbers, and mostly undelivered messages. Each also occurs
with honest customers (a campaign, a company's block of numbers, an old list). Two of them together hardly ever do.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from heliograph.domain.calendar import DAY_MS

PREFIX_DIGITS: Final = 5
"""First digits of a number that make its range: the country's, and some of the operator's."""

LEAST: Final = 60
"""Messages of an hour below which an hour is not judged."""

SURGE: Final = 5
"""Factor above the usual hour from which an hour is a surge."""

NEAR_SHARE: Final = 0.5
"""Share of messages to neighbours of other numbers from which numbers count as sequential."""

LEAST_ENDED: Final = 20
"""Ended messages below which failures are not judged."""

FAILED_SHARE: Final = 0.6
"""Share of undelivered messages among the ended from which an hour counts as failed."""

NEIGHBOURS: Final = 10
"""Size of a block of consecutive numbers. Numbers in the same or an adjacent block are neighbours, for example
491701234567 and 491701234571."""

BLOCKS: Final = 256
"""Most blocks of a range in memory, the latest."""

QUIET_MS: Final = DAY_MS
"""Milliseconds for which a released range is not held again, and an observed range is not told again."""


class GuardMode(StrEnum):
    """Reaction of the guard to traffic that looks like pumping."""

    OBSERVE = "observe"
    """Administrators are told. Messages are sent."""
    HOLD = "hold"
    """Administrators are told. Messages to the range wait until a person decides."""
    OFF = "off"
    """The traffic is not watched."""


@dataclass(slots=True)
class TrafficCount:
    """The messages of an account to a range of numbers within an hour, which begins at `hour` (ms)."""

    account: int
    prefix: str
    hour: int
    messages: int = 0
    near: int = 0
    """Messages to neighbours of other numbers that were sent to shortly before."""
    ended: int = 0
    """Messages with a known end."""
    failed: int = 0
    """Undelivered messages among them."""


@dataclass(slots=True)
class TrafficFigures:
    """An hour of an account's range, with the number of earlier hours with messages, and the number of these
    messages."""

    now: TrafficCount
    hours: int = 0
    earlier: int = 0


@dataclass(slots=True)
class Neighbourhood:
    """Recent destinations in a range, by blocks."""

    latest: dict[int, str] = field(default_factory=dict)

    def meet(self, number: str) -> bool:
        """True if the number is a neighbour of another; remembers the number."""
        block = int(number) // NEIGHBOURS
        latest = self.latest
        before = latest.pop(block, None)
        near = block - 1 in latest or block + 1 in latest or (before is not None and before != number)
        latest[block] = number
        if before is None and len(latest) > BLOCKS:
            del latest[next(iter(latest))]
        return near


def range_of(number: str) -> str:
    """Returns the range of a number, by which traffic is counted and held, for example `49170` for `491701234567`."""
    return number[:PREFIX_DIGITS]


def suspicion(figures: TrafficFigures) -> str | None:
    """Returns a sentence about the signs of pumping in an hour, or None."""
    now = figures.now
    if now.messages < LEAST:
        return None
    signs = []
    usual = figures.earlier / figures.hours if figures.hours else 0.0
    if now.messages >= SURGE * max(usual, LEAST / SURGE):
        signs.append(f"{now.messages} messages this hour, usually {usual:.0f}")
    if now.near >= NEAR_SHARE * now.messages:
        signs.append(f"{100 * now.near // now.messages} % to neighbouring numbers")
    if now.ended >= LEAST_ENDED and now.failed >= FAILED_SHARE * now.ended:
        signs.append(f"{100 * now.failed // now.ended} % of {now.ended} not delivered")
    return "; ".join(signs) if len(signs) > 1 else None
