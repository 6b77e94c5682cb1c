"""Connectors: their state, and what can be done about it."""

from typing import Any

from heliograph.app.admin.fields import Invalid
from heliograph.app.configuration import Connector
from heliograph.app.connector_kind import SMPP, ConnectorKind, Setting
from heliograph.app.ports import CarrierState
from heliograph.app.records import Scope
from heliograph.console.pages.overview import lines_of
from heliograph.console.pages.reports import connector_figures
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, problem_of


def form_of(kind: ConnectorKind) -> dict[str, Setting]:
    """The settings that have a field in the form, in its order."""
    return {name: setting for name, setting in kind.settings.items() if name != "enabled"}


def texts_of(kind: ConnectorKind, connector: Connector) -> dict[str, str]:
    """The settings as the form has them; secrets are empty."""
    values = kind.values(connector)
    return {name: setting.text(values[name]) for name, setting in form_of(kind).items()}


async def list_all(request: PageRequest) -> PageResponse:
    return request.page("connectors.html", **await _list(request))


async def list_live(request: PageRequest) -> PageResponse:
    return request.page("connectors_live.html", **await _list(request))


async def _list(request: PageRequest) -> dict[str, Any]:
    known = {connector.name: connector for connector in await request.manage.connectors()}
    states = {connector.name: state for connector, state in request.services.admin.carrier_states()}
    backlog = await request.manage.backlog()
    where = {name: _where(request.manage.kind_of(connector), connector) for name, connector in known.items()}
    return {"lines": await lines_of(request, backlog), "known": known, "states": states, "where": where}


def _where(kind: ConnectorKind, connector: Connector) -> str:
    host, port = kind.address(connector)
    return f"{host}:{port} as {connector.settings[kind.identity]}"


async def new(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    form = form_of(request.manage.kinds[SMPP])
    values = {
        name: setting.suggestion if setting.default is None else setting.text(setting.default)
        for name, setting in form.items()
    } | dict(request.form)
    status = 200 if problem is None else 400
    return request.page("connector_new.html", status=status, values=values, problem=problem, fields=form)


async def new_form(request: PageRequest) -> PageResponse:
    return await new(request)


async def create(request: PageRequest) -> PageResponse:
    form = request.form
    fields = form_of(request.manage.kinds[SMPP])
    texts = {name: form[name].strip() for name in fields if form.get(name, "").strip()}
    try:
        change = await request.manage.add_connector(form.get("name", ""), texts, _options(form.get("options", "")))
    except Mistake as mistake:
        return await new(request, problem_of(mistake))
    said = "The connector is there; it binds within five seconds. Route numbers to it next."
    return request.go(f"/connectors/{change.connector.name}", " ".join([said, *_sentences(change.warnings)]))


def _sentences(warnings: list[str]) -> list[str]:
    return [f"Note: {warning}." for warning in warnings]


async def show(
    request: PageRequest, problem: FormProblem | None = None, steps: list[tuple[str, bool, str]] | None = None
) -> PageResponse:
    name = request.path["name"]
    state = next(
        (state for connector, state in request.services.admin.carrier_states() if connector.name == name), None
    )
    backlog = await request.manage.backlog()
    line = next((line for line in await lines_of(request, backlog) if line.name == name), None)
    found = next((each for each in await request.manage.connectors() if each.name == name), None)
    if found is None:
        if state is None:
            await request.manage.connector(name)
        return request.page(
            "connector.html",
            name=name,
            connector=None,
            line=line,
            figures=await connector_figures(request, name),
            **_shown(request, state, problem, steps),
        )
    kind = request.manage.kind_of(found)
    texts, form = texts_of(kind, found), form_of(kind)
    if problem is not None:
        texts |= {each: request.form[each] for each in form if each in request.form and not form[each].secret}
    routes = [route for route in await request.manage.routes() if route.connector == name]
    others = [each for each in await request.manage.link_states() if each.connector == found.id]
    return request.page(
        "connector.html",
        status=200 if problem is None else 400,
        name=name,
        connector=found,
        line=line,
        figures=await connector_figures(request, name),
        texts=texts,
        options="\n".join(f"{option}={_plain(value)}" for option, value in kind.options(found).items()),
        fields=form,
        routes=routes,
        nodes=others if state is None else [],
        **_shown(request, state, problem, steps),
    )


def _shown(
    request: PageRequest,
    state: CarrierState | None,
    problem: FormProblem | None,
    steps: list[tuple[str, bool, str]] | None,
) -> dict[str, Any]:
    return {"state": state, "problem": problem, "steps": steps, "form": request.form}


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


async def show_page(request: PageRequest) -> PageResponse:
    return await show(request)


async def settings(request: PageRequest) -> PageResponse:
    name = request.path["name"]
    found = await request.manage.connector(name)
    kind = request.manage.kind_of(found)
    had, texts = kind.options(found), request.changed(texts_of(kind, found))
    try:
        options = _options(request.form.get("options", ""))
        options |= {option: "" for option in had if option not in options}
        same = {option: text for option, text in options.items() if text != _plain(had.get(option, ""))}
        if not texts and not same:
            return request.go(f"/connectors/{name}", "Nothing was changed.")
        change = await request.manage.set_connector(name, texts, same)
    except Mistake as mistake:
        return await show(request, problem_of(mistake))
    said = "The settings are saved; they take effect within five seconds."
    return request.go(f"/connectors/{name}", " ".join([said, *_sentences(change.warnings)]))


def _options(text: str) -> dict[str, str]:
    """Options of a line each, `name=value`. Raises Invalid."""
    options: dict[str, str] = {}
    for line in text.splitlines():
        if line.strip():
            name, equals, value = line.partition("=")
            if not equals:
                raise Invalid("options", f"{line.strip()!r} is not name=value")
            options[name.strip()] = value.strip()
    return options


async def pause(request: PageRequest) -> PageResponse:
    name = request.path["name"]
    enabled = request.form.get("enabled") == "yes"
    await request.manage.set_connector(name, {"enabled": "true" if enabled else "false"})
    said = f"{name} binds again within five seconds." if enabled else f"{name} is paused: its messages wait."
    return request.go(f"/connectors/{name}", said)


async def test(request: PageRequest) -> PageResponse:
    found = await request.manage.connector(request.path["name"])
    probed = await request.services.admin.probe(found)
    await request.manage.note("connector.test", found.name, {"ok": "true" if probed.ok else "false"})
    return await show(request, steps=probed.steps)


async def remove(request: PageRequest) -> PageResponse:
    name = request.path["name"]
    await request.manage.remove_connector(name)
    return request.go("/connectors", f"The connector {name} and its routes are removed.")


PAGES = (
    PageRoute("GET", "/connectors", Scope.READ_CONNECTORS, list_all),
    PageRoute("GET", "/connectors-live", Scope.READ_CONNECTORS, list_live),
    PageRoute("GET", "/connectors-new", Scope.WRITE_CONNECTORS, new_form),
    PageRoute("POST", "/connectors-new", Scope.WRITE_CONNECTORS, create),
    PageRoute("GET", "/connectors/{name}", Scope.READ_CONNECTORS, show_page),
    PageRoute("POST", "/connectors/{name}/settings", Scope.WRITE_CONNECTORS, settings),
    PageRoute("POST", "/connectors/{name}/pause", Scope.OPERATE_CONNECTORS, pause),
    PageRoute("POST", "/connectors/{name}/test", Scope.OPERATE_CONNECTORS, test),
    PageRoute("POST", "/connectors/{name}/remove", Scope.WRITE_CONNECTORS, remove),
)
