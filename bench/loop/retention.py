"""Measures how sending goes while old messages are dropped: a store is filled with them by SQL, and retention begins
while others are sent."""

import asyncio
import sqlite3
import time
import urllib.request
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

import asyncpg

from bench.loop.figures import Refused, Run, demand_sound, pair
from bench.loop.fill import PRICE, TAIL, VALIDITY_MS
from bench.loop.gateways import TEXT, Heliograph, HeliographPostgres, Wish
from bench.loop.processes import until
from bench.loop.run import Bench, Load
from heliograph.app.facts import CallbackEnd, Facts
from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH
from heliograph.composition.commands import STORE_FILE
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import Kind, State
from heliograph.domain.money.amounts import EntryKind
from heliograph.runtime.retention import PASS_S
from heliograph.runtime.upkeep import NUMBERS_BLOCK

RATE: Final = 500.0
AGE_MS: Final = 90 * 86_400_000
"""Age of the oldest message."""

RETAIN_DAYS: Final = 30
STEP_MS: Final = 100
"""Distance between two messages."""

CHUNK: Final = 10 * NUMBERS_BLOCK
"""Messages of a transaction."""

MOST_S: Final = 480.0
"""Seconds after which filling ends, with as many messages as there are."""

LEAST_S: Final = 20.0
"""Seconds that each load lasts at least."""

HEADS: Final = (
    "gateway", "stored", "filled in s", "load/s", "to 200 ms p50/p99: before", "while rows are dropped", "dropped/s",
    "all of them in min", "files MiB: before", "after",
)  # fmt: skip

_SQLITE = "WITH RECURSIVE n (i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {last}) "
_POSTGRES = "WITH n (i) AS (SELECT generate_series({first}::bigint, {last}::bigint - 1)) "
_KEY = "(({start} + i * {step}) << 12)"

_FILL = (
    "INSERT INTO message (key, tail, account, destination, sender, kind, content, segments, price, time, expires,"
    " state, connector, wants_receipt, way, callback_url, reference, batch, extras, network)"
    " {n} SELECT " + _KEY + ", {tail}, {account}, '491' || {number}, 'Bench', {kind}, {content}, 1, {price},"
    " {start} + i * {step}, {start} + i * {step} + {validity}, {state}, {connector}, TRUE, 1, 'http://127.0.0.1/receipt',"
    " '', 0, '', '' FROM n",
    "INSERT INTO ledger (account, key, kind, amount, message, at)"
    " {n} SELECT {account}, " + _KEY + ", {charge}, -{price}, " + _KEY + ", {start} + i * {step} FROM n",
    "INSERT INTO sent (key, segment, connector, operator_id, status, at)"
    " {n} SELECT " + _KEY + ", 0, {connector}, 'id-' || i, 0, {start} + i * {step} FROM n",
    "INSERT INTO final (key, state, err, at, owed)"
    " {n} SELECT " + _KEY + ", {delivered}, '000', {start} + i * {step}, TRUE FROM n",
    'INSERT INTO callback (key, "end", code, attempts, at)'
    " {n} SELECT " + _KEY + ", {told}, 200, 1, {start} + i * {step} FROM n",
    "INSERT INTO message_number (block, number, key) {n} SELECT 1 + i / {block}, '491' || {number}, "
    + _KEY
    + " FROM n",
    "INSERT INTO number_block (block, first_key, last_key)"
    " {n} SELECT 1 + i / {block}, min(" + _KEY + "), max(" + _KEY + ") FROM n GROUP BY 1 + i / {block}",
    "UPDATE account SET balance = balance - {total} WHERE id = {account}",
)
"""Rows of messages that have their receipts and callbacks, and are indexed by number."""


@dataclass(slots=True)
class Filled:
    """Number of old messages in a store, and the seconds that it took to make them."""

    messages: int
    seconds: float


