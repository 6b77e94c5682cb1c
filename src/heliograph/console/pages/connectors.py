"""Connectors: their state, and the actions on them."""

import json
import re
from collections.abc import Mapping
from itertools import groupby
from typing import Any, Final

from heliograph.app.configuration import DRAIN, OFF, ON, Connector
from heliograph.app.connector_kind import SMPP, ConnectorKind, Setting
from heliograph.app.ports import CarrierState
from heliograph.app.records import Scope
from heliograph.app.resources import connectors, routes
from heliograph.app.resources.attention import ConnectorLine, connector_lines
from heliograph.app.resources.desk import Invalid, NoSuch
from heliograph.app.text_values import written
from heliograph.console.pages.reports import connector_figures
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, problem_of

OPTION = "option."
"""Beginning of the name of an option's field."""


ROUTES_SHOWN = 100
"""The most routes of a connector that its page shows."""


def form_of(kind: ConnectorKind) -> dict[str, Setting]:
    """The settings that have a field in the form, in its order."""
    return {name: setting for name, setting in kind.settings.items() if name != "state"}


def texts_of(kind: ConnectorKind, connector: Connector) -> dict[str, str]:
    """The settings as the form has them; secrets are empty."""
    values = kind.values(connector)
    return {name: "" if setting.secret else written(values[name]) for name, setting in form_of(kind).items()}


def _options_of(kind: ConnectorKind, connector: Connector) -> dict[str, str]:
    return {name: written(value) for name, value in kind.options(connector).items()}


async def list_all(request: PageRequest) -> PageResponse:
    known = {connector.name: connector for connector in await connectors.all_connectors(request.desk)}
    return request.page(
        "connectors_live.html" if request.here.endswith("-live") else "connectors.html",
        lines=await connector_lines(request.desk, await request.desk.backlog()),
        known=known,
        states={connector.name: state for connector, state in request.desk.carrier_states()},
        where={name: _where(connector, request.desk.kinds) for name, connector in known.items()},
    )


def _where(connector: Connector, kinds: Mapping[str, ConnectorKind]) -> str:
    kind = kinds[connector.kind]
    if not kind.is_whole(connector):
        return "its settings are damaged"
    host, port = kind.address(connector)
    by = f"{kind.title}, " if len(kinds) > 1 else ""
    return f"{by}{host}:{port} as {connector.settings[kind.identity]}"


