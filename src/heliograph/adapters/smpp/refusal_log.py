"""Refusals of an operator in the log: a line when they begin, one a minute while they last, and a line when they are
over.

Lines are for each status, not for each message: an operator may throttle thousands of times a minute.
"""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Final

from heliograph.app.ports import Accepted, Clock, Deferred, Journal, Outcome, Refused
from heliograph.smpp.constants import CommandStatus

LINE_S: Final = 60.0
"""Seconds between two log lines for a status. Refusals that have not recurred for so long have ended."""

QUIET_S: Final = {"smpp.put_off": 360.0}
"""Seconds without a recurrence after which these events have ended, instead of LINE_S: deferred parts are tried again
every five minutes."""

MOST: Final = 40
"""Most statuses logged separately for a connector: an operator may invent any number of them."""

OTHERS: Final = "others"
"""Status under which refusals beyond MOST are counted together."""

NO_ANSWER: Final = "no answer"
"""The status of a part without an answer."""


@dataclass(slots=True)
class Complaint:
    """A complaint that still recurs; times are monotonic seconds."""

    timer: asyncio.TimerHandle
    began: float
    latest: float
    untold: int = 0
    """Occurrences since the last line."""
    total: int = 0


class RefusalLog:
    """Refusals of a connector, over all of its binds. Belongs to the running loop."""

    def __init__(self, connector: str, clock: Clock, journal: Journal) -> None:
        self._connector = connector
        self._clock = clock
        self._journal = journal
        self._lasting: dict[tuple[str, str], Complaint] = {}

    def answered(self, status: int, outcome: Outcome) -> None:
        """Notes that the operator answered a part with `status`, read as `outcome`."""
        match outcome:
            case Accepted():
                return
            case Deferred():
                event = "smpp.throttled" if outcome.throttled else "smpp.put_off"
            case Refused():
                event = "smpp.refused"
            case _:
                event = "smpp.unanswered"
        self._note(event, CommandStatus.name_of(status))

    def unanswered(self) -> None:
        """Notes that a part had no answer in time."""
        self._note("smpp.unanswered", NO_ANSWER)

    def close(self) -> None:
        """Ends all refusals and their timers when the connector is taken down."""
        for event, status in tuple(self._lasting):
            self._end(event, status)

    def _note(self, event: str, status: str) -> None:
        if (event, status) not in self._lasting and len(self._lasting) >= MOST:
            status = OTHERS
        now = self._clock.monotonic()
        complaint = self._lasting.get((event, status))
        if complaint is None:
            complaint = self._lasting[event, status] = Complaint(self._look_later(event, status), now, now)
            self._say("warning", event, status, phase="began", count=1)
        else:
            complaint.untold += 1
        complaint.latest = now
        complaint.total += 1

    def _look_later(self, event: str, status: str) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(LINE_S, partial(self._look, event, status))

    def _look(self, event: str, status: str) -> None:
        complaint = self._lasting[event, status]
        now = self._clock.monotonic()
        if complaint.untold:
            lasted = round(now - complaint.began)
            self._say("warning", event, status, phase="lasts", count=complaint.untold, for_s=lasted)
            complaint.untold = 0
        elif now - complaint.latest >= QUIET_S.get(event, 0.0):
            self._end(event, status)
            return
        complaint.timer = self._look_later(event, status)

    def _end(self, event: str, status: str) -> None:
        complaint = self._lasting.pop((event, status))
        complaint.timer.cancel()
        lasted = round(complaint.latest - complaint.began)
        self._say("info", event, status, phase="over", total=complaint.total, for_s=lasted)

    def _say(self, level: str, event: str, status: str, **more: object) -> None:
        self._journal.log(level, event, connector=self._connector, status=status, **more)
