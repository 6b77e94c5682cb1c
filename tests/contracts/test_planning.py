"""Cancelling and moving scheduled messages, and their races with each other and with dispatch."""

import asyncio
from dataclasses import replace

import pytest

from heliograph.app.configuration import Account, Missing
from heliograph.app.ports import NotScheduled, Store
from heliograph.domain.message.state import State
from heliograph.domain.money.amounts import EntryKind
from tests.support.store import CREDIT, HOUR, NODE, START, Given, delivery_of

LATER = START + 5 * HOUR


async def test_a_cancelled_message_is_refunded_and_never_sent(store: Store, given: Given, account: Account) -> None:
    message = await given.scheduled(account.id, price=35_000)
    cancelled = await store.customers.cancel(account.id, message.key, message.tail, START + 1)
    assert cancelled == [replace(message, state=State.CANCELLED)]
    assert await store.customers.balance(account.id) == 100 * CREDIT
    entry = (await store.accounts.ledger(account.id, 10))[0]
    assert (entry.kind, entry.amount, entry.message, entry.at) == (EntryKind.REFUND, 35_000, message.key, START + 1)
    assert await store.customers.message(account.id, message.key, message.tail) == cancelled[0]
    assert await store.queue.claim(1, 10, START + 9 * HOUR, NODE) == []
    assert await store.queue.claim_expired(10, START + 9 * HOUR, NODE) == []
    assert await store.queue.next_due() == {}
    assert await delivery_of(store, message.key) is None
    assert await store.upkeep.audit() == []


async def test_a_moved_message_is_due_at_its_new_time(store: Store, given: Given, account: Account) -> None:
    message = await given.scheduled(account.id)
    moved = await store.customers.reschedule(account.id, message.key, message.tail, LATER, LATER + HOUR, START)
    assert moved == [replace(message, time=LATER, expires=LATER + HOUR)]
    assert await store.customers.message(account.id, message.key, message.tail) == moved[0]
    assert await store.queue.next_due() == {1: LATER}
    assert await store.queue.claim_expired(10, LATER, NODE) == []
    assert await store.queue.claim(1, 10, LATER - 1, NODE) == []
    (claimed,) = await store.queue.claim(1, 10, LATER, NODE)
    assert claimed.message.time == LATER
    assert await store.customers.balance(account.id) == 99 * CREDIT
    assert await store.upkeep.audit() == []


async def test_a_message_can_move_closer(store: Store, given: Given, account: Account) -> None:
    message = await given.scheduled(account.id, 5 * HOUR)
    await store.customers.reschedule(account.id, message.key, message.tail, START + HOUR, START + 2 * HOUR, START)
    assert await store.queue.next_due() == {1: START + HOUR}


async def test_a_batch_is_cancelled_as_a_whole(store: Store, given: Given, account: Account) -> None:
    accept = given.batch(account.id, 1_000, state=State.SCHEDULED, time=START + HOUR, price=1_000)
    await given.recorded(accept)
    cancelled = await store.customers.cancel(account.id, accept.key, accept.tail, START)
    assert cancelled == [replace(message, state=State.CANCELLED) for message in accept.messages]
    assert await store.customers.balance(account.id) == 100 * CREDIT
    assert await store.upkeep.audit() == []


async def test_of_a_batch_only_what_is_still_scheduled(store: Store, given: Given, account: Account) -> None:
    accept = given.batch(account.id, 4, state=State.SCHEDULED, time=START + HOUR)
    await given.recorded(accept)
    sent, gone, *rest = accept.messages
    await store.customers.cancel(account.id, gone.key, gone.tail, START)
    await store.customers.reschedule(account.id, accept.key, accept.tail, LATER, LATER + HOUR, START)
    await store.customers.reschedule(account.id, sent.key, sent.tail, START + 10, LATER, START)
    await store.queue.claim(1, 10, START + 10, NODE)
    moved = await store.customers.reschedule(account.id, accept.key, accept.tail, LATER + 1, LATER + HOUR, START + 10)
    assert [message.key for message in moved] == [message.key for message in rest]
    cancelled = await store.customers.cancel(account.id, accept.key, accept.tail, START + 10)
    assert [message.key for message in cancelled] == [message.key for message in rest]
    with pytest.raises(NotScheduled):
        await store.customers.cancel(account.id, accept.key, accept.tail, START + 10)
    assert await store.customers.balance(account.id) == 99 * CREDIT
    assert await store.upkeep.audit() == []


