"""That what is asked often is read in the order of an index: no sorting, no reading of whole tables."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import product
from typing import Any

import asyncpg
import pytest

from heliograph.adapters.store.postgres import PostgresStore, connections
from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.driver import STATEMENTS
from heliograph.adapters.store.postgres.servers import Servers
from heliograph.adapters.store.shared import search
from heliograph.app.configuration import Account
from heliograph.app.facts import (
    Awaiting,
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    Facts,
    InboundMessage,
    MessageEnd,
    Queueing,
    Submission,
)
from heliograph.app.ports import ListQuery
from heliograph.app.ports.accounts import MOST_AMONG
from heliograph.app.records import Search
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.status import MessageStatus
from tests.support.cases import for_each
from tests.support.postgres import LIMITS, server
from tests.support.store import HOUR, NODE, START, Given


async def explain(db: Db, query: str, name: str) -> str:
    places = max(map(int, re.findall(r"\$(\d+)", query)), default=0)
    values = f"({', '.join(['NULL'] * places)})" if places else ""
    await db.execute(f"PREPARE {name} AS {query}")
    return "\n".join(row[0] for row in await db.fetch(f"EXPLAIN EXECUTE {name}{values}"))


@pytest.fixture
async def pristine() -> str:
    """A database that no other test's rows have left statistics in."""
    return await server().fresh()


_plans: dict[str, str] = {}
"""Plans of statements by their names, in a database without rows: each of them stays the same."""

Planner = Callable[[str], Awaitable[str]]


@pytest.fixture
async def plan() -> AsyncIterator[Planner]:
    """Returns the plan of a named statement in a database without rows. Asks once in a process, and by one connection
    in a test."""
    connections: list[Db] = []

    async def planned(name: str) -> str:
        if name not in _plans:
            if not connections:
                connections.append(await Servers(await _without_rows(), LIMITS).connect())
            _plans[name] = await explain(connections[0], STATEMENTS[name].text, name)
        return _plans[name]

    yield planned
    for db in connections:
        db.terminate()


_databases: list[str] = []


async def _without_rows() -> str:
    """Returns the database that tests of plans alone share."""
    if not _databases:
        _databases.append(await server().fresh())
    return _databases[0]


@for_each("pending, descending", product([False, True], repeat=2))
async def test_pages_of_lists_are_merged_from_their_indexes(plan: Planner, pending: bool, descending: bool) -> None:
    text = await plan(f"{'pending' if pending else 'listed'}_page_{'down' if descending else 'up'}")
    assert "message_listed" in text
    assert ("message_scheduled" in text) == pending
    assert "Seq Scan" not in text
    assert "Sort  " not in text


@for_each(
    ("name", "index"),
    [
        ("next_due", "queue_due"),
        ("next_notice_due", "callback_retry_due"),
        ("failing_receivers", "callback_retry_failed"),
        ("awaited", "awaiting_pkey"),
        ("overdue", "awaiting_key"),
        ("unreported", "awaiting_key"),
        ("ended_parts", "sent_pkey"),
    ],
)
async def test_rows_are_found_by_an_index(plan: Planner, name: str, index: str) -> None:
    text = await plan(name)
    assert index in text
    assert "Seq Scan" not in text


async def test_what_is_too_old_is_read_from_the_index_no_further_than_is_asked_for(plan: Planner) -> None:
    text = await plan("messages_beyond")
    assert text.count("Limit") == 4, "each of the three parts ends by itself"
    assert text.count("> ROW(") == 3, "and begins at its place"
    for index in ("message_listed", "message_scheduled", "message_cancelled"):
        assert f"Index Only Scan using {index}" in text or f"Index Scan using {index}" in text
    assert "Seq Scan" not in text


