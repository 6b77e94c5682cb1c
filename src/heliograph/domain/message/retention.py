"""Retention: for how long a customer's texts, numbers and rows are kept."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from heliograph.domain.calendar import DAY_MS

MOST_DAYS: Final = 36_500
"""Days that may be set: a hundred years."""

REDACTED_CODING: Final = -1
"""`coding` of an inbound message with a redacted text; an empty text keeps its original coding."""


class Stage(IntEnum):
    """Stages of redaction of old messages. The numbers are stored."""

    TEXT = 0
    """Texts of messages, and the bodies of callbacks that quoted them."""
    NUMBER = 1
    """Phones: destinations, senders of inbound messages, numbers of suppressions."""
    ROW = 2
    """Whole messages with all that became of them. Entries of the ledger stay."""
    ERASURE = 3
    """Text and number at once, since somebody asked for it; by no schedule."""

    @property
    def label(self) -> str:
        """The word that people and metrics are shown."""
        return self.name.lower()


SCHEDULED: Final = (Stage.TEXT, Stage.NUMBER, Stage.ROW)
"""Stages that come by themselves, once a message is old enough."""


@dataclass(frozen=True, slots=True)
class RetentionDays:
    """Days after which each is taken away; 0 keeps it for ever."""

    text_days: float = 0
    number_days: float = 0
    days: float = 0

    def override(self, text_days: float | None, number_days: float | None, days: float | None) -> "RetentionDays":
        """Returns this with an account's own values; None keeps the value here."""
        return RetentionDays(
            self.text_days if text_days is None else text_days,
            self.number_days if number_days is None else number_days,
            self.days if days is None else days,
        )

    def before(self, stage: Stage, now: int) -> int | None:
        """Returns the time before which messages are due for the stage (ms), None where they never are.

        A row that goes takes text and number with it, so that neither is due any later than the row.
        """
        days = self._days(stage)
        return None if days is None else now - int(days * DAY_MS)

    @property
    def shortest(self) -> float | None:
        """The shortest of the days; None if everything is kept."""
        return min((days for stage in SCHEDULED if (days := self._days(stage)) is not None), default=None)

    def _days(self, stage: Stage) -> float | None:
        own = {Stage.TEXT: self.text_days, Stage.NUMBER: self.number_days, Stage.ROW: self.days}.get(stage, 0)
        return own or None


KEPT_FOR_EVER: Final = RetentionDays()
