"""Facts: the values that the use cases produce and the store writes, and the work that the store returns.

A fact is something that happened: a request was accepted, an operator answered, a part ended, a customer was notified.
Each becomes a row, inserted once. Facts that arise during a transaction are collected in `Facts`, and the next
transaction writes them all. No effect of a fact leaves the gateway before it is durable.

Times are milliseconds since the Unix epoch, UTC. Money is micro-credits. A message is identified by its `key`, the
60-bit integer of its UUIDv7 (`domain.ids`). A customer must also know its `tail`, the other 62 bits, to read it. Each
fact about a message also has its `account`: it can be written beside the account's rows, without looking up the message
(docs/decisions/0004-sharding.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from heliograph.domain.limits.acceptance import Verdict as Verdict
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from heliograph.domain.message.way import Way

_SENT: Final = State.SENT


@dataclass(slots=True)
class Message:
    """A text to a destination, as accepted; a row that is written once.

    - `time`: when it was accepted, or its sending time if it was scheduled (ms).
    - `connector`: chosen on acceptance.
    - `wants_receipt`: ask the operator for a receipt, for the account or because the connector always asks.
    - `way`: how the account gets its states; `callback_url` is the URL of a webhook.
    - `price`: the charge for all `segments`, in micro-credits.
    - `batch`: the key of the request's batch, or 0.
    """

    account: int
    destination: str
    sender: str
    kind: int
    content: str
    segments: int
    price: int
    time: int
    expires: int
    state: int
    connector: int
    wants_receipt: bool = False
    callback_url: str = ""
    reference: str | None = None
    batch: int = 0
    queued: bool = False
    """Whether a row of the queue owes the message's dispatch, rather than the fast lane."""
    key: int = 0
    tail: int = 0
    extras: str = ""
    """The text of its `domain.extras`, empty for nearly all."""
    way: Way = Way.NONE
    """The way by which the account gets the message's states. NONE: they are only recorded."""
    network: str = ""
    """MCCMNC of the destination's network on acceptance, such as `26201`; empty if it is not known."""
    sealed: bytes = field(default=b"", repr=False, compare=False)
    """The envelope of `content`, which a store keeps in its place; empty where texts are not sealed."""
    released: int = field(default=0, compare=False)
    """End of its last hold (ms); 0 if it was not held. In memory only: delays count from then on."""

    @property
    def is_unreadable(self) -> bool:
        """Whether its row has an envelope that could not be opened, so that its text is missing."""
        return bool(self.sealed) and not self.content


def queued_of(messages: Sequence[Message]) -> int:
    """Returns how many of these messages go into the queue if they are accepted."""
    number = 0
    for message in messages:
        if message.queued or message.state != _SENT:
            number += 1
    return number


@dataclass(slots=True)
class Accept:
    """A customer's request: a message, or several (`batch`). They are charged and stored together or not at all.

    The gatherer assigns the keys right before the commit, so that keys ascend in the order of commits. A batch's own
    key comes right before the keys of its messages.

    The store sets `verdict`. On REPLAYED it sets `key`, `tail`, `total`, `scheduled` and `messages` to the values of
    the first request. In a batch, messages to suppressed numbers become Failed and cost nothing; `total` covers the
    others.

    `exempt`: suppressions and limits do not apply, because it answers an inbound message.

    `day_ends`: the end (ms) of the account's day, if its limits need it.

    `asked_sender`: the sender of the request, for its answer. A message has another sender if a rule replaced it.
    """

    account: int
    messages: list[Message]
    total: int
    at: int
    scheduled: bool = False
    batch: bool = False
    reference: str | None = None
    fingerprint: bytes = b""
    key: int = 0
    tail: int = 0
    exempt: bool = False
    day_ends: int = 0
    asked_sender: str = ""
    verdict: Verdict = Verdict.UNAVAILABLE


NO_ANSWER = -1
"""The status of a part that was written and never answered: the operator may have it."""

NOT_SENT = -2
"""The status of a part that was never written, and will not be."""


