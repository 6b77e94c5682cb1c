"""Offers `Told`, the promises given by a moment, and `broken`, which finds the promises that a store lost with the
power."""

import asyncio
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.marks import Recovery
from heliograph.domain.message.ids import parse
from heliograph.domain.message.state import State
from heliograph.domain.money.amounts import parse_credits
from tests.support.background_sink import BackgroundSink
from tests.support.load import Load
from tests.support.process import SimulatorProcess

STORE_FILE = "heliograph.db"
NODE = 99

_RECEIPT_WAS_KEPT = """
SELECT m.destination FROM message AS m
WHERE EXISTS (SELECT 1 FROM part_receipt AS p WHERE p.key = m.key)
   OR EXISTS (SELECT 1 FROM final AS f WHERE f.key = m.key)
UNION SELECT destination FROM early
"""
_MAY_HAVE_LEFT = """
SELECT m.destination FROM message AS m
WHERE EXISTS (SELECT 1 FROM sent AS s WHERE s.key = m.key) OR EXISTS (SELECT 1 FROM final AS f WHERE f.key = m.key)
   OR EXISTS (SELECT 1 FROM queue AS q WHERE q.key = m.key AND q.attempted)
   OR EXISTS (SELECT 1 FROM mark AS a WHERE a.name = 'attempted:' || m.connector AND m.key <= a.value)
"""
_BLOCKS = """
SELECT b.first_key, b.last_key,
       (SELECT count(*) FROM message_number AS n WHERE n.block = b.block),
       (SELECT count(*) FROM message AS m WHERE m.key BETWEEN b.first_key AND b.last_key)
FROM number_block AS b ORDER BY b.block
"""


@dataclass
class Told:
    """Moments are seconds since the Unix epoch, by the same clock as the recorder's. By that moment the promise had
    certainly arrived. Messages are named by their destinations, which are all different."""

    accepted: dict[str, tuple[str, float]] = field(default_factory=dict)
    """A 200, with the id that came with it."""
    cancelled: dict[str, float] = field(default_factory=dict)
    submitted: dict[str, float] = field(default_factory=dict)
    """The operator has it."""
    receipted: dict[str, float] = field(default_factory=dict)
    """The operator's receipt was acknowledged."""
    posted: dict[str, float] = field(default_factory=dict)
    """The customer has the callback, by the message's id."""
    from_phones: dict[str, float] = field(default_factory=dict)
    """A message from a phone was acknowledged, by its text."""
    accounts: dict[str, float] = field(default_factory=dict)
    """By their names, as commands have answered that they are there."""
    top_ups: list[tuple[str, Decimal, float]] = field(default_factory=list)
    copies: dict[str, float] = field(default_factory=dict)
    """Times at which the commands of backups began, by file name. Earlier promises must be in the backups."""
    copied: dict[str, float] = field(default_factory=dict)
    """Times at which the commands had ended."""

    def by(self, moment: float) -> "Told":
        """Returns the promises given before that moment."""

        def some(all_: dict[str, float]) -> dict[str, float]:
            return {name: at for name, at in all_.items() if at < moment}

        return Told(
            {to: (id_, at) for to, (id_, at) in self.accepted.items() if at < moment},
            some(self.cancelled), some(self.submitted), some(self.receipted), some(self.posted), some(self.from_phones),
            some(self.accounts),
            [each for each in self.top_ups if each[2] < moment], some(self.copies), some(self.copied),
        )  # fmt: skip

    def hear_of(self, load: Load, simulator: SimulatorProcess, sink: BackgroundSink) -> None:
        """Takes in the promises that customers, the operator and receivers of callbacks were given."""
        for to, id_ in load.accepted.items():
            self.accepted[to] = (id_, load.answered_at[to])
        self.from_phones = simulator.acknowledged()
        for received in sink.requests:
            if not received.of_receipt:
                self.from_phones.setdefault(received.form["content"], received.at)
                continue
            self.posted.setdefault(received.form["id"].replace("-", ""), received.at)
        receipts: dict[tuple[int, int], str] = {}
        for line in simulator.seen():
            # its log has whole milliseconds
            at = datetime.fromisoformat(line["at"]).timestamp() + 0.001
            pdu = line.get("pdu", {})
            if line["event"] == "request" and pdu["command"] == "submit_sm":
                self.submitted.setdefault(pdu["destination_addr"], at)
            elif line["event"] == "receipt":
                receipts[line["link"], line["sequence"]] = line["source_addr"]
            elif line["event"] == "answer" and pdu["command"] == "deliver_sm_resp" and pdu["status"] == "ESME_ROK":
                self.receipted.setdefault(receipts.get((line["link"], pdu["sequence"]), ""), at)
        self.receipted.pop("", None)  # messages from phones


