"""Customers who pull inbound messages while several nodes commit them."""

import asyncio
import random
from typing import Any

from heliograph.adapters.store.postgres import PostgresStore
from heliograph.adapters.store.postgres.servers import Servers
from heliograph.adapters.store.postgres.statement import FunctionCalls, add_others
from heliograph.app.configuration import Account
from heliograph.app.facts import Accept, Facts, InboundMessage
from heliograph.app.kept_data import RetentionSweep
from heliograph.domain.message.retention import Stage
from tests.support.postgres import LIMITS
from tests.support.store import START, Given
from tests.support.timeouts import until

NODES = 3
COMMITS = 60

_HELD_BACK = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"


def message(account: int, key: int) -> InboundMessage:
    return InboundMessage(account, 1, "4917012345678", "3388", "Hello", b"Hello", 0, START, key=key, tail=9)


async def pulled(store: PostgresStore, account: int, after: int) -> list[int]:
    return [each.key for each in await store.pulls.page(account, after, 7)]


async def test_a_slow_commit_holds_back_later_ones_of_its_account(
    url: str, store: PostgresStore, account: Account, given: Given
) -> None:
    await store.commits.recover(0, 1)
    other = await given.account("other")
    slow, quick, others = given.key(), given.key(), given.key()
    db: Any = await Servers(url, LIMITS).connect()
    transaction = db.transaction()
    await transaction.start()
    await db.execute("SELECT 1 FROM account WHERE id = $1 FOR NO KEY UPDATE", account.id)
    calls = FunctionCalls()
    add_others(calls, Facts(inbound=[message(account.id, slow)]), 2, 2)
    await db.fetchrow(calls.text(), *calls.values)
    await store.commits.record(Facts(inbound=[message(other.id, others)]))
    assert await pulled(store, other.id, 0) == [others]
    second = asyncio.create_task(store.commits.record(Facts(inbound=[message(account.id, quick)])))
    await until(lambda: db.fetchval(_HELD_BACK), "it is held back")
    assert await pulled(store, account.id, 0) == []
    await transaction.commit()
    await second
    assert await pulled(store, account.id, 0) == [slow, quick]
    db.terminate()


async def test_a_message_that_is_routed_waits_for_retention_without_holding_up_its_account(
    url: str, store: PostgresStore, account: Account, given: Given
) -> None:
    unrouted = message(0, given.key())
    await store.commits.record(Facts(inbound=[unrouted]))
    await store.retention.advance(RetentionSweep(account.id, Stage.TEXT, inbound=True, before=START, quiet=0), 1)
    db: Any = await Servers(url, LIMITS).connect()
    transaction = db.transaction()
    await transaction.start()
    await db.execute("SELECT 1 FROM retention FOR UPDATE")
    routing = asyncio.create_task(store.inbound.route(unrouted.key, unrouted.tail, account.id, START))
    await until(lambda: db.fetchval(_HELD_BACK), "it is held back")
    assert await db.fetchval("SELECT 1 FROM account WHERE id = $1 FOR NO KEY UPDATE SKIP LOCKED", account.id)
    await transaction.commit()
    assert (await routing).message.account == account.id
    db.terminate()


async def test_nothing_turns_up_before_what_was_read(url: str, account: Account, given: Given) -> None:
    """Nodes whose clocks differ commit messages, some with requests, while others are routed and one reads."""
    chance = random.Random(3)
    stores = [await PostgresStore.open(url, limits=LIMITS) for _ in range(NODES + 1)]
    reader = stores.pop()
    for node, store in enumerate(stores, 1):
        await store.commits.recover(node, node)
    unrouted = [message(0, given.key()) for _ in range(COMMITS)]
    await stores[0].commits.record(Facts(inbound=unrouted))

    async def live(node: int, store: PostgresStore) -> set[int]:
        clock, made = Given(store, START + 1_000 + node * chance.randrange(5_000)), set()
        for _ in range(COMMITS):
            clock.now += chance.randrange(3)
            accepts: list[Accept] = []
            if chance.random() < 0.3:
                accepts.append(clock.accept(clock.message(account.id, key=clock.key() | node, price=1)))
            keys = [clock.key() | node for _ in range(chance.randrange(1, 4))]
            await store.commits.record(Facts(accepts=accepts, inbound=[message(account.id, key) for key in keys]))
            made.update(keys)
        return made

    async def route() -> set[int]:
        for each in unrouted:
            await reader.inbound.route(each.key, each.tail, account.id, START)
        return {each.key for each in unrouted}

    working = asyncio.gather(route(), *(live(node, store) for node, store in enumerate(stores, 1)))
    read: list[int] = []
    while True:
        over = working.done()
        page = await pulled(reader, account.id, read[-1] if read else 0)
        read += page
        if over and not page:
            break
    expected = set().union(*await working)
    assert len(read) == len(set(read))
    assert set(read) == expected
    for store in (*stores, reader):
        await store.close()
