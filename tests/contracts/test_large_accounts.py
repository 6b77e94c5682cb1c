"""Accounts of any number a column holds: what is theirs is written, claimed and charged as anybody's."""

import random
import sqlite3
from contextlib import closing

import pytest

from heliograph.app.configuration import Account
from heliograph.app.facts import CallbackRetry, Facts, MessageEnd, Queueing
from heliograph.app.ports import Store
from heliograph.domain.message.receipt import Delivery
from tests.support.postgres import PostgresOpener, server
from tests.support.store import CREDIT, HOUR, NODE, OPENERS, START, Given, Opener, SqliteOpener

LARGEST = (1 << 63) - 1
FIRST_TOO_LARGE = (1 << 63) // 0x9E3779B9 + 1
"""From here on the queue key cannot be worked out by one product of 64 bits."""

CHANCE = random.Random(1)
NUMBERS = [FIRST_TOO_LARGE - 1, FIRST_TOO_LARGE, (1 << 32) - 1, 1 << 32, LARGEST]
NUMBERS += [CHANCE.randrange(1, 1 << CHANCE.randrange(33, 64)) for _ in range(5)]


async def renumber(opener: Opener, account: int, number: int) -> None:
    """A store gives its accounts numbers from 1 on, and would be at this for some centuries."""
    texts = [f"UPDATE account SET id = {number} WHERE id = {account}"]
    texts += [f"UPDATE {table} SET account = {number} WHERE account = {account}" for table in ("ledger", "api_key")]
    if isinstance(opener, PostgresOpener):
        assert opener.url is not None
        await server().script("; ".join(texts), opener.url.rpartition("/")[2])
    else:
        assert isinstance(opener, SqliteOpener)
        with closing(sqlite3.connect(opener.path)) as db:
            db.executescript("; ".join(texts))


@pytest.mark.parametrize("opener", OPENERS, indirect=True)
@pytest.mark.parametrize("number", NUMBERS)
async def test_an_account_of_any_number_is_as_good_as_the_first(
    store: Store, opener: Opener, given: Given, account: Account, number: int
) -> None:
    await renumber(opener, account.id, number)
    told = await given.sent(number, wants_receipt=True, callback_url="https://customer.example/r")
    at_once = await given.sent(number)
    scheduled = await given.scheduled(number)
    await store.commits.record(
        Facts(
            queueings=[Queueing(number, at_once.key, 1, START, START + HOUR, attempted=True, claimed=False)],
            finals=[MessageEnd(number, told.key, Delivery.DELIVRD, "000", START, owed=True)],
            callback_retries=[CallbackRetry(number, told.key, START, 1, b"id=1", "timed out", START)],
        )
    )
    assert await store.queue.accounts(1, START + HOUR) == [number]
    claimed = await store.queue.claim(1, 10, START + HOUR, NODE, [number])
    assert [queued.message.key for queued in claimed] == [at_once.key, scheduled.key]
    (owed,) = await store.notices.claim(10, START, NODE)
    assert owed.account == number
    assert await store.customers.balance(number) == 97 * CREDIT
    assert await store.upkeep.audit() == []