@for_each("status, account", product([None, *MessageStatus], [None, 1]))
async def test_searches_are_read_in_the_order_of_an_index(
    plan: Planner, status: MessageStatus | None, account: int | None
) -> None:
    narrowed: list[dict[str, Any]] = [
        {}, {"number": "4917012345678"}, {"connector": 3}, {"sender": "Rare"}, {"country": "BS"}, {"error": "011"},
    ]  # fmt: skip
    for wanted in narrowed:
        for rows, *_ in search._rows(Search(account=account, status=status, **wanted), 7):
            text = await plan(f"page_{rows}")
            assert "Seq Scan" not in text
            if status is not MessageStatus.HELD:  # held rows are few, and sorted
                assert " Sort  (" not in text.replace("Incremental Sort", "")
            # sorted block by block: a page of the newest ones needs no others
            blocks = rows in ("by_number", "by_block")
            assert ("Presorted Key: b.block\n" in text) == blocks
            assert ("Index Cond: ((block = b.block) AND (number >= " in text) == (blocks and rows != "by_block")
            assert ("block_content" in text) == (rows == "by_block")


_REQUESTS = """
INSERT INTO account
SELECT (jsonb_populate_record(a, jsonb_build_object('id', n, 'name', 'a' || n))).*
FROM account AS a, generate_series(3, 1500) AS n WHERE a.id = 1;
INSERT INTO message (
    key, tail, account, price, time, expires, batch, connector, segments, kind, state, wants_receipt, way, destination,
    sender, callback_url, reference, content, network)
SELECT
    n, 9, 1 + n / 1000 % 2, 1, n, n, n / 1000 * 1000, 1, 1, 0, 1, false, 0, '4917012345678', 'Helio', '',
    'of-' || n / 1000, '', ''
FROM generate_series(1, 20000) AS n WHERE n % 1000 > 0;
INSERT INTO batch (key, tail, account, last_key, total)
SELECT n * 1000, 9, 1 + n % 2, n * 1000 + 999, 0 FROM generate_series(0, 19) AS n;
INSERT INTO reference (account, reference, fingerprint, key, batch, scheduled)
SELECT 1 + n % 2, CASE WHEN n > 19 THEN 'no-' ELSE 'of-' END || n, '', n * 1000, true, false
FROM generate_series(0, 5000) AS n;
"""


@pytest.mark.parametrize("analyzed", [True, False])  # a restored database has no statistics at first
@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
async def test_messages_of_a_request_are_read_alone(pristine: str, mode: str, analyzed: bool) -> None:
    store = await PostgresStore.open(pristine, limits=LIMITS)
    for name in ("one", "two"):
        await Given(store).account(name)
    await store.close()
    await server().script(_REQUESTS + ("ANALYZE;" if analyzed else ""), pristine.rpartition("/")[2])
    db = await Servers(pristine, LIMITS).connect()
    try:
        await db.execute(f"SET plan_cache_mode = {mode}")
        for search_ in (Search(id=(7_000, 9)), Search(reference="of-7"), Search(1, reference="of-6")):
            values = search._values(search_, {"start": 0, "key": 1 << 62}, 100_000, 51)
            page = STATEMENTS["page_of_id" if search_.id else "page_of_reference"]
            given = [values[name] for name in page.parameters]
            text = "\n".join(row[0] for row in await db.fetch(f"EXPLAIN (ANALYZE, TIMING OFF) {page.text}", *given))
            assert "(actual rows=51" in text
            assert "Seq Scan on message" not in text
            assert max(int(count) for count in re.findall(r"rows=(\d+)[.\d]* loops", text)) <= 1_500
    finally:
        db.terminate()


