"""Many nodes on one database: leases, fences, and races."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from heliograph.adapters.store.postgres import PostgresStore
from heliograph.app.configuration import Account
from heliograph.app.facts import (
    Accept,
    CallbackRetry,
    Facts,
    InboundMessage,
    Message,
    MessageEnd,
    PartReceipt,
    Submission,
    Verdict,
)
from heliograph.app.ports import NotScheduled
from heliograph.domain.message.ids import to_hex
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from tests.support.postgres import AMPLE, server
from tests.support.sharing import ONE, OTHER, answered, giving, joined
from tests.support.store import CREDIT, HOUR, SECOND, START, Given


@pytest.fixture
async def other(url: str) -> AsyncIterator[PostgresStore]:
    store = await PostgresStore.open(url, limits=AMPLE)
    yield store
    await store.close()


async def waits_for_locks(db: asyncpg.Connection, sessions: int, or_done: asyncio.Task[Any]) -> None:
    """Returns when so many sessions wait for locks, or the task is done."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    while await db.fetchval(waiting) < sessions and not or_done.done():
        await asyncio.wait([or_done], timeout=0.01)


async def test_a_message_whose_commit_is_under_way_on_another_node_is_known_again(
    store: PostgresStore, other: PostgresStore, url: str
) -> None:
    """A node that is killed leaves a commit to the database, and the operator is quicker than that."""
    given = await joined(store, ONE)
    await joined(other, OTHER)
    account = await given.account()
    message = InboundMessage(account.id, 1, "491", "3388", "Hi", b"Hi", 0, START, key=given.key(), digest=5)
    watcher = await asyncpg.connect(url)
    slow = await asyncpg.connect(url, server_settings={"search_path": "heliograph"})
    await slow.execute("BEGIN; SELECT 1 FROM account FOR UPDATE")
    committing = asyncio.create_task(store.commits.record(Facts(inbound=[message])))
    await waits_for_locks(watcher, 1, committing)
    looking = asyncio.create_task(other.inbound.repeated(1, [5], START, OTHER))
    await waits_for_locks(watcher, 2, looking)
    await slow.execute("ROLLBACK")
    await committing
    assert (await looking).copies == [(5, message.key, False)]
    await slow.close()
    await watcher.close()
    assert (await store.inbound.repeated(1, [5], START, ONE)).copies == []


async def test_a_copy_of_a_message_whose_commit_is_under_way_on_another_node_waits_for_it(
    store: PostgresStore, other: PostgresStore, url: str
) -> None:
    """Both nodes have looked up their copies before. Neither commit sees the other's rows when it begins."""
    given, theirs = await joined(store, ONE), await joined(other, OTHER)
    account = await given.account()
    first, second = (
        InboundMessage(account.id, 1, "491", "3388", "Hi", b"Hi", 0, START, key=each.key(), digest=5)
        for each in (given, theirs)
    )
    watcher = await asyncpg.connect(url)
    slow = await asyncpg.connect(url, server_settings={"search_path": "heliograph"})
    await slow.execute("BEGIN; SELECT 1 FROM account FOR UPDATE")
    committing = asyncio.create_task(store.commits.record(Facts(inbound=[first])))
    await waits_for_locks(watcher, 1, committing)
    copying = asyncio.create_task(other.commits.record(Facts(inbound=[second])))
    await waits_for_locks(watcher, 2, copying)
    await slow.execute("ROLLBACK")
    await asyncio.gather(committing, copying)
    assert (first.contested, second.contested) == (False, True)
    await slow.close()
    await watcher.close()


# --- races


@pytest.mark.slow
async def test_claims_and_deaths_share_each_message_out_once(url: str, store: PostgresStore, account: Account) -> None:
    given = Given(store)
    batch = given.batch(account.id, 600, price=0, queued=True)
    await given.recorded(batch)
    stores = [await PostgresStore.open(url, limits=AMPLE) for _ in range(3)]
    taken: list[int] = []

    async def dispatch(mine: PostgresStore, node: int) -> None:
        empty = 0
        while empty < 3:
            claimed = await mine.queue.claim(1, 17, START, node)
            empty = 0 if claimed else empty + 1
            keys = [each.message.key for each in claimed]
            if keys and node % 5 == 0:
                # this one dies with what it claimed
                await mine.queue.release(node)
                return
            taken.extend(keys)
            await mine.commits.record(
                Facts(
                    submissions=[Submission(account.id, key, 0, 1, "i", 0, START) for key in keys],
                    dequeued=[(account.id, key) for key in keys],
                )
            )

    await asyncio.gather(*(dispatch(stores[node % 3], node) for node in range(1, 13)))
    await dispatch(stores[0], 99)
    assert sorted(taken) == [message.key for message in batch.messages]
    assert await store.upkeep.audit() == []
    for each in stores:
        await each.close()


