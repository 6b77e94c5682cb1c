"""The audit finds each kind of row that must not be."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.admin.ledger_checks import CHECKS
from heliograph.app.configuration import Account
from heliograph.app.facts import Facts, InboundMessage, InboundPart, MessageEnd, PartSet
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.way import Way
from heliograph.domain.money.amounts import EntryKind
from tests.support.store import NODE, START, Given


def _dropped(kind: EntryKind) -> str:
    """SQL that says of dropped rows that they had an entry of the ledger which is not there."""
    return f"INSERT INTO dropped_money SELECT id, {int(kind)}, 1, 5, {(1 << 62)} FROM account"


#: What is done to the rows, and what the audit then says, at least.
DAMAGE = {
    "balance": ("UPDATE account SET balance = balance + 1", "its ledger adds up to"),
    "ledger row lost": ("DELETE FROM ledger WHERE kind = 2", "its ledger adds up to"),
    "ledger of nobody": ("INSERT INTO ledger VALUES (99, 1, 2, 5, 0, 0, '')", "which does not exist"),
    "charge lost": ("DELETE FROM ledger WHERE kind = 0 AND key = (SELECT min(key) FROM message)", "and was charged 0"),
    "charge changed": ("UPDATE ledger SET amount = -5 WHERE kind = 0", "and was charged 0.000005"),
    "batch charge lost": ("DELETE FROM ledger WHERE key IN (SELECT key FROM batch)", "The messages of the batch"),
    "message of a batch lost": (
        "DELETE FROM message WHERE key = (SELECT max(key) FROM message WHERE batch <> 0)",
        "The messages of the batch",
    ),
    "batch lost": ("DELETE FROM batch", "belongs to a batch that does not exist"),
    "message lost": ("DELETE FROM message WHERE batch = 0", "was charged 1 for a message or batch that does not exist"),
    "refund of a sent message": (
        "UPDATE message SET state = 1 WHERE state = 3",
        "is not backed by a lost message",
    ),
    "refund twice": (
        """
        DROP INDEX ledger_refund;
        INSERT INTO ledger SELECT account, key + 320, kind, amount, message, at, note FROM ledger WHERE kind = 1;
        """,
        "was refunded 2 times",
    ),
    "refund lost": ("DELETE FROM ledger WHERE kind = 1", "was not refunded"),
    "state": ("UPDATE message SET state = 7", "has the state 7"),
    "end lost": ("DELETE FROM final", "but has no time of its end"),
    "state not changed": ("UPDATE message SET state = 0 WHERE state = 2", "has ended"),
    "scheduled and not queued": ("DELETE FROM queue", "is not in the queue"),
    "queued and cancelled": (
        "INSERT INTO queue SELECT key, 1, 0, 0, 0, NULL, account, '49', 0, NULL FROM message WHERE state = 2",
        "is in the queue, although",
    ),
    "queued and unknown": (
        "INSERT INTO queue VALUES (5, 1, 0, 0, 0, NULL, 1, '49', 0, NULL)",
        "is in the queue, although",
    ),
    "unsent": ("INSERT INTO mark SELECT 'dispatch', max(key) FROM message", "will not be sent"),
    "unrecognised": (
        """
        INSERT INTO mark SELECT 'awaiting', max(key) FROM message;
        UPDATE message SET wants_receipt = 1;
        INSERT INTO sent SELECT key, 0, 1, 'a', 0, 0 FROM message WHERE state = 1;
        """,
        "would not be recognised",
    ),
    "callback forgotten": (
        "INSERT INTO mark SELECT 'callback', max(key) FROM message",
        "will not be made",
    ),
    "callback of an inbound message forgotten": (
        """
        INSERT INTO mark SELECT 'callback', max(key) FROM inbound;
        DELETE FROM final;
        """,
        "pending for the inbound message",
    ),
    "charge of an inbound message lost": ("DELETE FROM ledger WHERE kind = 3", "The inbound message"),
    "charge of no inbound message": ("UPDATE inbound SET position = position + 1", "an inbound message that does not"),
    "dropped charge": (_dropped(EntryKind.CHARGE), "had 1 charges for messages"),
    "dropped refund": (_dropped(EntryKind.REFUND), "had 1 refunds of messages"),
    "dropped charge of an inbound message": (_dropped(EntryKind.INBOUND), "had 1 charges for inbound messages"),
    "inbound message lost": ("DELETE FROM inbound", "was joined from parts, but does not exist"),
    "callback too early": (
        "INSERT INTO callback_retry SELECT key, account, 0, 0, x'', '', 0, 1, 0, NULL FROM message WHERE state = 1",
        "although the message has not ended",
    ),
    "callback of a low balance forgotten": (
        """
        INSERT INTO balance_notice (account, balance, threshold, way, at) SELECT id, 1, 2, 1, 0 FROM account;
        DELETE FROM callback_retry WHERE key < 0;
        """,
        "pending for the low balance",
    ),
    "low balance not told": ("UPDATE account SET low_balance = balance + 1, low_balance_armed = 1", "was not told"),
}


@pytest.fixture
async def busy(store: SqliteStore, given: Given, account: Account) -> SqliteStore:
    """One of each: sent, batch, scheduled, cancelled, failed with a callback owed, and inbound, of parts."""
    await given.sent(account.id)
    await given.recorded(given.batch(account.id, 3))
    await given.scheduled(account.id)
    cancelled = await given.scheduled(account.id)
    await store.customers.cancel(account.id, cancelled.key, cancelled.tail, START)
    failed = await given.sent(account.id)
    await store.commits.record(
        Facts(finals=[MessageEnd(failed.account, failed.key, Delivery.REJECTD, "001", START, True, True, failed.price)])
    )
    parts_of = PartSet(1, "4917012345678", "3388", 1, 1)
    await store.commits.recover(0, NODE)
    await store.commits.record(Facts(inbound_parts=[InboundPart(parts_of, 1, 0, True, b"1", START)]))
    await store.inbound.gather([parts_of], NODE)
    inbound = InboundMessage(
        account.id, 1, "4917012345678", "3388", "Hi", b"Hi", 0, START, way=Way.WEBHOOK, parts_of=parts_of, price=1,
        key=given.key(),
    )  # fmt: skip
    await store.commits.record(Facts(inbound=[inbound]))
    return store


@pytest.mark.parametrize("name", DAMAGE)
async def test_what_is_damaged_is_found(busy: SqliteStore, path: Path, name: str) -> None:
    assert await busy.upkeep.audit() == []
    damage, sentence = DAMAGE[name]
    with closing(sqlite3.connect(path)) as db:
        db.executescript(damage)
    findings = await busy.upkeep.audit()
    assert any(sentence in finding for finding in findings), findings
    assert not any("{" in finding for finding in findings)


def test_every_check_is_tried() -> None:
    """Each sentence has a part between two places that some damage above brings about."""
    told = [sentence for _, sentence in DAMAGE.values()]
    for check, sentence in CHECKS.items():
        if check.startswith("gone"):
            continue  # of nodes, which a file has none of
        example = sentence.format_map(
            {"amount_credits": "1", "charged_credits": "0", "state": "7", "times": "2"}
            | {"entries": "1", "found": "0"}
            | dict.fromkeys(("account", "balance_credits", "cost_credits", "id", "ledger_credits"), "")
            | dict.fromkeys(("name", "part", "price_credits", "threshold_credits"), "")
        )
        assert any(part in example for part in told), sentence
