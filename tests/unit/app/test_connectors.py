"""Administration of connectors against the store in memory: checks, secrets, and the audit log."""

from collections.abc import Mapping
from typing import Any

import pytest

from heliograph.adapters.smpp.kind import KIND
from heliograph.app.records import AuditQuery
from heliograph.app.resources import connectors, routes
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, NoSuch
from tests.support.cases import for_each
from tests.support.connectors import kinds
from tests.support.memory_store import MemoryStore


class StillClock:
    def now(self) -> int:
        return 1_800_000_000_000

    def monotonic(self) -> float:
        return 0.0


@pytest.fixture
def desk() -> Desk:
    return Desk(MemoryStore(), StillClock(), kinds=kinds())


BIND: dict[str, Any] = {"host": "smsc.example.net", "port": "2775", "system_id": "acme", "password": "secret"}


async def test_a_connector_is_added_changed_and_removed(desk: Desk) -> None:
    added = await connectors.add(desk, "op1", options={"system_type": "SMPP"}, **BIND, window=50, tls=True)
    assert added["warnings"] == []
    assert added["window"] == 50
    assert added["options"] == {"system_type": "SMPP"}
    assert "secret" not in repr(added)
    options = {"system_type": "", "source_ton": "5", "strict": "true"}
    assert (await connectors.change(desk, "op1", options, rate=99.5))["rate"] == 99.5
    assert KIND.options(await connectors.connector_of(desk, "op1")) == {"source_ton": 5, "strict": True}
    with pytest.raises(AlreadyThere):
        await connectors.add(desk, "op1", **BIND)
    await connectors.remove(desk, "op1")
    for call in (connectors.connector_of(desk, "op1"), connectors.change(desk, "op1"), connectors.remove(desk, "op1")):
        with pytest.raises(NoSuch, match="There is no connector op1"):
            await call


@pytest.mark.parametrize(
    ("texts", "options", "told"),
    [
        ({"host": "evil.example"}, {}, "the change of host sends"),
        ({"port": "9"}, {}, "the change of port sends"),
        ({"tls": "false"}, {}, "the change of tls sends"),
        ({"system_id": "other"}, {}, "the change of system_id sends"),
        ({}, {"hosts": "evil.example:2775"}, "the change of hosts sends"),
        ({}, {"tls_verify": ""}, "the change of tls_verify sends"),
        (
            {},
            {"ca_file": "/tmp/own.pem", "tls_server_name": "evil.example"},
            "the change of ca_file and tls_server_name sends",
        ),
    ],
)
async def test_a_password_goes_nowhere_else_unless_it_is_given_again(
    desk: Desk, texts: dict[str, str], options: dict[str, str], told: str
) -> None:
    await connectors.add(desk, "op1", options={"tls_verify": "false"}, **BIND, tls=True)
    before = await connectors.connector_of(desk, "op1")
    with pytest.raises(Invalid, match=told) as caught:
        await connectors.change(desk, "op1", options, **texts, window=5)
    assert caught.value.field == "password"
    assert await connectors.connector_of(desk, "op1") == before
    await connectors.change(desk, "op1", options, **texts, password="other")
    assert await connectors.connector_of(desk, "op1") != before
    assert (await connectors.connector_of(desk, "op1")).settings["password"] == "other"


async def test_what_does_not_move_a_password_does_not_ask_for_it(desk: Desk) -> None:
    await connectors.add(desk, "op1", options={"hosts": "b.example:2775"}, **BIND)
    same = {name: BIND[name] for name in ("host", "port", "system_id")}
    await connectors.change(desk, "op1", {"hosts": "b.example:2775"}, **same, window=5, enabled=False)
    desk.reads_secrets = True
    await connectors.change(desk, "op1", host="c.example")
    desk.reads_secrets = False
    await connectors.change(desk, "op1", password="")
    await connectors.change(desk, "op1", host="d.example")
    assert (await connectors.connector_of(desk, "op1")).settings["host"] == "d.example"


@pytest.mark.parametrize(
    ("given", "state"),
    [
        ({"enabled": False}, "off"),
        ({"enabled": "true"}, "on"),
        ({"state": "off"}, "off"),
        ({"state": "drain", "enabled": True}, "drain"),
    ],
)
async def test_enabled_is_a_word_for_a_state(desk: Desk, given: dict[str, Any], state: str) -> None:
    await connectors.add(desk, "op1", **BIND, state="drain")
    changed = await connectors.change(desk, "op1", **given)
    assert (changed["state"], changed["enabled"]) == (state, state != "off")
    entry = (await desk.store.audit_log.find(AuditQuery(limit=1)))[0]
    assert entry.details == {"state": state}


