"""The hot path of inbound messages: within the transaction of all other facts."""

import sqlite3

from heliograph.adapters.store.shared.rows import INBOUND_COLUMNS, INBOUND_WIDTH, PART_COLUMNS
from heliograph.adapters.store.sqlite.money import LedgerWriter
from heliograph.adapters.store.sqlite.statements import Insert, Row, many
from heliograph.app.facts import Facts, InboundMessage, InboundPart
from heliograph.domain.money.amounts import EntryKind

_ONCE = "ON CONFLICT DO NOTHING"

_INSERT_INBOUND = Insert(
    f"INSERT INTO inbound (position, {INBOUND_COLUMNS.replace('i.', '')})",
    INBOUND_WIDTH + 1,
    _ONCE,
    last="coalesce((SELECT message.key FROM message WHERE message.key = ?), 0)",
)
"""The last column is the key of the reply, or 0 if the reply was not accepted."""
_INSERT_ENTRY = Insert("INSERT INTO ledger (account, key, kind, amount, message, at)", 6)
_INBOUND = +EntryKind.INBOUND
_KNOWN = "SELECT key FROM inbound WHERE key IN (SELECT value FROM json_each(?))"
_NO_REPLY = "UPDATE inbound SET problem = ? WHERE key = ?"
_LAST_POSITION = "SELECT coalesce(max(position), 0) FROM inbound WHERE account = ?"
_INSERT_UNANSWERED = Insert("INSERT INTO inbound_unanswered (key, connector, digest, node, lost, at)", 6, _ONCE)
_KEEP_INBOUND_PART = Insert(
    f"INSERT INTO inbound_part ({PART_COLUMNS})",
    10,
    """
    ON CONFLICT (connector, sender, recipient, reference, total, number) DO UPDATE SET
        coding = excluded.coding, has_header = excluded.has_header, octets = excluded.octets, at = excluded.at,
        joined = 0
    WHERE joined <> 0 AND octets <> excluded.octets
    """,
)
"""A waiting part stays as it is. A joined part stays too, unless other octets come under its name: they begin another
message."""
_LOSE_INBOUND = "UPDATE inbound_unanswered SET lost = 1 WHERE key IN (SELECT value FROM json_each(?))"
_ANSWER_INBOUND = "DELETE FROM inbound_unanswered WHERE key IN (SELECT value FROM json_each(?))"
_JOIN_PARTS = """
UPDATE inbound_part SET joined = ?, node = NULL
WHERE connector = ? AND sender = ? AND recipient = ? AND reference = ? AND total = ? AND joined = 0 AND node = ?
"""


def record_inbound(db: sqlite3.Connection, facts: Facts, node: int, ledger: LedgerWriter) -> None:
    """Keeps inbound messages and parts, charges the messages, and keeps the state of their answers."""
    if facts.inbound_lost:
        db.execute(_LOSE_INBOUND, (many(facts.inbound_lost),))
    if facts.inbound_answered:
        db.execute(_ANSWER_INBOUND, (many(facts.inbound_answered),))
    last: dict[int, int] = {}
    rows = [_inbound_row(each, _position(db, each, last)) for each in facts.inbound]
    _charge(db, facts.inbound, rows, ledger)
    _INSERT_INBOUND(db, rows)
    unanswered: list[Row] = []
    for each in facts.inbound:
        if each.digest:
            unanswered.append((each.key, each.connector, each.digest, node, +each.lost, each.at))
        of = each.parts_of
        if of is not None:
            db.execute(_JOIN_PARTS, (each.key, of.connector, of.sender, of.recipient, of.reference, of.total, node))
    _INSERT_UNANSWERED(db, unanswered)
    _KEEP_INBOUND_PART(db, list(map(_part_row, facts.inbound_parts)))
    db.executemany(_NO_REPLY, [(each.problem, each.key) for each in facts.inbound_replies])


def _position(db: sqlite3.Connection, message: InboundMessage, last: dict[int, int]) -> int:
    """Returns the position of a message among its account's: its key, or the next after the last position. `last` has
    the positions given in this transaction, by account."""
    account = message.account
    if not account:
        return message.key
    before = last.get(account)
    if before is None:
        ((before,),) = db.execute(_LAST_POSITION, (account,))
    last[account] = position = max(message.key, before + 1)
    return position


def _charge(db: sqlite3.Connection, messages: list[InboundMessage], rows: list[Row], ledger: LedgerWriter) -> None:
    """Charges the messages that are new, even beyond the balance."""
    if not any(message.price for message in messages):
        return
    known = {key for (key,) in db.execute(_KNOWN, (many(message.key for message in messages),))}
    entries: list[Row] = []
    for message, row in zip(messages, rows, strict=True):
        if message.price and message.key not in known:
            known.add(message.key)
            entries.append((message.account, row[0], _INBOUND, -message.price, message.key, message.at))
            ledger.change(message.account, -message.price)
    _INSERT_ENTRY(db, entries)


def _inbound_row(message: InboundMessage, position: int) -> Row:
    """The position of an inbound message, then its values in the order of INBOUND_COLUMNS."""
    return (
        position,
        message.account,
        message.connector,
        message.sender,
        message.recipient,
        message.sealed or message.content,
        message.octets,
        message.coding,
        message.at,
        message.keyword,
        message.parts,
        +message.complete,
        +message.way,
        message.price,
        message.key,
        message.tail,
        +message.wish,
        message.reply.key if message.reply is not None else 0,
    )


def _part_row(part: InboundPart) -> Row:
    """The values of a part in the order of PART_COLUMNS."""
    of = part.parts_of
    return (
        of.connector,
        of.sender,
        of.recipient,
        of.reference,
        of.total,
        part.number,
        part.coding,
        +part.has_header,
        part.octets,
        part.at,
    )