async def test_plans_of_an_empty_table_do_not_outlive_its_emptiness(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables are known to be empty; then an operator's receipts stay away, and the rows are many."""
    url = await server().fresh()
    store = await PostgresStore.open(url, limits=LIMITS)
    name = url.rpartition("/")[2]
    await server().script("ANALYZE", name)
    matched = Facts(awaiting_matched=[Awaiting(1, "7", 1, 7, 0)], early_matched=[(1, "7")])
    for _ in range(3):
        await store.commits.record(matched)
        await store.receipts.find(1, ["7"])
    await server().script(
        "INSERT INTO awaiting SELECT 1, n, 0, n::text FROM generate_series(100, 20000) AS n;"
        "INSERT INTO early (connector, at, state, operator_id, destination, err)"
        "SELECT 1, 0, 2, n::text, '', '' FROM generate_series(100, 20000) AS n",
        name,
    )
    monkeypatch.setattr(connections, "PLANS_S", 0.0)
    for _ in range(3):
        await store.commits.record(matched)
        await store.receipts.find(1, ["7"])
    await store.close()
    query = "SELECT relname, sum(idx_tup_read) AS reads FROM pg_stat_user_indexes GROUP BY relname"
    reads = {row["relname"]: row["reads"] for row in await server().fetch(query, name)}
    assert reads["awaiting"] < 100
    assert reads["early"] < 100


async def test_recovery_reads_only_above_the_mark(
    store: PostgresStore, given: Given, account: Account, url: str
) -> None:
    batch = given.batch(account.id, 3_000, price=0, wants_receipt=True)
    await given.recorded(batch)
    keys = [message.key for message in batch.messages]
    await store.commits.record(
        Facts(
            submissions=[Submission(account.id, key, 0, 1, "x", 0, START) for key in keys[:-9]],
            finals=[MessageEnd(account.id, key, Delivery.DELIVRD, "000", START, owed=True) for key in keys[:-9]],
        )
    )
    await server().script("ANALYZE", url.rpartition("/")[2])
    db = await Servers(url, LIMITS).connect()
    try:
        for name, index in (("unsent", "message_pkey"), ("unanswered", "message_pkey"), ("untold", "final_pkey")):
            text = await explain(db, STATEMENTS[name].text.replace("$1", str(keys[-50])).replace("$2", "0"), name)
            assert f"Index Cond: (key > '{keys[-50]}'::bigint)" in text
            assert index in text
            assert "Seq Scan" not in text
    finally:
        db.terminate()


async def scans(url: str) -> dict[str, int]:
    """How often each table was read as a whole. A connection tells what it did when it ends."""
    query = "SELECT relname, seq_scan FROM pg_stat_user_tables"
    return {row["relname"]: row["seq_scan"] for row in await server().fetch(query, url.rpartition("/")[2])}


async def test_nothing_that_is_done_often_reads_a_whole_table(pristine: str) -> None:
    """With the plans made while everything was empty, as on the first day."""
    store = await PostgresStore.open(pristine, limits=LIMITS)
    given = Given(store)
    account = await given.account()
    before = await scans(pristine)
    await store.commits.recover(0, NODE)
    for _ in range(12):
        sent = [await given.sent(account.id, reference=str(given.key())) for _ in range(3)]
        queued = await given.sent(account.id, queued=True)
        moved = await given.scheduled(account.id)
        gone = await given.scheduled(account.id)
        await store.commits.record(
            Facts(
                queueings=[
                    Queueing(sent[2].account, sent[2].key, 1, START, START + HOUR, attempted=False, claimed=False)
                ],
                sending=[(queued.account, queued.key)],
                submissions=[Submission(sent[0].account, sent[0].key, 0, 1, "a", 0, START)],
                finals=[
                    MessageEnd(sent[0].account, sent[0].key, Delivery.DELIVRD, "000", START, owed=True),
                    MessageEnd(sent[1].account, sent[1].key, Delivery.REJECTD, "001", START, True, True, sent[1].price),
                ],
                awaiting=[Awaiting(1, "a", sent[0].account, sent[0].key, 0)],
                callback_retries=[CallbackRetry(sent[0].account, sent[0].key, START, 1, b"", "", START)],
                marks={"dispatch": 1},
            )
        )
        await store.commits.record(
            Facts(
                awaiting_matched=[Awaiting(1, "a", sent[0].account, sent[0].key, 0)],
                callbacks=[CallbackDone(sent[0].account, sent[0].key, CallbackEnd.DELIVERED, 200, 1, START)],
                finals=[MessageEnd(sent[2].account, sent[2].key, Delivery.DELIVRD, "000", START, owed=False)],
                dequeued=[(sent[2].account, sent[2].key)],
            )
        )
        phone = InboundMessage(account.id, 1, "491", "3388", "Hi", b"Hi", 0, START, key=given.key(), digest=given.now)
        await store.commits.record(Facts(inbound=[phone]))
        await store.commits.record(Facts(inbound_answered=[phone.key]))
        await store.inbound.repeated(1, [phone.digest], START, NODE)
        await store.customers.reschedule(account.id, moved.key, moved.tail, START + 2 * HOUR, START + 3 * HOUR, START)
        await store.customers.cancel(account.id, gone.key, gone.tail, START)
        await store.queue.claim(1, 10, START, NODE)
        await store.queue.claim_expired(10, START, NODE)
        await store.notices.accounts(-1, 10)
        await store.notices.failing(3, 100, 10)
        await store.notices.claim(10, START, NODE, [account.id])
        await store.notices.claim(10, START, NODE)
        await store.queue.next_due()
        await store.customers.messages(account.id, ListQuery(pending=True))
        await store.customers.message(account.id, queued.key, queued.tail)
        await store.customers.balance(account.id)
    await store.close()
    after = await scans(pristine)
    # of a single row, and of the few connections, once by each
    for name in ("revision", "writer"):
        after[name] = before[name]
    assert after == before


async def test_deferred_messages_are_counted_without_a_look_at_scheduled_ones(plan: Planner) -> None:
    text = await plan("deferred")
    assert "queue_put_off" in text
    assert "Seq Scan" not in text


async def test_no_plan_forgets_more_receipts_than_it_may(pristine: str) -> None:
    """One that looks for the old ones row by row finds others when the first are gone."""
    db = await Servers(pristine, LIMITS).connect()
    try:
        await db.execute(
            f"INSERT INTO early (connector, operator_id, destination, state, err, at) "
            f"SELECT 1, n::text, '', 2, '', {START} FROM generate_series(1, 5) AS n"
        )
        for better in ("hashjoin", "hashagg", "mergejoin", "material", "sort", "indexscan", "bitmapscan"):
            await db.execute(f"SET enable_{better} = off")
        forget = STATEMENTS["forget_early"]
        values = {"before": START + 1, "most": 10, "limit": 2}
        assert len(await db.fetch(forget.text, *[values[name] for name in forget.parameters])) == 2
    finally:
        db.terminate()


async def test_pulled_messages_are_read_in_the_order_of_their_index(pristine: str, plan: Planner) -> None:
    """Ten thousand, so that the rows count and the statement is what it is with ten million."""
    db = await Servers(pristine, LIMITS).connect()
    try:
        await _fill_inbound(db)
        page = STATEMENTS["inbound_after"]
        values = {"account": 1, "after": 5_000, "limit": 100, "octets": 2_000_000}
        given = ", ".join(str(values[name]) for name in page.parameters)
        await db.execute(f"PREPARE asked AS {page.text}")
        text = "\n".join(row[0] for row in await db.fetch(f"EXPLAIN ANALYZE EXECUTE asked({given})"))
        assert "Index Scan using inbound_position" in text
        assert "Seq Scan" not in text
        rows = max(int(count) for count in re.findall(r"rows=(\d+)[.\d]* loops", text))
        assert rows <= 100
    finally:
        db.terminate()
    text = await plan("newest_positions")
    assert "inbound_position" in text


async def test_inbound_messages_are_found_by_number_on_both_sides(pristine: str) -> None:
    db = await Servers(pristine, LIMITS).connect()
    try:
        await _fill_inbound(db)
        for name, number in product(
            ["inbound_numbered", "inbound_numbered_of"], ["'44770090007'", "'3388'", "'nobody'"]
        ):
            found = STATEMENTS[name]
            values = {"account": "1", "number": number, "before": "9000", "limit": "50"}
            given = ", ".join(values[name] for name in found.parameters)
            await db.execute(f"PREPARE asked AS {found.text}")
            text = "\n".join(row[0] for row in await db.fetch(f"EXPLAIN ANALYZE EXECUTE asked({given})"))
            assert "inbound_sender" in text
            assert "inbound_recipient" in text
            assert "Seq Scan on inbound" not in text
            removed = [int(count) for count in re.findall(r"Rows Removed by Filter: (\d+)", text)]
            assert max(removed, default=0) <= 200, text  # of other accounts, between those that were asked for
            await db.execute("DEALLOCATE asked")
    finally:
        db.terminate()


async def _fill_inbound(db: asyncpg.Connection) -> None:
    """Adds ten thousand messages of three accounts from a hundred phones to one number."""
    await db.execute(
        "INSERT INTO inbound (key, tail, account, connector, at, position, price, parts, coding, complete, way, "
        "wish, replied, sender, recipient, keyword, content, octets) "
        "SELECT n, 9, n % 3, 1, 0, n, 0, 1, 0, true, 0, 0, 0, '44770090' || n % 100, '3388', '', 'Hello', 'Hello' "
        "FROM generate_series(1, 10000) AS n"
    )
    await db.execute("ANALYZE inbound")


_LARGE = """
INSERT INTO price (plan, prefix, network, since, price)
SELECT 'gold', n, '', 0, 1 FROM generate_series(10000, 40000) AS n;
INSERT INTO cost (connector, network, prefix, since, submitted, delivered)
SELECT 1, '', n, 0, 1, 0 FROM generate_series(10000, 40000) AS n;
INSERT INTO route (prefix, connector, priority, network, account, plan, sender, share, fallback)
SELECT n, 1, 0, '', 0, '', '', 1, false FROM generate_series(10000, 40000) AS n;
INSERT INTO mobile_network (prefix, mccmnc, name) SELECT n, '26201', '' FROM generate_series(10000, 40000) AS n;
ANALYZE;
"""


async def test_pages_of_large_tables_are_read_in_the_order_of_an_index(pristine: str) -> None:
    await server().script(_LARGE, pristine.rpartition("/")[2])
    start = {"plan": "gold", "connector": 1, "prefix": "2", "network": "", "account": 0, "sender": "", "since": 0}
    db = await Servers(pristine, LIMITS).connect()
    try:
        for name in ("price_page", "cost_page", "route_page", "network_page"):
            statement = STATEMENTS[name]
            values = [{**start, "limit": 1_000}[each] for each in statement.parameters]
            text = "\n".join(row[0] for row in await db.fetch(f"EXPLAIN {statement.text}", *values))
            assert "Sort" not in text, name
            assert "Bitmap" not in text, name
    finally:
        db.terminate()


_SUPPRESSED = """
UPDATE account SET suppressed = true;
INSERT INTO suppression (account, since, digest, number, source)
SELECT 1 + n % 2, n, substring(sha256(n::text::bytea) FROM 1 FOR 16), 49170000000 + n, 'import'
FROM generate_series(1, 50000) AS n;
"""


@pytest.mark.parametrize("analyzed", [True, False])
@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
async def test_suppressed_numbers_are_found_by_their_digests(pristine: str, mode: str, analyzed: bool) -> None:
    """Each number is a descent of the index. The number of the account's suppressions does not matter."""
    store = await PostgresStore.open(pristine, limits=LIMITS)
    for name in ("one", "two"):
        await Given(store).account(name)
    await store.close()
    await server().script(_SUPPRESSED + ("ANALYZE;" if analyzed else ""), pristine.rpartition("/")[2])
    db = await Servers(pristine, LIMITS).connect()
    try:
        await db.execute(f"SET plan_cache_mode = {mode}")
        statement = STATEMENTS["suppressed_numbers"]
        values = {"account": 1, "numbers": [str(447700900000 + n) for n in range(MOST_AMONG)]}
        given = [values[name] for name in statement.parameters]
        text = "\n".join(row[0] for row in await db.fetch(f"EXPLAIN (ANALYZE, TIMING OFF) {statement.text}", *given))
        assert re.search(rf"suppression_pkey on suppression s .*loops={MOST_AMONG}\)", text), text
        assert "Index Cond: ((account = a.id) AND (digest = " in text
        assert "SubPlan" not in text, "the digests are made in place"
    finally:
        db.terminate()