@pytest.mark.parametrize(
    ("given", "field"),
    [({"state": "up"}, "state"), ({"enabled": "maybe"}, "enabled"), ({"state": "off", "enabled": True}, "enabled")],
)
async def test_a_state_is_one_of_three(desk: Desk, given: dict[str, Any], field: str) -> None:
    await connectors.add(desk, "op1", **BIND)
    with pytest.raises(Invalid) as caught:
        await connectors.change(desk, "op1", **given)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("text", "host"),
    [("[2001:db8::1]", "2001:db8::1"), ("2001:DB8::0:1", "2001:db8::1"), ("192.0.2.1", "192.0.2.1"), ("a.b", "a.b")],
)
async def test_a_host_is_a_name_or_an_address(desk: Desk, text: str, host: str) -> None:
    assert (await connectors.add(desk, "op1", **BIND | {"host": text}))["host"] == host


@for_each(
    ("field", "text"),
    [
        ("host", ""), ("host", "a b"), ("host", "-x"), ("host", "a..b"), ("host", "x" * 254), ("host", "[a.b]"),
        ("host", "[]"), ("port", "0"), ("port", "65536"), ("port", "2775.0"), ("port", "smpp"),
        ("system_id", "x" * 16), ("system_id", "ä"),
        ("password", "a\0b"), ("bind", "receiver"), ("binds", "0"), ("window", "0"), ("window", "1001"),
        ("rate", "-1"), ("tls", "maybe"), ("colour", "red"),
    ],
)  # fmt: skip
async def test_connectors_that_cannot_be(desk: Desk, field: str, text: str) -> None:
    with pytest.raises(Invalid) as caught:
        await connectors.add(desk, "op1", **BIND | {field: text})
    assert caught.value.field == field
    assert await connectors.all_connectors(desk) == []


async def test_options_are_judged_by_who_knows_them() -> None:
    def judge(options: Mapping[str, Any]) -> list[str]:
        return [f"option {name}: there is no such option" for name in options if name != "known"]

    desk = Desk(MemoryStore(), StillClock(), kinds=kinds(judge))
    await connectors.add(desk, "op1", options={"known": "0044"}, **BIND)
    new = {"new": "1"}
    for change in (connectors.add(desk, "op2", options=new, **BIND), connectors.change(desk, "op1", new)):
        with pytest.raises(Invalid, match="options: option new: there is no such option"):
            await change
    assert [(each.name, KIND.options(each)) for each in await connectors.all_connectors(desk)] == [
        ("op1", {"known": "0044"})
    ]


@pytest.mark.parametrize("field", sorted(BIND))
async def test_a_connector_needs_all_to_bind_with(desk: Desk, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        await connectors.add(desk, "op1", **{name: text for name, text in BIND.items() if name != field})
    assert caught.value.field == field


async def test_a_long_password_is_only_doubted(desk: Desk) -> None:
    (warning,) = (await connectors.add(desk, "op1", **BIND | {"password": "ninechars"}))["warnings"]
    assert "9 characters" in warning
    assert "ninechars" not in warning


async def test_routes(desk: Desk) -> None:
    await connectors.add(desk, "op1", **BIND)
    await connectors.add(desk, "op2", **BIND)
    low = await routes.add(desk, "op1", prefix="")
    await routes.add(desk, "op1", prefix="44", priority=-5)
    high = await routes.add(desk, "op2", prefix="44", priority=5)
    found = [tuple(route.values())[1:4] for route in await routes.find(desk)]
    assert found == [("", "op1", 0), ("44", "op2", 5), ("44", "op1", -5)]
    with pytest.raises(AlreadyThere):
        await routes.add(desk, "op2", prefix="44", priority=5)
    with pytest.raises(NoSuch, match="There is no connector op3"):
        await routes.add(desk, "op3", prefix="44")
    for prefix in ("+44", "044", "4 4", "1" * 16, "٤"):
        with pytest.raises(Invalid):
            routes.PREFIX.read(prefix)
    await routes.remove(desk, high["id"])
    with pytest.raises(NoSuch):
        await routes.remove(desk, high["id"])
    await connectors.remove(desk, "op1")
    gone, route = await desk.store.audit_log.find(AuditQuery(limit=2))
    assert (gone.action, gone.details["routes"]) == ("connector.remove", "(all) priority 0, 44 priority -5")
    assert {name: gone.details.get(name, "") for name in (*BIND, "window")} == {**BIND, "window": "10", "password": ""}
    assert (route.action, route.details) == ("route.remove", {"prefix": "44", "connector": "op2", "priority": "5"})
    assert low["id"] not in [route["id"] for route in await routes.find(desk)]


async def test_failover_by_receipts_that_are_not_asked_for_is_only_doubted(desk: Desk) -> None:
    options = {"failover_receipts": "UNDELIV", "receipts": "asked"}
    (warning,) = (await connectors.add(desk, "op1", options=options, **BIND))["warnings"]
    assert "failover_receipts" in warning
