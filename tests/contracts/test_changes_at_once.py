"""Two administrators who change a thing at the same moment: neither undoes the other."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from heliograph.admin_api.operations import RESOURCES
from heliograph.app.configuration import Account, Missing, Outdated, Plan
from heliograph.app.ports import Store
from heliograph.app.ports.sending_lists import ListState, SendingList
from heliograph.app.records import AuditEntry, AuditQuery
from heliograph.app.resources import accounts, connectors, plans, sending_lists, templates
from heliograph.app.resources.desk import Desk, Invalid
from tests.support.connectors import kinds
from tests.support.store import START, Given
from tests.support.virtual_time import VirtualClock

BIND: dict[str, Any] = {"host": "smsc.example.net", "port": "2775", "system_id": "acme", "password": "secret"}
TEMPLATE: dict[str, Any] = {"text": "Hi {#var#}", "sender": "", "account": "", "tlvs": {"entity": "1"}}

Change = Callable[..., Awaitable[dict[str, Any]]]

CHANGES: dict[str, tuple[Change, dict[str, Any], dict[str, Any]]] = {
    "account": (accounts.change, {"rate": 5.0}, {"suspended": True}),
    "connector": (connectors.change, {"rate": 99.5}, {"state": "off"}),
    "plan": (plans.change, {"routing": "best"}, {"min_margin": "10%"}),
    "template": (templates.change, {"text": "Hello {#var#}"}, {"sender": "ACME"}),
}
"""By resource: its change, and two sets of fields."""


@pytest.fixture
async def desk(store: Store, given: Given) -> Desk:
    """The desk of a store that has one of each thing, named `thing`."""
    desk = Desk(store, VirtualClock(START), kinds=kinds())
    await given.account("thing")
    await connectors.add(desk, "thing", **BIND)
    await plans.change(desk, "thing", unknown_cost="refuse")
    await templates.add(desk, "thing", **TEMPLATE)
    return desk


def test_each_resource_with_single_fields_to_change_is_tried() -> None:
    resources = (*RESOURCES, connectors.connectors_of(kinds()))
    changed = {each.name for each in resources if any(of.method == "PATCH" for of in each.operations)}
    assert changed == set(CHANGES)


@pytest.mark.parametrize("name", CHANGES)
async def test_both_changes_stay(desk: Desk, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, first, second = CHANGES[name]
    port, method = (desk.store.accounts, "find") if name == "account" else (desk.store.network, "tables")
    read = getattr(port, method)

    async def before_the_second(*args: Any, **values: Any) -> Any:
        found = await read(*args, **values)
        monkeypatch.undo()
        await change(desk, "thing", **second)
        return found

    monkeypatch.setattr(port, method, before_the_second)
    changed = await change(desk, "thing", **first)
    assert {field: changed[field] for field in first | second} == first | second
    lines = await desk.store.audit_log.find(AuditQuery(target="thing", limit=2))
    assert len(lines) == 2
    assert {each.action for each in lines} <= {f"{name}.set", "account.suspend"}


async def test_a_list_that_was_cancelled_meanwhile_is_not_resumed(
    desk: Desk, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = desk.store.sending_lists
    number = await lists.add(SendingList(0, account.id, "Sale", "user:ada", START, 3, ended=START, reported=START))
    await sending_lists.pause(desk, number)
    find = lists.find

    async def before_the_cancellation(id: int) -> SendingList | None:
        found = await find(id)
        monkeypatch.undo()
        await sending_lists.cancel(desk, number)
        return found

    monkeypatch.setattr(lists, "find", before_the_cancellation)
    with pytest.raises(Invalid, match="is cancelled"):
        await sending_lists.resume(desk, number)
    found = await find(number)
    assert found is not None
    assert found.state is ListState.CANCELLED
    await sending_lists.cancel(desk, number)  # a second time is allowed
    with pytest.raises(Missing):
        await lists.change(number, ListState.SENDING)


async def test_a_change_made_from_earlier_tables_is_not_made(store: Store, account: Account) -> None:
    entry = AuditEntry(START, "user:ada", "plan.set", "gold", {})
    revision = await store.table_changes.revision()
    await store.noting(lambda _: entry, revision).plans.put(Plan("gold", "best"))
    for since in (revision, revision + 2):
        with pytest.raises(Outdated):
            await store.noting(lambda _: entry, since).plans.put(Plan("gold", min_margin="1"))
    assert (await store.network.tables()).plans == [Plan("gold", "best")]
    assert await store.table_changes.revision() == revision + 1
    await store.accounts.update(account.id, {"plan": "gold"})  # any change of the tables counts
    with pytest.raises(Outdated):
        await store.noting(lambda _: entry, revision + 1).plans.put(Plan("gold"))
    assert len(await store.audit_log.find(AuditQuery())) == 1
