"""Notices: news that the gateway owes an account, and their life until the account has them.

A notice tells an account of a *subject*: the state that a message reached (`ReachedState`), a message from a phone
(`facts.InboundMessage`), or a balance below the account's threshold (`LowBalance`). It leaves by a *way*
(`domain.message.way`): a webhook, or a bind of the customer. A subject has at most one notice; the subject's key names
it.

**Parts.** `notices.notifier` keeps notices until they are done: fresh notices in memory, the others as rows. It
retries, replays, and moves the mark; it knows neither bodies nor ways. A `Deliverer` makes the tries of its way, such
as `notices.webhook`, and reports the result of each try. A renderer makes the body of a type of subject for a way:
`notices.receipt_form`, `notices.inbound_form`.

**Owed.** Whether a notice is owed, and by which way, is decided once and stored with the subject. A message has the
`way` of its request, which the door chooses; NONE means that states are only recorded. Its final state is `owed` if the
message has a way and was not cancelled. An inbound message has the way of its account.

**Parked.** A webhook reaches every account at all times. A bind reaches an account only while it is up and its window
has room; at other times the deliverer's `capacity` is 0. Such a notice is *parked*: it has a row that is due when its
time is over. The deliverer names the accounts that it can reach now (`reachable`), and the notifier claims their rows,
due or not. A parked notice whose account stays unreachable until then ends as failed.

**After a crash.** A fresh notice has no row of its own. Above the mark CALLBACK (`app.marks`) a subject whose row says
`owed` and that has no row in `callback` is owed; below the mark `callback_retry` is complete. Therefore a notice has
its row before the mark passes its key (`Notifier.spill`). A notice with a key below the mark has its row from the
start.

**Inbound messages** have keys from the sequence of the messages' keys, given right before the commit that writes them.
So a single mark bounds both, and it never passes the last key given. The stores' `recover`, `claim` and audit read
`inbound` beside `final`. A notice is owed after its key is given and before `Notifier.prepare` of the same commit
(`inbound.reception`). `spill` moves the mark past the notices of that commit only if they have rows. A message that was
routed later has a row from the start.

**States on the way**, if a message asks for them, have keys derived from the message's (`facts.notice_key_of`). ENROUTE
and ACCEPTD are reported at most once each, before the final state. The commit that records such a state writes a row
for its notice, and the notifier claims that row when it is due. It is never in memory before, so no mark bounds it.

**Low balances.** The store finds them: a trigger on the balance's column (`account_low_balance` in both schemas) writes
the subject and the row of its notice, in the transaction that changed the balance. So each charge, refund and
correction is covered, whichever statement makes it. The notifier claims the row when it is due. The column
`low_balance_armed` is true while the balance is at or above `low_balance` and has been since the last top-up; it makes
one notice of a fall. Only a top-up or another threshold sets it.

**To add a way.** Add it to `Way`, write a `Deliverer` with its renderers in a new folder, and name it in
`Environment.ways` in `composition`. Rows, retries, replays, retention and counts work for it unchanged.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from heliograph.app.configuration import Account
from heliograph.app.facts import CallbackEnd, InboundMessage, Message, MessageEnd
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.way import Way


@dataclass(slots=True)
class ReachedState:
    """A subject: the message reached `state` at `at` (ms). The state ends it, unless the notice's key is below 0. `err`
    is the operator's own code; empty if it gave none.
    """

    message: Message
    state: Delivery
    err: str
    at: int


@dataclass(slots=True)
class LowBalance:
    """A subject: the balance fell below the account's `low_balance`."""

    id: int
    """Counts from 1. The notice's key is `facts.LOW_BALANCE` minus it."""
    account: int
    balance: int
    """Micro-credits after the change."""
    threshold: int
    """The account's `low_balance` at that time, in micro-credits."""
    at: int
    """Time of the change (ms)."""


@dataclass(slots=True)
class Notice:
    """A notice, fresh or from its row."""

    account: int
    key: int
    subject: Any
    """Its subject, of a type that its way can render."""
    first: int
    """When it was first owed (ms). The time allowed for retries counts from then."""
    attempts: int = 0
    """The tries so far."""
    body: bytes = b""
    """The body of the first try over a webhook, empty before. Retries send the same bytes. A bind's client may read
    another version of SMPP at the next try, so that each try has its own body."""
    way: Way = Way.WEBHOOK
    rowed: bool = field(default=False, compare=False)
    """Whether the notice has a row in `callback_retry`."""
    since: int = field(default=0, compare=False)
    """The time (ms) when the present try began."""
    end: MessageEnd | None = field(default=None, compare=False)
    """The fact that owes a fresh notice of a final state."""

    @property
    def is_overtaken(self) -> bool:
        """Whether its subject does not count, because another node was faster: it recorded another end of the message,
        or wrote the message from the phone."""
        if self.end is not None:
            return self.end.superseded
        return isinstance(self.subject, InboundMessage) and self.subject.contested

    @property
    def is_unreadable(self) -> bool:
        """Whether it would tell a message from a phone without its text. The body of an earlier try has the text."""
        return isinstance(self.subject, InboundMessage) and self.subject.is_unreadable and not self.body


@dataclass(slots=True)
class TriedNotice:
    """The result of a try of a notice, by any way."""

    key: int
    end: CallbackEnd | None
    """How the try ended the notice; None if it must be tried again."""
    code: int = 0
    """The receiver's answer, such as the HTTP status 503; 0 without an answer."""
    problem: str = ""
    """Why it was not delivered, for people."""
    busy: bool = False
    """True if nothing was tried because too many notices wait for the receiver, or because it is `away`."""
    room: float = 0.0
    """Seconds until a busy receiver has room; 0: unknown."""
    away: bool = False
    """Whether the account went out of reach before it answered: the notice is parked. The try counts unless `busy`."""


def notice_of(message: Message, final: MessageEnd) -> Notice:
    """Returns the fresh notice of a final state that is owed."""
    reached = ReachedState(message, final.state, final.err, final.at)
    return Notice(message.account, message.key, reached, final.at, 0, b"", message.way, end=final)


class KnownAccounts(Protocol):
    """The accounts of notices, as far as they are in memory."""

    def known(self, account: int) -> tuple[Account, ZoneInfo] | None:
        """Returns the account and its time zone, or None if it is not in memory."""

    async def learn(self, account: int) -> None:
        """Brings the account to memory, if there is such an account. Raises Unavailable."""


class Deliverer(Protocol):
    """Delivers notices by its way."""

    @property
    def retry_ms(self) -> int:
        """Milliseconds after which a notice that is still owed is given up, counted from when it was first owed."""

    def capacity(self, account: int) -> int:
        """Returns how many more notices the account may be handed now; 0 while it cannot be reached."""

    def reachable(self) -> Sequence[int]:
        """Returns the accounts that have capacity again, so that their parked notices are claimed. A way that reaches
        every account at all times returns an empty list."""

    def deliver(self, notices: Sequence[Notice]) -> list[Notice]:
        """Starts an attempt of each. Returns the notices with an account that is not in memory: they are not
        attempted.
        """

    def on_tried(self, listener: Callable[[list[TriedNotice]], None]) -> None:
        """Registers the listener for results. Each try has a result, unless `on_lost` reports its loss."""

    def on_lost(self, listener: Callable[[], None]) -> None:
        """Registers the listener for the loss of all attempts without a result."""
