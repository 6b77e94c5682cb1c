"""The operations: paths and methods, their requests and answers, and their errors."""

from typing import NamedTuple

import msgspec

from heliograph.api import fields, shapes
from heliograph.api.fields import Field, Parameter
from heliograph.domain.error import (
    CONFLICT,
    FORBIDDEN,
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
    shown: tuple[tuple[str, ...], ...] = ()
    """The examples: the fields or parameters of each. An example without a list has all required fields."""


_SEND_MEANING = (
    "To one destination or several. What gets 200 is stored and charged. With a `reference` a request can be "
    "repeated safely."
)

MESSAGES_V1: tuple[CustomerOperation, ...] = (
    CustomerOperation(
        "send_message", "POST", MESSAGES, 1, "messages", "Send or schedule",
        f"{_SEND_MEANING} With `time` it is scheduled, and charged at once.",
        (shapes.SendResult,), (*_BODY, *_CREDENTIALS, NO_CREDIT, CONFLICT, *_ALWAYS), fields.SEND[1],
        replays=True, shown=(("to", "from", "content", "reference"), ("to", "from", "content", "time")),
    ),
    CustomerOperation(
        "list_messages", "GET", MESSAGES, 1, "messages", "List",
        "By time, the oldest first. Cancelled messages are never listed, scheduled ones with `pending`.",
        (shapes.RecordList,), (*_QUERY, *_CREDENTIALS, *_ALWAYS), query=fields.LIST, shown=(("limit", "order"),),
    ),
    CustomerOperation(
        "quote_message", "POST", "/api/v1/messages/quote", 1, "messages", "Quote",
        "What a request to send would cost. It is checked as that would be; nothing is sent or charged.",
        (shapes.QuoteResult,), (*_BODY, *_CREDENTIALS, *_ALWAYS), fields.SEND[1],
    ),
    CustomerOperation(
        "get_message", "GET", ONE_MESSAGE, 1, "messages", "Get",
        "A message by its id; by a batch's id its messages, in the order of the request, whatever their state.",
        (shapes.Record, shapes.RecordList), (*_QUERY, *_CREDENTIALS, NOT_FOUND, *_ALWAYS), query=fields.PAGE,
    ),
    CustomerOperation(
        "reschedule_message", "PUT", ONE_MESSAGE, 1, "messages", "Reschedule",
        "Gives a scheduled message a new time; by a batch's id all of its messages that are still scheduled.",
        (shapes.SendResult,), (*_BODY, *_CREDENTIALS, NOT_FOUND, CONFLICT, *_ALWAYS), fields.RESCHEDULE,
    ),
    CustomerOperation(
        "cancel_message", "DELETE", ONE_MESSAGE, 1, "messages", "Cancel",
        "Cancels a scheduled message, or those of a batch that are still scheduled. What was charged comes back.",
        (shapes.Done,), (*_CREDENTIALS, NOT_FOUND, CONFLICT, *_ALWAYS),
    ),
    CustomerOperation(
        "list_message_events", "GET", EVENTS, 1, "messages", "History",
        "What has happened to a message, segment by segment: for whoever asks why it did not arrive.",
        (shapes.History,), (*_CREDENTIALS, NOT_FOUND, *_ALWAYS),
    ),
    CustomerOperation(
        "get_balance", "POST", "/api/v1/account/balance", 1, "account", "Balance",
        "The account's credit. There is nothing to send with it.",
        (shapes.Balance,), (*_CREDENTIALS, *_ALWAYS),
    ),
)  # fmt: skip

MESSAGES_V2: tuple[CustomerOperation, ...] = (
    CustomerOperation(
        "send_message_v2", "POST", "/api/v2/messages", 2, "messages", "Send (v2)",
        f"{_SEND_MEANING} v2 does not schedule: a `time` is refused.",
        (shapes.SendResult,), (*_BODY, *_CREDENTIALS, NO_CREDIT, CONFLICT, *_ALWAYS), fields.SEND[2],
        replays=True, shown=(("to", "from", "content", "dlr", "dlr-url"),),
    ),
    CustomerOperation(
        "get_balance_v2", "POST", "/api/v2/account/balance", 2, "account", "Balance (v2)",
        "The account's credit. There is nothing to send with it.",
        (shapes.Balance,), (*_CREDENTIALS, *_ALWAYS),
    ),
)  # fmt: skip

ACCOUNT: tuple[CustomerOperation, ...] = (
    CustomerOperation(
        "pull_inbound", "GET", INBOUND, 1, "inbound", "Pull",
        "Messages from phones, in the order in which they became the account's: nothing turns up later before one that "
        "was read. Give the last `Id` as `after` to go on. There is no interval between two requests.",
        (shapes.InboundPage,), (*_QUERY, *_CREDENTIALS, *_ALWAYS), query=fields.PULL, shown=(("limit", "wait"),),
    ),
    CustomerOperation(
        "get_inbound", "GET", f"{INBOUND}/{{id}}", 1, "inbound", "Get inbound", "A message from a phone by its id.",
        (shapes.InboundItem,), (*_CREDENTIALS, NOT_FOUND, *_ALWAYS),
    ),
    CustomerOperation(
        "listen_notices", "GET", NOTICES, 1, "account", "Listen",
        "What is posted to your receivers as it is made, and what would be if you had one: receipts and messages from "
        "phones, with body, headers and signature. Your receivers get theirs all the same. For programs that you are "
        "writing: nothing is kept for longer than a minute after the last request, and of several gateways on one "
        "database each tells of its own. Give the last `Cursor` as `after` to go on.",
        (shapes.NoticePage,), (*_QUERY, *_CREDENTIALS, *_ALWAYS), query=fields.NOTICES, shown=(("limit", "wait"),),
    ),
    CustomerOperation(
        "list_suppressions", "GET", SUPPRESSIONS, 1, "suppressions", "List suppressions",
        "Phones that the account must not send to, by number. Give the last `Number` as `after` to go on. There is no "
        "interval between two requests.",
        (shapes.SuppressionPage,), (*_QUERY, *_CREDENTIALS, *_ALWAYS), query=fields.SUPPRESSIONS, shown=(("limit",),),
    ),
    CustomerOperation(
        "get_suppression", "GET", ONE_SUPPRESSION, 1, "suppressions", "Get suppression",
        "Whether a number is suppressed: 404 where it is not.",
        (shapes.SuppressionItem,), (INVALID, *_CREDENTIALS, NOT_FOUND, *_ALWAYS),
    ),
    CustomerOperation(
        "add_suppression", "PUT", ONE_SUPPRESSION, 1, "suppressions", "Suppress",
        "Nothing is sent to the number any more: requests are refused, and what waits or is scheduled for it is "
        "cancelled and refunded. For one that is suppressed already nothing changes, and the answer is the "
        "suppression that is there. There is nothing to send with it.",
        (shapes.SuppressionItem,), (INVALID, *_CREDENTIALS, *_ALWAYS),
    ),
    CustomerOperation(
        "remove_suppression", "DELETE", ONE_SUPPRESSION, 1, "suppressions", "Remove suppression",
        "The number may be sent to again. Only for those who agreed to it: a phone does so itself with `START`.",
        (shapes.Done,), (INVALID, *_CREDENTIALS, NOT_FOUND, *_ALWAYS),
    ),
)  # fmt: skip

HEALTH: tuple[CustomerOperation, ...] = (
    CustomerOperation(
        "get_liveness", "GET", "/health/live", 0, "health", "Liveness", "Whether the gateway runs.",
        (shapes.Health,), (INTERNAL,),
    ),
    CustomerOperation(
        "get_readiness", "GET", "/health/ready", 0, "health", "Readiness",
        "Whether requests are taken: 503 while the store cannot be written.",
        (shapes.Health,), _ALWAYS,
    ),
)  # fmt: skip

OPERATIONS: tuple[CustomerOperation, ...] = (*MESSAGES_V1, *MESSAGES_V2, *ACCOUNT, *HEALTH)
