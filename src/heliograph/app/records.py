"""Records beside the flow of messages: users, tokens and the audit log; searches, their results and counts.

Users sign in to the console, each with a role. Programs use the admin API with tokens, each with scopes. A role is a
set of scopes, so a single check serves both. Every change of users and tokens is an entry in the audit log.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from heliograph.app.configuration import LedgerEntry
from heliograph.app.facts import Attempt, CallbackEnd, InboundMessage, Message, PartReceipt, Submission, subject_key_of
from heliograph.domain.error import Reason
from heliograph.domain.limits.gate import Holder
from heliograph.domain.message import ids
from heliograph.domain.message.receipt import Delivery, err_of
from heliograph.domain.message.status import MessageStatus, status_of


class Scope(StrEnum):
    """A permission. Tokens have these values, for example `accounts:read`."""

    READ_ACCOUNTS = "accounts:read"
    WRITE_ACCOUNTS = "accounts:write"
    """Open, change and suspend accounts, except for fields with their own scope below."""
    WRITE_KEYS = "keys:write"
    """Make and revoke API keys; replace passwords and signing secrets."""
    TOP_UP = "topups:write"
    """Add credit, and take it back; the opening credit of an account."""
    WRITE_CREDIT = "credit:write"
    """Set how far a balance may go below zero."""
    WRITE_LIMITS = "limits:write"
    """Set how fast an account may ask, from which networks, and with which senders."""
    WRITE_TEXTS = "texts:write"
    """Set where receipts and texts from phones go, and which texts the account answers phones with."""
    READ_CONNECTORS = "connectors:read"
    OPERATE_CONNECTORS = "connectors:operate"
    """Pause, enable and test connectors."""
    WRITE_CONNECTORS = "connectors:write"
    """Add, change and remove connectors."""
    READ_ROUTES = "routes:read"
    WRITE_ROUTES = "routes:write"
    READ_PRICES = "prices:read"
    WRITE_PRICES = "prices:write"
    """Set prices, and choose the plan that an account pays by."""
    READ_MESSAGES = "messages:read"
    WRITE_MESSAGES = "messages:write"
    """Cancel and reschedule messages, and suppress phones."""
    ERASE = "recipients:erase"
    """Erase the data of a phone, and set how long an account's messages are kept."""
    EXPORT = "recipients:export"
    """Read everything that is kept of a phone, texts too."""
    SEND = "messages:send"
    """Send at an account's cost."""
    READ_REPORTS = "reports:read"
    """See counts, spend and delays of all accounts, connectors and countries."""
    READ_CALLBACKS = "callbacks:read"
    WRITE_CALLBACKS = "callbacks:write"
    """Replay and drop callbacks."""
    READ_AUDIT = "audit:read"
    PEOPLE = "people:write"
    """Make and remove admin users and tokens. No token may have it."""


class UserRole(StrEnum):
    """A user's set of scopes; each role includes the role before it."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


_VIEWER = frozenset(scope for scope in Scope if scope.endswith(":read")) - {Scope.READ_AUDIT}
_OPERATOR = _VIEWER | {
    Scope.OPERATE_CONNECTORS, Scope.WRITE_MESSAGES, Scope.SEND, Scope.WRITE_CALLBACKS, Scope.READ_AUDIT,
}  # fmt: skip

SCOPES_OF: dict[UserRole, frozenset[Scope]] = {
    UserRole.VIEWER: _VIEWER,
    UserRole.OPERATOR: _OPERATOR,
    UserRole.ADMIN: frozenset(Scope),
}

FACTOR_RESET = "factor.reset"
"""Action in the audit log of an admin who removes the second factors of another user."""

_NO_TOKENS = frozenset({Scope.PEOPLE, Scope.SEND})

TOKEN_SCOPES: tuple[Scope, ...] = tuple(scope for scope in Scope if scope not in _NO_TOKENS)
"""Scopes that a token may have: a leaked token cannot make others, and programs send by the customers' API."""


@dataclass(slots=True)
class AdminUser:
    """A user of the console. `password_hash` is argon2id."""

    name: str
    password_hash: str = field(repr=False)
    role: UserRole
    created: int
    second_factor: bool = False
    """Whether signing in takes a second factor; the store works it out."""


