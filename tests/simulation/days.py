"""Properties of limits of a day that must hold under all faults."""

from dataclasses import dataclass

from heliograph.app.facts import Accept, Facts, Verdict
from heliograph.domain.message.state import State
from tests.support.memory_rows import Rows

_JUDGED = (Verdict.ACCEPTED, Verdict.DAILY_MESSAGES, Verdict.DAILY_SPEND, Verdict.WAITING)
"""Verdicts on requests with a checked day."""


@dataclass(slots=True)
class Day:
    """The latest day of an account in a request, and the accepted messages since its begin."""

    ends: int = 0
    messages: int = 0
    spend: int = 0


class Days:
    """Looks on at all commits, over crashes and whichever node makes them, and counts by itself."""

    def __init__(self) -> None:
        self._days: dict[int, Day] = {}
        self.refused = 0
        """Requests that found a limit reached."""
        self.begun = 0
        """Days after the first."""

    def commit(self, rows: Rows, facts: Facts) -> list[str]:
        """Must be called after each commit. No day goes over a limit, and nothing is refused that had room."""
        wrong = []
        for accept in facts.accepts:
            if accept.verdict in _JUDGED and not accept.exempt:
                wrong += self._judge(rows, accept)
        return wrong

    def _judge(self, rows: Rows, accept: Accept) -> list[str]:
        account = rows.accounts[accept.account]
        day = self._days.setdefault(account.id, Day())
        if accept.day_ends > day.ends:
            self.begun += day.ends > 0
            self._days[account.id] = day = Day(accept.day_ends)
        messages = sum(message.state != State.FAILED for message in accept.messages)
        if accept.verdict is Verdict.ACCEPTED:
            day.messages += messages
            day.spend += accept.total
            wrong = []
            if 0 < account.daily_messages < day.messages:
                wrong.append(f"the account {account.id} has {day.messages} messages on the day that ends at {day.ends}")
            if 0 < account.daily_spend < day.spend:
                wrong.append(f"the account {account.id} has spent {day.spend} on the day that ends at {day.ends}")
            return wrong
        self.refused += 1
        room = (
            (accept.verdict is Verdict.DAILY_MESSAGES and day.messages + messages <= account.daily_messages)
            or (accept.verdict is Verdict.DAILY_SPEND and day.spend + accept.total <= account.daily_spend)
        )  # fmt: skip
        return [f"the account {account.id} was refused {accept.verdict.name} and had room"] if room else []
