"""The values of administration: accounts, keys, connectors, routes, prices, as the store keeps them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, NamedTuple

from heliograph.domain.limits.gate import SenderState
from heliograph.domain.message.way import Way
from heliograph.domain.money.amounts import EntryKind
from heliograph.domain.money.costs import CostRow
from heliograph.domain.money.pricing import PriceRow
from heliograph.domain.numbers.number_rules import InboundNumber
from heliograph.domain.numbers.sender_rules import SenderRule


@dataclass(frozen=True, slots=True)
class SmppTerms:
    """How the SMPP clients of an account bind and send."""

    password_hash: str = field(default="", repr=False)
    """argon2id of the password to bind with; empty if the account may not bind."""
    binds: int = 4
    """Binds at once, over all nodes."""
    window: int = 100
    """Requests of a bind that may wait for their answer, in each direction."""
    id_form: str = "uuid"
    """Form of message ids: `uuid`, `decimal` or `hex16`."""
    receipts: str = "asked"
    """`asked` or `always`: whether a submit_sm without registered_delivery gets a receipt."""
    alphabet: str = "gsm"
    """Alphabet of data_coding 0: `gsm`, `latin1` or `ascii`."""
    country: str = ""
    """Country code of national numbers, for example `49`; empty refuses them."""
    reference: str = ""
    """TLV with the client's reference: `user_message_reference` or a tag such as `0x1402`; empty for none."""
    dedupe_s: int = 0
    """Seconds for which a submission whose answer was lost may come again without being charged; 0 is off."""
    statuses: tuple[tuple[str, int], ...] = ()
    """command_status of refusals by reason, for example `(("credit", 0x401),)`, in place of the usual ones."""


@dataclass(slots=True)
class Account:
    """A customer. Each field is a column of that name in both stores.

    Secrets: `password_hash` is argon2id, `signing_secret` the 32 bytes behind `whsec_...`.
    """

    id: int
    name: str
    password_hash: str = field(repr=False)
    signing_secret: bytes = field(repr=False)
    timezone: str = "UTC"
    plan: str = "default"
    credit_limit: int = 0
    """Micro-credits that the balance may go below zero."""
    low_balance: int | None = None
    """Micro-credits below which the account is told by its `callback_url`; None: it is not told."""
    suspended: bool = False
    list_interval: float | None = None
    """Seconds between two list queries; None uses the gateway's setting, 0 turns the limit off."""
    rate: float = 0.0
    """Messages a second that the account may send; 0 is no limit."""
    callback_url: str = ""
    callback_format: str = "form"
    """`form` or `json`."""
    receipt_fields: str = "usual"
    """`usual` or `full`: whether receipts by webhook also have the network of the destination."""
    content_decoding: str = "auto"
    """`auto`, `always` or `never`: whether a JSON `content` is URL-decoded."""
    networks: tuple[str, ...] = ()
    """Client networks (CIDR) that may use the account, for example `192.0.2.0/24`; empty means all."""
    senders: tuple[str, ...] = ()
    """Sender IDs that the account may use, for example `ACME`; empty means all."""
    created: int = 0
    inbound_url: str = ""
    """URL to which inbound messages are posted; empty for no webhook."""
    inbound_reply: str = "off"
    """`off` or `body`: whether the text of that URL's answer is sent to the phone."""
    opt_out: str = "keywords"
    """`keywords` or `off`: whether texts such as STOP to the account's numbers are acted on."""
    stop_text: str = ""
    """Confirmation of a STOP; empty for no confirmation."""
    help_text: str = ""
    """Answer to HELP; empty for no answer."""
    smart: str = "off"
    """`off` or `on`: whether typographic signs are replaced where that takes fewer segments."""
    relaxed: str = "off"
    """`off` or `on`: whether names of fields and numbers in its requests may be spelled otherwise."""
    request_rate: float = 0.0
    """Requests a second that the account may make, at each node; 0 is no limit."""
    request_burst: int = 0
    """Requests that may come at once after a pause; 0 is a second's worth."""
    daily_messages: int = 0
    """Messages a day of its time zone; 0 is no limit."""
    daily_spend: int = 0
    """Micro-credits that it may be charged for messages a day; 0 is no limit."""
    max_waiting: int = 0
    """Messages that may be scheduled or wait in the queue at once; 0 is no limit."""
    prefixes: tuple[str, ...] = ()
    """Prefixes of the numbers that it may send to, for example `49`; empty means all."""
    guard: str | None = None
    """`observe`, `hold` or `off`: the mode of the pumping guard. None uses the gateway's setting while it is young."""
    retain_text_days: float | None = None
    """Days after which texts are redacted; None uses the gateway's setting, 0 keeps them."""
    retain_number_days: float | None = None
    """Days after which phones are redacted, in the same way."""
    retain_days: float | None = None
    """Days after which messages are dropped, in the same way."""
    inbound_way: str = "auto"
    """How inbound messages are told: `webhook`, `bind`, or `auto`: by a webhook if there is an `inbound_url`."""
    smpp_system_id: str = ""
    """Name that its SMPP clients may bind with beside the account's name, up to 15 characters; empty for none."""
    smpp: SmppTerms = field(default_factory=SmppTerms)
    """Its terms for SMPP clients."""