@dataclass(slots=True)
class AdminSession:
    """A signed-in user. Only the SHA-256 of the cookie's token is kept.

    `csrf`: the token in every form of this session.
    """

    digest: bytes = field(repr=False)
    user: str
    csrf: str = field(repr=False)
    created: int
    expires: int
    used: int
    """Time of the last use, within a minute."""


@dataclass(slots=True)
class AdminToken:
    """A token for the admin API: only its SHA-256 is kept. `id` is short and may be shown; `name` is for people."""

    id: str
    name: str
    digest: bytes = field(repr=False)
    scopes: tuple[str, ...]
    created: int
    revoked: int | None = None
    expires: int | None = None
    used: int | None = None
    """Time of a use, at most an hour before the last use; None if it was never used."""


@dataclass(frozen=True, slots=True)
class SignInFailure:
    """Failures of a name to sign in, as a node counted them within about a second.

    `door`: the kind of door. `name`: a keyed hash of the user or the address (`app.sending.failure_register`).
    """

    door: str
    name: bytes = field(repr=False)
    node: int
    at: int
    failures: int


@dataclass(frozen=True, slots=True)
class SignInPlace:
    """A successful sign-in by a kind of door from a place, both in a single keyed hash. `at`: the time, accurate to a
    day.
    """

    door: str
    name: bytes = field(repr=False)
    at: int


@dataclass(frozen=True, slots=True)
class KeyUse:
    """A use of an account's API key, or of an admin token (then `account` is 0)."""

    account: int
    key: str
    at: int


@dataclass(slots=True)
class AuditEntry:
    """An entry of the audit log.

    `actor`: for example `user:ada`, `token:4f1a`, `cli:root`, `system`.

    `action`: for example `account.top-up`.

    `target`: the name of the changed thing.

    `details`: no secrets and no message texts.
    """

    at: int
    actor: str
    action: str
    target: str
    details: dict[str, str]
    address: str = ""
    """Address of the client; empty if there is none."""
    key: int = 0
    """Ascending number in the order of writing; given by the store."""


@dataclass(slots=True)
class AuditLink:
    """An entry of the audit log as it is kept, with its hash; `details` are the text that was hashed."""

    key: int
    at: int
    actor: str
    action: str
    target: str
    details: str
    address: str
    hash: bytes


@dataclass(frozen=True, slots=True)
class AuditHead:
    """The end of the audit log: the key of its last entry, which is their number, and the hash of that entry."""

    key: int
    hash: bytes


@dataclass(slots=True)
class AuditQuery:
    """A page of the audit log, newest first: entries before the key `before`. Empty texts match all."""

    limit: int = 50
    before: int | None = None
    actor: str = ""
    action: str = ""
    """The beginning of the action, such as `account.`."""
    target: str = ""


# --- messages, callbacks and counts


@dataclass(slots=True)
class Search:
    """A search for messages, newest first; None and '' match all.

    `start`, `end`: acceptance times; within an account, sending times. Both inclusive, in ms.

    `by_acceptance`: orders by acceptance time; otherwise by sending time.
    """

    account: int | None = None
    number: str = ""
    """The destination, whole or its beginning."""
    status: MessageStatus | None = None
    start: int | None = None
    end: int | None = None
    before: tuple[int, int] | None = None
    """Goes on where an earlier page ended, and in its order: its `SearchPage.more`."""
    limit: int = 50
    effort: int = 100_000
    """Most rows that the search reads: a search that finds little stops there, and the next page goes on."""

    connector: int | None = None
    """Id of the connector that the message was accepted for, or that sent it in place of that."""
    error: str = ""
    """State and code of a final state other than delivered, or either of them: `UNDELIV`, `011`, `UNDELIV 011`."""
    sender: str = ""
    """The sender, whole; case does not matter."""
    country: str = ""
    """Country of the destination, as in ISO 3166-1 with two letters; case does not matter."""
    network: str = ""
    """MCCMNC of the destination's network on acceptance, such as `26201`."""
    id: tuple[int, int] | None = None
    """Key and tail of a message, or of a batch: all messages of the batch are then found."""
    reference: str = ""
    """Reference of the request, whole; not used beside an `id`."""
    accepted_order: bool = False
    """Demands the order in which messages were accepted."""

    @property
    def by_acceptance(self) -> bool:
        """Whether messages come in the order in which they were accepted, rather than sent.

        Within an account the order is when they are sent, unless there is something rarer to find them by.
        """
        rare = len(self.number) >= TELLING_DIGITS or self.status in RARE_STATUSES or bool(self.error)
        goes_on = self.before is not None and self.before[0] == 0
        return self.accepted_order or goes_on or self.account is None or rare or self.names_request

    @property
    def names_request(self) -> bool:
        """Whether it has an id or a reference, so that few messages can match."""
        return self.id is not None or bool(self.reference)


