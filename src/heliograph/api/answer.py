"""What requests are answered: status, headers, and a compact JSON body in UTF-8."""

from typing import Any, NamedTuple

import msgspec

from heliograph.app.facts import Accept, Message, Verdict
from heliograph.app.plan import Moved
from heliograph.domain import ids, segment
from heliograph.domain.error import CONFLICT, FORBIDDEN, NO_CREDIT, UNAUTHENTICATED, UNAVAILABLE, Fault
from heliograph.domain.message import Kind
from heliograph.domain.money import format_credits

REALM = b'Basic realm="Heliograph", charset="UTF-8"'

STORE_PAUSE_S = 2
"""What `Retry-After` says while the store cannot write."""

_encode = msgspec.json.encode


class Answer(NamedTuple):
    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()
    """Those beyond content-type, content-length and x-request-id."""


def of(document: dict[str, Any]) -> Answer:
    return Answer(200, _encode(document))


def of_fault(fault: Fault) -> Answer:
    headers: tuple[tuple[bytes, bytes], ...] = ()
    if fault.entry is UNAUTHENTICATED:
        headers = ((b"www-authenticate", REALM),)
    elif fault.retry_after is not None:
        headers = ((b"retry-after", b"%d" % fault.retry_after),)
    return Answer(fault.entry.http, _encode(fault.body()), headers)


def of_accept(accept: Accept) -> Answer:
    """The answer to a request to send, once its verdict stands."""
    verdict = accept.verdict
    if verdict is Verdict.ACCEPTED or verdict is Verdict.REPLAYED:
        return Answer(200, _send_result(accept))
    return of_fault(_REFUSALS[verdict](accept))


def _send_result(accept: Accept) -> bytes:
    status = "Scheduled" if accept.scheduled else "Sent"
    reference = b"null" if accept.reference is None else _encode(accept.reference)
    if not accept.batch:
        message = accept.messages[0]
        return (
            b'{"Status":"00","Id":"%b","Rate":%b,"Reference":%b,"MessageStatus":"%b"}'
        ) % (
            ids.to_hex(message.key, message.tail).encode(), format_credits(accept.total).encode(), reference,
            status.encode(),
        )  # fmt: skip
    return _batch_result(accept.key, accept.tail, accept.total, accept.reference, accept.messages, status)


def _batch_result(
    key: int, tail: int, total: int, reference: str | None, messages: list[Message], status: str
) -> bytes:
    return _encode(
        {
            "Status": "00",
            "Id": ids.to_hex(key, tail),
            "Rate": _number(total),
            "Reference": reference,
            "MessageStatus": status,
            "Messages": [
                {
                    "Status": "00",
                    "Id": ids.to_hex(message.key, message.tail),
                    "To": message.destination,
                    "Rate": _number(message.price),
                    "MessageStatus": status,
                }
                for message in messages
            ],
        }
    )


def of_moved(moved: Moved) -> Answer:
    if moved.batch:
        body = _batch_result(moved.key, moved.tail, moved.total, moved.reference, moved.messages, "Scheduled")
        return Answer(200, body)
    return of(
        {
            "Status": "00",
            "Id": ids.to_hex(moved.key, moved.tail),
            "Rate": _number(moved.total),
            "Reference": moved.reference,
            "MessageStatus": "Scheduled",
        }
    )


def of_quote(accept: Accept) -> Answer:
    first = accept.messages[0]
    encoding, segments = segment.count(first.content, Kind(first.kind))
    return of(
        {
            "Status": "00",
            "Rate": _number(accept.total),
            "Encoding": encoding.label,
            "Segments": segments,
            "Messages": [
                {"To": message.destination, "Rate": _number(message.price), "Segments": message.segments}
                for message in accept.messages
            ],
        }
    )


def _number(micro: int) -> msgspec.Raw:
    """Credits as an exact JSON number."""
    return msgspec.Raw(format_credits(micro))


def _no_credit(accept: Accept) -> Fault:
    problem = f"The credit is too low: this costs {format_credits(accept.total)}. Nothing was sent or charged; top up."
    return Fault(NO_CREDIT, problem)


def _suspended(_: Accept) -> Fault:
    return Fault(FORBIDDEN, "The account is suspended; ask the operator of the gateway.")


def _conflict(_: Accept) -> Fault:
    return Fault(CONFLICT, "The reference was used for another request; choose a new one.", "reference")


def unavailable() -> Fault:
    problem = "The gateway cannot store messages at this moment; nothing was charged. Send it again later."
    return Fault(UNAVAILABLE, problem, None, STORE_PAUSE_S)


def busy() -> Fault:
    return Fault(UNAVAILABLE, "Too many requests are waiting; nothing was charged. Send it again in a second.")


def _unavailable(_: Accept) -> Fault:
    return unavailable()


_REFUSALS = {
    Verdict.TOO_LITTLE_CREDIT: _no_credit,
    Verdict.SUSPENDED: _suspended,
    Verdict.REFERENCE_CONFLICT: _conflict,
    Verdict.UNAVAILABLE: _unavailable,
}
