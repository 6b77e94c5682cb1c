"""The short path of an ordinary commit: which requests go by it, shown where there is no other."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from heliograph.adapters.store.postgres import PostgresStore
from heliograph.app.facts import Accept, Facts, Verdict
from tests.support.store import CREDIT, HOUR, START, Given

DAY_ENDS = START + HOUR


@pytest.fixture
async def only_short(url: str, store: PostgresStore) -> AsyncIterator[PostgresStore]:
    """A store that cannot judge requests one by one."""
    db = await asyncpg.connect(url)
    # others use this database later
    function = await db.fetchval("SELECT oid::regprocedure::text FROM pg_proc WHERE proname = 'record_accepts'")
    schema, _, signature = function.rpartition("record_accepts")
    await db.execute(f"ALTER FUNCTION {function} RENAME TO hidden")
    try:
        yield store
    finally:
        await db.execute(f"ALTER FUNCTION {schema}hidden{signature} RENAME TO record_accepts")
        await db.close()


async def recorded(store: PostgresStore, *accepts: Accept) -> None:
    await store.commits.record(Facts(accepts=list(accepts)))
    assert [accept.verdict for accept in accepts] == [Verdict.ACCEPTED] * len(accepts)


async def test_accounts_with_limits_and_opt_outs_go_by_it(only_short: PostgresStore, given: Given) -> None:
    plain = await given.account("plain")
    limited = await given.account("limited", daily_messages=5, daily_spend=6 * CREDIT, max_waiting=1)
    left = await given.account("left")
    await only_short.suppressions.suppress(left.id, ["4917099"], "message", START)

    def one(account: int, day_ends: int = 0) -> Accept:
        return given.accept(given.message(account), day_ends=day_ends)

    await recorded(only_short, one(limited.id, DAY_ENDS), one(limited.id, DAY_ENDS))
    await recorded(only_short, one(left.id))
    await recorded(only_short, one(limited.id, DAY_ENDS), one(left.id), one(plain.id), one(limited.id, DAY_ENDS))
    allowance = await only_short.customers.allowance(limited.id)
    assert (allowance.day_ends, allowance.messages, allowance.spend) == (DAY_ENDS, 4, 4 * CREDIT)
    assert await only_short.upkeep.audit() == []


@pytest.mark.parametrize("reason", ["limit", "opted out", "two days"])
async def test_what_cannot_go_as_a_whole_does_not(only_short: PostgresStore, given: Given, reason: str) -> None:
    account = await given.account("limited", daily_messages=2)
    accepts = [given.accept(given.message(account.id), day_ends=DAY_ENDS) for _ in range(2)]
    if reason == "limit":
        accepts.append(given.accept(given.message(account.id), day_ends=DAY_ENDS))
    elif reason == "opted out":
        await only_short.suppressions.suppress(account.id, ["4917099"], "message", START)
        accepts[0].messages[0].destination = "4917099"
    else:
        accepts[1].day_ends += 24 * HOUR
    with pytest.raises(asyncpg.UndefinedFunctionError):
        await only_short.commits.record(Facts(accepts=accepts))
    assert (await only_short.customers.allowance(account.id)).messages == 0