@dataclass(slots=True)
class Submission:
    """The end of a part's submission: accepted (`status` 0, with the operator's own id), refused for good, NO_ANSWER or
    NOT_SENT.

    The first recorded submission stays.

    `waited`, `took`: for watchers, not stored. Milliseconds from the due time to the write, and from there to the
    answer; -1 without an answer.
    """

    account: int
    key: int
    segment: int
    connector: int
    operator_id: str
    status: int
    at: int
    waited: int = field(default=-1, compare=False)
    took: int = field(default=-1, compare=False)
    message: Message | None = field(default=None, compare=False)
    """The message, for watchers; None if the producer of the fact does not have it."""


@dataclass(slots=True)
class Attempt:
    """A try that ended nothing, for the message's history: `status` is the command status, or NO_ANSWER. 0: the
    operator took the part as `operator_id`, and did not deliver the message (`Resend`)."""

    account: int
    key: int
    segment: int
    connector: int
    status: int
    at: int
    operator_id: str = ""


@dataclass(slots=True)
class Queueing:
    """The queue is now responsible for the message's dispatch: inserts its row, or moves its existing row.

    `attempted`: the message may have reached the operator (*Unknown*).

    `claimed`: this node keeps it in memory, and no other node may claim it.

    `held`: the range of numbers that the traffic guard holds, such as `49170`; empty while the account is suspended
    (`gate.OF_SUSPENDED`); None if the message waits only for `due`.
    """

    account: int
    key: int
    connector: int
    due: int
    expires: int
    attempted: bool
    claimed: bool
    held: str | None = None
    since: int = 0
    """Begin of the hold (ms), if it is held."""


MOST_PROGRESS = 20
"""Most progress rows of a state of a part: the first ones, each error code once. Some operators report for hours that a
message is on its way. The notice of a state needs its first row.
"""

MOST_MOVES = 20
"""Most reschedulings in a message's history: the first ones. A customer may reschedule for ever."""


@dataclass(slots=True)
class PartReceipt:
    """A receipt for a part. In `Facts.parts`: the final state of a part of a message of several parts. In
    `Facts.progress`: an intermediate state of a part of any message.

    `err`: the operator's own code, empty if it gave none (`domain.receipt.own_code`).

    `owed`: for progress, the account gets a notice of the state, unless it had one, or the message has ended
    (`notice_key_of`).
    """

    account: int
    key: int
    segment: int
    state: Delivery
    err: str
    at: int
    owed: bool = False


def notice_key_of(key: int, state: Delivery) -> int:
    """Returns the key of the notice about an intermediate state of a message: below 0, and different for each state."""
    return -2 * key - (state is Delivery.ACCEPTD)


LOW_BALANCE: Final = -(1 << 62)
"""The key of a notice of a low balance is this number minus its id. It is below the keys of all other notices."""


def subject_key_of(key: int) -> int:
    """Returns the key of the message that a notice with this key is about; 0 for a notice of a low balance."""
    if key < LOW_BALANCE:
        return 0
    return key if key >= 0 else -key // 2


@dataclass(slots=True)
class MessageEnd:
    """The message reached its final state; the first recorded end stays.

    `err`: the operator's own code as written; empty if it gave none. Customers see `err_of` it.

    `owed`: the account gets a notice by the message's `way`.

    `failed`: the message never left the gateway. Its state becomes Failed, and `refund` micro-credits go back to
    `account`, in the same transaction and at most once.

    `waited`, `message`, `connector`: for watchers, not stored. `waited` is the time (ms) from the operator's answer to
    the last receipt, or -1 without a receipt. It counts from the due time if this process did not see the answer.

    `superseded`: set by a store that nodes share, once another end of the message stands. Its notice is not sent.
    """

    account: int
    key: int
    state: Delivery
    err: str
    at: int
    owed: bool
    failed: bool = False
    refund: int = 0
    waited: int = field(default=-1, compare=False)
    message: Message | None = field(default=None, compare=False)
    connector: int = field(default=0, compare=False)
    superseded: bool = field(default=False, compare=False)


