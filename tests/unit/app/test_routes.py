"""Lists of routes, read and put in one commit; and a route in the place of another."""

import io
from typing import Any

import pytest

from heliograph.app.admin import route_table
from heliograph.app.admin.csv_rows import values_of
from heliograph.app.records import AuditQuery
from heliograph.app.resources import connectors, routes
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, NoSuch
from heliograph.app.resources.routes import MOST_AT_ONCE, RULE
from tests.support.connectors import kinds
from tests.support.gateway import open_gateway

SETTINGS: dict[str, Any] = {"host": "smsc.example.net", "port": "2775", "system_id": "acme", "password": "secret"}


def row(prefix: str, connector: str, priority: int = 0, **rest: Any) -> dict[str, Any]:
    """A route as lists have it: with all fields."""
    return {**values_of(RULE, {"prefix": prefix, "connector": connector}), "priority": priority, **rest}


async def opened() -> Desk:
    gateway = await open_gateway()
    desk = Desk(gateway.store, gateway.clock, kinds=kinds())
    await connectors.add(desk, "second", **SETTINGS)
    return desk


async def test_a_list_that_was_written_is_read_as_it_was() -> None:
    desk = await opened()
    rows = [
        row("49", "second", 5),
        row("", "second", -3),
        row("4917", "operator", account="acme", sender="ACME*", share=30, fallback=True),
    ]
    assert (await routes.put(desk, rows))["added"] == 3
    assert (await routes.put(desk, [*rows, row("33", "second")]))["added"] == 1
    file = io.StringIO()
    route_table.write(await routes.find(desk), file)
    sheet = route_table.read(file.getvalue().splitlines(keepends=True), ["operator", "second"])
    assert sheet.bad == []
    assert all(each in sheet.rows for each in (*rows, row("33", "second")))


async def test_a_list_goes_in_whole_or_not_at_all() -> None:
    desk = await opened()
    before = await routes.find(desk)
    for rows in (
        [],
        [row("49", "second")] * (MOST_AT_ONCE + 1),
        [row("49", "second"), row("49", "second")],
        [row("49", "second"), row("44", "nobody")],
        [row("49", "second"), row("44", "second", account="nobody")],
        [row("49", "second"), row("44", "second", network="26201")],
    ):
        with pytest.raises(Invalid) as refused:
            await routes.put(desk, rows)
        assert "44" not in [each["prefix"] for each in rows] or refused.value.field.startswith("routes[1].")
    assert await routes.find(desk) == before


async def test_a_list_says_what_it_changes_and_may_replace_the_routes_to_its_connectors() -> None:
    desk = await opened()
    kept = await routes.find(desk)
    await routes.put(desk, [row("49", "second", share=5), row("44", "second"), row("33", "second")])
    listed = [row("49", "second", share=7), {"prefix": "44", "connector": "second"}, row("31", "second")]
    before = await routes.find(desk)
    expected = {"added": 1, "changed": 1, "same": 1, "removed": 1}
    assert await routes.put(desk, listed, replace=True, dry_run=True) == expected
    assert await routes.find(desk) == before
    assert await routes.put(desk, listed, replace=True) == expected
    found = [each for each in await routes.find(desk) if each["connector"] == "second"]
    assert [(each["prefix"], each["share"]) for each in found] == [("31", 1), ("44", 1), ("49", 7)]
    assert [each for each in await routes.find(desk) if each not in found] == kept
    (entry, *_) = await desk.store.audit_log.find(AuditQuery())
    assert entry.details == {"routes": "3", "added": "1", "changed": "1", "removed": "1"}
    same = {"prefix": "49", "connector": "second"}
    assert await routes.put(desk, [same]) == {"added": 0, "changed": 0, "same": 1, "removed": 0}
    assert (await desk.store.audit_log.find(AuditQuery()))[0] == entry


async def test_a_route_takes_the_place_of_another() -> None:
    desk = await opened()
    first = await routes.add(desk, "second", prefix="49", priority=1)
    await routes.add(desk, "second", prefix="44", priority=1)
    await routes.change(desk, first["id"], "operator", prefix="491", priority=2)
    shown = {(each["prefix"], each["connector"], each["priority"]) for each in await routes.find(desk)}
    assert {("491", "operator", 2), ("44", "second", 1)} <= shown
    assert ("49", "second", 1) not in shown
    (changed,) = [each for each in await routes.find(desk) if each["prefix"] == "491"]
    entries = len(await desk.store.audit_log.find(AuditQuery()))
    await routes.change(desk, changed["id"], "operator", prefix="491", priority=2)
    assert len(await desk.store.audit_log.find(AuditQuery())) == entries
    with pytest.raises(AlreadyThere):
        await routes.change(desk, changed["id"], "second", prefix="44", priority=1)
    with pytest.raises(NoSuch):
        await routes.change(desk, first["id"], "second", prefix="1", priority=0)


