"""What the gateway makes true: the values that flow from the use cases into the store, and back after a restart.

Everything that happens while one transaction is being written gathers in one `Facts` and is written by the next:
requests, submissions, receipts and callback results share a commit, and nobody is told of a fact before it is durable.

Times are milliseconds since the Unix epoch, UTC. Money is micro-credits. A message is named by its `key`, the
60-bit integer of its UUIDv7 (`domain.ids`); `tail`, the other 62 bits, is what a customer must know to look at it.
A fact about a message also names its `account`, so that it can be written where that account's rows are without the
message being looked for (`app.commit.divide`).
"""

from dataclasses import dataclass, field
from enum import IntEnum

from heliograph.domain.receipt import Delivery


@dataclass(slots=True)
class Message:
    """One text to one destination, as it was accepted; one row, written once.

    `time` is when it was accepted, or is to be sent if it was scheduled. `connector` is the one chosen on acceptance.
    `wants_receipt` asks the operator for a receipt; `callback_url` (maybe empty) is where it is then pushed.
    `price` is the charge for all `segments`. `batch` is the key of the request's batch, or 0.
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
    """Its dispatch is owed by a row of the queue, not by the fast lane."""
    key: int = 0
    tail: int = 0


class Verdict(IntEnum):
    """What became of an `Accept`."""

    ACCEPTED = 0
    TOO_LITTLE_CREDIT = 1
    SUSPENDED = 2
    REPLAYED = 3
    """The reference was used for the same request before: the first result stands in the `Accept`."""
    REFERENCE_CONFLICT = 4
    """The reference was used for a different request before."""
    UNAVAILABLE = 5
    """The store could not write it; nothing was charged."""


@dataclass(slots=True)
class Accept:
    """One request of a customer: one message, or (`batch`) several; charged and stored together or not at all.

    The gatherer gives the keys right before the commit, so that keys ascend in the order of commits; a batch's own
    key comes right before those of its messages. The store sets `verdict`; on REPLAYED it replaces
    `key`, `tail`, `total`, `scheduled` and `messages` by those of the first request.
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
    verdict: Verdict = Verdict.UNAVAILABLE


NO_ANSWER = -1
"""The status of a part that was written and never answered for: the operator may have it."""

NOT_SENT = -2
"""The status of a part that was never written, and will not be."""


@dataclass(slots=True)
class Submission:
    """The end of one part: taken (`status` 0, with the operator's own id for it), refused for good, NO_ANSWER or
    NOT_SENT.

    Recording it twice is harmless: the first one stays. `waited` and `took` are for those who look on, and are not
    stored: milliseconds from when the message was due until the part was written, and from there to the answer;
    -1 where there was none.
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


@dataclass(slots=True)
class Attempt:
    """A try that decided nothing, for the message's history: `status` is the command status, or NO_ANSWER."""

    account: int
    key: int
    segment: int
    connector: int
    status: int
    at: int


@dataclass(slots=True)
class Queueing:
    """The message's dispatch is owed by the queue from now on: inserts its row, or moves the one it has.

    `attempted` says that it may have reached the operator (*Unknown*); `held` that this node keeps it in memory
    and nobody else may claim it.
    """

    account: int
    key: int
    connector: int
    due: int
    expires: int
    attempted: bool
    held: bool


MOST_PROGRESS = 20
"""Receipts of one part that are no end and are kept, the first ones; each state and code once. Some operators tell
that a message is on its way again and again, for hours."""

MOST_MOVES = 20
"""Times that a message was rescheduled and that its history tells, the first ones. A customer may do so for ever."""


@dataclass(slots=True)
class PartReceipt:
    """One part of a message of several parts has reached its final state. As progress: one of any message, another."""

    account: int
    key: int
    segment: int
    state: Delivery
    err: str
    at: int