async def new(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    kind = _kind_of_form(request)
    form = form_of(kind)
    begins = {
        name: setting.suggestion if setting.default is None else written(setting.default)
        for name, setting in form.items()
    }
    return request.page(
        "connector_new.html",
        status=200 if problem is None else 400,
        values=begins | dict(request.form),
        problem=problem,
        fields=form,
        kind=kind,
        kinds=request.desk.kinds,
        **_shown_options(request, kind, {}, problem),
    )


def _kind_of_form(request: PageRequest) -> ConnectorKind:
    """Returns the kind of the connector that is to be added: `kind` of the form or the address, else SMPP."""
    kinds = request.desk.kinds
    return kinds.get(request.form.get("kind") or request.query.get("kind", ""), kinds[SMPP])


async def create(request: PageRequest) -> PageResponse:
    kind = _kind_of_form(request)
    texts = {name: text for name in form_of(kind) if (text := request.form.get(name, "").strip())}
    try:
        options = {name: text for name, text in _options(request, kind).items() if text}
        added = await connectors.add(request.desk, request.form.get("name", ""), kind.name, options, **texts)
    except Mistake as mistake:
        return await new(request, _problem_of(mistake, kind))
    said = "The connector is there; it binds within five seconds. Route numbers to it next."
    return request.go(f"/connectors/{added['name']}", _with_notes(said, added))


def _with_notes(said: str, row: Mapping[str, Any]) -> str:
    return " ".join([said, *(f"Note: {warning}." for warning in row["warnings"])])


async def show(
    request: PageRequest, problem: FormProblem | None = None, steps: list[dict[str, Any]] | None = None
) -> PageResponse:
    name = request.path["name"]
    state = _state(request, name)
    shown: dict[str, Any] = {"connector": None}
    try:
        shown = await _connector(request, await connectors.connector_of(request.desk, name), problem)
    except NoSuch:
        if state is None:
            raise
    return request.page(
        "connector.html",
        status=200 if problem is None else 400,
        name=name,
        line=await _line(request, name),
        figures=await connector_figures(request, name),
        state=state,
        problem=problem,
        steps=steps,
        **shown,
    )


async def live(request: PageRequest) -> PageResponse:
    """The badge (`part=badge`) or the binds, for a page that fetches them while the connector is started."""
    name = request.path["name"]
    line = await _line(request, name)
    if line is None:
        raise NoSuch("connector", name)
    found = next((each for each in await connectors.all_connectors(request.desk) if each.name == name), None)
    reports = await request.desk.store.network.link_states()
    return request.page(
        "connector_live.html",
        part=request.query.get("part", ""),
        line=line,
        state=_state(request, name),
        nodes=[each for each in reports if found is not None and each.connector == found.id],
    )


def _state(request: PageRequest, name: str) -> CarrierState | None:
    return next((state for connector, state in request.desk.carrier_states() if connector.name == name), None)


async def _line(request: PageRequest, name: str) -> ConnectorLine | None:
    lines = await connector_lines(request.desk, await request.desk.backlog())
    return next((line for line in lines if line.name == name), None)


async def _connector(request: PageRequest, found: Connector, problem: FormProblem | None) -> dict[str, Any]:
    """Returns the values of the page that the simulated operator of a development run lacks."""
    kind = request.desk.kinds[found.kind]
    texts, form = texts_of(kind, found), form_of(kind)
    options = {OPTION + name: text for name, text in _options_of(kind, found).items()}
    had = request.form.get("had") or json.dumps({**texts, **options})
    if problem is not None:
        texts |= {each: request.form[each] for each in form if each in request.form and not form[each].secret}
    reports = await request.desk.store.network.link_states()
    return {
        "connector": found,
        "texts": texts,
        "had": had,
        "kind": kind,
        "fields": form,
        "taken": await connectors.taken_by(request.desk, found),
        "doubts": await connectors.doubts_about(request.desk, found),
        "routes": await routes.find(request.desk, found.name, limit=ROUTES_SHOWN),
        "nodes": [each for each in reports if each.connector == found.id],
        **_shown_options(request, kind, kind.options(found), problem),
    }


async def settings(request: PageRequest) -> PageResponse:
    name = request.path["name"]
    found = await connectors.connector_of(request.desk, name)
    kind = request.desk.kinds[found.kind]
    had, texts = _options_of(kind, found), request.changed(texts_of(kind, found))
    if began := request.had:
        had = {each.removeprefix(OPTION): text for each, text in began.items() if each.startswith(OPTION)}
    try:
        options = _options(request, kind)
        options |= {option: "" for option in had if option not in options}
        other = {option: text for option, text in options.items() if text != had.get(option, "")}
        if not texts and not other:
            return request.go(f"/connectors/{name}", "Nothing was changed.")
        changed = await connectors.change(request.desk, name, other, **texts)
    except Mistake as mistake:
        return await show(request, _problem_of(mistake, kind))
    said = "The settings are saved; they take effect within five seconds."
    return request.go(f"/connectors/{name}", _with_notes(said, changed))


def _options(request: PageRequest, kind: ConnectorKind) -> dict[str, str]:
    """Options out of their own fields, and others of a line each, `name=value`. Raises Invalid."""
    form = request.form
    options = {name: form[OPTION + name].strip() for name in kind.dialect if OPTION + name in form}
    for line in form.get("options", "").splitlines():
        if line.strip():
            name, equals, value = line.partition("=")
            if not equals:
                raise Invalid("options", f"{line.strip()!r} is not name=value")
            options[name.strip()] = value.strip()
    return options


def _shown_options(
    request: PageRequest, kind: ConnectorKind, had: Mapping[str, Any], problem: FormProblem | None
) -> dict[str, Any]:
    """Returns the options as the form has them: options of the dialect in groups, others as lines."""
    plain = {name: written(value) for name, value in had.items()}
    shown: list[dict[str, Any]] = []
    for name, declared in kind.dialect.items():
        value = request.form.get(OPTION + name, plain.get(name, ""))
        choices = declared.choices
        if choices and value and value not in choices:  # options ignore case, and may be of another release
            value, choices = (value.lower(), choices) if value.lower() in choices else (value, (*choices, value))
        shown.append({"name": name, "value": value, "choices": choices, "declared": declared})
    groups = [(title, list(each)) for title, each in groupby(shown, key=lambda each: each["declared"].group)]
    others = "\n".join(f"{name}={text}" for name, text in plain.items() if name not in kind.dialect)
    wrong = (problem.field if problem else "").removeprefix(OPTION)
    return {"groups": groups, "wrong_option": wrong, "options": request.form.get("options", others)}


def _problem_of(mistake: Exception, kind: ConnectorKind) -> FormProblem:
    """Returns the problem; where an option with a field of its own is at fault, that field is named."""
    problem = problem_of(mistake)
    found = re.match(r"Options: option (\w+):", problem.text)
    if found is not None and found[1] in kind.dialect:
        problem.field = OPTION + found[1]
    return problem


_STATE_SAID: Final = {
    ON: "{} is on. It binds and sends within five seconds.",
    DRAIN: "{} is draining: nothing new is sent over it, and receipts still come.",
    OFF: "{} is paused: its messages take another candidate, or wait.",
}


async def set_state(request: PageRequest) -> PageResponse:
    name, state = request.path["name"], request.form.get("state", "")
    await connectors.change(request.desk, name, state=state)
    return request.go(f"/connectors/{name}", _STATE_SAID[state].format(name))


async def test(request: PageRequest) -> PageResponse:
    return await show(request, steps=(await connectors.test(request.desk, request.path["name"]))["steps"])


async def remove(request: PageRequest) -> PageResponse:
    name = request.path["name"]
    await connectors.remove(request.desk, name)
    return request.go("/connectors", f"The connector {name} and its routes are removed.")


PAGES = (
    PageRoute("GET", "/connectors", Scope.READ_CONNECTORS, list_all),
    PageRoute("GET", "/connectors-live", Scope.READ_CONNECTORS, list_all),
    PageRoute("GET", "/connectors-new", Scope.WRITE_CONNECTORS, new),
    PageRoute("POST", "/connectors-new", Scope.WRITE_CONNECTORS, create),
    PageRoute("GET", "/connectors/{name}", Scope.READ_CONNECTORS, show),
    PageRoute("GET", "/connectors/{name}/live", Scope.READ_CONNECTORS, live),
    PageRoute("POST", "/connectors/{name}/settings", Scope.WRITE_CONNECTORS, settings),
    PageRoute("POST", "/connectors/{name}/state", Scope.OPERATE_CONNECTORS, set_state),
    PageRoute("POST", "/connectors/{name}/test", Scope.OPERATE_CONNECTORS, test),
    PageRoute("POST", "/connectors/{name}/remove", Scope.WRITE_CONNECTORS, remove),
)
