"""SMPP binds of customers over all nodes: their limit, their reports, their end."""

from dataclasses import replace

import pytest

from heliograph.app.configuration import Account, Missing
from heliograph.app.ports import Store
from heliograph.app.ports.accounts import SUBMISSION_PREFIX
from heliograph.app.records import BIND_ALIVE_MS, BindState, CustomerBind
from tests.support.store import HOUR, NODE, START, Given

STATE = BindState("transceiver", "192.0.2.1:40112", False, START, 100)


def bind(account: Account, number: int, node: int = NODE, at: int = START) -> CustomerBind:
    return CustomerBind(number, account.id, node, at, replace(STATE))


async def test_an_account_has_so_many_binds_over_all_nodes(store: Store, account: Account) -> None:
    assert await store.binds.enter(bind(account, 1), 2)
    assert await store.binds.enter(bind(account, 2, NODE + 1), 2)
    assert not await store.binds.enter(bind(account, 3), 2)
    await store.binds.leave(1)
    assert await store.binds.enter(bind(account, 3), 2)
    assert await store.binds.all(START) == [bind(account, 2, NODE + 1), bind(account, 3)]
    with pytest.raises(Missing):
        await store.binds.enter(CustomerBind(4, account.id + 99, NODE, START, STATE), 2)


async def test_binds_of_a_node_that_is_gone_do_not_count(store: Store, account: Account) -> None:
    assert await store.binds.enter(bind(account, 1), 1)
    later = START + BIND_ALIVE_MS
    assert await store.binds.all(later) == [bind(account, 1)]
    assert not await store.binds.enter(bind(account, 2, at=later), 1)
    assert await store.binds.all(later + 1) == []
    assert await store.binds.enter(bind(account, 2, at=later + 1), 1)
    assert await store.binds.all(later + 1) == [bind(account, 2, at=later + 1)]


async def test_a_report_keeps_binds_alive_and_tells_which_are_dropped(store: Store, account: Account) -> None:
    first, other = bind(account, 1), bind(account, 2, NODE + 1)
    assert await store.binds.enter(first, 9)
    assert await store.binds.enter(other, 9)
    await store.binds.drop(1)
    again = replace(first, at=START + 5_000, state=replace(STATE, submitted=7, last_error="ESME_RINVDSTADR: No"))
    assert await store.binds.report(NODE + 1, START + 1_000, []) == []
    assert await store.binds.report(NODE, START + 5_000, [again]) == [1]
    assert await store.binds.all(START + 5_000) == [again, replace(other, at=START + 1_000)]
    await store.binds.leave(1)
    with pytest.raises(Missing):
        await store.binds.drop(1)
    await store.binds.clear()
    assert await store.binds.all(START) == []


async def test_submissions_are_found_and_forgotten(store: Store, account: Account, given: Given) -> None:
    names = [f"{SUBMISSION_PREFIX}9f86:{number}" for number in (1, 0)]
    for name in (*names, "order-1"):
        accept = given.accept(given.message(account.id), fingerprint=b"same")
        accept.reference = name
        await given.recorded(accept)
    found = await store.binds.submissions(account.id)
    assert [name for name, _ in found] == names
    assert sorted(key for _, key in found) == [key for _, key in found]
    assert await store.binds.submissions(account.id + 1) == []
    await store.binds.forget_submissions([(account.id, names[0]), (account.id + 1, names[1])])
    assert [name for name, _ in await store.binds.submissions(account.id)] == names[1:]
    assert await store.customers.replayed(account.id, names[0]) is None


async def test_scheduled_messages_are_found_by_their_addresses(store: Store, account: Account, given: Given) -> None:
    addresses = {"sender": "Helio", "destination": "491701234567"}
    later, sooner, due = [await given.scheduled(account.id, after, **addresses) for after in (2 * HOUR, HOUR, 10)]
    await given.scheduled(account.id, HOUR, sender="Other", destination="491701234567")
    await given.scheduled(account.id, HOUR, sender="Helio", destination="491709999999")
    await given.recorded(given.accept(given.message(account.id, **addresses)))
    asked = (account.id, "Helio", "491701234567", given.now + 10)
    assert await store.binds.scheduled(*asked, 9) == [(each.key, each.tail) for each in (sooner, later)]
    assert await store.binds.scheduled(*asked, 1) == [(sooner.key, sooner.tail)]
    assert await store.binds.scheduled(account.id + 1, *asked[1:], 9) == []
    await store.customers.cancel(account.id, sooner.key, sooner.tail, given.now)
    assert await store.binds.scheduled(*asked, 9) == [(later.key, later.tail)]
    assert due.time == given.now + 10
