"""A second kind of connector, made here: each door offers its settings, and checks them by its declaration."""

import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from heliograph.adapters.smpp.kind import KIND as SMPP_KIND
from heliograph.admin_api.openapi import document
from heliograph.admin_api.operations import operations
from heliograph.app import text_values
from heliograph.app.connector_kind import SHARED, SMPP, ConnectorKind, LanePolicy, OptionField, Setting
from heliograph.app.resources.connectors import connector_of
from heliograph.cli.commands import connector as connector_module
from heliograph.cli.main import heliograph
from heliograph.composition.connectors import ADAPTERS, KINDS, ConnectorAdapter
from tests.integration.console.test_console import text_of
from tests.support.admin import AdminHouse, open_house

METHODS = ("POST", "GET")


def problems(options: Mapping[str, Any]) -> list[str]:
    return [f"option {name}: there is no such option" for name in options if name != "encoding"]


WEB = ConnectorKind(
    name="web",
    title="Web",
    settings={
        "provider": Setting("Its description", text_values.one_of("kannel", "jasmin")),
        "host": Setting("Host of the operator's API", text_values.host),
        "port": Setting("Its port", text_values.whole(1, 65_535), type=int, least=1, most=65_535, default=443),
        "method": Setting("POST or GET", text_values.one_of(*METHODS), choices=METHODS, default="POST"),
        "token": Setting("Token to sign in with", str, secret=True),
        "window": Setting("Requests at once", text_values.whole(1, 64), type=int, least=1, most=64, default=8),
        "rate": Setting("Messages a second", text_values.decimal(100.0), type=float, least=0, default=0.0),
        **SHARED,
    },
    identity="provider",
    destination=frozenset({"host", "port"}),
    problems=problems,
    warnings=lambda _: [],
    policy=lambda _: LanePolicy(),
    address=lambda connector: (connector.settings["host"], connector.settings["port"]),
    dialect={"encoding": OptionField("Character set of texts", "Texts", "UTF-8", ("UTF-8", "Latin-1"))},
)
BOTH = {SMPP: SMPP_KIND, WEB.name: WEB}
GOOD = {"name": "second", "kind": "web", "provider": "kannel", "host": "api.example.net", "token": "t"}


@pytest.fixture
async def house() -> AdminHouse:
    return await open_house(BOTH)


# --- the admin API


async def test_the_admin_api_adds_and_shows_a_connector_by_its_kind(house: AdminHouse) -> None:
    token = await house.token("connectors:read", "connectors:write")
    added = await house.ask(token, "POST", "/connectors", GOOD | {"options": {"encoding": "Latin-1"}})
    assert added.status == 201, added.text
    assert added.json.items() >= {
        "kind": "web", "provider": "kannel", "port": 443, "method": "POST", "window": 8, "rate": 0.0,
        "options": {"encoding": "Latin-1"},
    }.items()  # fmt: skip
    assert not added.json.keys() & {"token", "system_id", "bind"}
    smpp = {"name": "first", "host": "h", "port": 2775, "system_id": "s", "password": "p"}
    assert (await house.ask(token, "POST", "/connectors", smpp)).json["kind"] == "smpp"
    listed = await house.ask(token, "GET", "/connectors")
    assert {each["name"]: each["kind"] for each in listed.json["connectors"]}.items() >= {
        "first": "smpp",
        "second": "web",
    }.items()
    changed = await house.ask(token, "PATCH", "/connectors/second", {"window": 9, "method": "GET"})
    assert (changed.json["window"], changed.json["method"]) == (9, "GET")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"kind": "fax"}, "kind"),
        ({"provider": "nobody"}, "provider"),
        ({"window": 65}, "window"),
        ({"system_id": "s"}, "system_id"),
        ({"options": {"system_type": "VMA"}}, "options"),
    ],
)
async def test_the_admin_api_checks_by_the_kind(house: AdminHouse, changes: dict[str, Any], field: str) -> None:
    refused = await house.ask(await house.token("connectors:write"), "POST", "/connectors", GOOD | changes)
    assert (refused.status, refused.json["Field"]) == (400, field)
    left_out = {name: value for name, value in GOOD.items() if name != "provider"}
    missing = await house.ask(await house.token("connectors:write"), "POST", "/connectors", left_out)
    assert (missing.status, missing.json["Field"]) == (400, "provider")


def test_the_document_has_the_settings_of_every_kind() -> None:
    schemas = document(operations(BOTH))["components"]["schemas"]
    new, shown = schemas["NewConnector"], schemas["Connector"]
    assert {"provider", "system_id", "kind"} <= new["properties"].keys()
    assert "`web` needs `provider`, `host` and `token`" in new["properties"]["kind"]["description"]
    assert {"kind", "host", "port", "window"} <= set(shown["required"])
    assert not {"provider", "system_id"} & set(shown["required"])
    assert "token" not in shown["properties"]


# --- the command line


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Result]]:
    monkeypatch.setenv("HELIOGRAPH_DATA", str(tmp_path / "data"))
    with monkeypatch.context() as registered:
        registered.setitem(ADAPTERS, WEB.name, ConnectorAdapter(WEB, ADAPTERS[SMPP].carrier, ADAPTERS[SMPP].probe))
        registered.setitem(KINDS, WEB.name, WEB)
        registered.setitem(heliograph.commands, "connector", importlib.reload(connector_module).connector)
        yield lambda *arguments: CliRunner().invoke(heliograph, arguments)
    importlib.reload(connector_module)


def test_commands_take_the_settings_of_the_kind(run: Callable[..., Result]) -> None:
    words = (
        "connector add second --kind web --provider kannel --host api.example.net --token t --option encoding=Latin-1"
    )
    assert run(*words.split()).exit_code == 0
    shown = json.loads(run("connector", "show", "second", "--json").stdout)
    assert (shown["kind"], shown["provider"], shown["method"]) == ("web", "kannel", "POST")
    assert run("connector", "set", "second", "method=GET", "--window", "9").exit_code == 0
    listed = run("connector", "list").stdout
    assert ["second", "web"] in [line.split()[:2] for line in listed.splitlines()]
    wrong = run("connector", "set", "second", "system_id=s")
    assert wrong.exit_code != 0
    assert "system_id" in wrong.output
    refused = run("connector", "add", "third", "--kind", "web", "--provider", "nobody", "--host", "h", "--token", "t")
    assert refused.exit_code != 0
    assert "provider" in refused.output


# --- the console


async def test_the_console_draws_the_form_of_the_kind(house: AdminHouse) -> None:
    ada = await house.visitor()
    usual, web = await ada.get("/connectors-new"), await ada.get("/connectors-new", "kind=web")
    assert 'name="system_id"' in usual.text
    assert "/connectors-new?kind=web" in usual.text
    assert 'name="system_id"' not in web.text
    for name in ("provider", "method", "token", "option.encoding"):
        assert f'name="{name}"' in web.text
    form = {**GOOD, "port": "443", "method": "GET", "option.encoding": "Latin-1"}
    wrong = await ada.post("/connectors-new", form | {"window": "65"})
    assert wrong.status == 400
    assert 'name="provider"' in wrong.text
    page = await ada.follow(await ada.post("/connectors-new", form))
    assert 'name="provider"' in page.text
    assert '<option value="Latin-1" selected>' in page.text
    assert "Web, api.example.net:443 as kannel" in text_of(await ada.get("/connectors"))
    found = await connector_of(house.admin.desk, "second")
    assert (found.kind, found.settings["method"]) == ("web", "GET")
