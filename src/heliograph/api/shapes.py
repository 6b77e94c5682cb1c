"""The shapes of answers and receipts: rendering encodes these types, and the OpenAPI document describes them."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from heliograph.domain.error import CATALOGUE, FORBIDDEN
from heliograph.domain.limits.defaults import LIST_LIMIT, PULL_LIMIT, RECEIPT_TEXT_CHARS
from heliograph.domain.message.receipt import Delivery, is_final
from heliograph.domain.message.state import State
from heliograph.domain.message.suppression import SOURCES
from heliograph.domain.numbers import phone
from heliograph.domain.text.repertoire import Encoding

HEX_ID = "^[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$"
UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
LOCAL_TIME = "^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$"
NUMBER = "^[1-9][0-9]{6,14}$"
SENDER = "^[A-Za-z0-9]{1,15}$"
_CREDITS = "^-?[0-9]+(\\.[0-9]{1,6})?$"

EXAMPLE_ID = "019e2b1c5f3a70008c1de1f5a0b7c3d2"
EXAMPLE_NUMBER = phone.EXAMPLE
EXAMPLE_INBOUND_ID = "019e2b1c-7a05-7001-9f0a-3c5d7e9b1a2f"


def _text(description: str, example: str | None = None, pattern: str | None = None, **more: Any) -> Meta:
    return Meta(
        description=description,
        pattern=pattern,
        examples=None if example is None else [example],
        extra_json_schema=more or None,
    )


_Done = Annotated[str, _text("`00`: done.", "00", "^00$")]
_Id = Annotated[str, _text("The message's id; of several destinations the batch's.", EXAMPLE_ID, HEX_ID)]
_To = Annotated[str, _text("The destination.", "491701234567", NUMBER)]
_Rate = Annotated[
    Raw,
    Meta(
        description="Credits, exact: the price of a segment there, times the segments.",
        extra_json_schema={"type": "number", "minimum": 0, "examples": [1, 0.07]},
    ),
]
_MessageStatus = Annotated[
    str,
    _text(
        "`Scheduled` with a `time`, else `Sent`: accepted for sending at once.",
        "Sent",
        enum=[State.SENT.label, State.SCHEDULED.label],
    ),
]
_PartStatus = Annotated[
    str,
    _text("`00`: done. `06`: the recipient opted out; nothing was sent or charged.", "00", enum=["00", FORBIDDEN.code]),
]
_PartMessageStatus = Annotated[
    str,
    _text(
        "As that of the request; `Failed` where the recipient opted out.",
        "Sent",
        enum=[State.SENT.label, State.SCHEDULED.label, State.FAILED.label],
    ),
]
_SentAs = (
    Annotated[
        str,
        _text("The sender that the phone is shown, only if a rule of its country replaces yours.", "60001", SENDER),
    ]
    | UnsetType
)
_Moment = Annotated[str, _text("In the account's time zone.", "2027-01-15 08:00:00", LOCAL_TIME)]


_Phone = Annotated[str, _text("The phone.", "491701234567")]
_Number = Annotated[str, _text("The number that it wrote to.", "3388")]
_PhoneText = Annotated[str, _text("The text; empty if the message has none.", "PIZZA with olives")]
_Octets = Annotated[
    str, _text("The octets in hexadecimal, without headers.", "50495a5a412077697468206f6c69766573", "^([0-9a-f]{2})*$")
]
_Coding = Annotated[str, _text("SMPP's `data_coding`.", "0", "^[0-9]{1,3}$")]
_Keyword = Annotated[str, _text("The keyword of the number's rule, or empty.", "pizza")]


class SendPart(Struct, rename="pascal"):
    """A destination of a request to several."""

    status: _PartStatus
    id: _Id
    to: _To
    rate: _Rate
    message_status: _PartMessageStatus
    sender: _SentAs = field(name="From", default=UNSET)


class SendResult(Struct, rename="pascal"):
    """The request was accepted, stored and charged. `Id` and `Rate` are the whole request's."""

    status: _Done
    id: _Id
    rate: _Rate
    reference: Annotated[str | None, Meta(description="Yours, or null.", examples=["order-17"])]
    message_status: _MessageStatus
    sender: _SentAs = field(name="From", default=UNSET)
    messages: (
        Annotated[
            list[SendPart],
            Meta(description="Each destination in the given order. Only with several destinations.", min_length=1),
        ]
        | UnsetType
    ) = UNSET