@dataclass(slots=True)
class Withdrawal:
    """The message is cancelled before any of it left: its recipient opted out after its acceptance, or an administrator
    cancelled it. `refund` micro-credits go back to `account`, at most once. A message that has ended stays unchanged.
    """

    account: int
    key: int
    refund: int
    at: int
    note: str = "opted out"
    """The reason in the ledger."""


@dataclass(slots=True)
class Resend:
    """Another operator tries a message, because all of its parts have a final receipt and none was delivered.

    The submissions to `connector` become attempts, the receipts of the parts become progress, and the queue gets a row
    for the connector `instead`. A message that has ended, or that `connector` does not have as a whole, stays
    unchanged: another node was faster.
    """

    account: int
    key: int
    connector: int
    """The connector with the operator that did not deliver the message."""
    instead: int
    """The connector that tries it next."""
    state: Delivery
    """The worst state of its parts."""
    err: str
    """The operator's own code for that."""
    due: int
    expires: int
    at: int
    message: Message | None = field(default=None, compare=False)
    """The message, for watchers."""


@dataclass(slots=True)
class EarlyReceipt:
    """A receipt of an unknown message, so without an account: it came before the operator's answer, or matches no
    message. `other_id`, `other_number`: as in `app.ports.Report`, not stored."""

    connector: int
    operator_id: str
    destination: str
    state: Delivery
    err: str
    at: int
    other_id: str = field(default="", compare=False)
    other_number: str = field(default="", compare=False)


@dataclass(slots=True)
class Awaiting:
    """A part that the operator accepted, before its receipt. It is found by the operator's id."""

    connector: int
    operator_id: str
    account: int
    key: int
    segment: int


class CallbackEnd(IntEnum):
    """The end of a notice, whatever its way."""

    DELIVERED = 0
    GONE = 1
    """The receiver wants no more of them: a webhook was answered with 410."""
    FAILED = 2
    """The notice was not delivered within the time allowed; it is kept and can be replayed."""


@dataclass(slots=True)
class CallbackDone:
    """A notice is done. `code`: the answer to the last try, such as the HTTP status of a webhook or the command status
    of a bind; 0 without an answer. `attempts` counts all tries.

    `waited`: milliseconds since the notice was first owed, -1 if that is unknown. Not stored.
    """

    account: int
    key: int
    end: CallbackEnd
    code: int
    attempts: int
    at: int
    waited: int = field(default=-1, compare=False)


@dataclass(slots=True)
class CallbackRetry:
    """The retry table is now responsible for the notice: inserts its row, or moves its
    existing row, which keeps its way.

    `body`: sent again octet for octet; empty before the first attempt.

    `problem`: the last error, for people. Empty: an earlier one stays.

    `first`: when the notice first became due.

    `claimed`: it is in flight on this node, and no other node may claim it.
    """

    account: int
    key: int
    due: int
    attempts: int
    body: bytes
    problem: str
    first: int
    claimed: bool = False
    way: Way = Way.WEBHOOK
    parked: bool = False
    """Whether it waits for its account to come within reach of its way, rather than for `due`."""


