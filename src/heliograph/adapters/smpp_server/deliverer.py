"""Notices over binds: each is a deliver_sm, and ends when the client answers it.

notice --> line of its account --> the bind with most free slots --deliver_sm--> client
                 |                                              |
                 | none bound, line full: parked                | ESME_ROK            delivered
                 v                                              | put-off status,     tried again later
          row, claimed once the account is reachable            |   or no answer
                                                                | connection lost,    parked, sent after a rebind
                                                                |   ESME_RINVBNDSTS
                                                                | any other status    failed, may be replayed
"""

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heapreplace
from typing import Final, Protocol, cast
from zoneinfo import ZoneInfo

from heliograph.adapters.smpp_server.deliveries import bodies_of
from heliograph.adapters.smpp_server.expected import expected_of
from heliograph.adapters.smpp_server.registry import Bind, Binds
from heliograph.app.configuration import Account
from heliograph.app.facts import NO_ANSWER, CallbackEnd
from heliograph.app.notice import KnownAccounts, Notice, ReachedState, TriedNotice
from heliograph.app.ports import Clock
from heliograph.smpp.constants import INTERFACE_VERSION_34, CommandStatus
from heliograph.smpp.error import FieldError

HOUR_MS: Final = 3_600_000

SUSPECT_S: Final = 2.0
"""Seconds for which an account is looked up for parked notices after a bind, a free slot, or a parked notice found."""

POLL_S: Final = 1.0
"""Seconds between two looks for notices that other nodes parked, of all accounts that are bound here."""

PUT_OFF: Final = frozenset(
    {
        CommandStatus.ESME_RX_T_APPN,
        CommandStatus.ESME_RTHROTTLED,
        CommandStatus.ESME_RSYSERR,
        CommandStatus.ESME_RMSGQFUL,
        CommandStatus.ESME_RSUBMITFAIL,
        CommandStatus.ESME_RQUERYFAIL,
        CommandStatus.ESME_RDELIVERYFAILURE,
        CommandStatus.ESME_RUNKNOWNERR,
    }
)
"""Answers by which clients put a deliver_sm off; any other error ends it."""

PACE_S: Final = 1.0
"""Seconds over which answers of an account are counted. So many of its notices may wait for a free slot."""

MOST_WAITING: Final = 2_048
"""Most notices of an account that wait in memory for a free slot: some tenths of a second of a fast client."""

_LOST: Final = "the bind ended before it was answered"

_FULL: Final = "the windows of the binds were full"


class DeliveringBind(Bind, Protocol):
    """A bind that takes deliver_sm."""

    version: int
    """interface_version of the client, for example 0x34."""

    def deliver(self, notice: Notice, bodies: list[bytes]) -> None:
        """Sends a deliver_sm, or several in turn, each after the answer to the one before. `BindDeliverer.answered`,
        `unanswered` or `lost` follows once."""


