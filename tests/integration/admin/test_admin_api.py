"""The admin API: what its operations do, who may, and what is refused."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from typing import Any, cast

import msgspec
import pytest

from heliograph.admin_api import drawn
from heliograph.admin_api.app import ENCODED_AT_ONCE, encoded
from heliograph.admin_api.openapi import document
from heliograph.admin_api.operation import ROOT
from heliograph.admin_api.operations import operations
from heliograph.app.configuration import Cost, MessageTemplate, TrafficHold
from heliograph.app.facts import CallbackRetry, Facts, InboundMessage, MessageEnd
from heliograph.app.ports.series import DAY_MS, SeriesCell
from heliograph.app.records import TOKEN_SCOPES
from heliograph.app.resources import messages
from heliograph.app.resources.fields import Field
from heliograph.app.resources.message_export import COLUMNS
from heliograph.composition.connectors import KINDS
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.series import Cell, CellKey, Grain
from tests.support.admin import AdminHouse, Answered, call_asgi, open_house
from tests.support.gateway import START

ALL = tuple(scope.value for scope in TOKEN_SCOPES)
NEW = {"name": "new", "credit": "10", "timezone": "Europe/Berlin", "suspended": False, "networks": ["192.0.2.0/24"]}
NO_MESSAGE = "019e2b1c5f3a70008c1de1f5a0b7c3d2"

OPERATIONS = operations(KINDS)


@pytest.fixture
async def house() -> AdminHouse:
    return await open_house()


@pytest.mark.parametrize("count", [0, 1, ENCODED_AT_ONCE, ENCODED_AT_ONCE + 1, 3 * ENCODED_AT_ONCE])
async def test_a_long_list_is_encoded_in_parts_between_which_others_are_served(count: int) -> None:
    answer: dict[str, Any] = {
        "rows": [{"number": each, "text": '",[]{}é'} for each in range(count)],
        "cursor": None,
        "more": {"a": []},
    }
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    serving = asyncio.create_task(others())
    octets = await encoded(answer)
    serving.cancel()
    assert octets == msgspec.json.encode(answer)
    assert turns >= (0 if count <= ENCODED_AT_ONCE else count // ENCODED_AT_ONCE - 1)
    assert turns > 0 or count <= ENCODED_AT_ONCE


async def test_rows_of_a_long_list_are_made_in_another_thread(house: AdminHouse, token: str) -> None:
    made: list[Any] = []

    async def in_thread(work: Callable[[], Any]) -> Any:
        made.append(await asyncio.to_thread(work))
        return made[-1]

    house.admin.desk.in_thread = in_thread
    assert (await house.ask(token, "GET", "/routes")).json in made


@pytest.fixture
async def token(house: AdminHouse) -> str:
    return await house.token(*ALL)


def fault(answered: Answered) -> tuple[int, str, str | None]:
    document = answered.json
    assert document.keys() <= {"Status", "Message", "Field"}
    assert len(document["Message"]) > 10
    return answered.status, document["Status"], document.get("Field")


async def sent(house: AdminHouse, **fields: Any) -> str:
    reply = await house.gateway.send({"to": "491701234567", "from": "Test", "content": "Hello", **fields})
    assert reply.status == 200
    message: str = reply.json["Id"]
    return message


# --- who may


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: f"{each.method} {each.path}")
async def test_every_operation_takes_its_scope_and_no_other(house: AdminHouse, operation: Any) -> None:
    path = operation.path.replace("{name}", "acme").replace("{id}", NO_MESSAGE)
    assert fault(await house.ask(None, operation.method, path))[:2] == (401, "04")
    others = [scope for scope in ALL if scope != operation.scope.value]
    answered = await house.ask(await house.token(*others), operation.method, path)
    assert fault(answered)[:2] == (403, "06")
    assert operation.scope.value in answered.json["Message"]
    allowed = await house.ask(await house.token(operation.scope.value), operation.method, path, {})
    assert allowed.status not in (401, 403, 405, 500)


async def test_a_wrong_token_is_told_how_to_sign_in(house: AdminHouse) -> None:
    answered = await house.ask("hat_wrong", "GET", "/accounts")
    assert fault(answered)[:2] == (401, "04")
    assert answered.header("www-authenticate") == 'Bearer realm="Heliograph admin"'


# --- accounts


async def test_an_account_is_opened_changed_and_topped_up(house: AdminHouse, token: str) -> None:
    made = await house.ask(token, "POST", "/accounts", NEW)
    assert made.status == 201
    assert made.json["api_key"].startswith("hk_")
    assert made.json["signing_secret"].startswith("whsec_")
    changes = {"rate": 2.5, "list_interval": None, "senders": ["ACME"], "suspended": True, "credit_limit": "5"}
    changed = (await house.ask(token, "PATCH", "/accounts/new", changes)).json
    assert {name: changed[name] for name in changes} == changes
    assert changed["timezone"] == "Europe/Berlin"
    assert changed["networks"] == ["192.0.2.0/24"]
    top_up = {"amount": "-2.5", "note": "correction"}
    answered = await house.ask(token, "POST", "/accounts/new/top-ups", top_up)
    assert (answered.status, answered.json) == (201, {"balance": "7.5"})
    entries = (await house.ask(token, "GET", "/accounts/new/ledger", query="limit=1")).json
    assert [(entry["kind"], entry["amount"], entry["note"]) for entry in entries["entries"]] == [
        ("top-up", "-2.5", "correction")
    ]
    rest = await house.ask(token, "GET", "/accounts/new/ledger", query=f"cursor={entries['cursor']}")
    assert [entry["amount"] for entry in rest.json["entries"]] == ["10"]
    assert rest.json["cursor"] is None
    listed = (await house.ask(token, "GET", "/accounts")).json["accounts"]
    assert [account["name"] for account in listed] == ["acme", "new", "other"]


async def test_secrets_and_keys_are_replaced(house: AdminHouse, token: str) -> None:
    assert (await house.ask(token, "POST", "/accounts/acme/password")).json["password"]
    assert (await house.ask(token, "POST", "/accounts/acme/smpp-password")).json["smpp_password"]
    assert (await house.ask(token, "POST", "/accounts/acme/signing-secret")).json["signing_secret"].startswith("whsec_")
    made = (await house.ask(token, "POST", "/accounts/acme/keys")).json
    keys = (await house.ask(token, "GET", "/accounts/acme/keys")).json["keys"]
    assert made["key_id"] in [key["id"] for key in keys]
    assert (await house.ask(token, "DELETE", f"/accounts/acme/keys/{made['key_id']}")).json == {"done": True}
    again = await house.ask(token, "DELETE", f"/accounts/acme/keys/{made['key_id']}")
    assert fault(again)[:2] == (404, "07")


@pytest.mark.parametrize("sent", ["body", "query"])
async def test_a_key_ends_when_the_body_or_the_query_says_so(house: AdminHouse, token: str, sent: str) -> None:
    body, query = ({"expires": "90d"}, "") if sent == "body" else (None, "expires=90d")
    made = await house.ask(token, "POST", "/accounts/acme/keys", body, query=query)
    assert (made.status, made.json["expires"][:10]) == (201, "2027-04-15")
    keys = (await house.ask(token, "GET", "/accounts/acme/keys")).json["keys"]
    assert [key["expires"] for key in keys if key["id"] == made.json["key_id"]] == [made.json["expires"]]


@pytest.mark.parametrize("body", [None, {}, {"expires": None}, {"expires": ""}])
async def test_a_key_of_which_nothing_is_said_does_not_end(house: AdminHouse, token: str, body: Any) -> None:
    made = await house.ask(token, "POST", "/accounts/acme/keys", body)
    assert (made.status, made.json["expires"]) == (201, None)


@pytest.mark.parametrize(
    ("body", "query", "field"),
    [
        ({"expires": "90d"}, "expires=30d", "expires"), ({"expires": "soon"}, "", "expires"),
        ({"expires": 90}, "", "expires"), ({"expiry": "90d"}, "", "expiry"), (None, "expire=90d", "expire"),
        (None, "expires=90d&expires=", "expires"),
    ],
)  # fmt: skip
async def test_a_key_whose_end_is_not_understood_is_not_made(
    house: AdminHouse, token: str, body: Any, query: str, field: str
) -> None:
    before = (await house.ask(token, "GET", "/accounts/acme/keys")).json
    refused = await house.ask(token, "POST", "/accounts/acme/keys", body, query=query)
    assert fault(refused) == (400, "03", field)
    assert (await house.ask(token, "GET", "/accounts/acme/keys")).json == before


BARE = [each for each in OPERATIONS if each.reads is None]


@pytest.mark.parametrize("operation", BARE, ids=lambda each: f"{each.method} {each.path}")
async def test_a_body_where_none_is_taken_is_refused_and_nothing_is_done(
    house: AdminHouse, token: str, operation: Any
) -> None:
    path = operation.path.replace("{name}", "acme").replace("{id}", NO_MESSAGE)
    audited = await house.gateway.store.audit_log.head()
    for body in (b'{"number": "491701234567"}', b"[]", b"expires=90d", b"x" * 1_100_000):
        refused = await call_asgi(
            house.api, operation.method, ROOT + path, body, headers={"authorization": f"Bearer {token}"}
        )
        assert fault(refused)[:2] == (400, "01")
        assert "takes no body" in refused.json["Message"]
    assert await house.gateway.store.audit_log.head() == audited
    for body in (b"", b"{}", b" {\n} "):
        taken = await call_asgi(
            house.api, operation.method, ROOT + path, body, headers={"authorization": f"Bearer {token}"}
        )
        assert b"takes no body" not in taken.body


async def test_a_parameter_with_a_slip_in_its_name_removes_nothing(house: AdminHouse, token: str) -> None:
    before = (await house.ask(token, "GET", "/prices")).json
    refused = await house.ask(token, "DELETE", "/prices", query="prefx=49")
    assert fault(refused) == (400, "03", "prefx")
    assert refused.json["Message"] == "There is no such parameter here; did you mean prefix?"
    refused = await house.ask(token, "DELETE", "/prices", query="q=49")
    assert "there are prefix, network, plan, since" in refused.json["Message"]
    assert (await house.ask(token, "GET", "/prices")).json == before
    assert "there are none" in (await house.ask(token, "GET", "/overview", query="limit=1")).json["Message"]


@pytest.mark.parametrize(
    ("method", "path", "body", "told"),
    [
        ("PUT", "/prices", {"prefx": "49"}, "There is no field prefx here; did you mean prefix?"),
        ("POST", "/prices/import", {"prices": [{"prefx": "49"}]}, "There is no field prefx here; did you mean prefix?"),
        ("POST", "/routes", {"x": 1}, "There is no field x here; there are "),
        ("PATCH", "/accounts/acme", {"timzone": "UTC"}, "There is no field timzone here; did you mean timezone?"),
        ("PATCH", "/connectors/operator", {"windw": 5}, "did you mean window?"),
    ],
)
async def test_a_slip_in_the_name_of_a_field_is_told(
    house: AdminHouse, token: str, method: str, path: str, body: dict[str, Any], told: str
) -> None:
    refused = await house.ask(token, method, path, body)
    assert refused.status == 400
    assert told in refused.json["Message"]


async def test_usage_is_told_by_the_hour(house: AdminHouse, token: str) -> None:
    await sent(house)
    spans = (await house.ask(token, "GET", "/accounts/acme/usage")).json["spans"]
    assert [(span["requests"], span["charged"], span["refunded"]) for span in spans] == [(1, "1", "0")]


# --- connectors, routes, prices


async def test_a_connector_is_added_changed_paused_tested_and_removed(house: AdminHouse, token: str) -> None:
    new = {"name": "op2", "host": "smsc.example", "port": 2775, "system_id": "acme", "password": "far too long"}
    added = await house.ask(token, "POST", "/connectors", {**new, "options": {"keep": "true"}})
    assert added.status == 201
    assert "password" not in added.json
    assert added.json["options"] == {"keep": True}
    assert "12 characters" in added.json["warnings"][0]
    changed = await house.ask(token, "PATCH", "/connectors/op2", {"window": 50, "rate": 12.5, "options": {"keep": ""}})
    assert (changed.json["window"], changed.json["rate"], changed.json["options"]) == (50, 12.5, {})
    moved = await house.ask(token, "PATCH", "/connectors/op2", {"host": "evil.example"})
    assert fault(moved) == (400, "03", "password")
    moved = await house.ask(token, "PATCH", "/connectors/op2", {"host": "new.example", "password": "far too long"})
    assert moved.json["host"] == "new.example"
    op2 = (await house.gateway.store.network.tables()).connectors[-1]
    await house.gateway.store.measurements.add_parts(house.desk.now - house.desk.now % DAY_MS, {op2.id: 7})
    shown = (await house.ask(token, "GET", "/connectors/op2")).json
    assert (shown["used_day"], shown["used_month"], shown["max_day"]) == (7, 7, 0)
    assert shown["warnings"] == []
    denied = Cell()
    denied.delivered, denied.denied = 400, 40
    cell = SeriesCell(Grain.HOUR, house.desk.now - house.desk.now % 3_600_000, CellKey(1, op2.id, "DE"), denied)
    await house.gateway.store.series.add([cell])
    shown = (await house.ask(token, "GET", "/connectors/op2")).json
    (warning,) = shown["warnings"]
    assert warning.startswith("customers say that 40 of the 400 messages")
    for operation, state, enabled in (("pause", "off", False), ("drain", "drain", True), ("resume", "on", True)):
        changed = (await house.ask(token, "POST", f"/connectors/op2/{operation}")).json
        assert (changed["state"], changed["enabled"]) == (state, enabled)
    probe = (await house.ask(token, "POST", "/connectors/op2/test")).json
    assert [step["ok"] for step in probe["steps"]] == [True, False]
    assert not probe["ok"]
    assert [connector.name for connector in house.probed] == ["op2"]
    assert (await house.ask(token, "GET", "/connectors/op2")).json["links"] == []
    assert (await house.ask(token, "DELETE", "/connectors/op2")).status == 200
    assert fault(await house.ask(token, "GET", "/connectors/op2"))[:2] == (404, "07")


async def test_routes_and_prices_decide_where_a_number_goes(house: AdminHouse, token: str) -> None:
    route = await house.ask(token, "POST", "/routes", {"prefix": "4917", "connector": "operator", "priority": 5})
    assert route.status == 201
    await house.ask(token, "PUT", "/prices", {"prefix": "49", "price": "0.07"})
    query = "number=491701234567&account=acme"
    decision = (await house.ask(token, "GET", "/decision", query=query)).json
    assert (decision["connector"], decision["price"]) == ("operator", "0.07")
    poor = await house.token("routes:read")
    decision = (await house.ask(poor, "GET", "/decision", query=query)).json
    amounts = [decision["price"], *(each[name] for each in decision["candidates"] for name in ("cost", "margin"))]
    assert (decision["connector"], set(amounts)) == ("operator", {None})
    for asker, amount in ((token, "0.07"), (poor, None)):
        (row,) = [
            each for each in (await house.ask(asker, "GET", "/coverage")).json["destinations"] if each["prefix"] == "49"
        ]
        assert (row["price"], row["cost"], row["best_cost"], row["margin"]) == (amount, None, None, None)
    assert "prefix 4917 with priority 5" in decision["reasons"][0]
    assert (await house.ask(token, "GET", "/prices")).json == {
        "prices": [{"plan": "default", "prefix": "49", "network": "", "price": "0.07", "inbound": "0", "since": None}],
        "built_in": "1",
    }
    price = {"prefix": "49", "price": "0.07"}
    for inbound, wanted in (({"inbound": "0.01"}, "0.01"), ({}, "0.01"), ({"inbound": "0"}, "0")):
        assert (await house.ask(token, "PUT", "/prices", price | inbound)).json["inbound"] == wanted
    assert (await house.ask(token, "DELETE", "/prices", query="prefix=49")).status == 200
    assert (await house.ask(token, "DELETE", f"/routes/{route.json['id']}")).status == 200
    decision = (await house.ask(token, "GET", "/decision", query=query)).json
    assert decision["price"] == "1"
    await house.ask(token, "POST", "/accounts/acme/suppressions", {"numbers": ["491701234567"]})
    decision = (await house.ask(token, "GET", "/decision", query=query)).json
    assert decision["connector"] is None
    assert decision["reasons"][0].startswith("The number is suppressed for acme since 20")
    await house.ask(token, "PATCH", "/accounts/acme", {"prefixes": ["44"]})
    decision = (await house.ask(token, "GET", "/decision", query=query)).json
    assert "may send only to numbers that begin with 44" in decision["reasons"][0]
    assert (await house.ask(token, "GET", "/decision", query="number=491701234567")).json["connector"] is not None
    assert fault(await house.ask(token, "DELETE", "/routes/x"))[:2] == (404, "07")
    assert fault(await house.ask(token, "GET", "/decision", query="number=12&account=acme")) == (400, "03", "number")
    assert fault(await house.ask(token, "GET", "/decision", query="account=acme")) == (400, "02", "number")


async def test_the_price_of_a_network_wins_over_that_of_a_prefix(house: AdminHouse, token: str) -> None:
    await house.ask(token, "PUT", "/prices", {"prefix": "49", "price": "0.07"})
    rows = [{"prefix": "4917", "mccmnc": "26201"}, {"prefix": "4915", "mccmnc": "26202"}]
    await house.ask(token, "POST", "/networks/import", {"networks": rows})
    set_price = await house.ask(token, "PUT", "/prices", {"network": "26201", "price": "0.08"})
    assert (set_price.json["network"], set_price.json["prefix"], set_price.json["price"]) == ("26201", "", "0.08")
    both = await house.ask(token, "PUT", "/prices", {"network": "26201", "prefix": "49", "price": "0.08"})
    assert fault(both) == (400, "03", "network")
    inbound = await house.ask(token, "PUT", "/prices", {"network": "26201", "price": "0.08", "inbound": "0.01"})
    assert fault(inbound) == (400, "03", "inbound")

    async def decided(number: str) -> tuple[str, str]:
        decision = (await house.ask(token, "GET", "/decision", query=f"number={number}&account=acme")).json
        return decision["network"], decision["price"]

    assert [await decided(number) for number in ("491701234567", "491511234567")] == [
        ("26201", "0.08"), ("26202", "0.07"),
    ]  # fmt: skip
    rows = (await house.ask(token, "GET", "/coverage")).json["destinations"]
    assert {each["prefix"]: each["price"] for each in rows} == {"": "1", "49": "0.07", "4915": "0.07", "4917": "0.08"}
    page = (await house.ask(token, "GET", "/prices", query="limit=1")).json
    assert [each["network"] for each in page["prices"]] == ["26201"]
    rest = (await house.ask(token, "GET", "/prices", query=f"limit=1&cursor={page['cursor']}")).json
    assert [each["prefix"] for each in rest["prices"]] == ["49"]
    listed = {"prices": [{"network": "26201", "price": "0.09"}, {"network": "26202", "price": "0.1"}]}
    assert (await house.ask(token, "POST", "/prices/import", listed)).json["changed"] == 1
    assert await decided("491511234567") == ("26202", "0.1")
    assert (await house.ask(token, "DELETE", "/prices", query="network=26201")).status == 200
    assert await decided("491701234567") == ("26201", "0.07")


async def test_a_list_of_prices_is_taken_whole_and_from_its_date_on(house: AdminHouse, token: str) -> None:
    await house.ask(token, "PUT", "/prices", {"prefix": "49", "price": "0.07"})
    new = [{"prefix": "49", "price": "0.08", "since": "2100-01-01"}, {"prefix": "44", "price": "0.05", "inbound": "1"}]
    tried = await house.ask(token, "POST", "/prices/import", {"prices": new, "replace": True, "dry_run": True})
    assert tried.json == {"added": 2, "changed": 0, "same": 0, "removed": 1, "note": ""}
    assert len((await house.ask(token, "GET", "/prices")).json["prices"]) == 1
    assert (await house.ask(token, "POST", "/prices/import", {"prices": new})).json["removed"] == 0
    found = (await house.ask(token, "GET", "/prices")).json["prices"]
    assert [(each["prefix"], each["price"], each["inbound"], each["since"]) for each in found] == [
        ("44", "0.05", "1", None), ("49", "0.07", "0", None), ("49", "0.08", "0", "2100-01-01T00:00:00.000Z"),
    ]  # fmt: skip
    assert (await house.ask(token, "DELETE", "/prices", query="prefix=49&since=2100-01-01")).status == 200
    past = [{"prefix": "49", "price": "0.09", "since": "2000-01-01T00:00:00Z"}]
    await house.ask(token, "POST", "/prices/import", {"prices": past})
    prices = [
        [each["price"] for each in (await house.ask(token, "GET", "/prices", query=query)).json["prices"]]
        for query in ("plan=default", "past=true")
    ]
    assert prices == [["0.05", "0.09"], ["0.05", "0.07", "0.09"]]
    for bad, field in (
        ({"price": "1", "prefix": "x"}, "prices[1].prefix"),
        ({"price": "1", "since": "2000-13-01"}, "prices[1].since"),
        ({"price": "1", "since": "9999-12-31T23:59:59-14:00"}, "prices[1].since"),
        ({"price": "-1"}, "prices[1].price"),
    ):
        assert fault(await house.ask(token, "POST", "/prices/import", {"prices": [*new[:1], bad]})) == (
            400,
            "03",
            field,
        )
    for text in ("perhaps", "yes", "0", "True"):
        assert fault(await house.ask(token, "GET", "/prices", query=f"past={text}")) == (400, "03", "past")
    assert fault(await house.ask(token, "DELETE", "/prices", query="prefix=49&since=soon")) == (400, "03", "since")


async def test_suppressions_of_an_account(house: AdminHouse, token: str) -> None:
    path, phones = "/accounts/acme/suppressions", ["447700900123", "491701234567"]
    added = await house.ask(token, "POST", path, {"numbers": [f"+{phones[1]}", phones[0], phones[0]]})
    assert (added.status, added.json) == (200, {"added": 2, "known": 1})
    listed = (await house.ask(token, "GET", path, query="limit=1")).json
    one = {"account": "acme", "number": phones[0], "since": "2027-01-15T08:00:00.000Z", "source": "api"}
    assert listed == {"suppressions": [one], "cursor": phones[0]}
    listed = (await house.ask(token, "GET", path, query=f"cursor={listed['cursor']}")).json
    assert ([each["number"] for each in listed["suppressions"]], listed["cursor"]) == ([phones[1]], None)
    assert (await house.ask(token, "GET", path, query=f"number={phones[0]}")).json["suppressions"] == [one]
    assert (await house.ask(token, "GET", path, query="number=447700900124")).json["suppressions"] == []
    assert (await house.gateway.send({"to": phones[0], "from": "Helio", "content": "x"})).fault == (403, "06", "to")
    assert (await house.ask(token, "DELETE", f"{path}/{phones[0]}")).status == 200
    assert fault(await house.ask(token, "DELETE", f"{path}/{phones[0]}"))[:2] == (404, "07")
    for numbers in ([phones[0], "x"], ["0"]):
        assert fault(await house.ask(token, "POST", path, {"numbers": numbers})) == (400, "03", "number")
    assert fault(await house.ask(token, "POST", path, {"numbers": []})) == (400, "03", "numbers")
    assert fault(await house.ask(token, "DELETE", f"{path}/x")) == (400, "03", "number")
    nobody = "/accounts/nobody/suppressions"
    assert fault(await house.ask(token, "GET", nobody))[:2] == (404, "07")
    assert fault(await house.ask(token, "POST", nobody, {"numbers": phones}))[:2] == (404, "07")
    audit = (await house.ask(token, "GET", "/audit", query="action=suppression")).json["entries"]
    assert [(each["action"], each["target"], each["details"]) for each in audit] == [
        ("suppression.remove", "acme", {"number": "447*******23"}),
        ("suppression.add", "acme", {"numbers": "3", "new": "2", "source": "api"}),
    ]


async def test_templates_of_registries(house: AdminHouse, token: str) -> None:
    code = {"name": "code", "text": "Code {#numeric#}", "sender": "HELIO", "account": "acme", "tlvs": {"entity": "1"}}
    added = await house.ask(token, "POST", "/templates", code)
    assert (added.status, added.json) == (201, code)
    assert fault(await house.ask(token, "POST", "/templates", code))[:2] == (409, "09")
    for wrong, field in (
        ({"text": "{#name#}"}, "text"),
        ({"sender": "much too long"}, "sender"),
        ({"name": "a b"}, "name"),
        ({"tlvs": {"entity": ""}}, "tlvs"),
        ({"tlvs": {"a b": "1"}}, "tlvs"),
        ({"tlvs": {f"t{n}": "1" for n in range(17)}}, "tlvs"),
    ):
        refused = await house.ask(token, "POST", "/templates", code | {"name": "new"} | wrong)
        assert fault(refused) == (400, "03", field)
    assert fault(await house.ask(token, "POST", "/templates", code | {"account": "none"}))[:2] == (404, "07")
    bill = {"name": "bill", "text": "Bill {#var#}", "sender": "", "account": "", "tlvs": {}}
    put = await house.ask(token, "PUT", "/templates", {"templates": [bill, code | {"sender": "OTHER"}]})
    assert put.json == {"added": 1, "changed": 1}
    twice = await house.ask(token, "PUT", "/templates", {"templates": [bill, bill]})
    assert fault(twice)[:2] == (400, "03")
    assert "template bill: name: bill occurs twice" in twice.json["Message"]
    unknown = await house.ask(token, "PUT", "/templates", {"templates": [bill, code | {"account": "none"}]})
    assert "template code: account: there is no account none" in unknown.json["Message"]
    code["sender"] = "OTHER"
    assert (await house.ask(token, "GET", "/templates")).json == {"templates": [bill, code]}
    assert (await house.ask(token, "GET", "/templates", query="sender=HELIO")).json == {"templates": [bill]}
    assert (await house.ask(token, "GET", "/templates", query="account=other&sender=OTHER")).json == {
        "templates": [bill]
    }
    assert (await house.ask(token, "GET", "/templates/code")).json == code
    changed = await house.ask(token, "PATCH", "/templates/code", {"tlvs": {"entity": "", "template": "2"}})
    assert changed.json == code | {"tlvs": {"template": "2"}}
    fitting = await house.ask(token, "POST", "/template-check", {"sender": "OTHER", "text": "Code 1"})
    assert fitting.json == {"fits": True, "template": changed.json, "problem": ""}
    check = {"sender": "OTHER", "text": "Code x", "account": "acme"}
    found = (await house.ask(token, "POST", "/template-check", check)).json
    assert (found["fits"], found["template"]["name"]) == (False, "code")
    assert found["problem"].startswith("It differs: at character 6 the template has {#numeric#}")
    assert (await house.ask(token, "DELETE", "/templates/code")).json == {"done": True}
    assert fault(await house.ask(token, "DELETE", "/templates/code"))[:2] == (404, "07")
    assert fault(await house.ask(token, "GET", "/templates/code"))[:2] == (404, "07")
    assert fault(await house.ask(token, "PATCH", "/templates/code", {"text": "x"}))[:2] == (404, "07")
    await house.ask(token, "DELETE", "/templates/bill")
    none = (await house.ask(token, "POST", "/template-check", check)).json
    assert none == {"fits": False, "template": None, "problem": "There is no template for the sender OTHER."}
    audit = (await house.ask(token, "GET", "/audit", query="action=template")).json["entries"]
    assert [(each["action"], each["target"]) for each in audit] == [
        ("template.remove", "bill"),
        ("template.remove", "code"),
        ("template.set", "code"),
        ("template.import", ""),
        ("template.add", "code"),
    ]
    assert audit[3]["details"] == {"new": "1", "changed": "1"}
    assert audit[4]["details"]["tlvs"] == "entity=1"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/prices/import", {"prices": [{"prefix": f"49{row}", "price": "0.05"} for row in range(501)]}),
        ("/routes/import", {"routes": [{"prefix": f"49{row}", "connector": "operator"} for row in range(501)]}),
        (
            "/costs/import",
            {"connector": "operator", "costs": [{"prefix": f"49{row}", "submitted": "0.05"} for row in range(501)]},
        ),
        ("/accounts/acme/suppressions", {"numbers": [f"4917012345{row:03}" for row in range(501)]}),
    ],
)
async def test_a_long_body_is_read_in_a_thread(
    house: AdminHouse, token: str, monkeypatch: pytest.MonkeyPatch, path: str, body: Any
) -> None:
    inside, read = False, Counter[bool]()

    async def in_thread(work: Callable[[], Any]) -> Any:
        nonlocal inside
        inside = True
        try:
            return work()
        finally:
            inside = False

    def counted(field: Field, value: Any) -> Any:
        read[inside] += 1
        return read_field(field, value)

    read_field = Field.read
    monkeypatch.setattr(Field, "read", counted)
    house.admin.desk.in_thread = in_thread
    assert (await house.ask(token, "POST", path, body)).status == 200
    assert read[True] > 500
    assert not read[False]


async def test_a_text_longer_than_any_message_is_compared_with_no_template(house: AdminHouse) -> None:
    await house.gateway.store.templates.add(MessageTemplate(0, "code", "Code {#numeric#}", "HELIO"))
    check = {"sender": "HELIO", "text": "Code 1" + "x" * 40_795}
    reader = await house.token("routes:read")
    refused = await house.ask(reader, "POST", "/template-check", check)
    assert (refused.status, refused.json["Field"]) == (400, "text")
    fitting = {**check, "text": check["text"][:-1]}
    assert (await house.ask(reader, "POST", "/template-check", fitting)).status == 200


async def test_a_connector_tells_what_its_templates_lack(house: AdminHouse, token: str) -> None:
    async def warned(**options: str) -> list[str]:
        answered = await house.ask(token, "PATCH", "/connectors/operator", {"options": options})
        assert answered.status == 200, answered.json
        found: list[str] = answered.json["warnings"]
        return found

    assert await warned() == []
    [nothing] = await warned(templates="required")
    assert "there is none: heliograph template add" in nothing
    await house.ask(token, "POST", "/templates", {"name": "code", "text": "x", "tlvs": {"entity": "1"}})
    [unset] = await warned()
    assert "do not pass, such as those of code" in unset
    assert await warned(tlvs="entity=0x1400/text") == []


async def test_a_repeated_top_up_adds_its_credit_once(house: AdminHouse, token: str) -> None:
    async def top_up(amount: str, reference: str = "", key: str = "") -> Answered:
        body = {"amount": amount} | ({"reference": reference} if reference else {})
        headers = {"Idempotency-Key": key} if key else {}
        return await house.ask(token, "POST", "/accounts/acme/top-ups", body, **headers)

    first = await top_up("250", "invoice-1")
    assert (first.status, first.json) == (201, {"balance": "1250"})
    assert (await top_up("1", key='"a-1"')).json == {"balance": "1251"}
    assert (await top_up("1", "a-1")).json == {"balance": "1251"}, "the field and the header name the same"
    again = await top_up("250", key="invoice-1")
    assert (again.status, again.json) == (201, first.json)
    assert fault(await top_up("251", "invoice-1"))[0] == 409
    assert fault(await top_up("250", "invoice-1", "invoice-2"))[::2] == (400, "reference")
    assert fault(await top_up("250", "x" * 65))[::2] == (400, "reference")
    assert await house.gateway.balance() == "1251"
    deeds = [each for each in await house.entries() if each.action == "account.top-up"]
    assert [each.details["reference"] for each in deeds] == ["invoice-1", "a-1"]


async def test_messages_of_another_account_are_taken_only_by_force(house: AdminHouse, token: str) -> None:
    async def add(account: str, **more: Any) -> Answered:
        return await house.ask(token, "POST", "/numbers", {"number": "3388", "account": account, **more})

    assert (await house.ask(token, "POST", "/accounts", {"name": "pizzeria"})).status == 201
    assert (await add("acme", keyword="burger")).status == 201
    assert (await add("pizzeria", keyword="pizza")).status == 201, "a shared number without an entry for all texts"
    assert (await add("pizzeria")).status == 201, "texts that nobody got before"
    refused = await add("acme", keyword="pasta")
    assert (refused.status, refused.json["Field"]) == (400, "number")
    assert "pizzeria" in refused.json["Message"]
    assert (await add("pizzeria", keyword="pasta")).status == 201, "its own messages"
    assert (await add("acme", keyword="salad", force=True)).status == 201
    (entry, *_) = (await house.ask(token, "GET", "/audit")).json["entries"]
    assert (entry["action"], entry["details"]["taken_from"]) == ("number.add", "pizzeria")


async def test_numbers_and_messages_from_phones(house: AdminHouse, token: str) -> None:
    added = await house.ask(token, "POST", "/numbers", {"number": "+3388", "account": "acme", "keyword": "Pizza!"})
    assert (added.status, added.json["number"], added.json["keyword"]) == (201, "3388", "pizza")
    assert (await house.ask(token, "GET", "/numbers")).json == {"numbers": [added.json]}
    again = await house.ask(token, "POST", "/numbers", {"number": "3388", "account": "acme", "keyword": "PIZZA"})
    assert fault(again)[0] == 409
    for number, account in (("33 88", "acme"), ("3388", "nobody")):
        wrong = await house.ask(token, "POST", "/numbers", {"number": number, "account": account})
        assert fault(wrong)[0] in (400, 404)
    now = house.gateway.clock.now()
    sent = [
        InboundMessage(of, 1, "491", "3388", "Hi", b"Hi", 0, now, key=first_key_at(now) + number, tail=number)
        for number, of in enumerate((0, 1), 1)
    ]
    await house.gateway.store.commits.record(Facts(inbound=sent))
    found = (await house.ask(token, "GET", "/inbound", query="limit=1")).json
    assert [message["account"] for message in found["messages"]] == ["acme"]
    found = (await house.ask(token, "GET", "/inbound", query=f"cursor={found['cursor']}")).json
    (unrouted,) = found["messages"]
    assert (unrouted["account"], unrouted["from"], unrouted["to"]) == (None, "491", "3388")
    assert (await house.ask(token, "GET", "/inbound", query="unrouted=true")).json["messages"] == [unrouted]
    assert (await house.ask(token, "GET", f"/inbound/{unrouted['id']}")).json == unrouted
    route = f"/inbound/{unrouted['id']}/route"
    routed = await house.ask(token, "POST", route, {"account": "acme"})
    assert routed.json == unrouted | {"account": "acme"}
    assert fault(await house.ask(token, "POST", route, {"account": "acme"}))[0] == 409
    assert (await house.ask(token, "DELETE", f"/numbers/{added.json['id']}")).status == 200
    assert fault(await house.ask(token, "DELETE", f"/numbers/{added.json['id']}"))[0] == 404
    assert fault(await house.ask(token, "GET", "/inbound", query="unrouted=perhaps")) == (400, "03", "unrouted")


# --- messages and callbacks


async def test_messages_are_found_and_told_in_full(house: AdminHouse, token: str) -> None:
    message = await sent(house, reference="order-1")
    other = await sent(house, to="431701234567")
    found = (await house.ask(token, "GET", "/messages")).json
    assert [each["id"] for each in found["messages"]] == [other, message]
    for query in ("number=4917", "reference=order-1", "account=acme&number=49", "status=pending&number=49"):
        found = (await house.ask(token, "GET", "/messages", query=query)).json
        assert [each["id"] for each in found["messages"]] == [message], query
    for query, known in (
        ("country=at", [other]),
        ("country=DE&sender=test&connector=operator", [message]),
        ("error=UNDELIV", []),
        ("reference=order-1&country=AT", []),
        ("reference=order-1&status=delivered", []),
        ("reference=order-1&start=2100-01-01T00:00:00Z", []),
        ("reference=order-1&end=2000-01-01T00:00:00Z", []),
        (f"text={message}&status=delivered", []),
        (f"text={message}&status=pending&start=2000-01-01T00:00:00Z", [message]),
        (f"text={message}&account=acme&status=undelivered&start=2000-01-01T00:00:00Z", []),
    ):
        found = (await house.ask(token, "GET", "/messages", query=query)).json
        assert [each["id"] for each in found["messages"]] == known, query
    assert fault(await house.ask(token, "GET", "/messages", query="connector=op9"))[0] == 404
    page = (await house.ask(token, "GET", "/messages", query="limit=1")).json
    rest = (await house.ask(token, "GET", "/messages", query=f"limit=1&cursor={page['cursor']}")).json
    assert [each["id"] for each in rest["messages"]] == [message]
    full = (await house.ask(token, "GET", f"/messages/{message}")).json
    assert (full["content"], full["account"], full["price"], full["connector"]) == ("Hello", "acme", "1", "operator")
    assert [event["event"] for event in full["history"]] == ["Accepted", "Charged"]
    assert full["now"]["connector"] == "operator"


async def test_a_long_list_is_made_beside_other_work(
    house: AdminHouse, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []

    async def in_thread(work: Callable[[], Any]) -> Any:
        threads.append(work)
        return work()

    house.admin.desk.in_thread = in_thread
    short = await house.ask(token, "GET", "/accounts")
    assert threads == []
    monkeypatch.setattr(drawn, "READ_AT_ONCE", 1)
    assert (await house.ask(token, "GET", "/accounts")).json == short.json
    assert len(threads) == 1


async def test_the_messages_of_a_reference_come_in_pages(house: AdminHouse, token: str) -> None:
    await sent(house, to=["491701234567", "491701234568", "491701234569"], reference="order-2")
    first = (await house.ask(token, "GET", "/messages", query="reference=order-2&limit=2")).json
    query = f"reference=order-2&limit=2&cursor={first['cursor']}"
    last = (await house.ask(token, "GET", "/messages", query=query)).json
    found = [each["to"] for each in first["messages"] + last["messages"]]
    assert (found, last["cursor"]) == (["491701234569", "491701234568", "491701234567"], None)
    found = (await house.ask(token, "GET", "/messages", query="reference=order-2&number=491701234568")).json["messages"]
    assert [each["to"] for each in found] == ["491701234568"]


async def test_the_route_of_a_message_tells_amounts_to_readers_of_prices_alone(house: AdminHouse) -> None:
    message = await sent(house)
    await house.gateway.store.costs.put([Cost(1, "49", "", 30_000)])
    for scopes, price, cost, margin in (
        (("messages:read", "prices:read"), "1", "0.03", "0.97"),
        (("messages:read", "routes:read"), None, None, None),
    ):
        now = (await house.ask(await house.token(*scopes), "GET", f"/messages/{message}")).json["now"]
        (candidate,) = now["candidates"]
        assert now["price"] == candidate["price"] == price
        assert (candidate["cost"], candidate["margin"]) == (cost, margin)


async def test_a_scheduled_message_is_moved_and_cancelled(house: AdminHouse, token: str) -> None:
    message = await sent(house, time="2027-02-01 10:00:00")
    moved = await house.ask(token, "POST", f"/messages/{message}/reschedule", {"time": "2027-02-02 10:00:00"})
    assert moved.status == 200
    full = (await house.ask(token, "GET", f"/messages/{message}")).json
    assert full["time"] == "2027-02-02T10:00:00.000Z"
    assert (await house.ask(token, "POST", f"/messages/{message}/cancel")).status == 200
    assert fault(await house.ask(token, "POST", f"/messages/{message}/cancel"))[:2] == (409, "09")
    assert (await house.ask(token, "GET", f"/messages/{message}")).json["status"] == "cancelled"
    assert await house.gateway.balance() == "1000"


async def test_messages_are_exported_without_a_limit(
    house: AdminHouse, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "ROWS_AT_ONCE", 2)
    wanted = [await sent(house) for _ in range(5)][::-1]
    csv = await house.ask(token, "GET", "/messages/export", query="account=acme")
    assert csv.header("content-type") == "text/csv; charset=utf-8"
    assert csv.header("content-disposition") == 'attachment; filename="messages.csv"'
    heading, *rows = csv.text.splitlines()
    assert heading == ",".join(COLUMNS)
    assert [row.split(",")[0] for row in rows] == wanted
    lines = (await house.ask(token, "GET", "/messages/export", query="format=jsonl&sender=Test")).text.splitlines()
    assert [json.loads(line)["id"] for line in lines] == wanted
    entry = (await house.entries())[-1]
    assert (entry.action, entry.details) == ("message.export", {"format": "jsonl", "sender": "Test"})
    for asked, status in (("format=xml", 400), ("account=nobody", 404), ("text=a&number=49", 400)):
        assert (await house.ask(token, "GET", "/messages/export", query=asked)).status == status
    house.admin.exports.running = house.admin.exports.most
    refused = await house.ask(token, "GET", "/messages/export")
    assert (refused.status, refused.header("retry-after")) == (503, "10")
    house.admin.exports.running -= 1
    assert (await house.ask(token, "GET", "/messages/export", query="account=nobody")).status == 404
    assert (await house.ask(token, "GET", "/messages/export")).status == 200
    assert house.admin.exports.running == house.admin.exports.most - 1


async def owed(house: AdminHouse) -> str:
    """A message whose callback was tried once, in vain."""
    message = await sent(house, **{"dlr": "yes", "dlr-url": "https://customer.example/r"})
    key = house.gateway.intake.accepted[-1].key
    now = house.gateway.clock.now()
    store = house.gateway.store
    await store.commits.record(Facts(finals=[MessageEnd(1, key, Delivery.DELIVRD, "000", now, owed=True)]))
    await store.commits.record(Facts(callback_retries=[CallbackRetry(1, key, now + 5, 1, b"x", "HTTP 500", now)]))
    return message


async def test_callbacks_are_listed_dropped_and_replayed(house: AdminHouse, token: str) -> None:
    message = await owed(house)
    listed = (await house.ask(token, "GET", "/callbacks")).json
    assert [(each["message"], each["problem"]) for each in listed["callbacks"]] == [(message, "HTTP 500")]
    hosts = (await house.ask(token, "GET", "/callbacks/hosts")).json["hosts"]
    assert [(host["host"], host["pending"]) for host in hosts] == [("customer.example", 1)]
    for account, found in (("acme", hosts), ("other", [])):
        assert (await house.ask(token, "GET", "/callbacks/hosts", query=f"account={account}")).json["hosts"] == found
    overview = (await house.ask(token, "GET", "/overview")).json
    assert overview["callbacks_pending"] == 1
    assert overview["links"] == {"operator": "It is bound."}
    assert (await house.ask(token, "POST", "/callbacks/drop", {"host": "customer.example"})).json == {"count": 1}
    assert fault(await house.ask(token, "POST", "/callbacks/drop", {"host": "customer.example"}))[:2] == (404, "07")
    ended = (await house.ask(token, "GET", "/callbacks", query="state=failed")).json["callbacks"]
    assert [each["message"] for each in ended] == [message]
    assert (await house.ask(token, "POST", f"/messages/{message}/replay-callback")).status == 200
    assert fault(await house.ask(token, "POST", f"/messages/{message}/replay-callback"))[:2] == (409, "09")
    assert (await house.ask(token, "POST", "/callbacks/drop", {"messages": [message]})).json == {"count": 1}
    assert (await house.ask(token, "POST", "/callbacks/replay", {"account": "other"})).json == {"count": 0}
    assert (await house.ask(token, "POST", "/callbacks/replay", {"account": None})).json == {"count": 1}


async def test_callbacks_of_low_balances_have_no_message(house: AdminHouse, token: str) -> None:
    changes = {"low_balance": "1000", "callback_url": "https://customer.example/hook"}
    changed = await house.ask(token, "PATCH", "/accounts/acme", changes)
    assert (changed.status, changed.json["low_balance"]) == (200, "1000")
    for amount in ("-1", "1", "-1"):
        await house.ask(token, "POST", "/accounts/acme/top-ups", {"amount": amount})
    seen, cursor = [], cast("str | None", "")
    while cursor is not None:  # pages go on behind keys below 0
        page = (await house.ask(token, "GET", "/callbacks", query=f"limit=1&cursor={cursor}")).json
        seen += [(each["message"], each["account"], each["url"]) for each in page["callbacks"]]
        cursor = page["cursor"]
    assert seen == [(None, "acme", "https://customer.example/hook")] * 2
    assert (await house.ask(token, "POST", "/callbacks/drop", {"host": "customer.example"})).status == 404
    unset = await house.ask(token, "PATCH", "/accounts/acme", {"low_balance": None})
    assert unset.json["low_balance"] is None


# --- the audit log


async def test_every_change_is_in_the_audit_log(house: AdminHouse, token: str) -> None:
    await house.ask(token, "PATCH", "/accounts/acme", {"rate": 5})
    await house.ask(token, "PATCH", "/accounts/acme", {"timezone": "Nowhere"})
    entries = (await house.ask(token, "GET", "/audit", query="action=account.")).json["entries"]
    (entry,) = entries
    assert entry["actor"].startswith("token:")
    assert (entry["action"], entry["target"], entry["details"]) == ("account.set", "acme", {"rate": "5"})
    assert entry["address"] == "192.0.2.7"


# --- what is refused


@pytest.mark.parametrize(
    ("method", "path", "body", "told"),
    [
        ("POST", "/accounts", b"{", (400, "01", None)),
        ("POST", "/accounts", b"\xff", (400, "01", None)),
        ("POST", "/accounts", b"[]", (400, "01", None)),
        ("POST", "/accounts", {"name": "x", "credit": "much"}, (400, "03", "credit")),
        ("POST", "/accounts", {"name": "no name"}, (400, "03", "name")),
        ("POST", "/accounts", {"name": "acme"}, (409, "09", None)),
        ("PATCH", "/accounts/acme", {"networks": ["x"]}, (400, "03", "networks")),
        ("PATCH", "/accounts/nobody", {"rate": 1}, (404, "07", None)),
        ("POST", "/accounts/acme/top-ups", {"amount": "0"}, (400, "03", "amount")),
        ("POST", "/connectors", {"name": "x"}, (400, "03", "host")),
        ("POST", "/connectors", {"name": "x", "port": 0}, (400, "03", "port")),
        ("POST", "/routes", {"connector": "nobody"}, (404, "07", None)),
        ("PUT", "/prices", {"price": "-1"}, (400, "03", "price")),
        ("PUT", "/prices", {"price": "1", "inbound": "-1"}, (400, "03", "inbound")),
        ("GET", "/messages/x", None, (404, "07", None)),
        ("GET", f"/messages/{NO_MESSAGE}", None, (404, "07", None)),
        ("POST", f"/messages/{NO_MESSAGE}/reschedule", {"time": "2027-02-01 10:00:00"}, (404, "07", None)),
        ("POST", "/callbacks/drop", {}, (400, "02", "messages")),
        ("POST", "/callbacks/drop", {"messages": ["x"]}, (400, "03", "messages")),
        ("POST", "/callbacks/drop", {"messages": [NO_MESSAGE], "host": "c.example"}, (400, "03", "host")),
        ("POST", "/callbacks/replay", {"account": "nobody"}, (404, "07", "account")),
        ("GET", "/nothing", None, (404, "07", None)),
        ("POST", "/accounts", b" " * (1 << 20) + b"{}", (413, "10", None)),
    ],
)
async def test_what_is_wrong_is_told(
    house: AdminHouse, token: str, method: str, path: str, body: Any, told: tuple[int, str, str | None]
) -> None:
    assert fault(await house.ask(token, method, path, body)) == told


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("/messages", "limit=0", "limit"),
        ("/messages", "limit=x", "limit"),
        ("/messages", "start=yesterday", "start"),
        ("/messages", "start=2027-13-01T00:00:00Z", "start"),
        ("/messages", "cursor=1", "cursor"),
        ("/messages", "status=lost", "status"),
        ("/messages", "number=abc", "number"),
        ("/callbacks", "state=lost", "state"),
        ("/audit", "cursor=x", "cursor"),
        ("/accounts/acme/usage", "days=400", "days"),
    ],
)
async def test_wrong_parameters_are_told(house: AdminHouse, token: str, path: str, query: str, field: str) -> None:
    assert fault(await house.ask(token, "GET", path, query=query)) == (400, "03", field)


async def test_the_query_has_to_be_text(house: AdminHouse, token: str) -> None:
    assert fault(await house.ask(token, "GET", "/messages", query="number=%ff"))[:2] == (400, "01")


@pytest.mark.parametrize(
    ("path", "query"), [("/messages", "number=%00"), ("/accounts/a\0", ""), ("/audit", "actor=a%00")]
)
async def test_nothing_has_a_nul_in_it(house: AdminHouse, token: str, path: str, query: str) -> None:
    assert fault(await house.ask(token, "GET", path, query=query))[:2] == (400, "01")


async def test_other_methods_and_media_types_are_refused(house: AdminHouse, token: str) -> None:
    answered = await house.ask(token, "PUT", "/accounts")
    assert fault(answered)[:2] == (405, "08")
    assert answered.header("allow") == "GET, HEAD, POST"
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert fault(await house.ask(token, "POST", "/accounts", b"name=x", **form))[:2] == (415, "11")


async def test_a_store_that_cannot_be_used_is_no_fault_of_ours(house: AdminHouse, token: str) -> None:
    house.gateway.store.broken = True
    answered = await house.ask(token, "GET", "/accounts")
    assert fault(answered)[:2] == (503, "13")
    assert answered.header("retry-after") == "2"


async def test_a_fault_of_ours_names_its_place_in_the_log_and_no_values(
    house: AdminHouse, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise RuntimeError("secret value")

    house.admin.desk.carrier_states = broken  # type: ignore[assignment]
    assert fault(await house.ask(token, "GET", "/overview"))[:2] == (500, "99")
    level, event, fields = house.gateway.journal.lines[-1]
    assert (level, event) == ("error", "admin.request_failed")
    assert "broken" in fields["where"]
    assert "secret value" not in str(fields)


# --- the document


async def test_the_document_is_served_to_everybody_and_tells_every_operation(house: AdminHouse) -> None:
    answered = await call_asgi(house.api, "GET", "/admin/openapi.json")
    assert answered.status == 200
    served = msgspec.json.decode(answered.body)
    assert served == msgspec.json.decode(msgspec.json.encode(document(OPERATIONS)))
    for operation in OPERATIONS:
        told = served["paths"][ROOT + operation.path][operation.method.lower()]
        assert told["security"] == [{"token": [operation.scope.value]}]
        assert str(operation.status) in told["responses"]
    names = [operation["operationId"] for path in served["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names))


async def test_the_page_shows_every_operation_and_runs_only_its_own_script(house: AdminHouse) -> None:
    answered = await call_asgi(house.api, "GET", "/admin/docs")
    assert answered.status == 200
    headers = dict(answered.headers)
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in headers["content-security-policy"]
    page = answered.body.decode()
    for operation in OPERATIONS:
        if operation.media_types:  # a file is too large to try in a page
            continue
        assert f'<section aria-labelledby="{operation.id}">' in page
        assert f'data-method="{operation.method}" data-path="{ROOT + operation.path}" data-secret="token"' in page


def test_every_reference_of_the_document_leads_somewhere() -> None:
    found = document(OPERATIONS)

    def references(part: Any) -> list[str]:
        if isinstance(part, dict):
            own = [part["$ref"]] if "$ref" in part else []
            return own + [each for value in part.values() for each in references(value)]
        if isinstance(part, list):
            return [each for value in part for each in references(value)]
        return []

    known = {f"#/components/schemas/{name}" for name in found["components"]["schemas"]}
    assert set(references(found)) <= known


async def test_registries_of_senders(house: AdminHouse, token: str) -> None:
    path = "/accounts/acme/senders"
    put = await house.ask(token, "PUT", path, {"senders": ["ACME", "News", "ACME"], "note": "asked"})
    assert (put.status, put.json) == (200, {"new": 2, "changed": 0})
    approved = await house.ask(token, "PUT", path, {"senders": ["ACME"], "state": "approved"})
    assert approved.json == {"new": 0, "changed": 1}
    for wrong, field in (({"senders": []}, "senders"), ({"senders": ["much too long for one"]}, "sender")):
        assert fault(await house.ask(token, "PUT", path, wrong)) == (400, "03", field)
    pending = (await house.ask(token, "GET", "/senders", query="account=acme&state=pending")).json["senders"]
    assert [(each["sender"], each["note"]) for each in pending] == [("News", "asked")]


async def test_what_the_pumping_guard_holds(house: AdminHouse, token: str) -> None:
    assert (await house.ask(token, "GET", "/guard")).json == {"holds": []}
    await house.gateway.store.guard.hold(TrafficHold(1, "44770", START, "a surge", is_observed=True), 0)
    (seen,) = (await house.ask(token, "GET", "/guard")).json["holds"]
    assert (seen["account"], seen["prefix"], seen["state"], seen["messages"]) == ("acme", "44770", "would hold", 0)
    await house.gateway.store.guard.hold(TrafficHold(1, "44770", START, "a surge"), 0)
    assert (await house.ask(token, "GET", "/guard")).json == {"holds": []}  # it holds no message
    asked = {"account": "acme", "prefix": "44770"}
    assert (await house.ask(token, "POST", "/guard/refund", asked)).json == {"messages": 0}
    assert (await house.ask(token, "POST", "/guard/release", asked)).json == {"messages": 0}
    for verb in ("release", "refund"):
        assert fault(await house.ask(token, "POST", f"/guard/{verb}", asked))[:2] == (404, "07")