class QuotePart(Struct, rename="pascal"):
    """The cost of a destination."""

    to: _To
    rate: _Rate
    segments: Annotated[int, Meta(description="Number of short messages.", ge=1, examples=[1])]
    sender: _SentAs = field(name="From", default=UNSET)


class QuoteResult(Struct, rename="pascal"):
    """The cost of a request. Nothing was sent or charged."""

    status: _Done
    rate: _Rate
    encoding: Annotated[
        str,
        _text(
            "The encoding over the air; also `UCS-2` if an operator's alphabet lacks a letter.",
            "GSM-7",
            enum=[encoding.label for encoding in Encoding],
        ),
    ]
    segments: Annotated[
        int,
        Meta(
            description="Short messages for each destination; the highest if alphabets differ by operator.",
            ge=1,
            examples=[1],
        ),
    ]
    messages: Annotated[list[QuotePart], Meta(description="Each destination, in the given order.", min_length=1)]
    language: Annotated[
        str | UnsetType,
        _text("The language of the national tables of GSM-7, if they are used.", "Turkish"),
    ] = UNSET
    content: Annotated[
        str | UnsetType,
        _text("The text that is sent, if characters were replaced (account setting `smart`).", "It's 5 - 7"),
    ] = UNSET


HELD = "HELD"
"""The state of a message that is held. It has no end yet."""


class RecordEnd(Struct, rename="pascal"):
    """The end of a message, as in its receipt; or that the message is held."""

    state: Annotated[
        str,
        _text(
            "Its final state; or `HELD` while the gateway holds it for review.",
            "DELIVRD",
            enum=[*(each.name for each in Delivery if is_final(each)), HELD],
        ),
    ]
    err: Annotated[str, _text("The operator's code: three digits; empty while it is held.", "000", "^([0-9]{3})?$")]
    done: (
        Annotated[
            str,
            _text(
                "Time of the end, in the account's time zone; null while it is held.", "2027-01-15 08:00:07", LOCAL_TIME
            ),
        ]
        | None
    )


class Record(Struct, rename="pascal"):
    """A message."""

    message_id: Annotated[str, _text("Its id.", EXAMPLE_ID, HEX_ID)]
    sender: Annotated[str, _text("The sender.", "Heliograph", SENDER)] = field(name="From")
    to: _To
    time: Annotated[
        str,
        _text(
            "The scheduled time of sending, otherwise the time of acceptance. In the account's time zone.",
            "2027-01-15 08:00:00",
            LOCAL_TIME,
        ),
    ]
    rate: Annotated[str, _text("Credits charged: exact decimal text.", "0.035", "^[0-9]+(\\.[0-9]{1,6})?$")]
    status: Annotated[
        str,
        _text(
            "`Failed`: it never left the gateway and was refunded.",
            "Sent",
            enum=[state.label for state in State],
        ),
    ]
    content: Annotated[str, _text("The decoded text, or the hexadecimal digits of a `binary` message.", "Hello, world")]
    delivery: (
        Annotated[
            RecordEnd | None,
            Meta(
                description="The final state, or `HELD` while the message is held; null before. Only with `delivery`.",
                examples=[{"State": "DELIVRD", "Err": "000", "Done": "2027-01-15 08:00:07"}],
            ),
        ]
        | UnsetType
    ) = UNSET


class RecordList(Struct):
    """A page of messages."""

    count: Annotated[int, Meta(description="Number of entries in `messages`.", ge=0, le=LIST_LIMIT, examples=[1])]
    messages: Annotated[list[Record], Meta(max_length=LIST_LIMIT)]


