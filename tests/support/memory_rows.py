"""The rows of the in-memory store, and the place where its parts find them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from heliograph.app.configuration import (
    Account,
    ApiKey,
    Connector,
    Cost,
    LedgerEntry,
    MessageTemplate,
    MobileNetwork,
    Plan,
    Price,
    RegisteredSender,
    Route,
    TrafficHold,
)
from heliograph.app.facts import (
    LOW_BALANCE,
    Attempt,
    CallbackDone,
    EarlyReceipt,
    InboundMessage,
    InboundPart,
    Message,
    PartReceipt,
    PartSet,
    Submission,
)
from heliograph.app.notice import LowBalance
from heliograph.app.ports import ConnectorReport, Fenced, NodeReport, Unavailable
from heliograph.app.ports.backlog import OrderAnswer, QueueOrder
from heliograph.app.ports.factors import SecondFactor
from heliograph.app.ports.sending_lists import SendingList
from heliograph.app.records import (
    AdminSession,
    AdminToken,
    AdminUser,
    AuditHead,
    AuditLink,
    CustomerBind,
    MessageHold,
    RefusalCount,
    RefusedRequest,
    SignInFailure,
    SignInPlace,
    ToldWorry,
)
from heliograph.domain.error import Reason
from heliograph.domain.limits.allowance import Allowance
from heliograph.domain.limits.pumping import TrafficCount
from heliograph.domain.message.ids import worker_of
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.retention import Stage
from heliograph.domain.message.suppression import Suppression
from heliograph.domain.money.amounts import EntryKind
from heliograph.domain.numbers.number_rules import InboundNumber
from heliograph.domain.numbers.sender_rules import SenderRule
from heliograph.domain.pace.pace import LearntPace
from heliograph.domain.security.audit_chain import GENESIS
from heliograph.domain.series import Cell, CellKey, Grain


@dataclass(slots=True)
class QueueRow:
    connector: int
    due: int
    expires: int
    attempted: bool
    node: int | None = None
    held: str | None = None


@dataclass(slots=True)
class RetryRow:
    due: int | None
    attempts: int
    body: bytes
    problem: str
    first: int
    node: int | None = None
    parked: bool = False


@dataclass(slots=True)
class Batch:
    key: int
    tail: int
    account: int
    reference: str | None
    total: int
    keys: list[int]
    dropped: int = 0


@dataclass(slots=True)
class Reference:
    fingerprint: bytes
    key: int
    batch: bool
    scheduled: bool
    replayed: bool = False
    """Whether a repeat of the request got the result of the first."""


@dataclass(slots=True)
class End:
    """`state` is None for a cancelled message."""

    state: Delivery | None
    err: str
    at: int
    owed: bool


@dataclass(slots=True)
class Moved:
    key: int
    at: int
    was: int
    time: int


@dataclass(slots=True)
class PartRow:
    """`joined` is the key of the message that the part became, 0 while it waits."""

    part: InboundPart
    joined: int = 0
    node: int | None = None


@dataclass(slots=True)
class UnansweredRow:
    connector: int
    digest: int
    node: int
    at: int
    lost: bool
    number: int
    """Ascends with the notes."""
    answered: bool = False


@dataclass(slots=True)
class OwedRow:
    """A message that series count from its row; `at` is when it ended, 0 if it was accepted."""

    id: int
    key: int
    at: int


@dataclass(slots=True)
class NodeRow:
    """A node's lease. `until` is its end by the store's clock (ms); `gone` says that the node was given up."""

    until: int = 0
    gone: bool = False


@dataclass(slots=True)
class DroppedMoney:
    entries: int = 0
    amount: int = 0
    last_key: int = 0


@dataclass(slots=True)
class Rows:
    accounts: dict[int, Account] = field(default_factory=dict)
    keys: list[ApiKey] = field(default_factory=list)
    balances: dict[int, int] = field(default_factory=dict)
    armed: set[int] = field(default_factory=set)
    """Accounts that will be told of a low balance."""
    balance_notices: dict[int, LowBalance] = field(default_factory=dict)
    top_ups: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)
    """Amounts and balances of top-ups with a reference, by account and reference."""
    used: dict[int, Allowance] = field(default_factory=dict)
    """The use of accounts' limits."""
    ledger: list[LedgerEntry] = field(default_factory=list)
    last_list: dict[int, int] = field(default_factory=dict)
    connectors: dict[int, Connector] = field(default_factory=dict)
    routes: dict[int, Route] = field(default_factory=dict)
    networks: dict[str, MobileNetwork] = field(default_factory=dict)
    costs: dict[tuple[int, str, str, int], Cost] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    operator_parts: dict[tuple[int, int], int] = field(default_factory=dict)
    """Parts by connector and day."""
    operator_paces: dict[int, LearntPace] = field(default_factory=dict)
    prices: dict[tuple[str, str, str, int], Price] = field(default_factory=dict)
    orders: dict[int, tuple[QueueOrder, int]] = field(default_factory=dict)
    """Orders for waiting messages by id, with their times."""
    answers: dict[tuple[int, int], OrderAnswer] = field(default_factory=dict)
    """Answers to orders by order and node."""
    link_states: dict[tuple[int, int], ConnectorReport] = field(default_factory=dict)
    node_reports: dict[int, NodeReport] = field(default_factory=dict)
    messages: dict[int, Message] = field(default_factory=dict)
    batches: dict[int, Batch] = field(default_factory=dict)
    references: dict[tuple[int, str], Reference] = field(default_factory=dict)
    sending_lists: dict[int, SendingList] = field(default_factory=dict)
    sent_forms: dict[str, int] = field(default_factory=dict)
    queue: dict[int, QueueRow] = field(default_factory=dict)
    moved: list[Moved] = field(default_factory=list)
    message_holds: dict[tuple[int, int], MessageHold] = field(default_factory=dict)
    """Holds by message and beginning."""
    attempts: list[Attempt] = field(default_factory=list)
    sent: dict[tuple[int, int], Submission] = field(default_factory=dict)
    parts: dict[tuple[int, int], PartReceipt] = field(default_factory=dict)
    progress: list[PartReceipt] = field(default_factory=list)
    finals: dict[int, End] = field(default_factory=dict)
    feedback: dict[int, tuple[bool, int, bool]] = field(default_factory=dict)
    """Words of customers about messages: delivered, when, whether it contradicts the receipt."""
    early: list[EarlyReceipt] = field(default_factory=list)
    awaiting: set[tuple[int, str, int, int]] = field(default_factory=set)
    callbacks: dict[int, CallbackDone] = field(default_factory=dict)
    retries: dict[int, RetryRow] = field(default_factory=dict)
    numbers: dict[int, InboundNumber] = field(default_factory=dict)
    templates: dict[str, MessageTemplate] = field(default_factory=dict)
    senders: dict[tuple[int, str], RegisteredSender] = field(default_factory=dict)
    sender_rules: dict[int, SenderRule] = field(default_factory=dict)
    binds: dict[int, CustomerBind] = field(default_factory=dict)
    told_worries: list[ToldWorry] = field(default_factory=list)
    dropped_binds: set[int] = field(default_factory=set)
    traffic: dict[tuple[int, str, int], TrafficCount] = field(default_factory=dict)
    holds: dict[tuple[int, str], tuple[TrafficHold, int | None]] = field(default_factory=dict)
    """Holds of the pumping guard, and the times of their ends."""
    inbound: dict[int, InboundMessage] = field(default_factory=dict)
    positions: dict[int, int] = field(default_factory=dict)
    """Places of inbound messages among their account's, by key."""
    refused_replies: dict[int, str] = field(default_factory=dict)
    """Why replies to inbound messages were not sent, by key."""
    inbound_parts: dict[tuple[PartSet, int], PartRow] = field(default_factory=dict)
    unanswered: dict[int, UnansweredRow] = field(default_factory=dict)
    last_note: int = 0
    """The number of the newest of them."""
    suppressions: dict[tuple[int, str], Suppression] = field(default_factory=dict)
    refusal_counts: dict[tuple[int, Reason, int], RefusalCount] = field(default_factory=dict)
    refused_requests: list[RefusedRequest] = field(default_factory=list)
    past_marks: dict[int, tuple[int, int]] = field(default_factory=dict)
    """How often a directory's mark was moved, and when it was moved last."""
    forks: list[int] = field(default_factory=list)
    commits: dict[int, int] = field(default_factory=dict)
    """Counts of commits of facts by the connection that made them."""
    sign_in_failures: list[SignInFailure] = field(default_factory=list)
    sign_in_places: dict[tuple[str, bytes], SignInPlace] = field(default_factory=dict)
    sign_in_key: bytes = b""
    series: dict[tuple[Grain, int, CellKey], Cell] = field(default_factory=dict)
    series_owed: list[OwedRow] = field(default_factory=list)
    places: dict[tuple[int, Stage, bool], tuple[int, int]] = field(default_factory=dict)
    """How far retention has come, by account, stage and whether inbound."""
    forgotten: set[tuple[int, str]] = field(default_factory=set)
    """Suppressions with an erased number."""
    kept: set[tuple[int, Stage, int]] = field(default_factory=set)
    dropped: dict[tuple[int, EntryKind], DroppedMoney] = field(default_factory=dict)
    archive: "Rows | None" = None
    """The dropped rows for tests that look at them; None for others."""
    marks: dict[int, dict[str, int]] = field(default_factory=dict)
    """Marks by worker and name."""
    nodes: dict[int, NodeRow] = field(default_factory=dict)
    workers: dict[int, int | None] = field(default_factory=dict)
    """The node that has a worker number; None while no node has it."""
    slots: dict[tuple[int, int], int] = field(default_factory=dict)
    """Nodes by connector and bind slot."""
    revision: int = 0
    undone: int = 0
    """Requests that were undone, since nobody was told that they were written."""
    given: dict[str, int] = field(default_factory=dict)
    """The last number given to an account, a connector, a route, a ledger entry."""

    def mark(self, key: int, name: str) -> int:
        """Returns a mark of the worker that made the key."""
        return self.marks.get(worker_of(key), {}).get(name, 0)


