"""Retention: for how long a customer's texts, numbers and rows are kept."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from heliograph.domain.calendar import DAY_MS

MOST_DAYS: Final = 36_500
"""Most days that may be set: a hundred years."""

REDACTED_CODING: Final = -1
"""`coding` of an inbound message with a redacted text; an empty text keeps its original coding."""


class Stage(IntEnum):
    """Stages of redaction of old messages. The numbers are stored."""

    TEXT = 0
    """Texts of messages, and the bodies of callbacks that quoted them."""
    NUMBER = 1
    """Phones: destinations, senders of inbound messages, numbers of suppressions."""
    ROW = 2
    """Whole messages with their events. Entries of the ledger stay."""
    ERASURE = 3
    """Text and number at once, on request, outside of the schedule."""

    @property
    def label(self) -> str:
        """The word for people and metrics, such as `text`."""
        return self.name.lower()


SCHEDULED: Final = (Stage.TEXT, Stage.NUMBER, Stage.ROW)
"""Stages by schedule, once a message is old enough."""


@dataclass(frozen=True, slots=True)
class RetentionDays:
    """Days after which texts, numbers and rows are deleted; 0 keeps them for ever."""

    text_days: float = 0
    number_days: float = 0
    days: float = 0

    def override(self, text_days: float | None, number_days: float | None, days: float | None) -> "RetentionDays":
        """Returns a copy with an account's own values; None keeps the value here."""
        return RetentionDays(
            self.text_days if text_days is None else text_days,
            self.number_days if number_days is None else number_days,
            self.days if days is None else days,
        )

    def before(self, stage: Stage, now: int) -> int | None:
        """Returns the time (ms) before which messages are due for the stage; None if they never are.

        Text and number are deleted at the latest with their row.
        """
        days = self._days(stage)
        return None if days is None else now - int(days * DAY_MS)

    @property
    def shortest(self) -> float | None:
        """The shortest of the three; None if everything is kept."""
        return min((days for stage in SCHEDULED if (days := self._days(stage)) is not None), default=None)

    def _days(self, stage: Stage) -> float | None:
        own = {Stage.TEXT: self.text_days, Stage.NUMBER: self.number_days, Stage.ROW: self.days}.get(stage, 0)
        return own or None


KEPT_FOR_EVER: Final = RetentionDays()