class InboundItem(Struct, rename="pascal"):
    """A message from a phone."""

    id: Annotated[str, _text("Its id with dashes, as in the webhook.", EXAMPLE_INBOUND_ID, UUID, format="uuid")]
    time: _Moment
    sender: _Phone = field(name="From")
    to: _Number
    content: _PhoneText
    binary: _Octets
    coding: _Coding
    parts: Annotated[int, Meta(description="Number of parts that were joined.", ge=1, le=255, examples=[1])]
    complete: Annotated[bool, Meta(description="`false` if parts are missing.", examples=[True])]
    keyword: _Keyword


class InboundPage(Struct):
    """A page of messages from phones, in the order in which they became the account's."""

    count: Annotated[int, Meta(description="Number of entries in `messages`.", ge=0, le=PULL_LIMIT, examples=[1])]
    messages: Annotated[list[InboundItem], Meta(max_length=PULL_LIMIT)]


class SuppressionItem(Struct, rename="pascal"):
    """A phone that the account must not send to."""

    number: Annotated[str, _text("The phone.", "491701234567", NUMBER)]
    since: _Moment
    source: Annotated[
        str,
        _text(
            "The source: a `message` from the phone, this `api`, or an administrator by `command`, "
            "`console` or `import`.",
            "message",
            enum=list(SOURCES),
        ),
    ]


class SuppressionPage(Struct):
    """A page of suppressions, by number."""

    count: Annotated[int, Meta(description="Number of entries in `suppressions`.", ge=0, le=PULL_LIMIT, examples=[1])]
    suppressions: Annotated[list[SuppressionItem], Meta(max_length=PULL_LIMIT)]


class NoticeItem(Struct, rename="pascal"):
    """A request to a receiver of the account, also if the account has no receiver."""

    kind: Annotated[str, _text("Kind of the notice.", "receipt", enum=["receipt", "inbound"])]
    time: _Moment
    url: Annotated[str, _text("The URL of the receiver; empty if there is none.", "https://example.com/receipts")]
    headers: Annotated[
        dict[str, str],
        Meta(
            description="The headers of a first try, with the signature.",
            examples=[{"Content-Type": "application/x-www-form-urlencoded", "webhook-timestamp": "1800000004"}],
        ),
    ]
    body: Annotated[str, _text("The body, unchanged.", "id=019e2b1c-5f3a-7000-8c1d-e1f5a0b7c3d2&err=000")]


class NoticePage(Struct):
    """Notices in the order in which they were made."""

    count: Annotated[int, Meta(description="Number of entries in `notices`.", ge=0, le=PULL_LIMIT, examples=[1])]
    notices: Annotated[list[NoticeItem], Meta(max_length=PULL_LIMIT)]
    cursor: Annotated[str, _text("The position behind them: the next `after`.", "7f3a90c1-18")]
    missed: Annotated[
        int, Meta(description="Number of notices since `after` that are not kept any more.", ge=0, examples=[0])
    ]


class Done(Struct, rename="pascal"):
    """The request was carried out."""

    status: _Done


class Balance(Struct, rename="pascal"):
    """The account's credit."""

    status: _Done
    message: Annotated[str, _text("Credits: exact decimal text.", "98.965", _CREDITS)]


class Health(Struct, rename="pascal"):
    """The gateway is well."""

    status: _Done
    message: Annotated[str, _text("The state.", "ready")]


class EventLine(Struct, rename="pascal"):
    """An event of a message."""

    time: _Moment
    event: Annotated[str, _text("The event: `Accepted`, `Submitted`, `Receipt`, `Final` and others.", "Submitted")]
    segment: Annotated[
        int | None, Meta(description="Number of the segment, from 1; null for the whole message.", examples=[1])
    ]
    detail: Annotated[str, _text("The operator's id or code, an amount, the outcome of a try.", "to op1 as 1f3a70")]


