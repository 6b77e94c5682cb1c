"""A message that another connector sends while its block closes: searches by that connector find it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from heliograph.adapters.store.postgres import PostgresStore
from heliograph.adapters.store.postgres.driver import drive
from heliograph.adapters.store.postgres.servers import Servers
from heliograph.adapters.store.postgres.statement import FunctionCalls, add_others
from heliograph.adapters.store.shared.upkeep import StoredUpkeep
from heliograph.app.configuration import Account
from heliograph.app.facts import Facts, Message, Submission
from heliograph.app.records import Search
from heliograph.domain.message.ids import first_key_at
from tests.support.postgres import LIMITS
from tests.support.store import HOUR, Given
from tests.support.timeouts import until

OTHER = 3
"""A connector that is not that of the message's acceptance."""

_HELD_BACK = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"


@pytest.fixture
async def db(url: str) -> AsyncIterator[Any]:
    """A connection beside the store's."""
    connection: Any = await Servers(url, LIMITS).connect()
    yield connection
    connection.terminate()


def sent_late(message: Message, now: int) -> Facts:
    return Facts(submissions=[Submission(message.account, message.key, 0, OTHER, "id", 0, now)])


async def found(store: PostgresStore, connector: int) -> list[int]:
    return [hit.message.key for hit in (await store.messages.search(Search(connector=connector))).hits]


async def until_done_or_held_back(task: asyncio.Task[Any], db: Any) -> None:
    async def is_so() -> bool:
        return task.done() or bool(await db.fetchval(_HELD_BACK))

    await until(is_so, "it is done or held back")


async def test_a_send_that_commits_after_its_block_closed(
    db: Any, store: PostgresStore, given: Given, account: Account
) -> None:
    message, now = await given.sent(account.id), given.now + HOUR
    transaction = db.transaction()
    await transaction.start()
    calls = FunctionCalls()
    add_others(calls, sent_late(message, now), 2, 2, again=True)
    await db.fetchrow(calls.text(), *calls.values)
    closing = asyncio.create_task(store.upkeep.index_numbers(now, 1))
    await until_done_or_held_back(closing, db)
    await transaction.commit()
    assert await closing == 1
    assert await found(store, OTHER) == [message.key]


async def test_a_block_that_commits_after_a_send(db: Any, store: PostgresStore, given: Given, account: Account) -> None:
    message, now = await given.sent(account.id), given.now + HOUR
    upkeep: Any = store.upkeep
    transaction = db.transaction()
    await transaction.start()
    add_block: Any = StoredUpkeep._add_block
    assert await drive(db, lambda: add_block.__wrapped__(upkeep, first_key_at(now), 1)) == 1
    sending = asyncio.create_task(store.commits.record(sent_late(message, now)))
    await until_done_or_held_back(sending, db)
    await transaction.commit()
    await sending
    assert await found(store, OTHER) == [message.key]


async def test_other_sends_do_not_wait_for_a_block(
    db: Any, store: PostgresStore, given: Given, account: Account
) -> None:
    message, now = await given.sent(account.id, connector=OTHER), given.now + HOUR
    upkeep: Any = store.upkeep
    transaction = db.transaction()
    await transaction.start()
    add_block: Any = StoredUpkeep._add_block
    assert await drive(db, lambda: add_block.__wrapped__(upkeep, first_key_at(now), 1)) == 1
    await store.commits.record(sent_late(message, now))
    await transaction.commit()
    assert await found(store, OTHER) == [message.key]
