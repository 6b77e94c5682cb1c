"""The ports: what the use cases ask of the world outside, as protocols. Fakes and real ones pass the same contracts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from heliograph.app.accounts import (
    Account,
    ApiKey,
    Connector,
    LedgerEntry,
    LinkState,
    Price,
    Route,
    Tables,
)
from heliograph.app.facts import (
    Accept,
    EarlyReceipt,
    Facts,
    Message,
    Outstanding,
    Owed,
    Queued,
    Recovery,
)
from heliograph.app.job import Job, Sent
from heliograph.app.operators import (
    AdminSession,
    AdminToken,
    AdminUser,
    Backlog,
    CallbackView,
    Deed,
    DeedQuery,
    Found,
    Hit,
    Reach,
    Search,
    Trace,
    Usage,
)
from heliograph.domain.receipt import Delivery
from heliograph.domain.segment import HEADER_OCTETS


class Unavailable(Exception):
    """The store cannot be reached or written. Nothing of the call is known to be durable; trying again is safe."""


class Fenced(Unavailable):
    """This node's lease was given up and its work is others': the process must end, or begin anew as another node."""


class Unfit(Exception):
    """The store will not have one of the facts, however often it is told: nothing of the call was recorded. The text
    quotes no value."""


class NotScheduled(Exception):
    """The message is not in a state for it: already sent, cancelled, or due."""


@dataclass(slots=True)
class ListQuery:
    """What a customer lists. `start` and `end` are whole seconds in ms, both inclusive; None is open."""

    start: int | None = None
    end: int | None = None
    index: int = 0
    limit: int = 100
    pending: bool = False
    descending: bool = False


@dataclass(slots=True)
class Event:
    """One line of a message's history. `segment` counts from 1; None where the whole message is meant."""

    at: int
    event: str
    segment: int | None
    detail: str


@dataclass(slots=True)
class BatchSlice:
    """Part of a batch: its messages in the order of the request, from `index` on."""

    key: int
    tail: int
    reference: str | None
    messages: list[Message]


