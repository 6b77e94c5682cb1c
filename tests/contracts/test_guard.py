"""The pumping guard's rows: hours by all nodes, holds, and what becomes of what is held."""

from dataclasses import replace
from typing import Any

import pytest

from heliograph.app.configuration import Account, Missing, TrafficHold
from heliograph.app.facts import NO_ANSWER, Attempt, Facts, Queueing
from heliograph.app.ports import HeldTraffic, Store
from heliograph.app.ports.backlog import QueueAction
from heliograph.app.records import MessageHold, Search
from heliograph.domain.limits.gate import OF_ADMINISTRATOR, OF_SUSPENDED, Holder
from heliograph.domain.limits.pumping import TrafficCount, TrafficFigures, range_of
from heliograph.domain.message.state import State
from heliograph.domain.message.status import MessageStatus
from tests.support.store import CREDIT, HOUR, NODE, START, Given

RANGE = "49170"
NOW = START // HOUR * HOUR


def hold_of(account: Account, prefix: str = RANGE, since: int = START) -> TrafficHold:
    return TrafficHold(account.id, prefix, since, "a surge; numbers")


async def held(
    store: Store, given: Given, account: Account, destination: str = "4917012345678", held: str | None = None
) -> int:
    """Returns the key of a message that is accepted and then held: by the guard, or as `held` says."""
    message = given.message(account.id, destination=destination, queued=True)
    await given.recorded(given.accept(message))
    held = range_of(destination) if held is None else held
    queueing = Queueing(account.id, message.key, 1, message.time, message.expires, False, False, held, given.now)
    await store.commits.record(Facts(queueings=[queueing]))
    return message.key


async def due(store: Store) -> list[int]:
    return [queued.message.key for queued in await store.queue.claim(1, 100, START + HOUR, NODE)]


async def test_hours_are_added_up_and_compared_with_those_before(store: Store, account: Account) -> None:
    before = [TrafficCount(account.id, RANGE, NOW - hours * HOUR, messages=10 * hours) for hours in (1, 2, 9)]
    before.append(TrafficCount(account.id, RANGE, NOW - 3 * HOUR, ended=4))
    await store.guard.add(before, 0)
    await store.guard.add([TrafficCount(account.id, RANGE, NOW, 5, 2, 1, 1)], 0)
    other = TrafficCount(account.id, "44770", NOW, 1)
    found = await store.guard.add([TrafficCount(account.id, RANGE, NOW, 3, 1, 0, 0), other], NOW - 8 * HOUR)
    by_prefix = {each.now.prefix: each for each in found}
    assert by_prefix[RANGE] == TrafficFigures(TrafficCount(account.id, RANGE, NOW, 8, 3, 1, 1), 2, 30)
    assert by_prefix["44770"] == TrafficFigures(other, 0, 0)
    assert await store.guard.forget(NOW - 2 * HOUR, 10) == 2
    assert await store.guard.forget(NOW + HOUR, 2) == 2
    assert await store.guard.forget(NOW + HOUR, 10) == 2


async def test_a_range_is_held_once_and_told_by_the_tables(store: Store, account: Account) -> None:
    revision = await store.table_changes.revision()
    assert await store.guard.hold(hold_of(account), 0)
    assert await store.table_changes.revision() > revision
    assert not await store.guard.hold(hold_of(account, since=START + 1), START + HOUR)
    assert (await store.network.tables()).holds == [hold_of(account)]
    assert await store.guard.holds(10) == [HeldTraffic(hold_of(account), 0, 0)]


async def test_what_is_observed_holds_nothing_and_is_told_again_later(
    store: Store, given: Given, account: Account
) -> None:
    observed = replace(hold_of(account), is_observed=True)
    assert await store.guard.hold(observed, START)
    assert not await store.guard.hold(observed, START)
    assert await store.guard.holds(10) == [HeldTraffic(observed, 0, 0)]
    later = replace(observed, since=START + 9)
    assert await store.guard.hold(later, START + 1)
    key = await held(store, given, account)
    with pytest.raises(Missing):
        await store.guard.refund(account.id, RANGE, START, 10)
    assert await store.guard.hold(hold_of(account), 0)
    assert await store.guard.let_go(START, 10) == 0
    assert await store.guard.hold(observed, 0)
    assert await store.guard.let_go(START, 10) == 1
    assert await due(store) == [key]
    await store.guard.release(account.id, RANGE, START)
    assert await store.guard.holds(10) == []


