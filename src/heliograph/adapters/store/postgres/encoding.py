"""Encodes facts as arrays of rows in PostgreSQL's binary format, as its `array_recv` and `record_recv` read it.

The driver would encode such an array value by value, which took most of the time of a commit in this process. Here a
single call of `struct` packs the numbers of a row. schema.sql declares the types.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from heliograph.app import facts

_ARRAY: Final = Struct(">iiIii")
"""Packs dimensions, whether an element is NULL, the type of the elements, their number, and the index of the first."""

# A value is preceded by its type and its length, packed into a single number. The length of a text is added.
_SMALLINT: Final = 21 << 32 | 2
_INTEGER: Final = 23 << 32 | 4
_BIGINT: Final = 20 << 32 | 8
_BOOLEAN: Final = 16 << 32 | 1
_BYTEA: Final = 17 << 32
_TEXT: Final = 25 << 32

_HEAD: Final = Struct(">q")

# Each row in two parts: from its length and number of values to the head of the first text, and the rest. `_OCTETS` is
# the length of a row with empty texts.
_SINGLE: Final = Struct(">ii qi qq qq qq qq qq qq qi qh q? qh q")
_SINGLE_OCTETS: Final = 4 + 16 * 8 + 61
_SENT: Final = Struct(">ii qq qi qq q")
_SENT_END: Final = Struct(">qq qq")
_SENT_OCTETS: Final = 4 + 6 * 8 + 36
_FINAL: Final = Struct(">ii qq qh q")
_FINAL_END: Final = Struct(">qq q?")
_FINAL_OCTETS: Final = 4 + 5 * 8 + 19
_AWAITING: Final = Struct(">ii qq q")
_AWAITING_END: Final = Struct(">qq qi")
_AWAITING_OCTETS: Final = 4 + 4 * 8 + 20
_CALLBACK: Final = Struct(">ii qq qh qi qi qq")
_CALLBACK_OCTETS: Final = 4 + 5 * 8 + 26


def singles(element: int, rows: list[tuple[int, facts.Message, bytes]]) -> bytes:
    """Encodes `single_row[]`: messages, each with the index of its account in the call (from 1), and the octets of its
    content."""
    pieces = [_ARRAY.pack(1, 0, element, len(rows), 1)]
    add, pack, head = pieces.append, _SINGLE.pack, _HEAD.pack
    for index, message, content in rows:
        destination, sender = message.destination.encode(), message.sender.encode()
        callback_url = message.callback_url.encode()
        network = message.network.encode()
        octets = _SINGLE_OCTETS + len(destination) + len(sender) + len(callback_url) + len(content) + len(network)
        add(pack(
            octets, 16, _INTEGER, index, _BIGINT, message.key, _BIGINT, message.tail, _BIGINT, message.price,
            _BIGINT, message.time, _BIGINT, message.expires, _BIGINT, message.connector, _INTEGER, message.segments,
            _SMALLINT, message.kind, _BOOLEAN, message.wants_receipt, _SMALLINT, message.way, _TEXT + len(destination),
        ))  # fmt: skip
        add(destination)
        add(head(_TEXT + len(sender)))
        add(sender)
        add(head(_TEXT + len(callback_url)))
        add(callback_url)
        add(head(_BYTEA + len(content)))
        add(content)
        add(head(_TEXT + len(network)))
        add(network)
    return b"".join(pieces)


def submissions(element: int, rows: list[facts.Submission]) -> bytes:
    """Encodes `sent_row[]`."""
    pieces = [_ARRAY.pack(1, 0, element, len(rows), 1)]
    add, pack, end = pieces.append, _SENT.pack, _SENT_END.pack
    for row in rows:
        name = row.operator_id.encode()
        octets = _SENT_OCTETS + len(name)
        add(pack(
            octets, 6, _BIGINT, row.key, _INTEGER, row.segment, _BIGINT, row.connector, _TEXT + len(name),
        ))  # fmt: skip
        add(name)
        add(end(_BIGINT, row.status, _BIGINT, row.at))
    return b"".join(pieces)


def finals(element: int, rows: list[facts.MessageEnd]) -> bytes:
    """Encodes `final_row[]`."""
    pieces = [_ARRAY.pack(1, 0, element, len(rows), 1)]
    add, pack, end = pieces.append, _FINAL.pack, _FINAL_END.pack
    for row in rows:
        err = row.err.encode()
        add(pack(_FINAL_OCTETS + len(err), 5, _BIGINT, row.key, _SMALLINT, row.state, _TEXT + len(err)))
        add(err)
        add(end(_BIGINT, row.at, _BOOLEAN, row.owed))
    return b"".join(pieces)


def awaiting(element: int, rows: list[facts.Awaiting]) -> bytes:
    """Encodes `awaiting_row[]`."""
    pieces = [_ARRAY.pack(1, 0, element, len(rows), 1)]
    add, pack, end = pieces.append, _AWAITING.pack, _AWAITING_END.pack
    for row in rows:
        name = row.operator_id.encode()
        add(pack(_AWAITING_OCTETS + len(name), 4, _BIGINT, row.connector, _TEXT + len(name)))
        add(name)
        add(end(_BIGINT, row.key, _INTEGER, row.segment))
    return b"".join(pieces)


def callbacks(element: int, rows: list[facts.CallbackDone]) -> bytes:
    """Encodes `callback_row[]`."""
    pieces = [_ARRAY.pack(1, 0, element, len(rows), 1)]
    add, pack = pieces.append, _CALLBACK.pack
    for row in rows:
        add(pack(
            _CALLBACK_OCTETS, 5, _BIGINT, row.key, _SMALLINT, row.end, _INTEGER, row.code, _INTEGER, row.attempts,
            _BIGINT, row.at,
        ))  # fmt: skip
    return b"".join(pieces)


ENCODERS: dict[str, Callable[[int, Any], bytes]] = {
    "single_row": singles,
    "sent_row": submissions,
    "final_row": finals,
    "awaiting_row": awaiting,
    "callback_row": callbacks,
}
"""Encoders by the type of the rows. The first argument is the type's OID."""
