"""The operations: paths and methods, their requests and answers, and their errors."""

from typing import NamedTuple

import msgspec

from heliograph.api import fields, shapes
from heliograph.api.fields import Field, Parameter
from heliograph.app.records import ExportFormat
from heliograph.domain.error import (
    CONFLICT,
    FORBIDDEN,
    IN_DOUBT,
    INTERNAL,
    INVALID,
    MALFORMED,
    MEDIA_TYPE,
    MISSING,
    NO_CREDIT,
    NOT_FOUND,
    TOO_EARLY,
    TOO_LARGE,
    UNAUTHENTICATED,
    UNAVAILABLE,
    Entry,
)

MESSAGES = "/api/v1/messages"
ONE_MESSAGE = "/api/v1/messages/{id}"
EVENTS = "/api/v1/messages/{id}/events"
INBOUND = "/account/v1/inbound"
NOTICES = "/account/v1/notices"
SUPPRESSIONS = "/account/v1/suppressions"
ONE_SUPPRESSION = "/account/v1/suppressions/{number}"
EXPORT = "/account/v1/messages"
FEEDBACK = "/account/v1/messages/{id}/feedback"

_CREDENTIALS = (UNAUTHENTICATED, FORBIDDEN, TOO_EARLY)
_BODY = (MALFORMED, MISSING, INVALID, TOO_LARGE, MEDIA_TYPE)
_QUERY = (MALFORMED, INVALID)
_ALWAYS = (UNAVAILABLE, INTERNAL)


class CustomerOperation(NamedTuple):
    """An operation of the API. HEAD is answered wherever GET is."""

    name: str
    method: str
    path: str
    version: int
    """The API version of its credentials, also outside that version's paths; 0 needs no credentials."""
    tag: str
    summary: str
    meaning: str
    answers: tuple[type[msgspec.Struct], ...]
    faults: tuple[Entry, ...]
    body: tuple[Field, ...] = ()
    query: tuple[Parameter, ...] = ()
    replays: bool = False
    """Whether a `reference` makes the operation safe to repeat. Its answer then shows whether it was repeated."""
    media_types: tuple[str, ...] = ()
    """The formats of a file that is answered, instead of JSON."""
    shown: tuple[tuple[str, ...], ...] = ()
    """The examples: the fields or parameters of each. An example without a list has all required fields."""


_SEND_MEANING = (
    "Sends to a destination, or several. After a 200 the request is stored and charged. With a `reference` it can be "
    "repeated safely."
)

MESSAGES_V1: tuple[CustomerOperation, ...] = (
    CustomerOperation(
        "send_message", "POST", MESSAGES, 1, "messages", "Send or schedule",
        f"{_SEND_MEANING} With `time` it is scheduled, and charged at once.",
        (shapes.SendResult,), (*_BODY, *_CREDENTIALS, NO_CREDIT, CONFLICT, IN_DOUBT, *_ALWAYS), fields.SEND[1],
        replays=True, shown=(("to", "from", "content", "reference"), ("to", "from", "content", "time")),
    ),
    CustomerOperation(
        "list_messages", "GET", MESSAGES, 1, "messages", "List",
        "By time, the oldest first. Scheduled messages are listed with `pending`, cancelled messages never.",
        (shapes.RecordList,), (*_QUERY, *_CREDENTIALS, *_ALWAYS), query=fields.LIST, shown=(("limit", "order"),),
    ),
    CustomerOperation(
        "quote_message", "POST", "/api/v1/messages/quote", 1, "messages", "Quote",
        "Returns the cost of a request to send, after the same checks. Nothing is sent or charged.",
        (shapes.QuoteResult,), (*_BODY, *_CREDENTIALS, *_ALWAYS), fields.SEND[1],
    ),
    CustomerOperation(
        "get_message", "GET", ONE_MESSAGE, 1, "messages", "Get",
        "A message by its id. By the id of a batch: its messages in any state, in the order of the request.",
        (shapes.Record, shapes.RecordList), (*_QUERY, *_CREDENTIALS, NOT_FOUND, *_ALWAYS), query=fields.PAGE,
    ),
    CustomerOperation(
        "reschedule_message", "PUT", ONE_MESSAGE, 1, "messages", "Reschedule",
        "Gives a scheduled message a new time. By the id of a batch: all of its messages that are still scheduled.",
        (shapes.SendResult,), (*_BODY, *_CREDENTIALS, NOT_FOUND, CONFLICT, *_ALWAYS), fields.RESCHEDULE,
    ),
    CustomerOperation(
        "cancel_message", "DELETE", ONE_MESSAGE, 1, "messages", "Cancel",
        "Cancels a scheduled message, or all messages of a batch that are still scheduled, and refunds them.",
        (shapes.Done,), (*_CREDENTIALS, NOT_FOUND, CONFLICT, *_ALWAYS),
    ),
    CustomerOperation(
        "list_message_events", "GET", EVENTS, 1, "messages", "History",
        "All events of a message, segment by segment. They show why a message did not arrive.",
        (shapes.History,), (*_CREDENTIALS, NOT_FOUND, *_ALWAYS),
    ),
    CustomerOperation(
        "get_balance", "POST", "/api/v1/account/balance", 1, "account", "Balance",
        "The account's credit. The request needs no body.",
        (shapes.Balance,), (*_CREDENTIALS, *_ALWAYS),
    ),
)  # fmt: skip