async def test_all_ranges_of_an_account_are_released_at_once(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other")
    for each, prefix in ((account, RANGE), (account, "44770"), (other, RANGE)):
        await store.guard.hold(hold_of(each, prefix), 0)
    revision = await store.table_changes.revision()
    assert await store.guard.release_all(account.id, START) == 2
    assert await store.table_changes.revision() > revision
    assert await store.guard.release_all(account.id, START) == 0
    assert [each.hold for each in await store.guard.holds(10)] == [hold_of(other)]
    assert not await store.guard.hold(hold_of(account), START)
    assert await store.guard.release_all(other.id, 0) == 1
    assert await store.guard.hold(hold_of(other), START)


async def test_what_is_held_is_no_nodes_until_it_is_released_and_then_in_its_order(
    store: Store, given: Given, account: Account
) -> None:
    await store.guard.hold(hold_of(account), 0)
    keys = [await held(store, given, account, f"491701234567{n}") for n in range(3)]
    elsewhere = await held(store, given, account, "447700900123")
    assert await due(store) == []
    assert await store.guard.holds(2) == [HeldTraffic(hold_of(account), 2, 2 * CREDIT)]
    assert await store.guard.let_go(START, 10) == 1
    assert await due(store) == [elsewhere]
    await store.guard.release(account.id, RANGE, START + 1)
    assert (await store.network.tables()).holds == []
    assert await store.guard.let_go(START, 2) == 2
    assert await store.guard.let_go(START, 10) == 1
    assert await due(store) == keys
    assert not await store.guard.hold(hold_of(account), START + 1)
    assert await store.guard.hold(hold_of(account, since=START + 5), START + 2)
    with pytest.raises(Missing):
        await store.guard.release(account.id, "44770", START)


async def test_what_is_refunded_is_cancelled_and_the_hold_goes_on(store: Store, given: Given, account: Account) -> None:
    with pytest.raises(Missing):
        await store.guard.refund(account.id, RANGE, START, 10)
    await store.guard.hold(hold_of(account), 0)
    keys = [await held(store, given, account, f"491701234567{n}") for n in range(3)]
    elsewhere = await held(store, given, account, "491711234567")
    scheduled = await given.scheduled(account.id, destination="4917012345999")
    assert await store.customers.balance(account.id) == 95 * CREDIT
    assert await store.guard.refund(account.id, RANGE, START, 2) == 2
    assert await store.guard.refund(account.id, RANGE, START, 10) == 1
    assert await store.guard.refund(account.id, RANGE, START, 10) == 0
    assert await store.customers.balance(account.id) == 98 * CREDIT
    assert (await store.guard.holds(10))[0].messages == 0
    assert await store.upkeep.audit() == []
    assert await store.guard.let_go(START, 10) == 1
    assert await due(store) == [elsewhere, scheduled.key]
    assert not set(keys) & set(await due(store))


@pytest.mark.parametrize("status", [0, NO_ANSWER])
async def test_a_message_that_an_earlier_operator_took_is_not_refunded(
    store: Store, given: Given, account: Account, status: int
) -> None:
    """Such a message waits for its next operator. The first is paid for it, or may have delivered it."""
    await store.guard.hold(hold_of(account), 0)
    key, deferred = await held(store, given, account), await held(store, given, account)
    attempts = [Attempt(account.id, key, 0, 2, status, START), Attempt(account.id, deferred, 0, 2, 88, START)]
    await store.commits.record(Facts(attempts=attempts))
    assert await store.guard.refund(account.id, RANGE, START, 10) == 1
    assert await store.customers.balance(account.id) == 99 * CREDIT
    assert (await store.guard.holds(10))[0].messages == 1


async def test_what_is_held_is_found_until_it_is_let_go(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other")
    await store.guard.hold(hold_of(account), 0)
    await store.guard.hold(hold_of(other), 0)
    keys = [await held(store, given, account, f"491701234567{n}") for n in range(3)]
    others = await held(store, given, other)
    await given.scheduled(account.id, destination="4917012345999")
    await given.sent(account.id, destination="4917012345998")

    async def found(**by: Any) -> list[int]:
        return [hit.message.key for hit in (await store.messages.search(Search(status=MessageStatus.HELD, **by))).hits]

    assert await found() == [others, *keys[::-1]]
    assert await found(account=account.id) == keys[::-1]
    assert await found(account=account.id, number="4917012345671") == [keys[1]]
    pending = (await store.messages.search(Search(status=MessageStatus.PENDING))).hits
    assert not {hit.message.key for hit in pending} & {others, *keys}
    page = await store.messages.search(Search(status=MessageStatus.HELD, limit=3))
    assert {hit.status for hit in page.hits} == {MessageStatus.HELD}
    assert await store.messages.held([*keys, 1]) == set(keys)
    ends = await store.customers.deliveries(keys)
    assert ends == dict.fromkeys(keys, (None, "", 0))
    assert page.more is not None
    assert await found(before=page.more) == keys[:1]
    await store.guard.release(account.id, RANGE, START)
    await store.guard.let_go(START, 10)
    assert await found() == [others]


async def test_what_waits_of_a_suspended_account_is_due_once_it_is_resumed(
    store: Store, given: Given, account: Account
) -> None:
    other = await given.account("other")
    await store.guard.hold(hold_of(account), 0)
    guarded = await held(store, given, account)
    keys = [await held(store, given, account, f"491711234567{n}", OF_SUSPENDED) for n in range(3)]
    others = await held(store, given, other, "4917112345679", OF_SUSPENDED)
    await store.accounts.update(account.id, {"suspended": True})
    await store.accounts.update(other.id, {"suspended": True})
    assert await store.queue.resume(START, 10) == 0
    assert await store.guard.let_go(START, 10) == 0
    assert await due(store) == []
    waiting = (await store.messages.search(Search(status=MessageStatus.HELD))).hits
    assert [hit.message.key for hit in waiting] == [others, *keys[::-1], guarded]
    assert (await store.upkeep.counts(START)).held == {Holder.GUARD: 1, Holder.SUSPENDED: 4}
    await store.accounts.update(account.id, {"suspended": False})
    assert await store.queue.resume(START, 2) == 2
    assert await store.queue.resume(START, 2) == 1
    assert await store.queue.resume(START, 2) == 0
    assert await due(store) == keys
    await store.accounts.update(other.id, {"suspended": False})
    assert await store.queue.resume(START, 10) == 1
    assert await due(store) == [others]


async def test_a_hold_is_in_the_history_and_the_delay_counts_from_its_end(
    store: Store, given: Given, account: Account
) -> None:
    await store.guard.hold(hold_of(account), 0)
    guarded, suspended = await held(store, given, account), await held(store, given, account, held=OF_SUSPENDED)
    await store.backlog.change(QueueAction.HOLD, [guarded], START + 1)

    async def holds(key: int) -> list[MessageHold]:
        trace = await store.messages.trace(key)
        assert trace is not None
        return trace.holds

    await store.queue.resume(START + 5, 10)
    assert await holds(suspended) == [MessageHold(given.now, START + 5, OF_SUSPENDED)]
    begun = MessageHold(given.now, None, RANGE)
    assert await holds(guarded) == [begun, MessageHold(START + 1, None, OF_ADMINISTRATOR)]
    await store.backlog.change(QueueAction.RELEASE, [guarded], START + 6)
    assert await holds(guarded) == [begun, MessageHold(START + 1, START + 6, OF_ADMINISTRATOR)]
    await store.guard.release(account.id, RANGE, START + 7)
    assert await store.guard.let_go(START + 7, 10) == 1
    assert [hold.ended for hold in await holds(guarded)] == [START + 7, START + 6]
    plain = await given.scheduled(account.id)
    claimed = await store.queue.claim(1, 100, START + HOUR, NODE)
    assert {each.message.key: each.message.released for each in claimed} == {
        guarded: START + 7,
        suspended: START + 5,
        plain.key: 0,
    }


async def test_what_is_held_ends_with_its_validity(store: Store, given: Given, account: Account) -> None:
    await store.guard.hold(hold_of(account), 0)
    key = await held(store, given, account)
    (queued,) = await store.queue.claim_expired(10, START + 25 * HOUR, NODE)
    assert (queued.message.key, queued.message.state) == (key, State.SENT)


async def test_the_guard_of_an_account_is_kept(store: Store, given: Given) -> None:
    account = await given.account("watched", guard="hold")
    assert account.guard == "hold"
    assert (await store.accounts.update(account.id, {"guard": None})).guard is None
    assert (await store.accounts.update(account.id, {"guard": "off"})).guard == "off"
    found = await store.accounts.by_id(account.id)
    assert found is not None
    assert found.guard == "off"
