"""Shapes of accounts, their keys and their money in the admin API, beside those of `shapes`."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from heliograph.admin_api.kept_days import KeptDays, RetainDays
from heliograph.admin_api.shapes import Accepts, Credits, Cursor, Moment, Name
from heliograph.app.admin.fields import MAX_BURST, MAX_COUNT, MAX_LIST_INTERVAL_S
from heliograph.app.connector_kind import MAX_RATE


class Key(Struct):
    """An API key of an account, without its secret."""

    id: str
    created: Moment
    revoked: Moment | None
    expires: Moment | None
    used: Annotated[Moment | None, Meta(description="A use, at most an hour before the last one.")]


class AccountShape(Struct):
    """A customer."""

    name: Name
    balance: Credits
    suspended: bool
    timezone: str
    plan: str
    credit_limit: Credits
    list_interval: Annotated[
        float | None, Meta(description="Seconds between two list queries; null is the gateway's setting, 0 none.")
    ]
    rate: Annotated[float, Meta(description="Messages a second; 0 is no limit.")]
    callback_url: str
    callback_format: str
    content_decoding: str
    networks: Annotated[list[str], Meta(description="Client networks that may use it; empty is any.")]
    senders: Annotated[list[str], Meta(description="Sender IDs that it may use; empty is any.")]
    created: Moment
    inbound_url: str
    inbound_reply: str
    smart: str
    opt_out: Annotated[str, Meta(description="Whether texts such as STOP are acted on: keywords or off.")]
    stop_text: Annotated[str, Meta(description="Confirmation of a STOP; empty is none.")]
    help_text: Annotated[str, Meta(description="Answer to HELP; empty is none.")]
    retain_text_days: KeptDays
    retain_number_days: KeptDays
    retain_days: KeptDays
    request_rate: Annotated[float, Meta(description="Requests a second; 0 is no limit.")]
    request_burst: Annotated[int, Meta(description="Requests that may come at once; 0 is a second's worth.")]
    daily_messages: Annotated[int, Meta(description="Messages a day of its time zone; 0 is no limit.")]
    daily_spend: Annotated[Credits, Meta(description="Credits that it may be charged a day; 0 is no limit.")]
    max_waiting: Annotated[int, Meta(description="Messages scheduled or waiting at once; 0 is no limit.")]
    prefixes: Annotated[list[str], Meta(description="Prefixes of numbers that it may send to; empty is all.")]
    guard: Annotated[str, Meta(description="Whether the pumping guard watches it: auto (while it is young), on, off.")]
    inbound_way: Annotated[str, Meta(description="How messages from phones are told: auto, webhook or bind.")]
    country: Annotated[str, Meta(description="Country code of SMPP clients' national numbers; empty refuses them.")]
    smpp_system_id: Annotated[str, Meta(description="Name to bind with beside the account's; empty is none.")]
    smpp_binds: Annotated[int, Meta(description="SMPP binds at once, over all nodes.")]
    smpp_window: Annotated[int, Meta(description="Requests of a bind that may wait for their answer.")]
    smpp_id: Annotated[str, Meta(description="Form of message ids for SMPP clients: uuid, decimal or hex16.")]
    smpp_receipts: Annotated[str, Meta(description="Whether every submit_sm gets a receipt: asked or always.")]
    smpp_alphabet: Annotated[str, Meta(description="What data_coding 0 means: gsm, latin1 or ascii.")]
    smpp_reference: Annotated[str, Meta(description="TLV with the client's reference; empty is none.")]
    smpp_status: Annotated[list[str], Meta(description="command_status of refusals by reason, such as credit=0x401.")]


class AccountWithKeys(AccountShape):
    """A customer with its keys, revoked ones included."""

    keys: list[Key]


class AccountsShape(Struct):
    accounts: list[AccountShape]


class AccountSettings(Accepts):
    """Settings of an account; what is left out stays as it is."""

    timezone: Annotated[str, Meta(description="IANA time zone.", examples=["Europe/Berlin"])] | UnsetType = UNSET
    plan: str | UnsetType = UNSET
    credit_limit: Credits | UnsetType = UNSET
    suspended: bool | UnsetType = UNSET
    list_interval: Annotated[float, Meta(ge=0, le=MAX_LIST_INTERVAL_S)] | UnsetType | None = UNSET
    rate: Annotated[float, Meta(ge=0, le=MAX_RATE)] | UnsetType = UNSET
    callback_url: str | UnsetType = UNSET
    callback_format: Literal["form", "json"] | UnsetType = UNSET
    content_decoding: Literal["auto", "always", "never"] | UnsetType = UNSET
    networks: list[str] | UnsetType = UNSET
    senders: list[str] | UnsetType = UNSET
    inbound_url: str | UnsetType = UNSET
    inbound_reply: str | UnsetType = UNSET
    smart: Literal["off", "on"] | UnsetType = UNSET
    opt_out: Literal["keywords", "off"] | UnsetType = UNSET
    stop_text: str | UnsetType = UNSET
    help_text: str | UnsetType = UNSET
    retain_text_days: RetainDays = UNSET
    retain_number_days: RetainDays = UNSET
    retain_days: RetainDays = UNSET
    request_rate: Annotated[float, Meta(ge=0, le=MAX_RATE)] | UnsetType = UNSET
    request_burst: Annotated[int, Meta(ge=0, le=MAX_BURST)] | UnsetType = UNSET
    daily_messages: Annotated[int, Meta(ge=0, le=MAX_COUNT)] | UnsetType = UNSET
    daily_spend: Credits | UnsetType = UNSET
    max_waiting: Annotated[int, Meta(ge=0, le=MAX_COUNT)] | UnsetType = UNSET
    prefixes: list[str] | UnsetType = UNSET
    guard: Literal["auto", "on", "off"] | UnsetType = UNSET
    inbound_way: Literal["auto", "webhook", "bind"] | UnsetType = UNSET
    country: str | UnsetType = UNSET
    smpp_system_id: str | UnsetType = UNSET
    smpp_binds: Annotated[int, Meta(ge=0, le=1_000)] | UnsetType = UNSET
    smpp_window: Annotated[int, Meta(ge=1, le=1_000)] | UnsetType = UNSET
    smpp_id: Literal["uuid", "decimal", "hex16"] | UnsetType = UNSET
    smpp_receipts: Literal["asked", "always"] | UnsetType = UNSET
    smpp_alphabet: Literal["gsm", "latin1", "ascii"] | UnsetType = UNSET
    smpp_reference: str | UnsetType = UNSET
    smpp_status: list[str] | UnsetType = UNSET


class NewAccountShape(AccountSettings, kw_only=True):
    """An account to open. With a `price` it has a price plan of its own that has its name."""

    name: Name
    credit: Credits = "0"
    price: Credits | UnsetType = UNSET


class OpenedAccount(Struct):
    """A new account with its secrets, which are told only now."""

    name: Name
    password: Annotated[str, Meta(description="For /api/v2.")]
    api_key: Annotated[str, Meta(description="For /api/v1.")]
    key_id: str
    signing_secret: Annotated[str, Meta(description="Verifies receipts: `whsec_...`.")]
    balance: Credits


class TopUp(Accepts):
    """Credit to add, or, below zero, to take back."""

    amount: Credits
    note: Annotated[str, Meta(description="What it is for; stands in the ledger.", max_length=200)] = ""


class BalanceShape(Struct):
    balance: Credits


class LedgerEntryShape(Struct):
    """A change of a balance."""

    key: int
    time: Moment
    kind: Annotated[str, Meta(description="`charge`, `refund`, `top-up` or `inbound` (a message from a phone).")]
    amount: Credits
    note: str


class Ledger(Struct):
    """Changes of a balance, the newest first."""

    entries: list[LedgerEntryShape]
    cursor: Cursor


class Span(Struct):
    """An account's use of the gateway in one span of time."""

    time: Moment
    requests: int
    charged: Credits
    refunded: Credits
    inbound: Annotated[Credits, Meta(description="For messages from phones, beside `charged`.")]


class UsageOfAccount(Struct):
    spans: list[Span]


class NewSecret(Struct):
    """A new secret, told only now."""

    secret: str


class Keys(Struct):
    keys: list[Key]


class NewSmppPassword(Accepts):
    """A password to make for SMPP clients."""

    length: Annotated[int, Meta(ge=8, le=16, description="Characters; most clients take 8 at most.")] = 8


class NewApiKey(Accepts):
    """An API key to make."""

    expires: Annotated[
        str | None,
        Meta(
            description="When it ends: days from now such as `90d`, a date, or ISO 8601. Left out or null: never.",
            examples=["90d"],
        ),
    ] = None


class CreatedKey(Struct):
    """A new API key, told only now."""

    key_id: str
    api_key: str
    expires: Moment | None
