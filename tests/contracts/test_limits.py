"""Limits of a day and of what waits: exact, however requests come."""

import asyncio

import pytest

from heliograph.app.configuration import Account
from heliograph.app.facts import Accept, Facts, MessageEnd, Verdict
from heliograph.app.ports import Store
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from tests.support.store import CREDIT, HOUR, NODE, OPENERS, START, Given, Opener

DAY = 24 * HOUR
EVENING = START + HOUR
"""The end of the day of the first requests."""


async def verdicts(store: Store, *accepts: Accept) -> list[Verdict]:
    await store.commits.record(Facts(accepts=list(accepts)))
    return [accept.verdict for accept in accepts]


def single(given: Given, account: Account, price: int = CREDIT, **fields: object) -> Accept:
    return given.accept(given.message(account.id, price=price), **({"day_ends": EVENING} | fields))


async def test_messages_of_a_day_end_at_the_limit(store: Store, given: Given) -> None:
    account = await given.account(daily_messages=3)
    accepts = [single(given, account) for _ in range(5)]
    assert await verdicts(store, *accepts) == [Verdict.ACCEPTED] * 3 + [Verdict.DAILY_MESSAGES] * 2
    assert await verdicts(store, single(given, account)) == [Verdict.DAILY_MESSAGES]
    assert await store.customers.balance(account.id) == 97 * CREDIT
    assert await verdicts(store, single(given, account, day_ends=EVENING + DAY)) == [Verdict.ACCEPTED]
    assert await store.upkeep.audit() == []


async def test_what_comes_late_or_of_an_unknown_day_counts_into_the_day_that_has_begun(
    store: Store, given: Given
) -> None:
    account = await given.account(daily_messages=2)
    assert await verdicts(store, single(given, account, day_ends=EVENING + DAY)) == [Verdict.ACCEPTED]
    assert await verdicts(store, single(given, account)) == [Verdict.ACCEPTED]
    assert await verdicts(store, single(given, account, day_ends=0)) == [Verdict.DAILY_MESSAGES]


@pytest.mark.parametrize("together", [False, True])
async def test_a_day_begins_anew_for_each_account(store: Store, given: Given, together: bool) -> None:
    accounts = [await given.account(name, daily_messages=3, daily_spend=9 * CREDIT) for name in ("one", "two")]
    for ends, number in ((EVENING, 1), (EVENING, 2), (EVENING + DAY, 2)):
        accepts = [[single(given, account, day_ends=ends) for _ in range(number)] for account in accounts]
        for commit in [[each for mine in accepts for each in mine]] if together else accepts:
            assert await verdicts(store, *commit) == [Verdict.ACCEPTED] * len(commit)
    for account in accounts:
        allowance = await store.customers.allowance(account.id)
        assert (allowance.day_ends, allowance.messages, allowance.spend) == (EVENING + DAY, 2, 2 * CREDIT)
        assert await store.customers.balance(account.id) == 95 * CREDIT


async def test_spending_of_a_day_ends_at_the_limit_and_less_may_still_go(store: Store, given: Given) -> None:
    account = await given.account(daily_spend=5 * CREDIT)
    accepts = [single(given, account, price * CREDIT) for price in (3, 3, 2, 0, 1)]
    assert await verdicts(store, *accepts) == [
        Verdict.ACCEPTED,
        Verdict.DAILY_SPEND,
        Verdict.ACCEPTED,
        Verdict.ACCEPTED,
        Verdict.DAILY_SPEND,
    ]
    assert await store.customers.balance(account.id) == 95 * CREDIT


async def test_a_batch_is_whole_or_refused(store: Store, given: Given) -> None:
    account = await given.account(daily_messages=5)
    batches = [given.batch(account.id, 3, price=CREDIT) for _ in range(2)]
    for batch in batches:
        batch.day_ends = EVENING
    assert await verdicts(store, *batches) == [Verdict.ACCEPTED, Verdict.DAILY_MESSAGES]
    assert await store.customers.message(account.id, batches[1].messages[0].key, batches[1].messages[0].tail) is None
    rest = given.batch(account.id, 2, price=CREDIT)
    assert await verdicts(store, rest) == [Verdict.ACCEPTED]
    assert await store.upkeep.audit() == []


async def test_what_is_refunded_counts_all_the_same(store: Store, given: Given) -> None:
    account = await given.account(daily_spend=CREDIT, daily_messages=1)
    accept = single(given, account)
    assert await verdicts(store, accept) == [Verdict.ACCEPTED]
    final = MessageEnd(account.id, accept.key, Delivery.REJECTD, "", START, owed=False, failed=True, refund=CREDIT)
    await store.commits.record(Facts(finals=[final]))
    assert await store.customers.balance(account.id) == 100 * CREDIT
    assert await verdicts(store, single(given, account)) == [Verdict.DAILY_MESSAGES]