@pytest.mark.slow
async def test_everybody_at_once(url: str, store: PostgresStore) -> None:
    """Sends, cancels, moves, top-ups, claims and failures on few accounts and messages: 64 at once, on three nodes."""
    patient = replace(AMPLE, acquire=60.0)
    stores = [await PostgresStore.open(url, limits=patient) for _ in range(3)]
    givens = [await joined(each, node) for node, each in enumerate(stores, 1)]
    accounts = [await givens[0].account(f"a{n}", credit=100 * CREDIT) for n in range(3)]
    now = START + HOUR
    pending: list[Message] = []
    cancelled: set[int] = set()
    claimed: set[int] = set()
    balance = {account.id: 100 * CREDIT for account in accounts}

    async def send(chance: random.Random, given: Given) -> None:
        accepts: list[Accept] = []
        for account in chance.sample(accounts, 3):
            time = START + chance.choice([HOUR // 2, HOUR, 2 * HOUR])
            message = given.message(account.id, time=time, expires=time + HOUR, state=State.SCHEDULED)
            accepts.append(given.accept(message))
        await given.store.commits.record(Facts(accepts=accepts))
        for accept in accepts:
            if accept.verdict is Verdict.ACCEPTED:
                balance[accept.account] -= CREDIT
                pending.append(accept.messages[0])

    async def act(seed: int) -> None:
        chance = random.Random(seed)
        mine, given = stores[seed % 3], givens[seed % 3]
        for _ in range(20):
            kind = chance.randrange(5)
            if kind == 0 or not pending:
                await send(chance, given)
                continue
            message = chance.choice(pending)
            if kind == 1:
                with suppress(NotScheduled):
                    for each in await mine.customers.cancel(message.account, message.key, message.tail, now):
                        assert each.key not in cancelled
                        cancelled.add(each.key)
                        balance[message.account] += CREDIT
            elif kind == 2:
                time = START + chance.choice([2 * HOUR, 3 * HOUR])
                with suppress(NotScheduled):
                    await mine.customers.reschedule(message.account, message.key, message.tail, time, time + HOUR, now)
            elif kind == 3:
                await mine.accounts.add_credit(message.account, 7, "", now)
                balance[message.account] += 7
            else:
                got = [each.message for each in await mine.queue.claim(1, 2, now, seed % 3 + 1)]
                assert not claimed & {each.key for each in got}
                claimed.update(each.key for each in got)
                facts = Facts(dequeued=[(each.account, each.key) for each in got])
                for each in got:
                    if chance.random() < 0.5:
                        facts.finals.append(
                            MessageEnd(
                                each.account,
                                each.key,
                                Delivery.REJECTD,
                                "001",
                                now,
                                False,
                                True,
                                each.price,
                            )
                        )
                        balance[each.account] += each.price
                    else:
                        facts.submissions.append(answered(each))
                        facts.parts.append(PartReceipt(each.account, each.key, 0, Delivery.DELIVRD, "000", now))
                await mine.commits.record(facts)

    await asyncio.gather(*(act(seed) for seed in range(64)))
    assert not claimed & cancelled
    for account in accounts:
        assert await store.customers.balance(account.id) == balance[account.id]
    assert await store.upkeep.audit() == []
    for each in stores:
        await each.close()


@pytest.mark.slow
async def test_one_reference_from_many_nodes_is_sent_once(url: str, store: PostgresStore, account: Account) -> None:
    stores = [await PostgresStore.open(url, limits=AMPLE) for _ in range(4)]
    for round_ in range(10):
        accepts = []
        for worker, each in enumerate(stores):
            given = giving(each, worker)
            given.now = START + round_ * SECOND
            accepts.append(given.accept(given.message(account.id, reference=f"r{round_}")))
        await asyncio.gather(
            *(each.commits.record(Facts(accepts=[accept])) for each, accept in zip(stores, accepts, strict=True))
        )
        verdicts = sorted(accept.verdict for accept in accepts)
        assert verdicts == [Verdict.ACCEPTED, *[Verdict.REPLAYED] * 3]
        assert len({accept.key for accept in accepts}) == 1
    assert await store.customers.balance(account.id) == 90 * CREDIT
    for each in stores:
        await each.close()


async def test_the_audit_finds_claims_of_nodes_that_are_gone(
    store: PostgresStore, given: Given, account: Account, url: str
) -> None:
    await joined(store, ONE)
    queued = await given.sent(account.id, queued=True)
    told = await given.sent(account.id, wants_receipt=True)
    await store.commits.record(
        Facts(
            submissions=[answered(told)],
            finals=[MessageEnd(told.account, told.key, Delivery.DELIVRD, "000", START, owed=True)],
            callback_retries=[CallbackRetry(told.account, told.key, START, 1, b"", "", START)],
        )
    )
    assert len(await store.queue.claim(1, 9, START, ONE)) == len(await store.notices.claim(9, START, ONE)) == 1
    assert await store.upkeep.audit() == []
    await server().script("UPDATE node SET gone = true", url.rpartition("/")[2])
    gone = f"the node {ONE}, which no longer exists"
    assert await store.upkeep.audit() == [
        f"The message {to_hex(queued.key, queued.tail)} is claimed by {gone}.",
        f"The callback for the message {to_hex(told.key, told.tail)} is claimed by {gone}.",
    ]


async def test_list_intervals_hold_over_nodes(store: PostgresStore, other: PostgresStore, account: Account) -> None:
    waits = await asyncio.gather(*(each.customers.admit_list(account.id, START, 10_000) for each in [store, other] * 5))
    assert sorted(waits) == [0] + [10_000] * 9