async def test_what_cannot_be_changed_any_more(store: Store, given: Given, account: Account) -> None:
    sent = await given.sent(account.id)
    claimed = await given.scheduled(account.id, 10)
    await store.queue.claim(1, 10, START + 10, NODE)
    cancelled = await given.scheduled(account.id)
    await store.customers.cancel(account.id, cancelled.key, cancelled.tail, START)
    due = await given.scheduled(account.id)
    balance = await store.customers.balance(account.id)
    for message, now in ((sent, START), (claimed, START), (cancelled, START), (due, due.time), (due, due.time + 1)):
        with pytest.raises(NotScheduled):
            await store.customers.cancel(account.id, message.key, message.tail, now)
        with pytest.raises(NotScheduled):
            await store.customers.reschedule(account.id, message.key, message.tail, LATER, LATER, now)
    assert await store.customers.balance(account.id) == balance
    assert await store.queue.next_due() == {1: due.time}
    assert await store.upkeep.audit() == []


async def test_what_is_not_there_cannot_be_changed(store: Store, given: Given, account: Account) -> None:
    message = await given.scheduled(account.id)
    batch = given.batch(account.id, 2, state=State.SCHEDULED, time=START + HOUR)
    await given.recorded(batch)
    for who, key, tail in (
        (account.id + 1, message.key, message.tail),
        (account.id, message.key, message.tail ^ 1),
        (account.id, message.key - 1, message.tail),
        (account.id + 1, batch.key, batch.tail),
        (account.id, batch.key, batch.tail ^ 1),
    ):
        with pytest.raises(Missing):
            await store.customers.cancel(who, key, tail, START)
        with pytest.raises(Missing):
            await store.customers.reschedule(who, key, tail, LATER, LATER, START)
    assert await store.customers.balance(account.id) == 97 * CREDIT


async def test_a_free_message_is_cancelled_without_an_entry(store: Store, given: Given, account: Account) -> None:
    message = await given.scheduled(account.id, price=0)
    await store.customers.cancel(account.id, message.key, message.tail, START)
    assert [entry.kind for entry in await store.accounts.ledger(account.id, 10)] == [EntryKind.TOP_UP]
    assert await store.upkeep.audit() == []


async def test_of_many_cancels_at_once_one_wins(store: Store, given: Given, account: Account) -> None:
    message = await given.scheduled(account.id)
    results = await asyncio.gather(
        *(store.customers.cancel(account.id, message.key, message.tail, START) for _ in range(20)),
        return_exceptions=True,
    )
    assert sum(isinstance(result, list) for result in results) == 1
    assert sum(isinstance(result, NotScheduled) for result in results) == 19
    assert await store.customers.balance(account.id) == 100 * CREDIT


@pytest.mark.parametrize("round_", range(10))
async def test_of_cancel_and_claim_one_wins(store: Store, given: Given, account: Account, round_: int) -> None:
    message = await given.scheduled(account.id)
    calls = [
        store.customers.cancel(account.id, message.key, message.tail, message.time - 1),
        store.queue.claim(1, 10, message.time, NODE),
    ]
    results = await asyncio.gather(*(calls if round_ % 2 else calls[::-1]), return_exceptions=True)
    cancelled, claimed = results if round_ % 2 else results[::-1]
    assert isinstance(claimed, list)
    assert isinstance(cancelled, NotScheduled) == bool(claimed)
    assert await store.customers.balance(account.id) == (99 if claimed else 100) * CREDIT
    assert await store.upkeep.audit() == []


@pytest.mark.parametrize("round_", range(10))
async def test_of_reschedule_and_claim_one_wins(store: Store, given: Given, account: Account, round_: int) -> None:
    message = await given.scheduled(account.id)
    calls = [
        store.customers.reschedule(account.id, message.key, message.tail, LATER, LATER + HOUR, message.time - 1),
        store.queue.claim(1, 10, message.time, NODE),
    ]
    results = await asyncio.gather(*(calls if round_ % 2 else calls[::-1]), return_exceptions=True)
    moved, claimed = results if round_ % 2 else results[::-1]
    assert isinstance(claimed, list)
    assert isinstance(moved, NotScheduled) == bool(claimed)
    assert await store.queue.next_due() == ({} if claimed else {1: LATER})