def merged(shards: Sequence[Rows]) -> Rows:
    """The rows of several stores as a single set. Configuration is from the first store, and marks are of each
    store."""
    rows = replace(shards[0], marks={})
    for name in (
        "messages",
        "batches",
        "references",
        "queue",
        "sent",
        "parts",
        "finals",
        "feedback",
        "message_holds",
        "callbacks",
        "retries",
        "balance_notices",
        "inbound",
        "positions",
        "suppressions",
        "dropped",
    ):
        setattr(rows, name, {key: row for shard in shards for key, row in getattr(shard, name).items()})
    for name in ("ledger", "moved", "attempts", "progress", "early"):
        setattr(rows, name, [row for shard in shards for row in getattr(shard, name)])
    rows.awaiting = {row for shard in shards for row in shard.awaiting}
    rows.balances = {account: sum(shard.balances[account] for shard in shards) for account in rows.balances}
    return rows


@dataclass(slots=True)
class People:
    users: dict[str, AdminUser] = field(default_factory=dict)
    sessions: dict[bytes, AdminSession] = field(default_factory=dict)
    tokens: dict[str, AdminToken] = field(default_factory=dict)
    factors: list[SecondFactor] = field(default_factory=list)
    codes: dict[str, set[bytes]] = field(default_factory=dict)
    deeds: list[AuditLink] = field(default_factory=list)
    head: AuditHead = field(default_factory=lambda: AuditHead(0, GENESIS))