class Store(Protocol):
    """Durable truth. Each method is one transaction: after it returns all of it is on disk, after it raises none is.

    Every method may raise `Unavailable`. Every `now` is the caller's clock; the store has none. Messages are looked
    up by account, key and tail together: another account's message, or a wrong tail, is the same as none.
    """

    # --- the hot path

    async def record(self, facts: Facts) -> None:
        """Makes all of `facts` true, or none; sets the verdict of each accept.

        A request that is refused (credit, suspension, reference) leaves no trace and does not fail the others.
        Requests are judged in order: two for the last credit, the first one gets it. Submissions, finals and
        callbacks that are recorded already, and queue rows that are gone, are passed over. A final whose message is
        Cancelled is passed over.

        Raises Unfit where a value of one of them cannot be written: then `app.apart` records the others. Whatever is
        raised, each accept is UNAVAILABLE.
        """

    # --- the queue: scheduled, deferred and overflowing messages

    async def claim_queued(
        self, connector: int, limit: int, now: int, node: int, accounts: Sequence[int] = ()
    ) -> list[Queued]:
        """Takes up to `limit` messages due by `now` for this node, oldest due first; scheduled ones become Sent. With
        `accounts` up to `limit` of each of these, and of no others; each one's are the oldest due first.

        A claim holds until `release` or until the row is dequeued. Nobody else gets a claimed message.
        """

    async def queued_accounts(self, connector: int, now: int) -> list[int]:
        """The accounts that have unclaimed messages due by `now`."""

    async def claim_expired(self, limit: int, now: int, node: int) -> list[Queued]:
        """Takes unclaimed messages whose validity ended by `now`, of any connector."""

    async def next_due(self) -> dict[int, int]:
        """The earliest due time of an unclaimed message, for each connector that has one."""

    async def release(self, node: int) -> int:
        """Gives up every claim of `node`; attempted rows stay marked. Returns how many there were."""

    # --- receipts

    async def find_outstanding(self, connector: int, operator_ids: Sequence[str]) -> list[Outstanding]:
        """The messages that await these receipts, out of those whose parts were recorded as `Awaiting`."""

    async def outstanding(self, key: int) -> Outstanding | None:
        """What the rows know of one message that has no final state yet; None if it has one, or is not there."""

    async def overdue(self, before: int, limit: int) -> list[Outstanding]:
        """Messages accepted before `before` that still await a receipt and are below the mark, oldest first."""

    async def orphans(self, limit: int) -> list[EarlyReceipt]:
        """Receipts that match nothing, newest first."""

    async def forget(self, before: int, most: int, limit: int) -> int:
        """Deletes receipts that matched nothing and came before `before`, or are beyond the latest `most`, about. Looks
        at the oldest `limit`; returns how many it deleted."""

    # --- callbacks

    async def claim_callbacks(self, limit: int, now: int, node: int) -> list[Owed]:
        """Takes callbacks due by `now` for this node, oldest due first; held until recorded as done or moved."""

    async def next_callback_due(self) -> int | None:
        """The earliest due time of an unclaimed callback."""

    async def replay(self, account: int | None, key: int | None, now: int) -> int:
        """Owes ended callbacks (given up or gone) again: one message's, the account's, or all. Returns how many."""

    # --- after a crash

    async def recover(self, worker: int, node: int) -> Recovery:
        """What is owed above the marks. On an embedded store the claims of other nodes are given up first."""

    # --- what customers ask

    async def balance(self, account: int) -> int: ...

    async def message(self, account: int, key: int, tail: int) -> Message | None: ...

    async def batch(self, account: int, key: int, tail: int, index: int, limit: int) -> BatchSlice | None: ...

    async def replayed(self, account: int, reference: str) -> tuple[bytes, Accept] | None:
        """The fingerprint and the first result of the request that used the reference (as `record` gives it on
        REPLAYED, with that verdict); None if none did."""

    async def messages(self, account: int, query: ListQuery) -> list[Message]:
        """Sent and Failed messages (Scheduled too if `pending`), by time and key. Cancelled ones never."""

    async def admit_list(self, account: int, now: int, interval: int) -> int:
        """0 if `interval` ms have passed since the last admitted list query of the account (and remembers this one);
        else the ms still to wait. Holds across processes, whose clocks may differ by less than that."""

    async def history(self, account: int, key: int, tail: int) -> list[Event] | None:
        """The message's history, put together from its rows, in the order of time; None if there is no such message."""

    async def delivery(self, key: int) -> tuple[Delivery, str, int] | None:
        """State, error code and time of the message's final, if it has one."""

    async def cancel(self, account: int, key: int, tail: int, now: int) -> list[Message]:
        """Cancels a scheduled message, or all still scheduled ones of a batch, and refunds each; returns them.

        Raises NotScheduled if there is none to cancel (sent, cancelled, or due by `now`), Missing if there is no
        such message or batch. Exactly one of cancel, reschedule and claim wins.
        """

    async def reschedule(self, account: int, key: int, tail: int, time: int, expires: int, now: int) -> list[Message]:
        """Moves a scheduled message, or all still scheduled ones of a batch, to `time`; returns them as they now are.

        Raises as `cancel` does.
        """

    # --- administration; each change adds one to the revision

    async def revision(self) -> int:
        """Grows with each change of accounts, keys, connectors, routes or prices, in any process."""

    async def tables(self) -> Tables: ...

    async def create_account(self, account: Account, key: ApiKey, credit: int, prices: Sequence[Price]) -> Account:
        """Creates it with its first key, its opening credit (a ledger entry if not 0) and own prices, if any; the
        account's id is given here, and stands in what is returned. Raises Exists."""

    async def update_account(self, account: int, changes: dict[str, Any]) -> Account:
        """Changes fields out of ACCOUNT_FIELDS. Raises Missing."""

    async def account(self, name: str) -> tuple[Account, list[ApiKey]] | None:
        """The account with its keys, revoked ones included."""

    async def account_by_id(self, account: int) -> Account | None: ...

    async def accounts(self) -> list[tuple[Account, int]]:
        """Every account with its balance, by name."""

    async def add_credit(self, account: int, amount: int, note: str, now: int) -> int:
        """Tops up (or, below zero, takes back) and writes the ledger; returns the new balance. Raises Missing."""

    async def ledger(self, account: int, limit: int, before: int | None = None) -> list[LedgerEntry]:
        """Entries, newest first, those before the key `before`."""

    async def add_key(self, key: ApiKey) -> None: ...

    async def revoke_key(self, account: int, key: str, now: int) -> None:
        """Raises Missing if there is no such key that is not revoked."""

    async def add_connector(self, connector: Connector) -> Connector:
        """Its id is given here, from 1 on, and never again. Raises Exists."""

    async def update_connector(self, connector: Connector) -> None:
        """Raises Missing."""

    async def remove_connector(self, name: str) -> None:
        """Its routes go with it; messages waiting for it are routed anew. Raises Missing."""

    async def add_route(self, route: Route) -> Route:
        """Raises Exists for the same prefix, connector and priority."""

    async def remove_route(self, route: int) -> None:
        """Raises Missing."""

    async def set_price(self, price: Price) -> None: ...

    async def remove_price(self, plan: str, prefix: str) -> None:
        """Raises Missing."""

    async def save_link_states(self, states: Sequence[LinkState]) -> None:
        """Does not count as a change."""

    async def link_states(self) -> list[LinkState]: ...

    # --- operators and what they ask: see `app.operators`. None of it counts as a change.

    async def create_admin(self, user: AdminUser) -> None:
        """Raises Exists."""

    async def admins(self) -> list[AdminUser]:
        """By name."""

    async def admin(self, name: str) -> AdminUser | None: ...

    async def update_admin(self, user: AdminUser) -> None:
        """Changes the password's hash and the role; the sessions of the user end. Raises Missing."""

    async def remove_admin(self, name: str) -> None:
        """Its sessions end. Raises Missing."""

    async def open_session(self, session: AdminSession) -> None:
        """Sessions that had expired when this one was created are deleted."""

    async def session(self, digest: bytes, now: int) -> tuple[AdminSession, AdminUser] | None:
        """None if there is none, or it has expired by `now`."""

    async def close_session(self, digest: bytes) -> None: ...

    async def add_token(self, token: AdminToken) -> None:
        """Raises Exists for the same id."""

    async def tokens(self) -> list[AdminToken]:
        """In the order of their making, revoked ones included."""

    async def token(self, digest: bytes) -> AdminToken | None:
        """The token of that digest unless it is revoked."""

    async def revoke_token(self, token: str, now: int) -> None:
        """Raises Missing if there is no such token that is not revoked."""

    async def note(self, deed: Deed) -> None:
        """Appends to the audit log; nothing ever changes or deletes a line of it."""

    def noting(self, describe: Callable[[Any], Deed | None]) -> "Store":
        """The same store for one change, which has its line in the audit log by its own transaction.

        `describe` is given what the change returns, and makes the line, or None for none; it may be called again
        where the transaction has to be. A change that raises leaves no line.
        """

    async def deeds(self, query: DeedQuery) -> list[Deed]: ...

    async def search(self, search: Search) -> Found:
        """Looks at no more than `effort` rows."""

    async def identified(self, key: int, tail: int, limit: int) -> list[Hit]:
        """The message of that id, or the messages of that batch in their order; of any account."""

    async def referenced(self, reference: str, account: int | None, limit: int) -> list[Hit]:
        """The messages of requests that gave this reference; of one account, or of all."""

    async def of_references(self, account: int, references: Sequence[str]) -> list[Hit]:
        """The messages of the account's requests for one destination that gave one of these references, by key."""

    async def trace(self, key: int) -> Trace | None: ...

    async def owed_callbacks(self, limit: int, after: tuple[int, int] | None = None) -> list[CallbackView]:
        """Those that no node has claimed, by `due` and key, beyond `after`."""

    async def ended_callbacks(self, limit: int, before: int | None = None) -> list[CallbackView]:
        """Given up or gone, newest message first, those of keys below `before`."""

    async def drop_callbacks(self, keys: Sequence[int], now: int) -> int:
        """Ends owed callbacks that no node has claimed, as given up; returns how many."""

    async def standing(self, now: int) -> Backlog: ...

    async def ended_unknown(self, since: int) -> int:
        """How many messages that were accepted from `since` on ended as UNKNOWN: nobody knows whether they arrived. It
        reads all that were not delivered since."""

    async def usage(self, account: int, start: int, end: int, step: int) -> list[Usage]:
        """Its ledger from `start` up to `end` by spans of `step` ms, those with entries, oldest first. Top-ups are
        left out. It may be cut to the latest millions of entries."""

    # --- keeping house

    async def index_numbers(self, now: int, size: int) -> int:
        """Makes the next `size` messages quick to find by their number, all or none; returns how many it took.

        Those of the last seconds may be left out, and so may fewer than `size`: a search finds them all the same.
        """

    async def probe(self) -> None:
        """Writes something small and durable; raises Unavailable if that cannot be done."""

    async def backlog(self) -> dict[str, int]:
        """Counts for people and metrics: scheduled, queued, callbacks, callbacks_failed, orphans, awaiting."""

    async def reach(self) -> Reach:
        """Exact, all of one moment; it reads whole tables."""

    async def audit(self) -> list[str]:
        """Proves the books from the rows: one sentence for each thing that is wrong; none if all is well."""

    async def close(self) -> None: ...