@dataclass(slots=True)
class InboundMessage:
    """A whole message from a phone; a row that is written once.

    The gatherer gives the key right before the commit, out of the sequence of the messages' keys. The commit that
    writes the message also applies its `wish`, such as STOP, and accepts its `reply`.
    """

    account: int
    """Its owner; 0 while it is unrouted."""
    connector: int
    sender: str
    recipient: str
    content: str
    """Its text; empty where it has none."""
    octets: bytes
    """The octets as they were sent, without headers."""
    coding: int
    """SMPP data_coding, such as 8 for UCS-2."""
    at: int
    keyword: str = ""
    """The keyword of the rule that found the owner."""
    parts: int = 1
    complete: bool = True
    """Whether all parts came."""
    way: Way = Way.NONE
    """The way by which the owner gets it; NONE if it pulls."""
    digest: int = 0
    """A hash (63 bits) of the octets on the wire, kept until they are answered, to recognise the operator's repeats. 0
    if no answer is awaited."""
    lost: bool = False
    """Whether the answer cannot be written any more."""
    parts_of: "PartSet | None" = None
    """The parts that it was joined from."""
    price: int = 0
    """Charged to the owner, whatever the balance."""
    wish: Wish = Wish.NONE
    """The wish of its text, where the owner has it acted on. STOP suppresses the sender for the account and withdraws
    all that waits for it; START and YES undo that."""
    reply: Accept | None = None
    """A request with a single queued message. After STOP it goes out only if the number was not suppressed before."""
    replied: int = 0
    """The key of the message that replied, 0 for none; the store sets it."""
    withheld: str = ""
    """Why STOP or HELP got no answer, for the metric; empty otherwise. It is not stored."""
    key: int = 0
    tail: int = 0
    sealed: bytes = field(default=b"", repr=False, compare=False)
    """The envelope of `content`, as a `Message` has it."""
    last_note: int = field(default=0, compare=False)
    """The number of the newest note when its earlier copies were looked up (`app.ports.inbound.FoundCopies`)."""
    contested: bool = field(default=False, compare=False)
    """Set by a store that nodes share if another node wrote an equal message after that look-up. The message is not
    written then, and has no effect: no charge, no wish, no reply, no notice."""

    @property
    def is_unreadable(self) -> bool:
        """Whether its row has an envelope that could not be opened, of its text or of its octets."""
        return bool(self.sealed) and not self.content

    @property
    def changes_consent(self) -> bool:
        """Whether the text suppresses the sender, or undoes that."""
        return bool(self.account) and self.wish in CONSENT_WISHES


CONSENT_WISHES = (Wish.STOP, Wish.START, Wish.YES)


@dataclass(frozen=True, slots=True)
class PartSet:
    """The name of a long inbound message with parts that arrive singly, over any bind of the connector."""

    connector: int
    sender: str
    recipient: str
    reference: int
    total: int


@dataclass(slots=True)
class InboundPart:
    """A part of a long inbound message. The first part of each number stays until all are joined.

    `octets`: the user data as received, with its header if `has_header`. `number`: counts from 1.
    """

    parts_of: PartSet
    number: int
    coding: int
    has_header: bool
    octets: bytes
    at: int
    is_unreadable: bool = field(default=False, compare=False)
    """Whether its row has an envelope that could not be opened; `octets` are then empty."""


@dataclass(slots=True)
class InboundReply:
    """The reply to an inbound message was refused, or could not be read: `problem` says why, for people."""

    account: int
    key: int
    problem: str
    withheld: str = ""
    """The limit of answers that refused it, for the metric. It is not stored."""


MessageName = tuple[int, int]
"""A message by its account and its key, for facts without other values."""