ACCOUNT_FIELDS = tuple(each.name for each in fields(Account) if each.name not in ("id", "name", "created"))
"""The fields of an account that may change."""


def changed_account(account: Account, changes: dict[str, Any]) -> Account:
    """Returns the account with changes out of ACCOUNT_FIELDS. `smpp.binds` changes one of its terms. Raises
    ValueError for another name.
    """
    plain: dict[str, Any] = {}
    terms: dict[str, Any] = {}
    for name, value in changes.items():
        field_name, _, of_terms = name.partition(".")
        if field_name not in ACCOUNT_FIELDS or (of_terms and field_name != "smpp"):
            raise ValueError(f"{name} of an account cannot be changed")
        if of_terms:
            terms[of_terms] = value
        else:
            plain[field_name] = value
    changed = replace(account, **plain)
    return replace(changed, smpp=replace(changed.smpp, **terms)) if terms else changed


@dataclass(slots=True)
class ApiKey:
    """An API key of an account: only its SHA-256 is kept. `id` is short and may be shown."""

    id: str
    account: int
    digest: bytes
    created: int
    revoked: int | None = None
    expires: int | None = None
    used: int | None = None
    """Time of a use, at most an hour before the last use; None if it was never used."""


@dataclass(slots=True)
class LedgerEntry:
    """A change of a balance. `message` is the key of the message, or of the batch, that it is about; 0 for a top-up."""

    key: int
    account: int
    kind: EntryKind
    amount: int
    message: int
    at: int
    note: str = ""


class TopUp(NamedTuple):
    """The outcome of a top-up."""

    balance: int
    """Micro-credits after the top-up."""
    replayed: bool = False
    """Whether an earlier top-up with the same reference had this outcome. Nothing was changed then."""


BALANCES: Final = (-(1 << 62), 1 << 62)
"""Bounds of a balance in micro-credits that allow every top-up."""


@dataclass(slots=True)
class LedgerQuery:
    """A page of an account's ledger, newest first: up to `limit` entries with keys below `before`, from `start` to
    `end` (ms, both inclusive), of a `kind` or of all. Entries with the key of the last entry are included.
    """

    limit: int = 50
    before: int | None = None
    start: int = 0
    end: int | None = None
    kind: EntryKind | None = None
    effort: int = 1_000_000
    """Most entries that are read to find a kind. If few match, the next page continues."""


@dataclass(slots=True)
class LedgerPage:
    """A page of a ledger.

    `more`: the key below which the next page begins; None at the end.

    `reached`: the time back to which entries were read, if the effort was spent before the page was full.
    """

    entries: list[LedgerEntry]
    more: int | None = None
    reached: int | None = None
    balance: int | None = None
    """The balance right after the newest of `entries`. None without entries, for a single kind, and if too many later
    entries would have to be read.
    """


ON: Final = "on"
DRAIN: Final = "drain"
OFF: Final = "off"
CONNECTOR_STATES: Final = (ON, DRAIN, OFF)
"""States of a connector, set by administrators alone.

- `on`: messages are sent.
- `drain`: nothing new is sent. The binds stay up, so that receipts and messages from phones still come.
- `off`: no bind.
"""


@dataclass(slots=True)
class Connector:
    """An operator account: its address and its rate. `app.connector_kind` explains the settings.

    A password among the settings is stored in clear, because SMPP sends it so. It is never shown or logged.
    """

    id: int
    name: str
    kind: str = "smpp"
    settings: dict[str, Any] = field(default_factory=dict, repr=False)
    """Settings of the kind and its options, by name: the values of their text forms."""
    binds: int = 1
    """Binds, or connections of another kind, at once."""
    window: int = 10
    """Parts that may be unanswered on a bind."""
    rate: float = 0.0
    """Parts a second over all binds; 0 is no limit."""
    state: str = ON
    """One of CONNECTOR_STATES."""
    max_day: int = 0
    """Parts that the operator may take in a day of UTC; 0 is no cap."""
    max_month: int = 0
    """Parts that the operator may take in a month of UTC; 0 is no cap."""
    created: int = 0

    @property
    def enabled(self) -> bool:
        """Whether it binds."""
        return self.state != OFF


