"""Lists of routes, read and put in one commit; and a route in the place of another."""

import io
from typing import Any

import pytest

from heliograph.app.admin.route_table import RouteSheet, parse_priority, write
from heliograph.app.records import AuditQuery
from heliograph.app.resources import connectors, routes
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, NoSuch
from heliograph.app.resources.routes import MOST_AT_ONCE, RouteRow
from tests.support.connectors import kinds
from tests.support.gateway import open_gateway

SETTINGS: dict[str, Any] = {"host": "smsc.example.net", "port": "2775", "system_id": "acme", "password": "secret"}


async def opened() -> Desk:
    gateway = await open_gateway()
    desk = Desk(gateway.store, gateway.clock, kinds=kinds())
    await connectors.add(desk, "second", **SETTINGS)
    return desk


async def test_a_list_that_was_written_is_read_as_it_was() -> None:
    desk = await opened()
    rows = [RouteRow("49", "second", 5), RouteRow("", "second", -3), RouteRow("4917", "operator")]
    assert await routes.put(desk, rows) == 3
    assert await routes.put(desk, [*rows, RouteRow("33", "second")]) == 1
    file = io.StringIO()
    write(await routes.find(desk), file)
    sheet = RouteSheet(file.getvalue().splitlines(keepends=True), ["operator", "second"])
    assert sheet.bad == []
    assert {*rows, RouteRow("33", "second")} <= set(sheet.routes)


async def test_a_list_goes_in_whole_or_not_at_all() -> None:
    desk = await opened()
    before = await routes.find(desk)
    for rows, problem in (
        ([], Invalid),
        ([RouteRow("49", "second")] * (MOST_AT_ONCE + 1), Invalid),
        ([RouteRow("49", "second"), RouteRow("44", "nobody")], NoSuch),
    ):
        with pytest.raises(problem):
            await routes.put(desk, rows)
    assert await routes.find(desk) == before


async def test_a_route_takes_the_place_of_another() -> None:
    desk = await opened()
    first = await routes.add(desk, "49", "second", 1)
    await routes.add(desk, "44", "second", 1)
    await routes.change(desk, first["id"], "491", "operator", 2)
    shown = {(each["prefix"], each["connector"], each["priority"]) for each in await routes.find(desk)}
    assert {("491", "operator", 2), ("44", "second", 1)} <= shown
    assert ("49", "second", 1) not in shown
    (changed,) = [each for each in await routes.find(desk) if each["prefix"] == "491"]
    entries = len(await desk.store.audit_log.find(AuditQuery()))
    await routes.change(desk, changed["id"], "491", "operator", 2)
    assert len(await desk.store.audit_log.find(AuditQuery())) == entries
    with pytest.raises(AlreadyThere):
        await routes.change(desk, changed["id"], "44", "second", 1)
    with pytest.raises(NoSuch):
        await routes.change(desk, first["id"], "1", "second", 0)


@pytest.mark.parametrize(("text", "priority"), [("", 0), (" 7 ", 7), ("-1000000", -1_000_000)])
def test_a_priority_is_a_whole_number(text: str, priority: int) -> None:
    assert parse_priority(text) == priority


@pytest.mark.parametrize("text", ["x", "1.5", "1000001", "--1", "-", "٣"])
def test_nothing_else_is_a_priority(text: str) -> None:
    with pytest.raises(Invalid, match="whole number"):
        parse_priority(text)