@dataclass(slots=True)
class Final:
    """The message has reached its final state; the first one recorded stays.

    `owed` says that a callback is owed to the customer. With `failed` the message never left the gateway: its state
    becomes Failed and `refund` micro-credits go back to `account`, in the same transaction and at most once.
    `waited` is not stored: milliseconds from the operator's answer until the last receipt was there (from when the
    message was due, if this process did not see the answer); -1 where no receipt came.
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


@dataclass(slots=True)
class EarlyReceipt:
    """A receipt whose message is not known (yet): it came before the operator's answer, or matches nothing at all.

    Hence it names no account.
    """

    connector: int
    operator_id: str
    destination: str
    state: Delivery
    err: str
    at: int


@dataclass(slots=True)
class Awaiting:
    """A part taken by the operator whose receipt is still to come, found by the operator's id for it."""

    connector: int
    operator_id: str
    account: int
    key: int
    segment: int


class CallbackEnd(IntEnum):
    """How a callback ended."""

    DELIVERED = 0
    GONE = 1
    """The receiver answered 410."""
    GIVEN_UP = 2
    """Not delivered within the time allowed; kept, and can be replayed."""


@dataclass(slots=True)
class CallbackDone:
    """A callback is over. `code` is the last HTTP status, or 0; `attempts` counts all tries.

    `waited` is not stored: milliseconds since the callback was first owed; -1 where that is not known.
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
    """The callback is owed by the retry table from now on: inserts its row, or moves the one it has.

    `body` is sent again byte for byte; empty when never tried. `problem` is what went wrong last, for people.
    `first` is when the callback was first owed. `held`: this node has it in the air, and nobody else may claim it.
    """

    account: int
    key: int
    due: int
    attempts: int
    body: bytes
    problem: str
    first: int
    held: bool = False


Name = tuple[int, int]
"""A message by its account and its key, where the fact says nothing else."""


@dataclass(slots=True)
class Facts:
    """All that one transaction makes true. The order of writing is the order of the fields."""

    accepts: list[Accept] = field(default_factory=list)
    queueings: list[Queueing] = field(default_factory=list)
    sending: list[Name] = field(default_factory=list)
    """Messages with a row in the queue that go to the operator right after this commit: marks them attempted."""
    attempts: list[Attempt] = field(default_factory=list)
    submissions: list[Submission] = field(default_factory=list)
    dequeued: list[Name] = field(default_factory=list)
    """Messages whose row in the queue is done with."""
    parts: list[PartReceipt] = field(default_factory=list)
    progress: list[PartReceipt] = field(default_factory=list)
    """Receipts of states that are not final (ENROUTE, ACCEPTD): kept for the history."""
    finals: list[Final] = field(default_factory=list)
    early: list[EarlyReceipt] = field(default_factory=list)
    early_matched: list[tuple[int, str]] = field(default_factory=list)
    """(connector, operator id) of early receipts that found their message."""
    awaiting: list[Awaiting] = field(default_factory=list)
    """Parts whose receipts this node no longer keeps in memory."""
    awaiting_matched: list[Awaiting] = field(default_factory=list)
    """Parts whose receipts have come; whether or not they have a row. An id may be awaited by several messages: an
    operator whose counter starts again gives it twice."""
    callbacks: list[CallbackDone] = field(default_factory=list)
    callback_retries: list[CallbackRetry] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)
    """Durable high- and low-water marks by name; see `app.marks`."""

    def __bool__(self) -> bool:
        return bool(
            self.accepts
            or self.submissions
            or self.finals
            or self.callbacks
            or self.sending
            or self.queueings
            or self.attempts
            or self.dequeued
            or self.parts
            or self.progress
            or self.early
            or self.early_matched
            or self.awaiting
            or self.awaiting_matched
            or self.callback_retries
            or self.marks
        )


# --- what the store gives back to a node: work to take up


@dataclass(slots=True)
class Queued:
    """A message to dispatch, as the rows know it.

    `attempted`: it may have reached the operator before. `answered`: its parts that have an answer already
    (their numbers, from 0); `taken` those of them that the operator took, or may have (NO_ANSWER).
    """

    message: Message
    attempted: bool
    answered: frozenset[int] = frozenset()
    taken: frozenset[int] = frozenset()


@dataclass(slots=True)
class Outstanding:
    """A message some of whose parts await receipts.

    `operator_ids` maps (connector, operator's id) to the numbers of the parts it stands for, of those that are not in
    a final state yet; `states` maps the number of each part that is to its state and error code.
    """

    message: Message
    operator_ids: dict[tuple[int, str], tuple[int, ...]]
    states: dict[int, tuple[Delivery, str]]