class Leases(Protocol):
    """What many nodes on one store share out. A node is one run of one process, and its number is never used again.

    All that a node has hangs on its one lease: its claims, its worker numbers, its bind slots. The lease is renewed by
    `heartbeat`; the node itself must do nothing in the world outside once its own clock is past `until`. When another
    one finds the lease ended (`release_dead`), the node is *fenced*: whatever it still asks of the store that would
    write or claim for it raises Fenced. On an embedded store there is one node, and nothing ends.
    """

    async def heartbeat(self, node: int, until: int) -> bool:
        """The node has its lease until then; the first call begins it. False if it was given up: it is too late."""

    async def release_dead(self, now: int) -> list[int]:
        """Gives up the leases that ended by `now` and returns their nodes.

        Their claims and bind slots are free again. What their fast lanes still owed is put into the queue and the
        other slow tables, due at once, so that any node finds it there; their worker numbers may be given anew.
        """

    async def lease_worker(self, node: int) -> int | None:
        """A worker number (`domain.ids`) that is no other's; None if all are taken. The node recovers it next."""

    async def gathered(self, start: int, end: int) -> tuple[list[int], int]:
        """Messages of several parts that nobody has ended though the rows know the end of each part, the last of them
        from `start` (ms) on and before `end`: the node that wrote it died before it saw the others. Reads the ends of
        parts in that span; also returns how many there are."""

    async def lease_binds(self, connector: int, node: int, binds: int, want: int) -> list[int]:
        """The node's bind slots of a connector, from 0, in order: `want` of those below `binds`, as far as no other
        node has them. Slots it had beyond that are given back: their links must be down already."""


