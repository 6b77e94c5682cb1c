"""The environment of an engine, its time limits, and its share of the work."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from heliograph.app.configuration import Connector
from heliograph.app.connector_kind import LanePolicy
from heliograph.app.inbound.answer_limits import AnswerLimits, AnswerTerms
from heliograph.app.notice import Deliverer, KnownAccounts
from heliograph.app.observing.counters import RetentionCounters
from heliograph.app.ports import (
    Carrier,
    CarrierEvents,
    Clock,
    Gathering,
    Ids,
    Journal,
    Leases,
    NodeReport,
    Store,
    Watcher,
    WebhookSender,
)
from heliograph.app.sending.directory import Directory
from heliograph.domain.message.opt_out import NO_WORDS, OptOutWords
from heliograph.domain.message.retention import KEPT_FOR_EVER, RetentionDays
from heliograph.domain.message.way import Way
from heliograph.runtime.past import PastKeeper

MakeCarrier = Callable[[Connector, CarrierEvents], Carrier]

MakeDeliverer = Callable[[Gathering, KnownAccounts], Deliverer]


@dataclass(slots=True)
class TimeLimits:
    """Hours for which messages, receipts, callbacks and parts of inbound messages are waited for."""

    validity: float
    receipt_grace: float
    callback_retry: float
    inbound_parts: float = 1 / 6
    series_days: tuple[float, ...] = (7, 90, 3 * 365)
    """Days for which minutes, hours and days of the series are kept. Weeks are kept as days are."""


@dataclass(slots=True)
class Environment:
    """Everything outside the engine that it needs."""

    store: Store
    directory: Directory
    sender: WebhookSender
    make_carrier: MakeCarrier
    ids: Ids
    clock: Clock
    journal: Journal
    jitter: Callable[[], float]
    encode_json: Callable[[dict[str, str]], bytes]
    opt_out_words: OptOutWords = NO_WORDS
    answer_limits: AnswerLimits = field(default_factory=lambda: AnswerLimits(AnswerTerms()))
    watchers: tuple[Watcher, ...] = ()
    ways: Mapping[Way, MakeDeliverer] = field(default_factory=dict)
    """Ways of notices in addition to webhooks, each with the factory of its deliverer."""
    policy: Callable[[Connector], LanePolicy] = lambda _: LanePolicy()
    """Returns the policy of a connector's lane."""
    retention: RetentionDays = KEPT_FOR_EVER
    """Retention of accounts without their own."""
    retained: RetentionCounters = field(default_factory=RetentionCounters)
    taken: Callable[[], Mapping[int, int]] = dict
    """Returns the parts that operators took since the start of the process, by connector."""
    leases: Leases | None = None
    """Leases of a store that several nodes may share; None on a store with a single node."""
    identity: NodeReport | None = None
    """What this node reports of itself, except for the time; None: nothing."""
    past: PastKeeper | None = None
    """Finds that the store lost confirmed commits; None: that is not looked for."""


@dataclass(frozen=True, slots=True)
class NodeRoles:
    """This node's roles. `most_binds`: most binds of a connector; 0 takes all free binds."""

    dispatch: bool = True
    notify: bool = True
    upkeep: bool = True
    most_binds: int = 0
