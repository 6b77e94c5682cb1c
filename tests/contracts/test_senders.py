"""Registries of sender IDs: kept by account, changed all or none, and told to every node by the revision."""

import pytest

from heliograph.app.configuration import Account, Exists, Missing, RegisteredSender
from heliograph.app.ports import Store
from heliograph.domain.limits.gate import SenderState
from heliograph.domain.numbers.sender_rules import SenderRule
from tests.support.store import START, Given


async def registered(store: Store) -> list[RegisteredSender]:
    return (await store.network.tables()).senders


async def test_senders_are_kept_by_account_and_changed(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other")
    revision = await store.table_changes.revision()
    acme = RegisteredSender(account.id, "ACME", SenderState.PENDING, START, "asked")
    lower = RegisteredSender(account.id, "acme", SenderState.REFUSED, START)
    theirs = RegisteredSender(other.id, "ACME", SenderState.APPROVED, START)
    assert await store.senders.put([acme, lower]) == 2
    assert await store.senders.put([theirs]) == 1
    assert await registered(store) == [acme, lower, theirs]
    changed = RegisteredSender(account.id, "ACME", SenderState.APPROVED, START + 1, "")
    assert await store.senders.put([changed, RegisteredSender(other.id, "New", SenderState.PENDING, START)]) == 1
    assert (await registered(store))[0] == changed
    assert await store.table_changes.revision() > revision


async def test_none_is_put_where_one_is_of_no_account(store: Store, account: Account) -> None:
    good = RegisteredSender(account.id, "ACME", SenderState.APPROVED, START)
    with pytest.raises(Missing):
        await store.senders.put([good, RegisteredSender(77, "ACME", SenderState.APPROVED, START)])
    assert await registered(store) == []


async def test_a_sender_is_removed(store: Store, account: Account) -> None:
    await store.senders.put([RegisteredSender(account.id, "ACME", SenderState.APPROVED, START)])
    with pytest.raises(Missing):
        await store.senders.remove(account.id + 1, "ACME")
    await store.senders.remove(account.id, "ACME")
    assert await registered(store) == []
    with pytest.raises(Missing):
        await store.senders.remove(account.id, "ACME")


async def test_sender_rules_of_countries(store: Store) -> None:
    revision = await store.table_changes.revision()
    first = await store.sender_rules.add(SenderRule(0, "IN", "alpha", "replace", "60001"))
    second = await store.sender_rules.add(SenderRule(0, "IN", "alpha", "refuse"))
    assert first.id != second.id
    with pytest.raises(Exists):
        await store.sender_rules.add(SenderRule(0, "IN", "alpha", "refuse"))
    assert await store.table_changes.revision() > revision
    assert (await store.network.tables()).sender_rules == [first, second]
    await store.sender_rules.remove(first.id)
    with pytest.raises(Missing):
        await store.sender_rules.remove(first.id)
    assert (await store.network.tables()).sender_rules == [second]