@pytest.mark.parametrize(("text", "priority"), [("", 0), (" 7 ", 7), ("-1000000", -1_000_000)])
def test_a_priority_is_a_whole_number(text: str, priority: int) -> None:
    assert values_of(RULE, {"connector": "one", "priority": text})["priority"] == priority


@pytest.mark.parametrize(
    ("field", "text"),
    [
        *(("priority", text) for text in ("x", "1.5", "1000001", "--1", "-", "٣")),
        ("network", "2620"),
        ("network", "26201a"),
        ("sender", "*ACME"),
        ("sender", "much too long for it"),
        ("share", "-1"),
        ("fallback", "perhaps"),
    ],
)
def test_nothing_else_is_read(field: str, text: str) -> None:
    with pytest.raises(Invalid) as refused:
        values_of(RULE, {"connector": "one", field: text})
    assert refused.value.field == field


async def test_a_route_has_one_target_and_one_owner() -> None:
    desk = await opened()
    for field, rule in (
        ("network", {"prefix": "49", "network": "26201"}),
        ("plan", {"account": "acme", "plan": "gold"}),
    ):
        with pytest.raises(Invalid) as refused:
            await routes.add(desk, "second", **rule)
        assert refused.value.field == field
    with pytest.raises(NoSuch):
        await routes.add(desk, "second", account="nobody")


async def test_a_route_says_how_it_stands_among_routes_that_match_equally_well() -> None:
    desk = await opened()
    await connectors.add(desk, "third", **SETTINGS)
    assert (await routes.add(desk, "operator", prefix="49", priority=5))["note"] == ""
    for rule in ({"prefix": "491"}, {"prefix": "49", "account": "acme"}, {"prefix": "49", "sender": "ACME"}):
        assert (await routes.add(desk, "second", **rule))["note"] == ""
    shared = await routes.add(desk, "second", prefix="49", priority=5)
    assert shared["note"] == (
        "It shares the prefix 49 with operator; for failover, give the routes different priorities."
    )
    first = await routes.add(desk, "third", prefix="49", priority=7)
    assert first["note"] == "By its priority it comes before operator, second."
    await routes.remove(desk, first["id"])
    assert (await routes.add(desk, "third", prefix="49"))["note"] == "By its priority it comes after operator, second."
    assert (await routes.add(desk, "third", prefix="49", priority=5))["note"] == (
        "third now has routes for the prefix 49 with the priorities 0, 5: only that with priority 5 counts. "
        "It shares the prefix 49 with operator, second; for failover, give the routes different priorities."
    )
    assert (await routes.add(desk, "third", prefix="49", priority=4))["note"] == (
        "third now has routes for the prefix 49 with the priorities 0, 4, 5: only that with priority 5 counts."
    )


async def test_a_route_without_a_share_shares_nothing() -> None:
    desk = await opened()
    await routes.add(desk, "second", network="26201", share=0)
    assert (await routes.add(desk, "operator", network="26201", share=3))["note"] == ""


async def test_an_edited_route_says_how_it_stands_too() -> None:
    desk = await opened()
    await routes.add(desk, "second", priority=1)
    (old,) = [each for each in await routes.find(desk) if each["connector"] == "operator"]
    assert await routes.change(desk, old["id"], "operator", prefix="", priority=1) == (
        "It shares all numbers with second; for failover, give the routes different priorities."
    )
    (now,) = [each for each in await routes.find(desk) if each["connector"] == "operator"]
    assert await routes.change(desk, now["id"], "operator", prefix="", priority=0) == (
        "By its priority it comes after second."
    )


async def test_many_connectors_are_not_all_named() -> None:
    desk = await opened()
    for number in range(9):
        await connectors.add(desk, f"op{number}", **SETTINGS)
        await routes.add(desk, f"op{number}", prefix="49")
    assert (await routes.add(desk, "operator", prefix="49"))["note"].startswith(
        "It shares the prefix 49 with op0, op1, op2, op3, op4 and 4 more; for"
    )
