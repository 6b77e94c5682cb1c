"""Overload: which submissions are refused at once, and when a client is not read for a while.

octets --> portion --would wait for its commit for more than 0.3 s?--> refused unread (`session.Shedding`)
              |                                                        40,000 a second at most
              +--> commits, with two thirds of the loop's time for each account at most

A client that is refused, or takes too much time, *rests*: its socket is not read. So octets may have waited unread, and
have less time left (`UnreadTime`).
"""

from collections.abc import Mapping
from typing import Final

from heliograph.adapters.smpp_server.statuses import status_of, status_text
from heliograph.domain.error import UNAVAILABLE, Fault
from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from heliograph.smpp.session import Shedding

OVERLOAD_S: Final = 0.3
"""Seconds. While a submission has waited longer for its commit, new submissions are refused at once. Clients such as
go-smpp give up after a second, and would send an accepted message again."""

FEW: Final = 200
"""Submissions that may wait at any rate: two commits have so many. The rate after a pause is not known at first."""

FIRST_PACE_S: Final = 0.0002
"""Seconds that a submission takes, assumed until the pace is measured: a burst of 4,000 submissions is read within
0.1 s, and takes a busy machine a second."""

SHARE_OF_ONE: Final = 2 / 3
"""Share of the time of the event loop that the requests of an account may take. A message takes about as much time
again until its receipt is delivered, so that a customer alone is not slowed down."""

LEAST_REST_S: Final = 0.005
"""Seconds. Shorter rests are added up: usual bursts are read without a pause."""

SHARE_OF_SHED: Final = 0.2
"""Share of the time of the event loop that refusals under overload may take, of all accounts together."""

SHED: Final = -1
"""The account of these refusals in `Services.busy_until`."""

WORK_OF_DESTINATION_S: Final = 20e-6
"""Seconds that a destination of a submit_multi takes, on a slow core."""

WORK_OF_SHED_S: Final = 5e-6
"""Seconds that a submission takes which is refused unread, with the system's part, on a slow core."""

WORK_OF_QUESTION_S: Final = 300e-6
"""Seconds that a query_sm or cancel_sm takes, with its reading of the store."""

WORK_OF_SEARCH_S: Final = 10e-3
"""Seconds that a cancel_sm by addresses takes: it reads the scheduled messages of the account in a thread."""

SHED_REST_S: Final = 0.02
"""Seconds that a client rests after a refusal. A refusal costs a microsecond, and the system's calls to read and write
cost ten: a rest makes the calls serve several."""

OVERLOADED: Final = Fault(UNAVAILABLE, "The gateway is overloaded; nothing was charged. Send it again later.")
"""The fault of a submission that would wait for its commit too long."""


class Delay:
    """The time that submissions wait for their commit, over all binds. Commits take them in order.

    The wait of a new submission is foretold: the number that wait, times the pace. A submission that found `n` others
    waiting and gets its verdict after `s` seconds measures the pace, `s / n` (Little's law). The age of the oldest
    alone would tell too late: while it grows, clients submit more than can be committed within a second.
    """

    def __init__(self) -> None:
        self._under_way: dict[int, tuple[float, int]] = {}
        """Times at which submissions were read, and the number that waited then."""
        self._last = 0
        self._pace_s = FIRST_PACE_S
        """Seconds that a submission takes, as measured last."""

    def begin(self, now: float) -> int:
        """Notes a submission; returns its number for `end`."""
        self._last += 1
        self._under_way[self._last] = now, len(self._under_way)
        return self._last

    def end(self, number: int, now: float, *, committed: bool = True) -> None:
        """Notes that the submission has its verdict, by a commit or at once."""
        begun, before = self._under_way.pop(number, (0.0, 0))
        if committed and before >= FEW // 4:  # fewer would measure the commit under way
            self._pace_s = (now - begun) / before

    def is_long(self, now: float, came: float) -> bool:
        """True if the oldest submission has waited for longer than OVERLOAD_S, or if a submission that is read now
        would have at its commit. `came`: the time since which it may have waited to be read."""
        oldest = min(came, next(iter(self._under_way.values()))[0]) if self._under_way else came
        waiting = len(self._under_way)
        return now - oldest > OVERLOAD_S or (waiting > FEW and now - came + waiting * self._pace_s > OVERLOAD_S)


class UnreadTime:
    """The time since which a client's octets may have waited unread, by the monotonic clock."""

    def __init__(self) -> None:
        self.since = 0.0
        """Of the octets that came last."""
        self._received = 0.0
        """Time at which they came."""
        self._unread_s = 0.0
        """Seconds from then to the end of the last rest."""

    def end(self, now: float) -> None:
        """Notes that octets come now."""
        self.since = now - self._unread_s
        self._received, self._unread_s = now, 0.0

    def note_rest(self, now: float) -> None:
        """Notes that a rest ends now."""
        self._unread_s = now - self._received


def shedding_of(own: Mapping[str, int], version: int) -> Shedding:
    """Returns the answers to submissions under overload. `own`: the account's statuses by reason; `version`: the
    client's interface_version."""
    status = status_of(OVERLOADED, own)
    return Shedding(
        p.PDU_TYPES[command_id | c.RESPONSE_BIT](0, status, status_text(OVERLOADED.message, command_id, version))
        for command_id in (c.SUBMIT_SM, c.SUBMIT_MULTI, c.DATA_SM)
    )
