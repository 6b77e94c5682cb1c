"""A server that cannot be used for a while: Unavailable soon, nothing half done, and well again by itself."""

import asyncio
import time
from contextlib import suppress

import asyncpg
import pytest

from heliograph.adapters.store.postgres import DatabaseLimits, PostgresStore
from heliograph.app.configuration import Account, TopUp
from heliograph.app.facts import Accept, Facts, Submission, Verdict
from heliograph.app.ports import StoreRejected, Unavailable
from tests.support.postgres import LIMITS, Server, server
from tests.support.store import CREDIT, HOUR, START, Given
from tests.support.timeouts import PATIENCE_S

CUT_ALL = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def database(url: str) -> str:
    return url.rpartition("/")[2]


async def test_a_row_that_others_hold_too_long(store: PostgresStore, given: Given, account: Account, url: str) -> None:
    accept = given.accept(given.message(account.id))
    other = await asyncpg.connect(url, server_settings={"search_path": "heliograph"})
    await other.execute(f"BEGIN; SELECT 1 FROM account WHERE id = {account.id} FOR UPDATE")
    start = time.monotonic()
    with pytest.raises(Unavailable, match="lock timeout"):
        await store.commits.record(Facts(accepts=[accept]))
    assert time.monotonic() - start >= LIMITS.lock * 0.9
    assert accept.verdict is Verdict.UNAVAILABLE
    await other.close()
    await given.recorded(accept)
    assert await store.upkeep.audit() == []


async def test_one_who_writes_for_a_moment_is_waited_for(
    store: PostgresStore, given: Given, account: Account, url: str
) -> None:
    other = await asyncpg.connect(url, server_settings={"search_path": "heliograph"})
    await other.execute(f"BEGIN; SELECT 1 FROM account WHERE id = {account.id} FOR UPDATE")
    waiting = asyncio.create_task(given.sent(account.id))
    assert await store.customers.balance(account.id) == 100 * CREDIT
    assert not waiting.done()
    await other.execute("COMMIT")
    await waiting
    await other.close()
    assert await store.customers.balance(account.id) == 99 * CREDIT


async def test_a_pool_that_is_used_up_says_so_soon(url: str, account: Account) -> None:
    narrow = await PostgresStore.open(
        url, limits=DatabaseLimits(pool=1, waiting=2, acquire=0.2, statement=60.0, lock=60.0)
    )
    other = await asyncpg.connect(url, server_settings={"search_path": "heliograph"})
    await other.execute(f"BEGIN; SELECT 1 FROM account WHERE id = {account.id} FOR UPDATE")
    first = asyncio.create_task(narrow.accounts.add_credit(account.id, 1, "", START))
    await asyncio.sleep(0)
    crowd = [asyncio.create_task(narrow.customers.balance(account.id)) for _ in range(4)]
    told = [str(problem) for problem in await asyncio.gather(*crowd, return_exceptions=True)]
    assert not first.done(), "they do not wait as long as the call before them"
    assert sum("came free" in each for each in told) == 2
    assert sum("too many calls" in each for each in told) == 2
    await other.execute("COMMIT")
    assert await first == TopUp(100 * CREDIT + 1)
    await other.close()
    await narrow.close()


async def test_a_database_that_became_read_only(store: PostgresStore, given: Given, account: Account, url: str) -> None:
    """As a primary is that was demoted. What is there can still be read."""
    name = database(url)
    await server().execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    try:
        await server().fetch(CUT_ALL, name)
        accept = given.accept(given.message(account.id))
        with pytest.raises(Unavailable, match="read-only"):
            await store.commits.record(Facts(accepts=[accept]))
        with pytest.raises(Unavailable, match="read-only"):
            await store.upkeep.probe()
    finally:
        await server().execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    await given.recorded(accept)
    await store.upkeep.probe()


@pytest.mark.parametrize(
    ("code", "problem"),
    [("53100", "No space left on device"), ("XX000", "Disk quota exceeded"), ("XX000", "File too large")],
)
async def test_a_full_disk(
    store: PostgresStore, given: Given, account: Account, url: str, code: str, problem: str
) -> None:
    """The server reports it from within a commit. It has no code of its own for a quota and a limit."""
    full = f"""
    CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'could not extend file: {problem}' USING ERRCODE = '{code}'; END $$;
    CREATE TRIGGER full_disk BEFORE INSERT ON ledger FOR EACH STATEMENT EXECUTE FUNCTION full_disk();
    """
    accept = given.accept(given.message(account.id))
    await server().script(full, database(url))
    try:
        with pytest.raises(Unavailable, match=problem):
            await store.commits.record(Facts(accepts=[accept]))
        with pytest.raises(Unavailable, match=problem):
            await store.accounts.add_credit(account.id, 1, "", START)
    finally:
        await server().script("DROP FUNCTION full_disk CASCADE", database(url))
    assert accept.verdict is Verdict.UNAVAILABLE
    assert await store.customers.message(account.id, accept.key, accept.tail) is None
    assert await store.customers.balance(account.id) == 100 * CREDIT
    await given.recorded(accept)
    assert await store.customers.balance(account.id) == 99 * CREDIT


