"""Notices over binds: each is a deliver_sm, and ends when the client answers it.

notice --> the bind of its account with most free slots --deliver_sm--> client
                 |                                              |
                 | none bound, all full: parked                 | ESME_ROK            delivered
                 v                                              | put-off status,     tried again later
          row, claimed once the account is reachable            |   or no answer
                                                                | connection lost,    parked, sent after a rebind
                                                                |   ESME_RINVBNDSTS
                                                                | any other status    failed, may be replayed
"""

from collections.abc import Callable, Sequence
from typing import Final, Protocol, cast

from heliograph.adapters.smpp_server.deliveries import inbound_body, receipt_body
from heliograph.adapters.smpp_server.expected import expected_of
from heliograph.adapters.smpp_server.registry import Bind, Binds
from heliograph.app.facts import NO_ANSWER, CallbackEnd, InboundMessage
from heliograph.app.notice import KnownAccounts, Notice, ReachedState, TriedNotice
from heliograph.app.ports import Clock
from heliograph.smpp.constants import CommandStatus
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

_LOST: Final = "the bind ended before it was answered"


class DeliveringBind(Bind, Protocol):
    """A bind that takes deliver_sm."""

    def deliver(self, notice: Notice, body: bytes) -> None:
        """Sends a deliver_sm; `BindDeliverer.answered`, `unanswered` or `lost` follows."""


class BindDeliverer:
    """Implements `notice.Deliverer` for `Way.BIND`."""

    def __init__(self, binds: Binds, accounts: KnownAccounts, clock: Clock, retry_hours: float) -> None:
        self._binds = binds
        self._accounts = accounts
        self._clock = clock
        self._retry_ms = int(retry_hours * HOUR_MS)
        self._report: Callable[[list[TriedNotice]], None] = lambda _: None
        self._poll_at = 0.0
        self._suspects: dict[int, float] = {}
        """Accounts that may have parked notices, until a time of the monotonic clock."""

    @property
    def retry_ms(self) -> int:
        """See `notice.Deliverer`."""
        return self._retry_ms

    def capacity(self, account: int) -> int:
        """See `notice.Deliverer`."""
        return self._binds.room(account)

    def reachable(self) -> Sequence[int]:
        """See `notice.Deliverer`."""
        now = self._clock.monotonic()
        if now >= self._poll_at:
            self._poll_at = now + POLL_S
            for account in self._binds.accounts():
                self._suspects.setdefault(account, now)
        for account in [account for account, until in self._suspects.items() if until < now]:
            del self._suspects[account]
        return [account for account in self._suspects if self._binds.has_room(account)]

    def suspect(self, account: int) -> None:
        """Has the account's parked notices looked up, because it has a new bind or free slots again."""
        self._suspects[account] = self._clock.monotonic() + SUSPECT_S

    def deliver(self, notices: Sequence[Notice]) -> list[Notice]:
        """See `notice.Deliverer`."""
        left: list[Notice] = []
        over: list[TriedNotice] = []
        for notice in notices:
            if notice.rowed:
                self.suspect(notice.account)
            known = self._accounts.known(notice.account)
            if known is None:
                left.append(notice)
                continue
            subject = notice.subject
            if isinstance(subject, ReachedState) and not expected_of(subject.message).wants(subject.state):
                over.append(TriedNotice(notice.key, CallbackEnd.DELIVERED))
                continue
            bind = max(self._binds.of(notice.account), key=lambda bind: bind.room, default=None)
            if bind is None or not bind.room:
                over.append(TriedNotice(notice.key, None, problem=_LOST, away=True))
                continue
            if not notice.body:
                account, zone = known
                try:
                    notice.body = (
                        receipt_body(subject, zone)
                        if isinstance(subject, ReachedState)
                        else inbound_body(cast("InboundMessage", subject), account.smpp.alphabet)
                    )
                except FieldError as problem:  # raised further, it would end the commits, again after each start
                    over.append(TriedNotice(notice.key, CallbackEnd.FAILED, problem=str(problem)))
                    continue
            cast("DeliveringBind", bind).deliver(notice, notice.body)
        if over:
            self._report(over)
        return left

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

    def unanswered(self, notice: Notice, seconds: float) -> None:
        """Takes a notice without an answer within the time."""
        self._binds.counts.deliveries[NO_ANSWER] += 1
        self._report([TriedNotice(notice.key, None, problem=f"no answer in {seconds:g} s")])

    def lost(self, notices: Sequence[Notice]) -> None:
        """Takes the notices that waited for an answer when their connection ended."""
        for notice in notices:
            self.suspect(notice.account)
        self._report([TriedNotice(notice.key, None, problem=_LOST, away=True) for notice in notices])