# --- the carrier


@dataclass(slots=True, eq=False)
class Part:
    """One submit_sm to be: a part of a message, from 0. `octets` is user data without a header; `reference` is the
    concatenation reference, the same for all `total` parts of a message. A long message may be a single part: then
    `octets` is all of it."""

    message: Message
    segment: int
    total: int
    encoding: int
    octets: bytes
    reference: int
    owner: Any = None
    """The dispatcher's own mark; carriers leave it alone."""
    header_octets: int = HEADER_OCTETS
    """What the parts of a long message leave free for their header."""
    written: float = 0.0
    """When it went to the carrier last, in monotonic seconds; the lane's own mark too."""


@dataclass(slots=True)
class Accepted:
    """The operator took the part; `operator_id` is its own name for it."""

    operator_id: str


@dataclass(slots=True)
class Deferred:
    """Not now; `pause` is how many seconds later is soon enough. `throttled`: the operator says that all of this is
    too fast, not that there is something about the message. With the status NOT_SENT it was never written, since its
    link went, and goes again as soon as there is a place."""

    status: int
    pause: float
    throttled: bool = False


@dataclass(slots=True)
class Refused:
    """Never: the final state and error code that the customer is told."""

    status: int
    state: Delivery
    err: str


@dataclass(slots=True)
class Unknown:
    """Written, and no answer: the operator may have it or not."""

    reason: str


Outcome = Accepted | Deferred | Refused | Unknown


@dataclass(slots=True)
class Report:
    """A receipt as the operator sent it. `destination` is the number the message went to, as far as it says; `came`
    when it came, in ms, where that was long before now (`app.names.STALE_MS`), else 0."""

    operator_id: str
    destination: str
    state: Delivery
    final: bool
    err: str
    came: int = 0


