"""Notices: what the gateway owes an account, and how one is kept until the account has it.

A notice tells an account of one *subject*: the state that a message reached (`ReachedState`), or a message from a phone
(`facts.InboundMessage`). It leaves by one *way* (`domain.message.way`): a webhook, or a bind of the customer.
The subject's key names the notice: a subject has one notice at most.

**Who does what.** `notices.notifier` keeps notices until they are done: fresh ones in memory, the others as rows; it
retries, replays, and moves the mark. It knows neither bodies nor ways. A `Deliverer` makes the tries of its way, and
says of each one how it ended: `notices.webhook`. A renderer makes the body of one type of subject for one way:
`notices.receipt_form`, `notices.inbound_form`.

**Whether a notice is owed, and by which way**, is decided once, and stored with the subject. A message has the `way`
that its request wished for: the door says which, and NONE means that states are only recorded. Its final state is
`owed` where the message has a way and was not cancelled. An inbound message has the way of its account.

**Near and far.** A webhook reaches every account at all times. A bind reaches an account only while it stands, and only
as far as its window has room: the deliverer's `capacity` is 0 at other times. Such a notice is *parked*: it has a row
that is due when its time is over. The deliverer names the accounts that it can reach now (`reachable`), and the
notifier claims their rows, due or not. A parked notice that nobody could reach in time ends as failed.

**After a crash.** A fresh notice has no row of its own. Above the mark CALLBACK (`app.marks`) a subject whose row says
`owed` and that has no row in `callback` is owed; below the mark `callback_retry` is complete. Therefore a notice has
its row before the mark passes its key (`Notifier.spill`), and one whose key is below the mark has it from the start.

**Inbound messages** have keys from the sequence of the messages' keys, given right before the commit that writes them:
one mark bounds both, and the mark, which never passes the last key given, stays true. The stores' `recover`, `claim`
and audit read `inbound` beside `final`. A notice is owed after its key is given and before `Notifier.prepare` of the
same commit (`inbound.reception`): `spill` moves the mark past the notices of that commit only if they have rows. A
message that was routed later has a row from the start. Other subjects with keys of that sequence would do the same.

**States on the way**, where a message asks for them, have keys made of the message's
(`facts.notice_key_of`): ENROUTE and ACCEPTD may each be told once, beside the final state. The commit that records such
a state gives its notice a row, and the notifier takes it up from there as any other that is due; nobody has it in
memory before, and no mark bounds it.

**To add a way.** Add it to `Way`; write a `Deliverer` with its renderers in a folder of its own; and name it in
`Environment.ways` where the gateway is put together. Rows, retries, replays, retention and counts are there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from heliograph.app.configuration import Account
from heliograph.app.facts import CallbackEnd, Message, MessageEnd
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
class Notice:
    """One notice, fresh or from its row."""

    account: int
    key: int
    subject: Any
    """What it tells of; of a type that its way can render."""
    first: int
    """When it was first owed (ms). The time allowed for retries counts from then."""
    attempts: int = 0
    """The tries so far."""
    body: bytes = b""
    """What the first try sent, empty before. Retries send it byte for byte."""
    way: Way = Way.WEBHOOK
    rowed: bool = field(default=False, compare=False)
    """Whether the notice has a row in `callback_retry`."""
    since: int = field(default=0, compare=False)
    """The time (ms) when the present try began."""


@dataclass(slots=True)
class TriedNotice:
    """The result of one try of a notice, whatever its way."""

    key: int
    end: CallbackEnd | None
    """How the try ended the notice; None: it is to be tried again."""
    code: int = 0
    """What the receiver answered in the words of the way, such as the HTTP status 503; 0 without an answer."""
    problem: str = ""
    """Why it was not delivered, for people."""
    busy: bool = False
    """Whether nothing was tried, since the receiver has too many waiting."""
    room: float = 0.0
    """Seconds until a busy receiver has room; 0: unknown."""


def notice_of(message: Message, final: MessageEnd) -> Notice:
    """Returns the fresh notice of a final state that is owed."""
    reached = ReachedState(message, final.state, final.err, final.at)
    return Notice(message.account, message.key, reached, final.at, way=message.way)


class KnownAccounts(Protocol):
    """The accounts of notices, as far as they are in memory."""

    def known(self, account: int) -> tuple[Account, ZoneInfo] | None:
        """Returns the account and its time zone, or None if it is not in memory."""

    async def learn(self, account: int) -> None:
        """Brings the account to memory, if there is such an account. Raises Unavailable."""


class Deliverer(Protocol):
    """Delivers notices by one way."""

    @property
    def retry_ms(self) -> int:
        """Milliseconds after which a notice that is still owed is given up, counted from when it was first owed."""

    def capacity(self, account: int) -> int:
        """Returns how many more notices the account may be handed now; 0 while it cannot be reached."""

    def reachable(self) -> Sequence[int]:
        """Returns the accounts that have capacity now, and did not always: their parked notices are claimed. A way that
        reaches every account at all times returns none."""

    def deliver(self, notices: Sequence[Notice]) -> list[Notice]:
        """Starts an attempt of each. Returns the notices with an account that is not in memory: they are not
        attempted.
        """

    def on_tried(self, listener: Callable[[list[TriedNotice]], None]) -> None:
        """Registers who is given the results. Each try has one, unless `on_lost` tells that it was lost."""

    def on_lost(self, listener: Callable[[], None]) -> None:
        """Registers the listener for the loss of all attempts without a result."""