class History(Struct):
    """The events of a message, in the order of time."""

    count: Annotated[int, Meta(description="Number of entries in `events`.", ge=0, examples=[1])]
    events: list[EventLine]


class Problem(Struct, rename="pascal"):
    """The reason of a failed request. Nothing was stored or charged."""

    status: Annotated[str, _text("Never `00`.", "03", enum=[entry.code for entry in CATALOGUE])]
    message: Annotated[str, _text("The problem and its solution, for people.")]
    field: Annotated[str, _text("The wrong field or parameter, if any.", "to")] | UnsetType = UNSET


class Receipt(Struct):
    """A state of a message's delivery: its end, or with `progress` a state on the way."""

    id: Annotated[
        str, _text("The message's id, with dashes.", "019e2b1c-5f3a-7000-8c1d-e1f5a0b7c3d2", UUID, format="uuid")
    ]
    message_status: Annotated[
        str,
        _text(
            "The final state; with `progress` of the request also `ENROUTE` or `ACCEPTD` before it.",
            "DELIVRD",
            enum=[state.name for state in Delivery],
        ),
    ]
    subdate: Annotated[
        str,
        _text("The `Time` of the message, in the account's time zone.", "2027-01-15 08:00:00", LOCAL_TIME),
    ]
    donedate: Annotated[
        str,
        _text("The time of the final state, in the account's time zone.", "2027-01-15 08:00:04", LOCAL_TIME),
    ]
    err: Annotated[
        str, _text("The operator's code. Without a code: `000` for `DELIVRD`, otherwise `001`.", "000", "^[0-9]{3}$")
    ]
    text: Annotated[
        str,
        Meta(
            description=f"The first {RECEIPT_TEXT_CHARS} characters of the message.",
            max_length=RECEIPT_TEXT_CHARS,
            examples=["Hello, world"],
        ),
    ]
    network: (
        Annotated[
            str,
            _text(
                "The destination's network (MCCMNC), or empty. Only with the account setting `receipt_fields=full`.",
                "26201",
            ),
        ]
        | UnsetType
    ) = UNSET


class InboundNotice(Struct):
    """A message from a phone, as it is posted. All values are texts."""

    id: Annotated[str, _text("Its id, with dashes.", EXAMPLE_INBOUND_ID, UUID, format="uuid")]
    sender: _Phone = field(name="from")
    to: _Number
    content: _PhoneText
    binary: _Octets
    coding: _Coding
    time: _Moment
    parts: Annotated[str, _text("Number of parts that were joined.", "1", "^[0-9]{1,3}$")]
    complete: Annotated[str, _text("`no` if parts are missing.", "yes", enum=["yes", "no"])]
    keyword: _Keyword
    opt_out_suspected: (
        Annotated[str, _text("`yes` if a word for *stop* is among other words; otherwise absent.", enum=["yes"])]
        | UnsetType
    ) = UNSET


class LowBalanceNotice(Struct):
    """The balance fell below the account's `low_balance`."""

    type: Annotated[str, _text("Always the same.", "account.low_balance", enum=["account.low_balance"])]
    account: Annotated[str, _text("The account's name.", "acme")]
    balance: Annotated[str, _text("Credits after the change: exact decimal text.", "24.93", _CREDITS)]
    threshold: Annotated[str, _text("The account's `low_balance` at that time.", "25", _CREDITS)]
    time: Annotated[
        str, _text("The time of the change, in the account's time zone.", "2027-01-15 08:00:00", LOCAL_TIME)
    ]


WEBHOOKS: tuple[type[Struct], ...] = (Receipt, InboundNotice, LowBalanceNotice)
"""The shapes that are posted to customers."""

SHAPES: tuple[type[Struct], ...] = (
    SendResult, QuoteResult, Record, RecordList, Done, Balance, History, InboundItem, InboundPage, SuppressionItem,
    SuppressionPage, NoticePage, Health, Problem, *WEBHOOKS,
)  # fmt: skip
"""The shapes that are whole answers, or are posted to customers."""