async def test_connections_that_were_all_cut_are_made_anew(
    store: PostgresStore, given: Given, account: Account, url: str
) -> None:
    await asyncio.gather(*(store.customers.balance(account.id) for _ in range(4)))
    await server().fetch(CUT_ALL, database(url))
    assert await store.customers.balance(account.id) == 100 * CREDIT
    await server().fetch(CUT_ALL, database(url))
    await given.sent(account.id)
    await server().fetch(CUT_ALL, database(url))
    assert await store.accounts.add_credit(account.id, 5, "", START) == TopUp(99 * CREDIT + 5)
    await server().fetch(CUT_ALL, database(url))
    assert await store.upkeep.audit() == []


async def test_the_store_outlives_a_fault_of_ours(store: PostgresStore, given: Given, account: Account) -> None:
    for _ in range(3):
        with pytest.raises(StoreRejected):
            await store.commits.record(Facts(submissions=[Submission(1, 1, 0, 1, "\ud800", 0, START)]))
        with pytest.raises(asyncpg.UndefinedTableError):
            await store._database.pool.read(lambda db: db.fetch("SELECT * FROM nowhere"))
    await given.sent(account.id)


async def test_who_gives_up_waiting_leaves_nothing_in_doubt(
    store: PostgresStore, given: Given, account: Account, url: str
) -> None:
    """The one who asked is gone, and was told nothing: what was written is undone. It does not count into the day."""
    await store.accounts.update(account.id, {"daily_messages": 2, "daily_spend": 2 * CREDIT})
    first, accept, last = (given.accept(given.message(account.id)) for _ in range(3))
    first.day_ends = accept.day_ends = last.day_ends = START + HOUR
    await given.recorded(first)
    other = await asyncpg.connect(url, server_settings={"search_path": "heliograph"})
    await other.execute(f"BEGIN; SELECT 1 FROM account WHERE id = {account.id} FOR UPDATE")
    waiting = asyncio.create_task(store.commits.record(Facts(accepts=[accept])))
    await asyncio.sleep(0.1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await other.execute("COMMIT")
    await other.close()
    await given.recorded(last)
    assert await store.customers.message(account.id, accept.key, accept.tail) is None
    assert await store.customers.balance(account.id) == 98 * CREDIT
    allowance = await store.customers.allowance(account.id)
    assert (allowance.messages, allowance.spend) == (2, 2 * CREDIT)
    assert await store.upkeep.audit() == []


@pytest.mark.slow
async def test_connections_are_cut_under_load(store: PostgresStore, given: Given, account: Account, url: str) -> None:
    """Each request has a truthful answer, however often all connections are cut."""
    accepted = 0
    stop = asyncio.Event()

    async def cut() -> None:
        while not stop.is_set():
            await server().fetch(CUT_ALL, database(url))
            await asyncio.sleep(0.03)

    cutting = asyncio.create_task(cut())
    told: list[Accept] = []
    top_ups = 0
    for _ in range(60):
        accept = given.accept(given.message(account.id, price=1))
        with suppress(Unavailable):
            await store.commits.record(Facts(accepts=[accept]))
        told.append(accept)
        with suppress(Unavailable):
            await store.accounts.add_credit(account.id, 1_000, "", START)
            top_ups += 1
    stop.set()
    await cutting
    await store.commits.record(Facts(marks={"attempted:1": 1}))
    for accept in told:
        there = await store.customers.message(account.id, accept.key, accept.tail) is not None
        assert there == (accept.verdict is Verdict.ACCEPTED)
        accepted += there
    assert accepted > 0
    balance = await store.customers.balance(account.id)
    assert balance == 100 * CREDIT + 1_000 * top_ups - accepted
    assert await store.upkeep.audit() == []


@pytest.mark.slow
async def test_a_server_that_is_killed_under_load(own_server: Server) -> None:
    """What was acknowledged is there; what was refused is not; the store goes on by itself."""
    store = await PostgresStore.open(own_server.url(), limits=LIMITS)
    given = Given(store)
    account = await given.account()
    told: list[Accept] = []
    down = asyncio.Event()

    async def load() -> None:
        while not down.is_set() or told[-1].verdict is not Verdict.ACCEPTED:
            accept = given.accept(given.message(account.id, price=1))
            with suppress(Unavailable):
                await store.commits.record(Facts(accepts=[accept]))
            told.append(accept)
            await asyncio.sleep(0)

    loading = asyncio.create_task(load())
    for _ in range(3):
        before = len(told)
        async with asyncio.timeout(PATIENCE_S):
            while len(told) < before + 20:  # noqa: ASYNC110 - a list says nothing
                await asyncio.sleep(0.01)
        await asyncio.to_thread(own_server.kill)
        await asyncio.sleep(0.3)
        await asyncio.to_thread(own_server.start)
    down.set()
    async with asyncio.timeout(PATIENCE_S):
        await loading
    accepted = 0
    for accept in told:
        there = await store.customers.message(account.id, accept.key, accept.tail) is not None
        assert there == (accept.verdict is Verdict.ACCEPTED)
        accepted += there
    assert await store.customers.balance(account.id) == 100 * CREDIT - accepted
    assert await store.upkeep.audit() == []
    await store.close()