async def test_a_replayed_request_and_a_suppressed_recipient_count_nothing(store: Store, given: Given) -> None:
    account = await given.account(daily_messages=3)
    await store.suppressions.suppress(account.id, ["4917099"], "message", START)
    batch = given.batch(account.id, 3)
    batch.messages[1].destination = "4917099"
    batch.day_ends = EVENING
    assert await verdicts(store, batch) == [Verdict.ACCEPTED]
    message = given.message(account.id, reference="once")
    assert await verdicts(store, given.accept(message, fingerprint=b"1", day_ends=EVENING)) == [Verdict.ACCEPTED]
    again = given.accept(given.message(account.id, reference="once"), fingerprint=b"1", day_ends=EVENING)
    await store.commits.record(Facts(accepts=[again]))
    assert again.verdict is Verdict.REPLAYED
    assert (await store.customers.allowance(account.id)).messages == 3


async def test_what_waited_before_there_was_a_limit_counts(store: Store, given: Given) -> None:
    account = await given.account()
    first = await given.scheduled(account.id)
    await given.scheduled(account.id)
    await store.accounts.update(account.id, {"max_waiting": 3})

    def scheduled() -> Accept:
        time = given.now + HOUR
        return given.accept(given.message(account.id, time=time, expires=time + HOUR, state=State.SCHEDULED))

    assert await verdicts(store, scheduled(), scheduled()) == [Verdict.ACCEPTED, Verdict.WAITING]
    await store.accounts.update(account.id, {"max_waiting": 0})
    assert await verdicts(store, scheduled(), scheduled()) == [Verdict.ACCEPTED, Verdict.ACCEPTED]
    await store.accounts.update(account.id, {"max_waiting": 5})
    assert await verdicts(store, scheduled()) == [Verdict.WAITING]
    await store.customers.cancel(account.id, first.key, first.tail, given.now)
    assert await verdicts(store, scheduled(), scheduled()) == [Verdict.ACCEPTED, Verdict.WAITING]
    assert await store.upkeep.audit() == []


async def test_no_more_wait_than_may_and_what_has_left_makes_room(store: Store, given: Given) -> None:
    account = await given.account(max_waiting=2)
    await given.scheduled(account.id)
    await given.scheduled(account.id)

    def scheduled() -> Accept:
        time = given.now + HOUR
        return given.accept(given.message(account.id, time=time, expires=time + HOUR, state=State.SCHEDULED))

    assert await verdicts(store, scheduled()) == [Verdict.WAITING]
    assert await verdicts(store, single(given, account)) == [Verdict.ACCEPTED]
    assert (await store.customers.allowance(account.id)).waiting == 2
    (queued,) = await store.queue.claim(1, 1, START + HOUR, NODE)
    await store.commits.record(Facts(dequeued=[(account.id, queued.message.key)]))
    assert await verdicts(store, scheduled(), scheduled()) == [Verdict.ACCEPTED, Verdict.WAITING]
    assert await store.upkeep.audit() == []


async def test_a_changed_limit_holds_for_the_next_request(store: Store, given: Given) -> None:
    account = await given.account(daily_messages=1)
    accepts = [single(given, account) for _ in range(2)]
    assert await verdicts(store, *accepts) == [Verdict.ACCEPTED, Verdict.DAILY_MESSAGES]
    await store.accounts.update(account.id, {"daily_messages": 3})
    accepts = [single(given, account) for _ in range(3)]
    assert await verdicts(store, *accepts) == [Verdict.ACCEPTED, Verdict.ACCEPTED, Verdict.DAILY_MESSAGES]
    await store.accounts.update(account.id, {"daily_messages": 0})
    assert await verdicts(store, single(given, account)) == [Verdict.ACCEPTED]


@pytest.mark.parametrize("opener", OPENERS, indirect=True)
async def test_several_nodes_at_once_do_not_go_beyond_it(store: Store, opener: Opener, given: Given) -> None:
    account = await given.account(daily_messages=40, daily_spend=60 * CREDIT)
    other = await opener()
    try:
        halves = [[single(given, account) for _ in range(60)] for _ in (store, other)]
        await asyncio.gather(
            *(
                each.commits.record(Facts(accepts=half[start : start + 5]))
                for each, half in zip((store, other), halves, strict=True)
                for start in range(0, 60, 5)
            )
        )
        told = [accept.verdict for half in halves for accept in half]
        assert told.count(Verdict.ACCEPTED) == 40
        assert told.count(Verdict.DAILY_MESSAGES) == 80
        assert await store.customers.balance(account.id) == 60 * CREDIT
    finally:
        await other.close()