@dataclass(slots=True)
class Route:
    """Destinations in `network`, or starting with `prefix` (maybe empty), go to `connector`. `app.routing.candidates`
    has the order of routes."""

    id: int
    prefix: str
    connector: int
    priority: int = 0
    network: str = ""
    """MCCMNC of a network (ITU-T E.212), for example `26201`; `prefix` is then empty."""
    account: int = 0
    """Only this account's messages; 0 is all."""
    plan: str = ""
    """Only messages of accounts with this plan; empty is all."""
    sender: str = ""
    """Only messages from this sender ID, which may end in `*`; empty is all."""
    share: int = 1
    """Weight among routes of the same priority; 0 is used only where the others cannot be."""
    fallback: bool = False
    """Whether routes that fit less well follow."""

    @property
    def rule(self) -> tuple[object, ...]:
        """The fields that no two routes have alike."""
        return *self.group, self.connector, self.priority

    @property
    def group(self) -> tuple[str, str, int, str, str]:
        """The fields that are equal in all routes that match equally well."""
        return self.prefix, self.network, self.account, self.plan, self.sender


@dataclass(frozen=True, slots=True)
class Cost:
    """Micro-credits a segment that the operator of a connector charges, for a network or a prefix. The cost holds from
    `since` (ms; 0 is the beginning) until its end, or until a later cost of the same connector and destination.
    """

    connector: int
    prefix: str
    network: str
    """MCCMNC, for example `26201`; `prefix` is then empty."""
    submitted: int
    """For each segment that the operator takes."""
    delivered: int = 0
    """In addition for each segment that reaches the phone."""
    since: int = 0
    until: int = 0
    """The end in ms, later than `since`; 0: none. The cost no longer holds at this moment."""


@dataclass(frozen=True, slots=True)
class MobileNetwork:
    """A mobile network, and a prefix of its numbers."""

    prefix: str
    mccmnc: str
    """For example `26201`: the country code 262, and the network code 01 (ITU-T E.212)."""
    name: str = ""


@dataclass(slots=True)
class Price:
    """Micro-credits a segment to destinations in `network`, or starting with `prefix`, in the price plan `plan`. The
    price holds from `since` (ms; 0 is the beginning) until a later price of the same destination and plan.
    """

    plan: str
    prefix: str
    price: int
    inbound: int | None = 0
    """Micro-credits for an inbound message from such a number. None, in a price to be set, keeps the present value.
    Only prices of a prefix have it."""
    since: int = 0
    network: str = ""
    """MCCMNC, for example `26201`; `prefix` is then empty."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The rules of a price plan. A plan without a row has the defaults."""

    name: str
    routing: str = "share"
    """Order among connectors of the same priority: `share` or `best`."""
    min_margin: str = ""
    """Least margin of a segment: credits such as `0.001`, a part of the price such as `10%`, or empty for none."""
    unknown_cost: str = "allow"
    """`allow` or `refuse`: whether a connector without a known cost may take messages."""
    min_quality: float = 0.85
    """Least share of delivered messages for routing `best`, from 0 to 1; 0 is least cost."""


@dataclass(slots=True)
class MessageTemplate:
    """A text that a registry of operators has, with the TLVs that prove it. `account` 0 and an empty `sender` are
    any."""

    id: int
    name: str
    text: str
    """With variables, as `domain.template` reads it."""
    sender: str = ""
    account: int = 0
    tlvs: dict[str, str] = field(default_factory=dict)
    """Values by the names or numbers that the option `tlvs` of connectors gives them."""
    is_damaged: bool = field(default=False, compare=False)
    """Whether its TLVs could not be read from the store. No text fits it then."""


@dataclass(slots=True)
class RegisteredSender:
    """A sender ID in an account's registry, in its state since `since` (ms). `note` is for people."""

    account: int
    sender: str
    state: SenderState
    since: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class TrafficHold:
    """An account's traffic to a prefix that looks like pumping since a time (ms), and why, for people."""

    account: int
    prefix: str
    since: int
    why: str
    is_observed: bool = False
    """True if the guard only tells of it, and holds no message."""


def inbound_way(chosen: str, url: str) -> Way:
    """Returns the way by which an account with this `inbound_way` and `inbound_url` gets messages from phones."""
    if chosen == "bind":
        return Way.BIND
    return Way.WEBHOOK if url else Way.NONE


