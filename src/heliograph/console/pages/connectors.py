"""Connectors: their state, and what can be done about it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

from heliograph.app.configuration import Connector
from heliograph.app.connector_kind import SMPP, ConnectorKind, OptionField, Setting
from heliograph.app.ports import CarrierState
from heliograph.app.records import Scope
from heliograph.app.resources import routes
from heliograph.app.resources.desk import Invalid
from heliograph.console.pages.overview import lines_of
from heliograph.console.pages.reports import connector_figures
from heliograph.console.request import FormProblem, Mistake, PageRequest, PageResponse, PageRoute, problem_of

OPTION = "option."
"""Beginning of the name of an option's field."""


@dataclass(frozen=True, slots=True)
class ShownOption:
    """An option in the form: its field there, its text, and the texts that it may have if these are few."""

    name: str
    field: str
    value: str
    choices: tuple[str, ...]
    declared: OptionField


@dataclass(slots=True)
class OptionGroup:
    """Options below one heading; `open` where one of them is at fault."""

    title: str
    options: list[ShownOption] = dataclass_field(default_factory=list)
    open: bool = False

    @property
    def given(self) -> int:
        """Number of those that are not as by default."""
        return sum(bool(option.value) for option in self.options)


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
    manage = request.manage
    where = {name: _where(manage.kind_of(connector), connector, manage.kinds) for name, connector in known.items()}
    return {"lines": await lines_of(request, backlog), "known": known, "states": states, "where": where}


def _where(kind: ConnectorKind, connector: Connector, kinds: Mapping[str, ConnectorKind]) -> str:
    host, port = kind.address(connector)
    by = f"{kind.title}, " if len(kinds) > 1 else ""
    return f"{by}{host}:{port} as {connector.settings[kind.identity]}"


async def new(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    kind = _kind_of_form(request)
    form = form_of(kind)
    values = {
        name: setting.suggestion if setting.default is None else setting.text(setting.default)
        for name, setting in form.items()
    } | dict(request.form)
    status = 200 if problem is None else 400
    shown = _shown_options(request, kind, {}, problem)
    return request.page(
        "connector_new.html",
        status=status,
        values=values,
        problem=problem,
        fields=form,
        kind=kind,
        kinds=request.manage.kinds,
        **shown,
    )


def _kind_of_form(request: PageRequest) -> ConnectorKind:
    """Returns the kind of the connector that is to be added: `kind` of the form or the address, else SMPP."""
    kinds = request.manage.kinds
    return kinds.get(request.form.get("kind") or request.query.get("kind", ""), kinds[SMPP])


async def new_form(request: PageRequest) -> PageResponse:
    return await new(request)


async def create(request: PageRequest) -> PageResponse:
    form = request.form
    kind = _kind_of_form(request)
    fields = form_of(kind)
    texts = {name: form[name].strip() for name in fields if form.get(name, "").strip()}
    try:
        options = {name: text for name, text in _options(request, kind).items() if text}
        change = await request.manage.add_connector(form.get("name", ""), texts, options, kind.name)
    except Mistake as mistake:
        return await new(request, _problem_of(mistake, kind))
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
    leading = [route for route in await routes.find(request.desk) if route["connector"] == name]
    others = [each for each in await request.manage.link_states() if each.connector == found.id]
    return request.page(
        "connector.html",
        status=200 if problem is None else 400,
        name=name,
        connector=found,
        line=line,
        figures=await connector_figures(request, name),
        texts=texts,
        kind=kind,
        **_shown_options(request, kind, kind.options(found), problem),
        fields=form,
        routes=leading,
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
        options = _options(request, kind)
        options |= {option: "" for option in had if option not in options}
        same = {option: text for option, text in options.items() if text != _plain(had.get(option, ""))}
        if not texts and not same:
            return request.go(f"/connectors/{name}", "Nothing was changed.")
        change = await request.manage.set_connector(name, texts, same)
    except Mistake as mistake:
        return await show(request, _problem_of(mistake, kind))
    said = "The settings are saved; they take effect within five seconds."
    return request.go(f"/connectors/{name}", " ".join([said, *_sentences(change.warnings)]))


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
    """Returns the options as the form has them: those of the dialect in groups, the others as lines."""
    plain = {name: _plain(value) for name, value in had.items()}
    groups: dict[str, OptionGroup] = {}
    for name, field in kind.dialect.items():
        value = request.form.get(OPTION + name, plain.get(name, ""))
        choices = field.choices
        if choices and value and value not in choices:  # an option is read in any case, and may be of another release
            value, choices = (value.lower(), choices) if value.lower() in choices else (value, (*choices, value))
        group = groups.setdefault(field.group, OptionGroup(field.group))
        group.options.append(ShownOption(name, OPTION + name, value, choices, field))
        group.open |= problem is not None and problem.field == OPTION + name
    others = "\n".join(f"{name}={text}" for name, text in plain.items() if name not in kind.dialect)
    return {"groups": list(groups.values()), "options": request.form.get("options", others)}


def _problem_of(mistake: Exception, kind: ConnectorKind) -> FormProblem:
    """Returns the problem; where an option with a field of its own is at fault, that field is named."""
    problem = problem_of(mistake)
    found = re.match(r"Options: option (\w+):", problem.text)
    if found is not None and found[1] in kind.dialect:
        problem.field = OPTION + found[1]
    return problem


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
