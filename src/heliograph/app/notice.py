"""Notices: what the gateway owes an account, and how one is kept until the account has it.

A notice tells an account of one *subject*: the state that a message reached (`ReachedState`), or a message from a phone
(`facts.InboundMessage`). It leaves by one *way*: today a webhook (then it is called a callback); a bind of the customer
and a pull are the next.
The subject's key names the notice: a subject has one notice at most.

**Who does what.** `notices.notifier` keeps notices until they are done: fresh ones in memory, the others as rows; it
retries, replays, and moves the mark. It knows neither bodies nor ways. A `Deliverer` makes one try of each notice of
its way: `notices.webhook`. A renderer makes the body of one type of subject for one way: `notices.receipt_form`,
`notices.inbound_form`. The engine registers both: deliverers by `Way`, renderers by the type of the subject.

**Whether a notice is owed** is decided once, by `owes_receipt` for final states and by the number's rule for inbound
messages, in the facts that make the subject true, and stored in the subject's row (`final.owed`, `inbound.owed`).
Nothing else in the gateway looks at URLs for that.

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

**To add a way.** Add it to `Way`, implement `Deliverer`, register it, and store `way` with the row in `callback_retry`,
so that a node claims the notices that it can deliver: those by bind where such a bind is up. A notice that is only
pulled needs no row at all: its subject is the row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from heliograph.app.configuration import Account
from heliograph.app.facts import CallbackEnd, Message, MessageEnd
from heliograph.app.webhook_job import TryResult
from heliograph.domain.message.receipt import Delivery


class Way(IntEnum):
    """A way by which a notice reaches its account."""

    WEBHOOK = 0


@dataclass(slots=True)
class ReachedState:
    """A subject: the message reached `state`, which ends it or, where the notice's key is below 0, does not, at `at`
    (ms). `err` is the operator's own code; empty where it gave none."""

    message: Message
    state: Delivery
    err: str
    at: int


@dataclass(slots=True)
class Notice:
    """One notice, fresh or from its row.

    `first` is when it was first owed (ms): the time allowed for retries counts from then. `attempts` counts the tries
    so far. `body` is what the first try sent, empty before; retries send it byte for byte. `subject` is of a type that
    has a renderer.
    """

    account: int
    key: int
    subject: Any
    first: int
    attempts: int = 0
    body: bytes = b""
    way: Way = Way.WEBHOOK
    rowed: bool = field(default=False, compare=False)
    """Whether the notice has a row in `callback_retry`."""
    since: int = field(default=0, compare=False)
    """The time (ms) when the present try began."""


def notice_of(message: Message, final: MessageEnd) -> Notice:
    """Returns the fresh notice of a final state that is owed."""
    return Notice(message.account, message.key, ReachedState(message, final.state, final.err, final.at), final.at)


def owes_receipt(message: Message) -> bool:
    """Tells whether the final state of the message is owed to its account."""
    return message.wants_receipt and bool(message.callback_url)


class KnownAccounts(Protocol):
    """The accounts that notices are owed to, as far as they are in memory."""

    def known(self, account: int) -> tuple[Account, ZoneInfo] | None:
        """Returns the account and its time zone, or None if it is not in memory."""

    async def learn(self, account: int) -> None:
        """Brings the account to memory, if there is such an account. Raises Unavailable."""


class Deliverer(Protocol):
    """Delivers notices by one way. Bounded: a notice beyond its limits comes back as busy."""

    def deliver(self, notices: Sequence[Notice]) -> list[Notice]:
        """Starts one try of each. Returns the notices whose account is not in memory: they are not tried."""

    def end_of(self, code: int) -> CallbackEnd | None:
        """Returns how a try with this code ends its notice; None means that it is to be tried again."""

    def on_tried(self, listener: Callable[[list[TryResult]], None]) -> None:
        """Registers who is given the results. Each try has one, unless `on_lost` tells that it was lost."""

    def on_lost(self, listener: Callable[[], None]) -> None:
        """Registers who is told that all tries without a result are lost."""
