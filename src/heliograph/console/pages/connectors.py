"""Connectors: their state, and what can be done about it."""

import json
from typing import Any

from heliograph.app.admin import fields
from heliograph.app.admin.oversight import Scope
from heliograph.app.configuration import Connector
from heliograph.console.pages.overview import lines_of
from heliograph.console.visit import Mistake, Page, Problem, Reply, Visit, problem_of

SETTINGS = tuple(name for name in fields.CONNECTOR if name != "enabled")


def texts_of(connector: Connector) -> dict[str, str]:
    """The settings as the form has them; the password is not among them."""
    return {
        "host": connector.host,
        "port": str(connector.port),
        "system_id": connector.system_id,
        "password": "",
        "bind": connector.bind,
        "binds": str(connector.binds),
        "window": str(connector.window),
        "rate": f"{connector.rate:g}",
        "tls": "true" if connector.tls else "false",
    }


async def list_all(visit: Visit) -> Reply:
    return visit.page("connectors.html", **await _list(visit))


async def list_live(visit: Visit) -> Reply:
    return visit.page("connectors_live.html", **await _list(visit))


async def _list(visit: Visit) -> dict[str, Any]:
    known = {connector.name: connector for connector in await visit.administration.connectors()}
    states = {connector.name: state for connector, state in visit.services.desk.links()}
    backlog = await visit.oversight.store.standing(visit.now)
    return {"lines": await lines_of(visit, backlog), "known": known, "states": states}


async def new(visit: Visit, problem: Problem | None = None) -> Reply:
    values = {"bind": "transceiver", "binds": "1", "window": "10", "rate": "0", "tls": "false", **visit.form}
    return visit.page(
        "connector_new.html", status=200 if problem is None else 400, values=values, problem=problem,
        fields={name: fields.CONNECTOR[name] for name in SETTINGS},
    )  # fmt: skip


async def new_form(visit: Visit) -> Reply:
    return await new(visit)


async def create(visit: Visit) -> Reply:
    form = visit.form
    texts = {name: form[name].strip() for name in SETTINGS if form.get(name, "").strip()}
    try:
        change = await visit.administration.add_connector(
            form.get("name", ""), texts, _options(form.get("options", ""))
        )
    except Mistake as mistake:
        return await new(visit, problem_of(mistake))
    said = "The connector is there; it binds within five seconds. Route numbers to it next."
    return visit.go(f"/connectors/{change.connector.name}", " ".join([said, *_sentences(change.warnings)]))


def _sentences(warnings: list[str]) -> list[str]:
    return [f"Note: {warning}." for warning in warnings]


async def show(visit: Visit, problem: Problem | None = None, steps: list[tuple[str, bool, str]] | None = None) -> Reply:
    name = visit.path["name"]
    state = next((state for connector, state in visit.services.desk.links() if connector.name == name), None)
    backlog = await visit.oversight.store.standing(visit.now)
    line = next((line for line in await lines_of(visit, backlog) if line.name == name), None)
    found = next((each for each in await visit.administration.connectors() if each.name == name), None)
    if found is None:
        if state is None:
            await visit.administration.connector(name)
        return visit.page(
            "connector.html", name=name, connector=None, line=line, **_shown(visit, state, problem, steps)
        )
    texts = texts_of(found)
    if problem is not None:
        texts |= {each: visit.form[each] for each in SETTINGS if each in visit.form and each != "password"}
    routes = [route for route in await visit.administration.routes() if route.connector == name]
    others = [
        {"node": each.node, "at": each.at, "state": json.loads(each.state)}
        for each in await visit.oversight.store.link_states()
        if each.connector == found.id
    ]
    return visit.page(
        "connector.html",
        status=200 if problem is None else 400,
        name=name,
        connector=found,
        line=line,
        texts=texts,
        options="\n".join(f"{option}={_plain(value)}" for option, value in found.options.items()),
        fields={each: fields.CONNECTOR[each] for each in SETTINGS},
        routes=routes,
        nodes=others if state is None else [],
        **_shown(visit, state, problem, steps),
    )


def _shown(
    visit: Visit, state: dict[str, Any] | None, problem: Problem | None, steps: list[tuple[str, bool, str]] | None
) -> dict[str, Any]:
    return {"state": state, "problem": problem, "steps": steps, "form": visit.form}


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


async def show_page(visit: Visit) -> Reply:
    return await show(visit)


async def settings(visit: Visit) -> Reply:
    name = visit.path["name"]
    found = await visit.administration.connector(name)
    before = texts_of(found)
    texts = {
        each: visit.form[each].strip()
        for each in SETTINGS
        if each in visit.form and visit.form[each].strip() != before[each]
    }
    try:
        options = _options(visit.form.get("options", ""))
        options |= {option: "" for option in found.options if option not in options}
        same = {option: text for option, text in options.items() if text != _plain(found.options.get(option, ""))}
        if not texts and not same:
            return visit.go(f"/connectors/{name}", "Nothing was changed.")
        change = await visit.administration.set_connector(name, texts, same)
    except Mistake as mistake:
        return await show(visit, problem_of(mistake))
    said = "The settings are saved; they take effect within five seconds."
    return visit.go(f"/connectors/{name}", " ".join([said, *_sentences(change.warnings)]))


def _options(text: str) -> dict[str, str]:
    """Options of a line each, `name=value`. Raises Invalid."""
    options: dict[str, str] = {}
    for line in text.splitlines():
        if line.strip():
            name, equals, value = line.partition("=")
            if not equals:
                raise fields.Invalid("options", f"{line.strip()!r} is not name=value")
            options[name.strip()] = value.strip()
    return options


async def pause(visit: Visit) -> Reply:
    name = visit.path["name"]
    enabled = visit.form.get("enabled") == "yes"
    await visit.administration.set_connector(name, {"enabled": "true" if enabled else "false"})
    said = f"{name} binds again within five seconds." if enabled else f"{name} is paused: its messages wait."
    return visit.go(f"/connectors/{name}", said)


async def test(visit: Visit) -> Reply:
    found = await visit.administration.connector(visit.path["name"])
    probed = await visit.services.desk.probe(found)
    await visit.administration.note("connector.test", found.name, {"ok": "true" if probed.ok else "false"})
    return await show(visit, steps=probed.steps)


async def remove(visit: Visit) -> Reply:
    name = visit.path["name"]
    await visit.administration.remove_connector(name)
    return visit.go("/connectors", f"The connector {name} and its routes are removed.")


PAGES = (
    Page("GET", "/connectors", Scope.READ_CONNECTORS, list_all),
    Page("GET", "/connectors-live", Scope.READ_CONNECTORS, list_live),
    Page("GET", "/connectors-new", Scope.WRITE_CONNECTORS, new_form),
    Page("POST", "/connectors-new", Scope.WRITE_CONNECTORS, create),
    Page("GET", "/connectors/{name}", Scope.READ_CONNECTORS, show_page),
    Page("POST", "/connectors/{name}/settings", Scope.WRITE_CONNECTORS, settings),
    Page("POST", "/connectors/{name}/pause", Scope.OPERATE_CONNECTORS, pause),
    Page("POST", "/connectors/{name}/test", Scope.OPERATE_CONNECTORS, test),
    Page("POST", "/connectors/{name}/remove", Scope.WRITE_CONNECTORS, remove),
)
