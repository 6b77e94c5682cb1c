"""Offers the in-memory store's message histories and the audit of its books."""

from collections import Counter
from collections.abc import Iterator

from heliograph.app.facts import LOW_BALANCE, Message
from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH
from heliograph.domain.message.ids import to_hex
from heliograph.domain.message.state import ENDED, State
from heliograph.domain.money.amounts import EntryKind
from tests.support.memory_rows import Rows


def audit(rows: Rows) -> list[str]:
    return [*_wrong_money(rows), *_wrong_work(rows)]


def _wrong_money(rows: Rows) -> Iterator[str]:
    for account in rows.accounts.values():
        if sum(entry.amount for entry in rows.ledger if entry.account == account.id) != rows.balances[account.id]:
            yield f"The balance of {account.name} is not the sum of its ledger."
    charged = {entry.key: -entry.amount for entry in rows.ledger if entry.kind is EntryKind.CHARGE}
    for message in rows.messages.values():
        if not message.batch and charged.get(message.key, 0) != message.price:
            yield f"The message {_name(message)} was not charged its price."
    for batch in rows.batches.values():
        if charged.get(batch.key, 0) != batch.dropped + sum(rows.messages[key].price for key in batch.keys):
            yield f"The batch {to_hex(batch.key, batch.tail)} was not charged what its messages cost."
    taken = {entry.message: -entry.amount for entry in rows.ledger if entry.kind is EntryKind.INBOUND}
    for inbound in rows.inbound.values():
        if taken.pop(inbound.key, 0) != inbound.price:
            yield f"The inbound message {to_hex(inbound.key, inbound.tail)} was not charged its price."
    yield from _wrong_drops(rows)
    refunded: dict[int, list[int]] = {}
    for entry in rows.ledger:
        if entry.kind is EntryKind.REFUND:
            refunded.setdefault(entry.message, []).append(entry.amount)
    for message in rows.messages.values():
        refunds = refunded.get(message.key, [])
        if refunds != [message.price] * (message.state in ENDED and message.price > 0):
            yield f"The message {_name(message)} (key {message.key}) was refunded {refunds}."


def _wrong_drops(rows: Rows) -> Iterator[str]:
    """Entries of the ledger without a message must have the sums that retention noted for dropped messages."""
    found: dict[tuple[int, EntryKind], tuple[int, int]] = {}
    for entry in rows.ledger:
        key = entry.key if entry.kind is EntryKind.CHARGE else entry.message
        if entry.kind is EntryKind.TOP_UP or key in rows.messages or key in rows.batches or key in rows.inbound:
            continue
        count, amount = found.get((entry.account, entry.kind), (0, 0))
        found[entry.account, entry.kind] = (count + 1, amount + abs(entry.amount))
    dropped = {kind: (each.entries, each.amount) for kind, each in rows.dropped.items()}
    for of in sorted({*found, *dropped}):
        if found.get(of) != dropped.get(of):
            yield f"Entries without a message of {of}: {found.get(of)}, and dropped were {dropped.get(of)}."


def _wrong_work(rows: Rows) -> Iterator[str]:
    answered = Counter(of for of, _ in rows.sent)
    for key, message in rows.messages.items():
        over = key in rows.finals or answered[key] >= message.segments
        if key in rows.queue and over:
            yield f"The message {_name(message)} is in the queue, although it is over."
        due = message.state == State.SCHEDULED or key <= rows.mark(key, DISPATCH)
        if due and not over and key not in rows.queue:
            yield f"Nothing will send the message {_name(message)}."
        if (message.state in ENDED) and key not in rows.finals:
            yield f"The message {_name(message)} has ended, and nothing says when."
    listed = {(key, segment) for _, _, key, segment in rows.awaiting}
    for (key, segment), answer in rows.sent.items():
        sent = rows.messages.get(key)
        if sent is None:
            yield f"A part of a message (key {key}) was sent that is not there."
            continue
        open_part = (key, segment) not in rows.parts and key not in rows.finals and answer.status == 0
        below = sent.wants_receipt and key <= rows.mark(key, AWAITING)
        if open_part and below and (key, segment) not in listed:
            yield f"The receipt of a part of {_name(sent)} would not be recognised."
    for key, end in rows.finals.items():
        retry = rows.retries.get(key)
        waits = key in rows.callbacks or (retry is not None and retry.due is not None)
        if end.owed and key <= rows.mark(key, CALLBACK) and not waits:
            yield f"Nothing will make the callback of {_name(rows.messages[key])}."
    for key, inbound in rows.inbound.items():
        retry = rows.retries.get(key)
        waits = key in rows.callbacks or (retry is not None and retry.due is not None)
        if inbound.way and key <= rows.mark(key, CALLBACK) and not waits:
            yield f"Nothing will make the callback of the inbound message {to_hex(key, inbound.tail)}."
    for low in rows.balance_notices.values():
        key = LOW_BALANCE - low.id
        if key not in rows.callbacks and (key not in rows.retries or rows.retries[key].due is None):
            yield f"Nothing will make the callback of the low balance of {rows.accounts[low.account].name}."
    for row in rows.inbound_parts.values():
        if row.joined and row.joined not in rows.inbound:
            yield f"A part was joined to an inbound message (key {row.joined}) that is not there."


def _name(message: Message) -> str:
    return to_hex(message.key, message.tail)