MESSAGES_V2: tuple[CustomerOperation, ...] = (
    CustomerOperation(
        "send_message_v2", "POST", "/api/v2/messages", 2, "messages", "Send (v2)",
        f"{_SEND_MEANING} v2 does not schedule: a `time` is refused.",
        (shapes.SendResult,), (*_BODY, *_CREDENTIALS, NO_CREDIT, CONFLICT, IN_DOUBT, *_ALWAYS), fields.SEND[2],
        replays=True, shown=(("to", "from", "content", "dlr", "dlr-url"),),
    ),
    CustomerOperation(
        "get_balance_v2", "POST", "/api/v2/account/balance", 2, "account", "Balance (v2)",
        "The account's credit. The request needs no body.",
        (shapes.Balance,), (*_CREDENTIALS, *_ALWAYS),
    ),
)  # fmt: skip

ACCOUNT: tuple[CustomerOperation, ...] = (
    CustomerOperation(
        "pull_inbound", "GET", INBOUND, 1, "inbound", "Pull",
        "Messages from phones, in the order in which the account got them: no message appears later before a message "
        "that you have read. To continue, give the last `Id` as `after`. There is no interval between two requests.",
        (shapes.InboundPage,), (*_QUERY, *_CREDENTIALS, *_ALWAYS), query=fields.PULL, shown=(("limit", "wait"),),
    ),
    CustomerOperation(
        "export_messages", "GET", EXPORT, 1, "messages", "Export",
        "All messages that `GET /api/v1/messages` lists for these parameters, with their final states, as a file "
        "without a limit. It counts as a list query. If it ends without its end mark, it is incomplete.",
        (), (*_QUERY, *_CREDENTIALS, *_ALWAYS), query=fields.EXPORT,
        media_types=tuple(each.media_type for each in ExportFormat),
        shown=(("start", "end"),),
    ),
    CustomerOperation(
        "get_inbound", "GET", f"{INBOUND}/{{id}}", 1, "inbound", "Get inbound", "A message from a phone by its id.",
        (shapes.InboundItem,), (*_CREDENTIALS, NOT_FOUND, *_ALWAYS),
    ),
    CustomerOperation(
        "listen_notices", "GET", NOTICES, 1, "account", "Listen",
        "Receipts and messages from phones with body, headers and signature, in the form for your receivers. Your "
        "receivers, if any, still get them. This is for developing programs: nothing is kept for longer than a minute "
        "after the last request, and of several gateways on a database each has only its own notices. To continue, "
        "give the last `Cursor` as `after`.",
        (shapes.NoticePage,), (*_QUERY, *_CREDENTIALS, *_ALWAYS), query=fields.NOTICES, shown=(("limit", "wait"),),
    ),
    CustomerOperation(
        "list_suppressions", "GET", SUPPRESSIONS, 1, "suppressions", "List suppressions",
        "Phones that the account must not send to, by number. To continue, give the last `Number` as `after`. There "
        "is no interval between two requests.",
        (shapes.SuppressionPage,), (*_QUERY, *_CREDENTIALS, *_ALWAYS), query=fields.SUPPRESSIONS, shown=(("limit",),),
    ),
    CustomerOperation(
        "get_suppression", "GET", ONE_SUPPRESSION, 1, "suppressions", "Get suppression",
        "The suppression of a number; 404 if it is not suppressed.",
        (shapes.SuppressionItem,), (INVALID, *_CREDENTIALS, NOT_FOUND, *_ALWAYS),
    ),
    CustomerOperation(
        "add_suppression", "PUT", ONE_SUPPRESSION, 1, "suppressions", "Suppress",
        "Stops messages to the number: requests are refused, and waiting and scheduled messages are cancelled and "
        "refunded. If the number is suppressed already, nothing changes, and the answer is the present suppression. "
        "The request needs no body.",
        (shapes.SuppressionItem,), (INVALID, *_CREDENTIALS, *_ALWAYS),
    ),
    CustomerOperation(
        "remove_suppression", "DELETE", ONE_SUPPRESSION, 1, "suppressions", "Remove suppression",
        "Allows messages to the number again. Use it only if the phone's owner agreed; a phone can do it with `START`.",
        (shapes.Done,), (INVALID, *_CREDENTIALS, NOT_FOUND, *_ALWAYS),
    ),
    CustomerOperation(
        "give_feedback", "POST", FEEDBACK, 1, "messages", "Feedback",
        "Tells whether a message arrived, for example when your user has typed in its code. It counts above the "
        "operator's receipt in the choice of operators. The last word about a message counts; state, receipt and "
        "charge stay.",
        (shapes.Done,), (*_BODY, *_CREDENTIALS, NOT_FOUND, CONFLICT, *_ALWAYS), fields.FEEDBACK,
    ),
)  # fmt: skip

HEALTH: tuple[CustomerOperation, ...] = (
    CustomerOperation(
        "get_liveness", "GET", "/health/live", 0, "health", "Liveness", "Whether the gateway runs.",
        (shapes.Health,), (INTERNAL,),
    ),
    CustomerOperation(
        "get_readiness", "GET", "/health/ready", 0, "health", "Readiness",
        "Whether requests are accepted: 503 while the store cannot be written.",
        (shapes.Health,), _ALWAYS,
    ),
)  # fmt: skip

OPERATIONS: tuple[CustomerOperation, ...] = (*MESSAGES_V1, *MESSAGES_V2, *ACCOUNT, *HEALTH)