class Line:
    """Notices of an account that wait for a free slot of its binds, and how fast its clients answer."""

    __slots__ = ("_answered", "_before", "_since", "refills", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[tuple[Notice, Account, ZoneInfo]] = deque()
        self.refills = False
        """Whether there may be parked notices, so that more are claimed before these are sent."""
        self._since = 0.0
        """Begin of the present PACE_S, by the monotonic clock."""
        self._answered = 0
        """ESME_ROK in it."""
        self._before = 0
        """ESME_ROK in the PACE_S before."""

    def note_answers(self, number: int, now: float) -> None:
        """Notes answers with ESME_ROK."""
        passed = now - self._since
        if passed >= PACE_S:
            self._before = self._answered if passed < 2 * PACE_S else 0
            self._answered, self._since = 0, now
        self._answered += number

    def most(self, now: float) -> int:
        """Returns how many notices may wait: as many as the clients answer in about a second. A client that answers
        nothing keeps none, since a bind at another node may take them."""
        passed = now - self._since
        if passed >= 2 * PACE_S:
            return 0
        return min(MOST_WAITING, max(self._answered, self._before if passed < PACE_S else 0))


class BindDeliverer:
    """Implements `notice.Deliverer` for `Way.BIND`."""

    def __init__(
        self, binds: Binds, accounts: KnownAccounts, clock: Clock, retry_hours: float, wake: Callable[[], None]
    ) -> None:
        """`wake`: has the parked notices of the accounts that are reachable claimed at once."""
        self._binds = binds
        self._accounts = accounts
        self._clock = clock
        self._retry_ms = int(retry_hours * HOUR_MS)
        self._wake = wake
        self._report: Callable[[list[TriedNotice]], None] = lambda _: None
        self._poll_at = 0.0
        self._suspects: dict[int, float] = {}
        """Accounts that may have parked notices, until a time of the monotonic clock."""
        self._lines: dict[int, Line] = {}
        """By account, while it is bound."""

    @property
    def retry_ms(self) -> int:
        """See `notice.Deliverer`."""
        return self._retry_ms

    def capacity(self, account: int) -> int:
        """See `notice.Deliverer`."""
        room = self._binds.room(account)
        line = self._lines.get(account)
        return room if line is None else room + max(0, line.most(self._clock.monotonic()) - len(line.waiting))

    def reachable(self) -> Sequence[int]:
        """See `notice.Deliverer`. An account whose notices wait has capacity again when half of these are sent: so
        claims are large, and the next claim is made while the windows are still in use."""
        now = self._clock.monotonic()
        for account in [account for account, line in self._lines.items() if line.waiting]:
            self._cut(account, now)
        if now >= self._poll_at:
            self._poll_at = now + POLL_S
            for account in self._binds.accounts():
                self._suspects.setdefault(account, now)
        for account in [account for account, until in self._suspects.items() if until < now]:
            del self._suspects[account]
        return [account for account in self._suspects if self._wants_more(account, now)]

    def _wants_more(self, account: int, now: float) -> bool:
        line = self._lines.get(account)
        if line is None:
            return self._binds.has_room(account)
        most = line.most(now)
        return len(line.waiting) <= most // 2 and (most > 0 or self._binds.has_room(account))

    def suspect(self, account: int) -> None:
        """Has the account's parked notices looked up, because it has a new bind or free slots again."""
        self._suspects[account] = self._clock.monotonic() + SUSPECT_S

    def deliver(self, notices: Sequence[Notice]) -> list[Notice]:
        """See `notice.Deliverer`."""
        left: list[Notice] = []
        over: list[TriedNotice] = []
        touched: dict[int, Line] = {}
        for notice in notices:
            account = notice.account
            known = self._accounts.known(account)
            if known is None:
                left.append(notice)
                continue
            subject = notice.subject
            if isinstance(subject, ReachedState) and not expected_of(subject.message).wants(subject.state):
                over.append(TriedNotice(notice.key, CallbackEnd.DELIVERED))
                continue
            line = touched.get(account)
            if line is None:
                line = touched[account] = self._lines.setdefault(account, Line())
            line.waiting.append((notice, *known))
            line.refills = line.refills or notice.rowed
        if over:
            self._report(over)
        now = self._clock.monotonic()
        for account, line in touched.items():
            if line.refills:
                self.suspect(account)
            self._send(account, line)
            self._cut(account, now)
        return left

    def _send(self, account: int, line: Line) -> None:
        """Sends waiting notices while any bind has a free slot, each by the bind with most of them."""
        waiting = line.waiting
        binds = [
            (-room, bind.id, cast("DeliveringBind", bind)) for bind in self._binds.of(account) if (room := bind.room)
        ]
        heapify(binds)
        unfit: list[TriedNotice] = []
        while waiting and binds:
            notice, owner, zone = waiting.popleft()
            used, number, bind = binds[0]
            try:
                bodies = bodies_of(notice.subject, owner, zone, reads_tlvs=bind.version >= INTERFACE_VERSION_34)
            except FieldError as problem:  # raised further, it would end the commits, again after each start
                unfit.append(TriedNotice(notice.key, CallbackEnd.FAILED, problem=str(problem)))
                continue
            bind.deliver(notice, bodies)
            if used < -1:
                heapreplace(binds, (used + 1, number, bind))
            else:
                heappop(binds)
        if unfit:
            self._report(unfit)

    def _cut(self, account: int, now: float) -> None:
        """Parks the notices that may not wait for a free slot any more: the account answers too slowly."""
        line = self._lines.get(account)
        if line is None:
            return
        most = line.most(now)
        cut = [line.waiting.pop()[0] for _ in range(len(line.waiting) - most)]
        if cut:
            self._report([TriedNotice(notice.key, None, problem=_FULL, busy=True, away=True) for notice in cut])

    def on_tried(self, listener: Callable[[list[TriedNotice]], None]) -> None:
        """See `notice.Deliverer`."""
        self._report = listener

    def on_lost(self, listener: Callable[[], None]) -> None:
        """See `notice.Deliverer`: each try has a result, since binds live in this process."""

    # --- from the binds

    def answered(self, answers: Sequence[tuple[Notice, int]]) -> None:
        """Takes clients' answers: pairs of a notice and a command_status."""
        counts = self._binds.counts.deliveries
        results: list[TriedNotice] = []
        for notice, status in answers:
            counts[status] += 1
            if status == 0:
                results.append(TriedNotice(notice.key, CallbackEnd.DELIVERED))
            elif status == CommandStatus.ESME_RINVBNDSTS:  # the client had unbound: nothing is wrong with the notice
                self.suspect(notice.account)
                results.append(TriedNotice(notice.key, None, status, _LOST, away=True))
            else:
                end = None if status in PUT_OFF else CallbackEnd.FAILED
                results.append(TriedNotice(notice.key, end, status, CommandStatus.name_of(status)))
        self._report(results)
        if results:
            account = answers[0][0].account
            good = sum(result.end is CallbackEnd.DELIVERED for result in results)
            now = self._clock.monotonic()
            line = self._lines.setdefault(account, Line())
            line.note_answers(good, now)
            if line.waiting:
                self._send(account, line)
            if line.refills and len(line.waiting) <= line.most(now) // 2:
                line.refills = False
                self._wake()

    def has_room(self, account: int) -> None:
        """Takes the news that the account has a new bind, or free slots again."""
        self.suspect(account)
        line = self._lines.get(account)
        if line is not None:
            self._send(account, line)

    def unbound(self, account: int) -> None:
        """Takes the news that a bind of the account has ended, and has left the registry. Notices that wait are parked
        if it was the last."""
        if not any(self._binds.of(account)):
            line = self._lines.pop(account, None)
            if line is not None and line.waiting:
                waiting = [notice for notice, _, _ in line.waiting]
                self._report([TriedNotice(notice.key, None, problem=_LOST, busy=True, away=True) for notice in waiting])

    def unanswered(self, notice: Notice, seconds: float) -> None:
        """Takes a notice without an answer within the time."""
        self._binds.counts.deliveries[NO_ANSWER] += 1
        self._report([TriedNotice(notice.key, None, problem=f"no answer in {seconds:g} s")])
        self._cut(notice.account, self._clock.monotonic())

    def lost(self, notices: Sequence[Notice]) -> None:
        """Takes the notices that waited for an answer when their connection ended."""
        for notice in notices:
            self.suspect(notice.account)
        self._report([TriedNotice(notice.key, None, problem=_LOST, away=True) for notice in notices])