RARE_STATUSES = (MessageStatus.UNDELIVERED, MessageStatus.FAILED, MessageStatus.HELD)

TELLING_DIGITS = 7
"""Digits of a number or its beginning from which on few messages of an account are expected to match."""


@dataclass(slots=True)
class Hit:
    """A message with its final state, if any."""

    message: Message
    delivery: Delivery | None
    operator_code: str = ""
    """The operator's own code; empty if it gave none."""
    submitted: bool = False
    """Whether operators took all of its parts."""
    held: str | None = None
    """The reason for which it is held, as `gate.holder_of` reads it; None if it is not held."""
    sent_by: int | None = None
    """Id of the connector that it was last written to, or None before an answer. Failover may have changed it."""

    @property
    def connector(self) -> int:
        """Id of the connector that sent it, or else of the connector that it was accepted for."""
        return self.message.connector if self.sent_by is None else self.sent_by

    @property
    def err(self) -> str:
        """The `err` that the customer sees; empty before the final state."""
        return "" if self.delivery is None else err_of(self.operator_code, self.delivery)

    @property
    def status(self) -> MessageStatus:
        return status_of(self.message.state, self.delivery, submitted=self.submitted, held=self.held is not None)


@dataclass(slots=True)
class SearchPage:
    """A page of a search. `more`: the cursor of the next page, a time and a key; None at the end. In the order of
    acceptance its time is 0, for example (0, 6963201433600000). A page without hits may have a cursor: the search then
    spent its effort, back to the time `reached`.
    """

    hits: list[Hit]
    more: tuple[int, int] | None = None
    reached: int | None = None


@dataclass(slots=True)
class CallbackView:
    """A callback that is pending (`due` is set) or ended without delivery (`end` is set).

    `key`: the notice's key. `url`: empty if its way is not a webhook. `first`: when it first became due. `problem`: the
    last error. `code`: the last HTTP status of an ended callback.
    """

    key: int
    tail: int
    account: int
    url: str
    attempts: int
    problem: str
    first: int
    due: int | None = None
    held: bool = False
    """Whether it is being posted at this moment."""
    end: CallbackEnd | None = None
    code: int = 0
    at: int = 0
    """Time of its end."""

    @property
    def message_id(self) -> str | None:
        """The id of its message; None if it is about a low balance."""
        key = subject_key_of(self.key)
        return ids.to_hex(key, self.tail) if key else None


@dataclass(slots=True)
class Move:
    """A scheduled message was given another time, at `at`; both times are ms."""

    at: int
    was: int
    time: int


@dataclass(slots=True)
class MessageHold:
    """A time for which a message was held (ms)."""

    began: int
    ended: int | None
    """None before its release, and if the message ended while it was held."""
    why: str
    """The reason, as `gate.holder_of` reads it."""