@dataclass(frozen=True, slots=True)
class NumberOwner:
    """An account with numbers, as the reception of its messages needs it."""

    account: int
    plan: str
    way: Way
    """The way by which it gets messages from phones (`inbound_way`)."""
    opt_out: bool
    stop_text: str
    help_text: str
    prefixes: tuple[str, ...] = ()
    """Beginnings of phone numbers that answers may go to; empty: all."""


RouteWay = tuple[int, int, int, bool]
"""A route without its target: connector, priority, share, fallback."""

RouteRow = tuple[str, str, int, str, str, tuple[RouteWay, ...]]
"""All routes of a target: prefix, network, account, plan, sender, and their ways."""

RouteColumns = tuple[
    Sequence[str], Sequence[str], Sequence[int], Sequence[str], Sequence[str], Sequence[tuple[RouteWay, ...]]
]
"""The columns of `RouteRow`."""


@dataclass(slots=True)
class Tables:
    """Connectors, routes, prices, numbers, templates and senders at a single moment. `revision` grows with each change.
    `owners` are the accounts with numbers, by id.
    """

    revision: int
    connectors: list[Connector]
    routes: list[Route]
    prices: list[Price]
    numbers: list[InboundNumber] = field(default_factory=list)
    owners: dict[int, NumberOwner] = field(default_factory=dict)
    templates: list[MessageTemplate] = field(default_factory=list)
    senders: list[RegisteredSender] = field(default_factory=list)
    """The registries of all accounts, by account and sender."""
    holds: list[TrafficHold] = field(default_factory=list)
    """The pumping guard's holds, by account and prefix, observed ones included."""
    suspended: list[int] = field(default_factory=list)
    """The ids of suspended accounts."""
    plan_of: dict[int, str] = field(default_factory=dict)
    """The plans of accounts by id, as far as plans have routes or a row."""
    networks: list[MobileNetwork] = field(default_factory=list)
    """Mobile networks by prefix."""
    costs: list[Cost] = field(default_factory=list)
    """Costs by connector, network, prefix and date."""
    plans: list[Plan] = field(default_factory=list)
    """Plans that have a row, by name."""
    sender_rules: list[SenderRule] = field(default_factory=list)
    """Rules for sender IDs by country, in the order of their creation."""

    def connector_names(self) -> dict[int, str]:
        """Returns the names of all connectors by id."""
        return {connector.id: connector.name for connector in self.connectors}


WHOLE_TABLES: Final = frozenset(("network", "route", "price", "cost"))
"""Names of the tables that may be too large to be read again after each change."""


@dataclass(slots=True)
class Changes:
    """Rows that changed after a revision, as they are now, and rows that came into force or ended after a moment.

    Rows are absent if they were removed. So a reader removes the rows of all keys, then sets the rows.
    """

    tables: Tables
    """Everything else, and the present revision; routes, prices, costs and networks are empty."""
    whole: frozenset[str] = WHOLE_TABLES
    """Tables that changed too much, out of WHOLE_TABLES. They are to be read again in pages."""
    route_keys: list[tuple[str, str]] = field(default_factory=list)
    """Networks and prefixes."""
    routes: list[RouteRow] = field(default_factory=list)
    price_keys: list[tuple[str, str, str]] = field(default_factory=list)
    """Plans, prefixes and networks."""
    prices: list[PriceRow] = field(default_factory=list)
    """By plan, prefix, network and date."""
    cost_keys: list[tuple[int, str, str]] = field(default_factory=list)
    """Connectors, networks and prefixes."""
    costs: list[CostRow] = field(default_factory=list)
    """By connector, network, prefix and date."""
    next_price: int | None = None
    """Start of the next future price, in ms; None if there is none."""
    next_cost: int | None = None
    """The time (ms) at which the next cost begins or ends; None without such a date."""


class Exists(Exception):
    """Raised where something to be created is there already; nothing was changed."""


class NameTaken(Exists):
    """Raised where an account has the name of a new account, but for upper and lower case; nothing was changed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"there is an account {name} already")
        self.name = name
        """The name of the account that is there, for example `Acme`."""


class BalanceOutOfBounds(Exception):
    """Raised where a top-up would leave the balance out of its bounds; nothing was changed."""

    def __init__(self, balance: int) -> None:
        super().__init__(f"the balance is {balance}")
        self.balance = balance
        """The present balance in micro-credits."""


class SystemIdTaken(Exists):
    """Raised where SMPP clients of another account bind by the name; nothing was changed."""

    def __init__(self, system_id: str) -> None:
        super().__init__(f"another account binds as {system_id}; choose another name")
        self.system_id = system_id


class Missing(Exception):
    """Raised where something that was named is not there; nothing was changed."""


class Outdated(Exception):
    """Raised for a change made from tables that another change has replaced meanwhile; nothing was changed."""