class CarrierEvents(Protocol):
    """What a carrier tells its owner. Called on the event loop; must not block or raise."""

    def on_outcome(self, part: Part, outcome: Outcome) -> None:
        """Exactly once for each part submitted."""

    def on_report(self, report: Report, acknowledge: Callable[[bool], None]) -> None:
        """`acknowledge(True)` once it is durable, `acknowledge(False)` if it cannot be kept: it then comes again."""

    def on_late(self, part: Part, outcome: Outcome) -> None:
        """The answer to a part came whose outcome was Unknown before, at most once, if ever."""

    def on_congestion(self, percent: int) -> None:
        """The operator says how loaded it is, 0 to 99 (congestion_state, SMPP v5.0, 4.8.4.18)."""

    def on_capacity(self) -> None:
        """`capacity` or `paused_until` changed."""


class Carrier(Protocol):
    """One operator account: all of its binds."""

    @property
    def capacity(self) -> int:
        """Parts that may be unanswered at once, over all binds that are up; 0 when none is."""

    @property
    def header_octets(self) -> int:
        """What the parts of a long message should leave free for their header; `Part.header_octets` says whether they
        do, since they may not become more of them than the customer was charged for."""

    def submit(self, parts: Sequence[Part]) -> None:
        """Writes them, all of them in one go. At most `capacity` may be without an outcome that was committed."""

    def state(self) -> dict[str, Any]:
        """For people: each bind, its state, last error, what it waits for."""

    async def drain(self, deadline: float) -> None:
        """Submits no more; waits for answers until `deadline` (seconds of the loop's clock), then unbinds and ends."""


# --- the sender of callbacks


class Sender(Protocol):
    """Posts callbacks. Bounded: what is beyond its limits comes back as busy, at once."""

    def post(self, jobs: Sequence[Job]) -> None: ...

    def on_sent(self, listener: Callable[[list[Sent]], None]) -> None:
        """Where results go, in groups; each job has exactly one unless the sender dies, which `lost` then says."""

    def on_lost(self, listener: Callable[[], None]) -> None:
        """Called when all jobs without a result are lost (the sender's process died); it is usable again."""

    async def close(self) -> None: ...


class Clock(Protocol):
    """Now."""

    def now(self) -> int:
        """Milliseconds since the Unix epoch, UTC. May jump."""

    def monotonic(self) -> float:
        """Seconds from some point on; never goes back."""


class Ids(Protocol):
    """Random bits for ids."""

    def tail(self) -> int:
        """62 random bits."""


class Secrets(Protocol):
    """Secrets and their verifiers."""

    def hash_password(self, password: str) -> str:
        """argon2id, with its parameters inside. Slow on purpose: tens of milliseconds of CPU."""

    def verify_password(self, hashed: str, password: str) -> bool:
        """As slow; False for a wrong password, or a hash that is none."""

    def token(self, octets: int) -> str:
        """URL-safe text from so many random octets."""

    def octets(self, count: int) -> bytes:
        """Random octets."""


class Intake(Protocol):
    """Where requests wait for the next commit."""

    def accept(self, accept: Accept, then: Callable[[Accept], None]) -> bool:
        """`then` is called once, on the event loop, when the commit is over and `accept.verdict` stands.

        False if too much waits already: nothing was done, `then` is not called, and the customer is told to come
        back later.
        """


class Gathering(Protocol):
    """The facts that the next commit will write."""

    @property
    def facts(self) -> Facts: ...

    def wake(self) -> None:
        """There is something to write."""

    def stir(self) -> None:
        """There is something to claim."""

    def seek(self) -> None:
        """There is a receipt to look up."""


class Watcher(Protocol):
    """Who looks on as facts come true: metrics, traces, people. Cheap; must not raise, and must change nothing."""

    def committed(self, facts: Facts, now: int, seconds: float) -> None:
        """Called on the event loop after each commit, when its requests have their answers; `now` is in ms. Writing
        it took so many seconds."""


class Journal(Protocol):
    """Where happenings go that people or machines watch: counters and log lines. Cheap; never raises."""

    def count(self, name: str, amount: int = 1, **labels: str) -> None: ...

    def observe(self, name: str, seconds: float, **labels: str) -> None: ...

    def say(self, level: str, event: str, **fields: Any) -> None: ...
