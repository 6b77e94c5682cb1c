"""The bodies of requests and answers of the admin API. Decoding, encoding and the OpenAPI document use these types.

Types whose plain name belongs to another class have the suffix `Shape`, which the OpenAPI document leaves out. Amounts
are exact decimal text, times are ISO 8601 in UTC, messages are named by their ids of 32 hexadecimal characters.
"""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from heliograph.domain.message.status import MessageStatus

_STATUSES = [f"`{each}`" for each in MessageStatus]

# Patterns under `extra_json_schema` are for the document: what does not fit them is told in our own words.
Name = Annotated[
    str,
    Meta(
        description="1 to 64 letters A-Z, a-z, digits and . _ -",
        examples=["acme"],
        extra_json_schema={"pattern": "^[A-Za-z0-9._-]{1,64}$"},
    ),
]
Credits = Annotated[
    str,
    Meta(
        description="Credits, as exact decimal text.",
        examples=["12.5"],
        extra_json_schema={"pattern": "^-?[0-9]{1,12}([.][0-9]{1,6})?$"},
    ),
]
Moment = Annotated[str, Meta(description="ISO 8601 in UTC.", examples=["2027-01-15T08:00:00.000Z"])]
MessageId = Annotated[
    str, Meta(description="Id of a message.", pattern="^[0-9a-f]{32}$", examples=["019e2b1c5f3a70008c1de1f5a0b7c3d2"])
]
Prefix = Annotated[
    str, Meta(description="Digits that a number begins with; empty for all numbers.", pattern="^([1-9][0-9]{0,14})?$")
]
Details = Annotated[dict[str, str], Meta(description="More about it, by name.")]
Cursor = Annotated[
    str | None, Meta(description="Given back as `cursor`, it brings what follows; null where nothing does.")
]


class Accepts(Struct, forbid_unknown_fields=True, kw_only=True):
    """A body that is read: a field that nobody knows is refused."""


class DoneShape(Struct):
    """The change is done."""

    done: bool = True


class DecisionShape(Struct):
    """The route of a number now, the price of a segment, and the reasons."""

    number: str
    connector: Name | None
    price: Credits | None
    reasons: list[str]


class MessageShape(Struct):
    """One message to one destination."""

    id: MessageId
    account: str
    to: str
    sender: str
    time: Annotated[Moment, Meta(description="When it was accepted, or is to be sent.")]
    status: Annotated[str, Meta(description=f"{', '.join(_STATUSES[:-1])} or {_STATUSES[-1]}.")]
    wants_receipt: Annotated[
        bool, Meta(description="Whether the operator is asked for its receipt; else it stays `submitted`.")
    ]
    delivery: Annotated[str | None, Meta(description="The final state, as operators name it.", examples=["DELIVRD"])]
    err: Annotated[str, Meta(description="What customers are told: three digits; empty before the final state.")]
    operator_code: Annotated[str, Meta(description="The operator's own code; empty where it gave none.")]
    segments: int
    price: Credits
    connector: str
    reference: str | None


class MessagesShape(Struct):
    """Messages, the newest first. A search that reaches its limit of rows stops there: `reached` says at what time."""

    messages: list[MessageShape]
    cursor: Cursor
    reached: Moment | None


class HistoryEvent(Struct):
    time: Moment
    event: str
    segment: int | None
    detail: str


class MessageInFull(MessageShape):
    """One message with its text and everything that happened to it."""

    explanation: Annotated[str, Meta(description="Why it is where it is, in a sentence or two.")]
    held: Annotated[bool, Meta(description="Whether the pumping guard holds it.")]
    content: str
    callback_url: str
    extras: Annotated[str, Meta(description="Fields of the submit_sm that the request set, in words; else empty.")]
    history: list[HistoryEvent]
    now: Annotated[DecisionShape, Meta(description="Where its destination would go now.")]


class NewTime(Accepts):
    """The new time of a scheduled message: as in the customers' API, in the account's time zone."""

    time: str


class AuditHeadShape(Struct):
    """The end of the audit log, to be kept elsewhere: `heliograph audit --against` compares the log with it."""

    entries: int
    hash: Annotated[str, Meta(description="SHA-256 in hexadecimal.")]
    time: Moment
    signature: Annotated[
        str | None, Meta(description="HMAC-SHA256 with the secret in `audit.key_file`, if there is one.")
    ]


class Overview(Struct):
    """The backlog, and the state of the connectors. Counts stop at 100,000."""

    scheduled: int
    waiting: int
    deferred: int
    awaiting_receipts: int
    callbacks_pending: int
    callbacks_failed: int
    unmatched_receipts: int
    oldest_waiting: Moment | None
    links: dict[str, str]


class ProblemShape(Struct, rename="pascal"):
    """A fault: an entry of the error catalogue, which is the customers' API's."""

    status: Annotated[str, Meta(description="The code of the entry.", pattern="^[0-9]{2}$", examples=["03"])]
    message: Annotated[str, Meta(description="What is wrong and what to do.")]
    field: Annotated[str, Meta(description="The field at fault.")] | UnsetType = UNSET