@dataclass(slots=True)
class MessageRecord:
    """All rows of a message."""

    message: Message
    submissions: list[Submission]
    attempts: list[Attempt]
    receipts: list[PartReceipt]
    """Receipts of its parts, intermediate ones included, in the order of time."""
    final: tuple[Delivery | None, str, int] | None
    """State, error code, time. The state of a cancelled message is None."""
    entries: list[LedgerEntry]
    """Ledger entries: its charge (or the charge of its whole batch) and its refund."""
    queued: tuple[int, int, bool] | None
    """Row of the queue: connector, due time, whether a node has claimed it."""
    callback: CallbackView | None
    """Set if the callback has a pending row, or has ended; a delivered callback has the end DELIVERED."""
    moves: list[Move] = field(default_factory=list)
    """New times that the message was given while it was scheduled, in the order of time."""
    holds: list[MessageHold] = field(default_factory=list)
    """Its holds, in the order of time."""
    connectors: dict[int, str] = field(default_factory=dict)
    """Names by id; removed connectors have no name."""
    held: str | None = None
    """The reason for which it is held, as `gate.holder_of` reads it; None if it is not held."""
    feedback: tuple[bool, int] | None = None
    """The customer's last word: whether it was delivered, and the time."""

    @property
    def submitted(self) -> bool:
        """Whether operators took all of its parts."""
        return sum(each.status == 0 for each in self.submissions) >= self.message.segments

    @property
    def hit(self) -> Hit:
        """Returns the message with its final state, without its history."""
        delivery, code, _ = self.final or (None, "", 0)
        first = min(self.submissions, key=lambda each: each.segment, default=None)
        sent_by = None if first is None else first.connector
        return Hit(self.message, delivery, code, self.submitted, self.held, sent_by)


@dataclass(slots=True)
class Feedback:
    """The word of a customer about the delivery of a message, as the store keeps it."""

    message: Message
    """The message, with the connector that took it."""
    taken: bool
    """Whether an operator took any of its parts. Otherwise nothing was stored."""
    was: bool | None
    """Delivery by the earlier word, if that contradicted the receipt; otherwise None."""
    now: bool | None
    """Delivery by this word, if it contradicts the receipt; otherwise None."""


BIND_ALIVE_MS = 20_000
"""Milliseconds after which a bind that no node has reported is gone: four reports."""


@dataclass(slots=True)
class BindState:
    """A customer's SMPP bind as its node reports it."""

    kind: str
    """`transmitter`, `receiver` or `transceiver`."""
    address: str
    """Host and port of the client, for example `192.0.2.1:40112`."""
    tls: bool
    since: int
    """When it was bound (ms)."""
    window: int
    in_flight: int = 0
    """deliver_sm that wait for their answer."""
    unanswered: int = 0
    """Requests of the client that wait for our answer."""
    submitted: int = 0
    """Submissions that came: submit_sm, data_sm and submit_multi."""
    refused: int = 0
    """Submissions that were answered with an error."""
    delivered: int = 0
    """deliver_sm that the client answered with ESME_ROK."""
    put_off: int = 0
    """deliver_sm that the client answered with an error."""
    last_error: str = ""
    """The last refusal, for people, for example `ESME_RINVDSTADR: No route ...`."""


@dataclass(slots=True)
class CustomerBind:
    """A customer's SMPP bind on a node, as reported at a time (ms)."""

    id: int
    account: int
    node: int
    at: int
    state: BindState


@dataclass(slots=True)
class InboundQuery:
    """A query for inbound messages with keys below `before`.

    `account`: 0 for unrouted messages, None for all.

    `number`: the phone's number, or the number that it wrote to.
    """

    account: int | None = None
    number: str = ""
    before: int | None = None
    limit: int = 50

    def takes(self, message: InboundMessage) -> bool:
        """Whether it finds a message, apart from its number."""
        return self.account in (None, message.account) and (self.before is None or message.key < self.before)


@dataclass(slots=True)
class InboundRecord:
    """An inbound message, and its notice if that is pending in a row or has ended.

    `reply`: the id (key and tail) of the message made of the webhook's answer. `refused`: why no message was made.
    """

    message: InboundMessage
    callback: CallbackView | None = None
    reply: tuple[int, int] | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """A customer's request that was answered with an error. It has no secret, no text and no whole phone number."""

    account: int
    reason: Reason
    at: int
    status: int
    """HTTP status of the answer."""
    method: str
    path: str
    field: str
    """Field of the request with the error; empty if there is no such field."""
    message: str
    address: str
    request_id: str


@dataclass(slots=True)
class RefusalCount:
    """Number of an account's requests that were refused for a reason, in the hour that begins at `hour` (ms)."""

    account: int
    reason: Reason
    hour: int
    requests: int
    latest: int
    """Time of the last refusal."""