def broken(store: Path, told: Told) -> list[str]:
    """Yields the promises that are missing in a store's file, opened as by a gateway, and other errors in it. Nothing
    if all is well."""
    store.parent.mkdir(parents=True, exist_ok=True)
    try:
        problems, recovery = asyncio.run(_opened(store))
    except Exception as fault:  # noqa: BLE001 - whatever keeps it from being opened is the finding
        return [f"it cannot be opened: {type(fault).__name__}: {fault}"]
    with closing(sqlite3.connect(store)) as db:
        verdict = db.execute("PRAGMA integrity_check").fetchone()[0]
        if verdict != "ok":
            problems.append(f"the file is damaged: {verdict}")
        return [*problems, *_unknown(db, told), *_wrong_blocks(db), *_unsent(recovery, told)]


async def _opened(store: Path) -> tuple[list[str], Recovery]:
    opened = await SqliteStore.open(store, on_loop=False)
    try:
        return await opened.upkeep.audit(), await opened.commits.recover(0, NODE)
    finally:
        await opened.close()


def _unknown(db: sqlite3.Connection, told: Told) -> Iterator[str]:
    def column(query: str) -> set[object]:
        return {value for (value,) in db.execute(query)}

    query = "SELECT key, tail, destination, state FROM message"
    rows = {key: (tail, to, state) for key, tail, to, state in db.execute(query)}
    for to, (id_, _) in told.accepted.items():
        key, tail = parse(id_) or (0, 0)
        found = rows.get(key)
        if found is None or found[:2] != (tail, to):
            yield f"the message to {to} was answered 200 and is lost"
        elif to in told.cancelled and found[2] != State.CANCELLED:
            yield f"the message to {to} was cancelled, and is not"
    for to in told.submitted.keys() - column(_MAY_HAVE_LEFT):
        yield f"the operator has the message to {to}, and nothing says that it may have left"
    for to in told.receipted.keys() - column(_RECEIPT_WAS_KEPT):
        yield f"the receipt for {to} was acknowledged and is lost"
    for text in told.from_phones.keys() - column("SELECT content FROM inbound"):
        yield f"{text!r} of a phone was acknowledged and is lost"
    ended = column("SELECT key FROM final WHERE state IS NOT NULL")
    for id_ in told.posted:
        if (parse(id_) or (0, 0))[0] not in ended:
            yield f"a callback was made for the message {id_}, which has not ended"
    yield from _unknown_money(db, told)


def _unknown_money(db: sqlite3.Connection, told: Told) -> Iterator[str]:
    names = {name for (name,) in db.execute("SELECT name FROM account")}
    yield from (f"the account {name} was made, and is not there" for name in told.accounts if name not in names)
    for name, amount, _ in told.top_ups:
        query = "SELECT 1 FROM ledger JOIN account ON account.id = account WHERE name = ? AND kind = 2 AND amount = ?"
        if db.execute(query, (name, parse_credits(str(amount)))).fetchone() is None:
            yield f"the account {name} was given {amount} credits, and has not got them"


def _wrong_blocks(db: sqlite3.Connection) -> Iterator[str]:
    """Of the numbers that are indexed: a block has each message from its first key to its last, and they adjoin."""
    blocks = db.execute(_BLOCKS).fetchall()
    for first, last, numbers, messages in blocks:
        if numbers != messages:
            yield f"{messages} messages are from {first} to {last}, and {numbers} numbers are indexed"
    for (_, last, _, _), (first, _, _, _) in pairwise(blocks):
        if first != last + 1:
            yield f"a block of numbers ends at {last}, and the next begins at {first}"


def _unsent(recovery: Recovery, told: Told) -> Iterable[str]:
    """Yields messages that the operator has although a start takes them for never sent. Only outcomes of the window may
    be unknown."""
    for queued in recovery.unsent:
        if not queued.attempted and queued.message.destination in told.submitted:
            yield f"the operator has the message to {queued.message.destination}, which is taken for never sent"