@dataclass(slots=True)
class Facts:
    """The facts of a transaction, written in the order of the fields."""

    accepts: list[Accept] = field(default_factory=list)
    queueings: list[Queueing] = field(default_factory=list)
    sending: list[MessageName] = field(default_factory=list)
    """Messages with a row in the queue that go to the operator right after this commit, which marks them attempted."""
    asking: list[MessageName] = field(default_factory=list)
    """Messages that ask for a receipt after all, because their connector always asks."""
    attempts: list[Attempt] = field(default_factory=list)
    throttles: list[Attempt] = field(default_factory=list)
    """Parts that the operator throttled: for watchers only, not stored."""
    submissions: list[Submission] = field(default_factory=list)
    dequeued: list[MessageName] = field(default_factory=list)
    """Messages with a queue row that must be deleted."""
    parts: list[PartReceipt] = field(default_factory=list)
    progress: list[PartReceipt] = field(default_factory=list)
    """Receipts of states that are not final (ENROUTE, ACCEPTD), kept for the history: see MOST_PROGRESS."""
    finals: list[MessageEnd] = field(default_factory=list)
    withdrawals: list[Withdrawal] = field(default_factory=list)
    resends: list[Resend] = field(default_factory=list)
    early: list[EarlyReceipt] = field(default_factory=list)
    early_matched: list[tuple[int, str]] = field(default_factory=list)
    """(connector, operator id) of early receipts that found their message."""
    awaiting: list[Awaiting] = field(default_factory=list)
    """Parts with a new row that awaits their receipt."""
    awaiting_matched: list[Awaiting] = field(default_factory=list)
    """Parts with a receipt, with or without a row. Several messages may await the same id, if an operator's counter
    starts again.
    """
    inbound_lost: list[int] = field(default_factory=list)
    """Keys of inbound messages without a written answer. A message with equal octets is a repeat."""
    inbound_answered: list[int] = field(default_factory=list)
    """Keys of inbound messages with a written answer, or with an answered repeat."""
    inbound: list[InboundMessage] = field(default_factory=list)
    inbound_parts: list[InboundPart] = field(default_factory=list)
    inbound_replies: list[InboundReply] = field(default_factory=list)
    callbacks: list[CallbackDone] = field(default_factory=list)
    callback_retries: list[CallbackRetry] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)
    """Durable high- and low-water marks by name; see `app.marks`."""

    def __bool__(self) -> bool:
        return bool(
            self.accepts
            or self.submissions
            or self.finals
            or self.withdrawals
            or self.resends
            or self.callbacks
            or self.sending
            or self.asking
            or self.queueings
            or self.attempts
            or self.throttles
            or self.dequeued
            or self.parts
            or self.progress
            or self.early
            or self.early_matched
            or self.awaiting
            or self.awaiting_matched
            or self.callback_retries
            or self.inbound
            or self.inbound_parts
            or self.inbound_replies
            or self.inbound_answered
            or self.inbound_lost
            or self.marks
        )


def leave_out_contested(facts: Facts) -> None:
    """Removes contested messages from phones, and the rows of their notices."""
    contested = {message.key for message in facts.inbound if message.contested}
    if contested:
        facts.inbound = [message for message in facts.inbound if not message.contested]
        facts.callback_retries = [retry for retry in facts.callback_retries if retry.key not in contested]


# --- work that the store returns to a node


@dataclass(slots=True)
class UntriedRow:
    """A due row of the queue, with the fields that routes use. No operator has the message, or may have it."""

    key: int
    account: int
    destination: str
    sender: str
    price: int
    segments: int
    network: str


@dataclass(slots=True)
class Queued:
    """A message to dispatch, from the rows.

    `attempted`: it may have reached the operator before.

    `answered`: the numbers, from 0, of the parts with an answer.

    `taken`: the numbers of accepted parts, including NO_ANSWER.
    """

    message: Message
    attempted: bool
    answered: frozenset[int] = frozenset()
    taken: frozenset[int] = frozenset()
    tried: frozenset[int] = frozenset()
    """Other connectors that tried it."""
    resent: bool = False
    """Whether an operator took it before and did not deliver it (`Resend`), or the operator of another connector may
    have it (`failover_unknown`)."""
    suppressed: bool = False
    """The recipient opted out, and nothing of the message has left."""
    is_reply: bool = False
    """Whether it is the gateway's own answer to a phone, so that suppressions do not apply."""
    untried: bool = False
    """Whether certainly no operator has tried it."""
    preliminary: bool = False
    """Whether it has the connector of its acceptance, and none has tried it. Another may be better by now."""


@dataclass(slots=True)
class Outstanding:
    """A message with parts that await receipts.

    `operator_ids`: maps (connector, operator's id) to the numbers of its parts without a final state.

    `states`: maps the numbers of the other parts to their state and error code.

    `taken`: the number of parts that the operator took; 0 if an earlier copy of a part has no answer.

    `tried`: connectors that tried the message without any part at their operators now. The connector that sends the
    message now is among them while an answer is missing.

    `undelivered_by`: connectors of `tried` with an operator that took the message and did not deliver it (`Resend`).
    """

    message: Message
    operator_ids: dict[tuple[int, str], tuple[int, ...]]
    states: dict[int, tuple[Delivery, str]]
    taken: int = 0
    tried: frozenset[int] = frozenset()
    undelivered_by: frozenset[int] = frozenset()