@dataclass(frozen=True, slots=True)
class RefusalQuery:
    """Refused requests from `since` on, counted from the beginning of its hour; 0 and None match all."""

    since: int = 0
    account: int | None = None
    reason: Reason | None = None


@dataclass(slots=True)
class RefusalTotal:
    """Number of an account's requests that were refused for a reason, and the time of the last."""

    account: int
    reason: Reason
    requests: int
    latest: int


COUNTED = 100_000
"""Counts for people stop there: a longer backlog is not worth the time of counting it."""


@dataclass(slots=True)
class BacklogCounts:
    """Counts of waiting work in the rows; each is at most COUNTED."""

    scheduled: int
    waiting: int
    """Due messages in the queue that no node has claimed. Claimed messages are counted by the lanes."""
    oldest: int | None
    """Due time of the oldest of them."""
    deferred: dict[int, int]
    """Messages that wait for another try, by connector: the operator did not want them yet, or did not answer. COUNTED
    is the most over all. Held messages are not among them."""
    awaiting: int
    """Parts without a receipt that are no longer looked up in memory."""
    owed: int
    """Callbacks in the retry table."""
    ended: int
    """Callbacks that failed, or got 410 from their receiver."""
    orphans: int
    held: dict[Holder, int] = field(default_factory=dict)
    """Held messages by reason; reasons without messages are left out."""


@dataclass(slots=True)
class RestorePoint:
    """Extent of the rows, for a backup that was put back: work that they hold as not done may have been done since."""

    latest: int | None
    """Time of the newest row, in milliseconds; None without rows."""
    scheduled: int
    unsent: int
    """Messages that are to be sent, whole or in part."""
    awaiting: int
    """Sent messages without a receipt."""
    owed: int
    """Callbacks that are to be made."""


@dataclass(frozen=True, slots=True)
class ToldWorry:
    """A thing in trouble that people were told about by an alert, until they are told that it is over."""

    topic: str
    """For example `connector`."""
    subject: str
    """For example `op1`; may be empty."""
    problem: str
    """A clause, for example `op1 is down`."""
    since: int
    """Time at which they were told (ms)."""


class TakenSegment(NamedTuple):
    """A segment that an operator took, or may have taken, at a time (ms)."""

    connector: int
    at: int
    is_delivered: bool


@dataclass(slots=True)
class Earning:
    """The money of a message: its price less refunds, and the segments that an operator charges for."""

    key: int
    account: int
    destination: str
    """Empty once it was redacted."""
    network: str
    """MCCMNC of the destination on acceptance; empty if it was not known."""
    amount: int
    """Micro-credits."""
    segments: list[TakenSegment] = field(default_factory=list)
    """Empty for a message that waits, or that never left."""


@dataclass(slots=True)
class Usage:
    """An account's ledger over a span of time that begins at `at`; money in micro-credits, not negative."""

    at: int
    requests: int
    charged: int
    refunded: int
    inbound: int = 0
    """Cost of messages from phones, beside `charged`."""


def read_scopes(texts: Iterable[str]) -> tuple[str, ...]:
    """Parses scopes; returns them in the order of `Scope`. Raises ValueError with a sentence for people."""
    wanted = set(texts)
    unknown = wanted - set(TOKEN_SCOPES)
    if unknown:
        raise ValueError(f"{', '.join(sorted(unknown))}: no such scope; there are {', '.join(TOKEN_SCOPES)}")
    if not wanted:
        raise ValueError("a token needs at least one scope")
    return tuple(scope.value for scope in TOKEN_SCOPES if scope in wanted)


class ExportFormat(StrEnum):
    """The format of a file of messages. Its value is the end of the file's name."""

    CSV = "csv"
    JSONL = "jsonl"

    @property
    def media_type(self) -> str:
        return "text/csv" if self is ExportFormat.CSV else "application/x-ndjson"

    @property
    def content_type(self) -> str:
        """The header `Content-Type` of a file."""
        return f"{self.media_type}; charset=utf-8" if self is ExportFormat.CSV else self.media_type