class MemoryState:
    """Holds the rows that the parts of a store share. While `broken` is set every call raises Unavailable and changes
    nothing."""

    def __init__(self, rows: Rows | None = None) -> None:
        self.broken = False
        self.closed = False
        self.rows = Rows() if rows is None else rows
        self.people = People()
        self.node = self.worker = 0
        """The node that writes, and its worker number."""
        self.shared = False
        """Whether other nodes may use the rows, too."""

    def open(self) -> Rows:
        if self.broken or self.closed:
            raise Unavailable("the store is broken or closed")
        return self.rows

    def check_node(self, node: int) -> None:
        """Raises Fenced if the node was given up."""
        if node in self.rows.nodes and self.rows.nodes[node].gone:
            raise Fenced("the work of this node was given to others")

    def staff(self) -> People:
        self.open()
        return self.people

    def next(self, what: str) -> int:
        given = self.rows.given
        given[what] = given.get(what, 0) + 1
        return given[what]

    def put_price(self, price: Price) -> Price:
        before = [
            each
            for each in self.rows.prices.values()
            if (each.plan, each.prefix, each.network) == (price.plan, price.prefix, price.network)
            and each.since <= price.since
        ]
        was = max(before, key=lambda each: each.since).inbound if before else 0
        stored = replace(price, inbound=was if price.inbound is None else price.inbound)
        self.rows.prices[price.plan, price.prefix, price.network, price.since] = stored
        return replace(stored)

    def enter(
        self, account: int, kind: EntryKind, amount: int, message: int, at: int, note: str = "", key: int = 0
    ) -> None:
        """Writes an entry unless it is 0. An entry other than a charge has its own key, made from its time."""
        if amount == 0:
            return
        self.rows.ledger.append(
            LedgerEntry(key or (at << 12) + self.next("ledger"), account, kind, amount, message, at, note)
        )
        self.rows.balances[account] += amount

    def arm(self, account: int) -> None:
        """Lets the account be told of a low balance, unless the balance is low already."""
        threshold = self.rows.accounts[account].low_balance
        if threshold is not None and self.rows.balances[account] >= threshold:
            self.rows.armed.add(account)
        else:
            self.rows.armed.discard(account)

    def note_low_balances(self) -> None:
        """Owes notices of balances that fell below their thresholds. An operation that may charge calls it last."""
        rows = self.rows
        for account in sorted(rows.armed):
            owner, balance = rows.accounts[account], rows.balances[account]
            if owner.low_balance is None or balance >= owner.low_balance:
                continue
            rows.armed.discard(account)
            newest = max((each for each in rows.ledger if each.account == account), key=lambda each: each.key)
            low = LowBalance(self.next("balance_notice"), account, balance, owner.low_balance, newest.at)
            if owner.callback_url:
                rows.balance_notices[low.id] = low
                rows.retries[LOW_BALANCE - low.id] = RetryRow(low.at, 0, b"", "", low.at)


class MemoryPart:
    """Implements a port on the shared state."""

    def __init__(self, place: MemoryState) -> None:
        self._place = place

    def _open(self) -> Rows:
        return self._place.open()


def end_holds(rows: Rows, keys: Iterable[int], now: int, why: str | None = None) -> None:
    """Notes the end of the holds of messages, or of the holds for a reason alone."""
    wanted = set(keys)
    for (key, _), hold in rows.message_holds.items():
        if key in wanted and hold.ended is None and why in (None, hold.why):
            hold.ended = now