def measure(bench: Bench, gateway: Heliograph, size: int, rate: float, seconds: float) -> Sequence[str]:
    """Fills the store, puts a load on the gateway without and with retention, and returns a line of the table. Raises
    Refused."""
    gateway.prepare()
    filled = asyncio.run(_fill(gateway, size))
    print(f"{gateway.name}: {filled.messages} messages in {filled.seconds:.0f} s", flush=True)
    load = Load(Wish.PLAIN, seconds=max(seconds, LEAST_S), rate=rate, connections=16)
    files = asyncio.run(_octets(gateway))
    try:
        bench.start(gateway, load.delay_ms)
        before = demand_sound(bench.load(gateway, load))
        bench.operator.reset()
        gateway.command("account", "set", "bench", f"retain_days={RETAIN_DAYS}")
        until(lambda: _dropped(gateway) > 0, "retention has begun", 2 * PASS_S)
        begun, first = time.monotonic(), _dropped(gateway)
        during = demand_sound(bench.load(gateway, load))
        speed = (_dropped(gateway) - first) / (time.monotonic() - begun)
        after = asyncio.run(_octets(gateway))
    finally:
        bench.stop(gateway)
    if faults := gateway.audit():
        raise Refused(f"the books: {faults}")
    return _row(gateway.name, filled, rate, before, during, speed, files, after)


def _row(
    name: str, filled: Filled, rate: float, before: Run, during: Run, speed: float, files: int, after: int
) -> Sequence[str]:
    return (
        name, str(filled.messages), f"{filled.seconds:.0f}", f"{rate:.0f}", pair(before.to_answer),
        pair(during.to_answer), f"{speed:.0f}", f"{filled.messages / speed / 60:.0f}", f"{files >> 20}",
        f"{after >> 20}",
    )  # fmt: skip


def _dropped(gateway: Heliograph) -> float:
    with urllib.request.urlopen(f"http://127.0.0.1:{gateway.http_port}/metrics", timeout=10) as answer:
        page = answer.read().decode()
    lines = (
        line.rpartition(" ") for line in page.splitlines() if line.startswith("heliograph_retention_messages_total")
    )
    return sum(float(value) for name, _, value in lines if "row" in name)


async def _fill(gateway: Heliograph, size: int) -> Filled:
    store = await gateway.open_store()
    found = await store.accounts.find("bench")
    assert found is not None
    connector = min(each.id for each in (await store.network.tables()).connectors)
    start = int(time.time() * 1000) - AGE_MS
    values = {
        "account": found[0].id, "connector": connector, "start": start, "step": STEP_MS, "tail": TAIL, "price": PRICE,
        "validity": VALIDITY_MS, "kind": int(Kind.TEXT), "state": int(State.SENT), "charge": int(EntryKind.CHARGE),
        "delivered": int(Delivery.DELIVRD), "told": int(CallbackEnd.DELIVERED), "block": NUMBERS_BLOCK,
    }  # fmt: skip
    begun, done = time.monotonic(), 0
    while done < size and time.monotonic() - begun < MOST_S:
        last = min(done + CHUNK, size)
        if isinstance(gateway, HeliographPostgres):
            await _fill_postgres(gateway.url, values | _span(done, last))
        else:
            _fill_sqlite(gateway, values | _span(done, last))
        done = last
    marks = dict.fromkeys((DISPATCH, AWAITING, CALLBACK), first_key_at(start + done * STEP_MS))
    await store.commits.record(Facts(marks=marks))
    await store.close()
    if isinstance(gateway, HeliographPostgres):
        await _run(gateway.url, "VACUUM ANALYZE")
    return Filled(done, time.monotonic() - begun)


def _span(first: int, last: int) -> dict[str, int]:
    return {"first": first, "last": last, "total": (last - first) * PRICE}


def _fill_sqlite(gateway: Heliograph, values: dict[str, int]) -> None:
    words = {"n": _SQLITE.format(**values), "number": "printf('%08d', i)", "content": f"'{TEXT}'"}
    with closing(sqlite3.connect(gateway.data / STORE_FILE)) as db, db:
        for statement in _FILL:
            db.execute(statement.format(**values, **words))


async def _fill_postgres(url: str, values: dict[str, int]) -> None:
    words = {
        "n": _POSTGRES.format(**values),
        "number": "lpad(i::text, 8, '0')",
        "content": f"convert_to('{TEXT}', 'UTF8')",
    }
    await _run(url, ";".join(statement.format(**values, **words) for statement in _FILL))


async def _run(url: str, script: str) -> None:
    db = await asyncpg.connect(url, server_settings={"search_path": "heliograph"})
    try:
        await db.execute(script)
    finally:
        await db.close()


async def _octets(gateway: Heliograph) -> int:
    """Returns how large the store is."""
    if not isinstance(gateway, HeliographPostgres):
        return sum(file.stat().st_size for file in gateway.data.glob(f"{STORE_FILE}*"))
    db = await asyncpg.connect(gateway.url)
    try:
        return int(await db.fetchval("SELECT pg_database_size(current_database())"))
    finally:
        await db.close()
