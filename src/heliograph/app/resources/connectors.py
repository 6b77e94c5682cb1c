"""Connectors: operator accounts, and the state of their binds. The kind of a connector declares its settings."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from typing import Any, Final

from heliograph.app.configuration import DRAIN, OFF, ON, Connector, Exists, Missing, Tables
from heliograph.app.connector_kind import SMPP, ConnectorKind, Setting
from heliograph.app.ports import ConnectorReport
from heliograph.app.ports.carrier_state import FRESH_MS
from heliograph.app.records import Scope
from heliograph.app.resources import routes
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, NoSuch, check_name, needed, repeated_if_outdated
from heliograph.app.resources.fields import (
    KEEP,
    Choice,
    Decimal,
    Field,
    Flag,
    Moment,
    Pairs,
    Rows,
    Text,
    Type,
    Values,
    Warnings,
    Whole,
)
from heliograph.app.routing.caps import PartsTaken, parts_taken
from heliograph.app.routing.receipt_doubts import doubt_query, find_doubts
from heliograph.app.sending.templates import warnings_of
from heliograph.app.text_values import truth, untyped, written
from heliograph.domain.calendar import month_start
from heliograph.domain.display import did_you_mean

ROUTES_NOTED: Final = 1_000
"""Routes of a removed connector that the audit log keeps."""

DAMAGED: Final = "its settings are damaged, so that it is off"
"""The warning about a connector that is not whole."""

_OPTION: Final = re.compile(r"[a-z][a-z0-9_]{0,63}").fullmatch


async def all_connectors(desk: Desk) -> list[Connector]:
    """Returns all connectors by name."""
    return sorted((await desk.store.network.tables(large=False)).connectors, key=lambda each: each.name)


async def connector_of(desk: Desk, name: str) -> Connector:
    """Returns a connector by its name. Raises NoSuch, and the store's Unavailable."""
    return _named(await desk.store.network.tables(large=False), name)


def _named(tables: Tables, name: str) -> Connector:
    for each in tables.connectors:
        if each.name == name:
            return each
    raise NoSuch("connector", name)


async def find(desk: Desk) -> dict[str, Any]:
    """Returns all connectors by name, without their secrets; and the simulated operator of a development run."""
    reports = await desk.store.network.link_states()
    rows = [_row(desk, each, reports) for each in await all_connectors(desk)]
    return {"connectors": rows, "simulated": next(iter(desk.simulated.values()), None)}


async def show(desk: Desk, name: str) -> dict[str, Any]:
    """Returns a connector with the last report of each node on its binds."""
    found = await connector_of(desk, name)
    reports = [each for each in await desk.store.network.link_states() if each.connector == found.id]
    deferred = (await desk.backlog()).deferred.get(found.id, 0)
    links = [{"time": each.at, "node": each.node, "state": asdict(each.state)} for each in reports]
    taken = await taken_by(desk, found)
    return {
        **_row(desk, found, reports),
        "warnings": await doubts_about(desk, found),
        "used_day": taken.today,
        "used_month": taken.month,
        "deferred": deferred,
        "links": links,
    }


async def doubts_about(desk: Desk, connector: Connector) -> list[str]:
    """Returns why the receipts of the connector's operator are too good to be true, in sentences."""
    query, series = doubt_query(desk.now), desk.store.series
    found = find_doubts(await series.totals(query), await series.details(query))
    return list(found.get(connector.id, {}).values())


async def taken_by(desk: Desk, connector: Connector) -> PartsTaken:
    """Returns the parts that the operator took today and this month; they lag behind by up to five seconds."""
    parts = await desk.store.measurements.parts(month_start(desk.now))
    return parts_taken(connector.id, parts, desk.now)


async def add(
    desk: Desk, name: str, kind: str = SMPP, options: Mapping[str, str] | None = None, **settings: Any
) -> dict[str, Any]:
    """Adds an operator account. `settings` are values of the settings that its kind declares, such as `host`."""
    check_name("name", name)
    settings = _with_state(settings)
    declared = desk.kinds[kind].settings
    for each, setting in declared.items():
        if setting.default is None and each not in settings:
            raise Invalid(each, "it is required for a bind")
    begun = Connector(0, name, kind, created=desk.now)
    given = {each: setting.default for each, setting in declared.items() if setting.default is not None}
    connector = _changed(desk, begun, {**given, **settings}, options or {})
    details = _told(desk.kinds[kind], settings, options or {})
    if kind != SMPP:
        details = {"kind": kind, **details}
    try:
        added = await desk.audited("connector.add", name, details).network.add_connector(connector)
    except Exists:
        raise AlreadyThere("connector", name) from None
    return await _answer(desk, added)


@repeated_if_outdated
async def change(desk: Desk, name: str, options: Mapping[str, str] | None = None, **settings: Any) -> dict[str, Any]:
    """Changes settings and options, all or none. An empty option goes back to its default.

    A change that would send the stored secret to another host, with another name or with less protection needs the
    secret again, unless the desk's actor can read secrets.
    """
    settings = _with_state(settings)
    tables = await desk.store.network.tables(large=False)
    found = _named(tables, name)
    kind = desk.kinds[found.kind]
    changed = _changed(desk, found, settings, options or {})
    for each, value in kind.values(changed).items():
        if value is None and not kind.is_whole(found):
            raise Invalid(each, "give it again: the connector's stored settings cannot be opened")
    moved = [] if desk.reads_secrets else kind.moved(found, changed)
    for secret in kind.secrets(found) if moved else ():
        if secret not in settings:
            names = " and ".join(filter(None, (", ".join(moved[:-1]), moved[-1])))
            raise Invalid(secret, f"give it again, because the change of {names} sends it to another receiver")
    try:
        audited = desk.audited("connector.set", name, _told(kind, settings, options or {}), since=tables.revision)
        await audited.network.update_connector(changed)
    except Missing:
        raise NoSuch("connector", name) from None
    return await _answer(desk, changed)


async def remove(desk: Desk, name: str) -> None:
    """Removes a connector and its routes. The audit log keeps both without secrets, so that they can be restored."""
    gone = await connector_of(desk, name)
    kind = desk.kinds[gone.kind]
    plain = {each: value for each, value in kind.values(gone).items() if not kind.settings[each].secret}
    details = _told(kind, plain, kind.options(gone))
    gone_routes = [
        f"{route['prefix'] or '(all)'} priority {route['priority']}"
        for route in await routes.find(desk, name, limit=ROUTES_NOTED + 1)
    ]
    if gone_routes:
        details["routes"] = ", ".join(gone_routes[:ROUTES_NOTED])
        details["routes"] += " and more" if len(gone_routes) > ROUTES_NOTED else ""
    try:
        await desk.audited("connector.remove", name, details).network.remove_connector(name)
    except Missing:
        raise NoSuch("connector", name) from None


async def pause(desk: Desk, name: str) -> dict[str, Any]:
    return await change(desk, name, state=OFF)


async def drain(desk: Desk, name: str) -> dict[str, Any]:
    return await change(desk, name, state=DRAIN)


async def resume(desk: Desk, name: str) -> dict[str, Any]:
    return await change(desk, name, state=ON)


async def test(desk: Desk, name: str) -> dict[str, Any]:
    """Tests a bind. Returns the steps, and whether all of them passed."""
    steps = await needed(desk.probe)(await connector_of(desk, name))
    passed = all(ok for _, ok, _ in steps)
    await desk.note("connector.test", name, {"ok": written(passed)})
    return {"ok": passed, "steps": [{"name": step, "ok": ok, "detail": detail} for step, ok, detail in steps]}


async def template_warnings(desk: Desk, connector: Connector) -> list[str]:
    """Returns sentences about missing templates that block messages of a connector with `templates=required`."""
    policy = desk.kinds[connector.kind].policy(connector)
    if not policy.needs_templates:
        return []
    return warnings_of((await desk.store.network.tables(large=False)).templates, policy.tlvs)


def bind_state_of(connector: Connector, reports: Iterable[ConnectorReport], now: int) -> str:
    """Returns the state of a connector's binds over all nodes with recent reports, for example `1 of 2 bound`."""
    states = [each.state for each in reports if each.connector == connector.id and now - each.at < FRESH_MS]
    if not connector.enabled:
        return "disabled"
    if not states:
        return "no gateway"
    bound = sum(state.bound for state in states)
    binds = sum(len(state.binds) for state in states)
    if bound:
        words = "bound" if bound == binds else f"{bound} of {binds} bound"
        silent = sum(state.silent for state in states)
        if silent == binds:
            return "silent"
        return f"{words}, {silent} silent" if silent else words
    return "wrong credentials" if any(state.credentials_refused for state in states) else "not bound"


def parse_option(name: str, text: str) -> bool | int | float | str | None:
    """Parses a connector's option: true, false, a number, or else text; None (remove it) if empty.

    Digits that a number would not give back as they were written stay text, such as the address range `0044`. Raises
    Invalid.
    """
    if _OPTION(name) is None:
        raise Invalid(f"option.{name}", "a name of an option has only a-z, 0-9 and _, and begins with a letter")
    return untyped(text) if text else None


async def _answer(desk: Desk, connector: Connector) -> dict[str, Any]:
    """Returns the row of a connector that was changed, with warnings."""
    warnings = desk.kinds[connector.kind].warnings(connector) + await template_warnings(desk, connector)
    return {**_row(desk, connector, await desk.store.network.link_states()), "warnings": warnings}


def _row(desk: Desk, connector: Connector, reports: Iterable[ConnectorReport]) -> dict[str, Any]:
    kind = desk.kinds[connector.kind]
    return {
        "name": connector.name,
        "kind": connector.kind,
        **{name: value for name, value in kind.values(connector).items() if not kind.settings[name].secret},
        "enabled": connector.enabled,
        "options": kind.options(connector),
        "created": connector.created,
        "bind_state": bind_state_of(connector, reports, desk.now),
        "warnings": [] if kind.is_whole(connector) else [DAMAGED],
    }


def _with_state(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings with the state that `enabled` means: true is `on`, false is `off`. Raises Invalid."""
    read = dict(settings)
    given = read.pop("enabled", None)
    if given is None:
        return read
    try:
        enabled = truth(written(given))
    except ValueError as problem:
        raise Invalid("enabled", str(problem)) from None
    if (read.setdefault("state", ON if enabled else OFF) != OFF) != enabled:
        raise Invalid("enabled", f"it contradicts the state {read['state']}; give one of them")
    return read


def _changed(desk: Desk, connector: Connector, settings: Mapping[str, Any], options: Mapping[str, str]) -> Connector:
    """Returns the connector with these settings and options. Raises Invalid."""
    kind = desk.kinds[connector.kind]
    values: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in kind.settings:
            raise Invalid(name, f"there is no such field{did_you_mean(name, kind.settings, or_list=True)}")
        try:
            values[name] = kind.settings[name].parse(written(value))
        except ValueError as problem:
            raise Invalid(name, str(problem)) from None
    merged = dict(kind.options(connector))
    for name, text in options.items():
        option = parse_option(name, text)
        if option is None:
            merged.pop(name, None)
        else:
            merged[name] = option
    problems = kind.problems(merged)
    if problems:
        raise Invalid("options", "; ".join(problems))
    return replace(connector, **kind.changed(connector, values, merged))


def _told(kind: ConnectorKind, settings: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, str]:
    """Returns settings and options as the audit log may have them: without the values of secrets."""
    secrets = {name for name in {**settings, **options} if "password" in name}
    secrets |= {name for name, setting in kind.settings.items() if setting.secret}
    return {name: "(changed)" if name in secrets else written(value) for name, value in {**settings, **options}.items()}


# --- the description

_NAME = Field(
    "name", Text(pattern="[A-Za-z0-9._-]{1,64}"), "1 to 64 letters A-Z, a-z, digits and . _ -", example="second"
)
_ENABLED = Field("enabled", Flag("disabled"), "Old name of the state: true is `on`, false is `off`.", KEEP)
_LINK = (
    Field("time", Moment(), "Time of the report."),
    Field("node", Whole(), "The node that reported."),
    Field("state", Values(), "The state of the binds; `summary` has it as a sentence."),
)
_STEP = (
    Field("name", Text(), "The step, for example `bind`.", example="bind"),
    Field("ok", Flag(), "Whether it passed."),
    Field("detail", Text(), "The answer of the operator.", example="ESME_ROK"),
)


def _format_steps(_: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    steps: Sequence[Mapping[str, Any]] = answer["steps"]
    return "\n".join(f"{'ok  ' if step['ok'] else 'FAIL'}  {step['name']}: {step['detail']}" for step in steps)


_REST = (
    Operation(
        "remove",
        "DELETE /connectors/{name}",
        remove,
        "Remove a connector and its routes",
        more="Messages that wait for it are routed again, or fail and are refunded.",
        done="The connector {name} and its routes are removed.",
    ),
    Operation(
        "pause",
        "POST /connectors/{name}/pause",
        pause,
        "Pause a connector: it unbinds, and its messages wait",
        answers=Answer.ITEM,
        done="The connector {name} is paused. Its messages wait.",
        scope=Scope.OPERATE_CONNECTORS,
    ),
    Operation(
        "drain",
        "POST /connectors/{name}/drain",
        drain,
        "Drain a connector: nothing new is sent, receipts still come",
        answers=Answer.ITEM,
        more="Its binds stay up for receipts and messages from phones. Messages take the next candidate, or wait.",
        done="The connector {name} is draining. Nothing new is sent over it.",
        scope=Scope.OPERATE_CONNECTORS,
    ),
    Operation(
        "resume",
        "POST /connectors/{name}/resume",
        resume,
        "Resume a connector that is paused or draining",
        answers=Answer.ITEM,
        done="The connector {name} is on. It binds and sends within five seconds.",
        scope=Scope.OPERATE_CONNECTORS,
    ),
    Operation(
        "test",
        "POST /connectors/{name}/test",
        test,
        "Test a bind, and show each step",
        answers=(
            Field("ok", Flag(), "Whether all steps passed."),
            Field("steps", Rows(_STEP, "ProbeStep"), "The steps of the test."),
        ),
        more="The test binds, sends enquire_link, and unbinds. The command exits with 1 if a step failed. Some "
        "operators allow few binds. The test may then fail because the gateway uses them all.",
        done=_format_steps,
        verdict="ok",
        also={"connector": "name"},
        answer_name="Probe",
        scope=Scope.OPERATE_CONNECTORS,
    ),
)
"""Operations that do not depend on the kinds."""


def connectors_of(kinds: Mapping[str, ConnectorKind]) -> Resource:
    """Describes connectors of these kinds."""
    return _described(tuple(kinds.values()))


@cache
def _described(kinds: tuple[ConnectorKind, ...]) -> Resource:
    declared: dict[str, list[Setting]] = {}
    for kind in kinds:
        for name, setting in kind.settings.items():
            declared.setdefault(name, []).append(setting)
    settings = tuple(_field(name, found) for name, found in declared.items())
    plain = [
        replace(each, may_lack=len(declared[each.name]) < len(kinds))
        for each in settings
        if not declared[each.name][0].secret
    ]
    needs = " ".join(map(_needs, kinds))
    choice = Field("kind", Choice(tuple(kind.name for kind in kinds)), f"Kind of the connector. {needs}", SMPP)
    options = Field(
        "options", Pairs(), "Options of the operator's dialect, as text. An empty value goes back to the default.", KEEP
    )
    fields = (
        _NAME,
        replace(choice, meaning="Kind of the connector."),
        *plain,
        _ENABLED,
        Field("options", Values(), "Options of the operator's dialect.", empty="none"),
        Field("created", Moment(), "When it was added."),
        Field(
            "bind_state",
            Text(),
            "State of its binds: `bound`, `1 of 2 bound`, `not bound`, `wrong credentials`, `disabled`; `silent` if "
            "the operator does not answer submit_sm on any bind, `bound, 1 silent` if it answers on other binds; "
            "`no gateway` without a recent report.",
            example="bound",
        ),
        Field("warnings", Warnings(), "Possible problems, in sentences.", example="The password is sent without TLS."),
    )
    return Resource(
        name="connector",
        plural="connectors",
        summary="Accounts at operators: address, credentials, limits",
        more="",
        nothing="There is no connector yet. Add one: heliograph connector add NAME --host H --port P --system-id S",
        key=("name",),
        fields=fields,
        columns=("name", "kind", *(each.name for each in plain), "bind_state"),
        scopes=Scopes(Scope.READ_CONNECTORS, Scope.WRITE_CONNECTORS),
        operations=_operations(fields, choice, settings, options),
    )


_SIMULATED = Field(
    "simulated",
    Text(),
    "The simulated operator of a development run, which takes numbers without a route; null: there is none.",
    nullable=True,
    title="The simulated operator of the development run takes all numbers without a route",
    example="simulator",
)


def _operations(
    fields: tuple[Field, ...], kind: Field, settings: tuple[Field, ...], options: Field
) -> tuple[Operation, ...]:
    with_links = (
        *fields,
        Field("used_day", Whole(), "Parts that the operator took today, in UTC. They count for `max_day`."),
        Field("used_month", Whole(), "Parts that the operator took this month, in UTC. They count for `max_month`."),
        Field("deferred", Whole(), "Messages that wait for another try, because the operator refused them for now."),
        Field("links", Rows(_LINK, "Link"), "The last report of each node on its binds."),
    )
    return (
        Operation(
            "add",
            "POST /connectors",
            add,
            "Add a connector",
            answers=Answer.ITEM,
            reads=(_NAME, kind, *settings, _ENABLED, options),
            arguments=("name",),
            more="A running gateway binds within five seconds. The connector gets messages when a route names it.",
            examples=(
                "connector add op1 --host smsc.example.net --port 2775 --system-id acme --password W",
                "connector add op2 --host 192.0.2.9 --port 3550 --system-id acme --password W --window 50 --tls",
            ),
            done="The connector {name} is added. Route numbers to it: "
            'heliograph route add --prefix "" --connector {name}',
            status=201,
            conflicts=True,
        ),
        Operation("list", "GET /connectors", find, "All connectors", answers=Answer.EACH, beside=(_SIMULATED,)),
        Operation(
            "show",
            "GET /connectors/{name}",
            show,
            "A connector with the state of its binds",
            answers=with_links,
            id="get_connector",
            answer_name="ConnectorWithLinks",
            is_found=True,
        ),
        _set(settings, options),
        *_REST,
    )


def _set(settings: tuple[Field, ...], options: Field) -> Operation:
    return Operation(
        "set",
        "PATCH /connectors/{name}",
        change,
        "Change settings and options of a connector, all or none",
        answers=Answer.ITEM,
        reads=(*settings, _ENABLED, options),
        pairs=True,
        rest="options",
        more="A running gateway binds again if the change needs it.\n\nKEY is a setting of the connector's kind, "
        "for example host, window or state. Any other KEY is an option of the operator's dialect.",
        examples=(
            "connector set op1 --window 50 --rate 100",
            "connector set op1 window=50 state=drain",
            "connector set op1 unknown=wait system_type=VMA rate=20",
            "connector set op1 system_type=           # back to the default",
        ),
        done="The connector {name} is changed.",
        read_name="ConnectorSettings",
    )


def _needs(kind: ConnectorKind) -> str:
    names = [f"`{name}`" for name, setting in kind.settings.items() if setting.default is None]
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f"The kind `{kind.name}`{' (default)' if kind.name == SMPP else ''} needs {listed}."


def _field(name: str, declared: Sequence[Setting]) -> Field:
    """Returns the field of a setting. If several kinds have the setting, the connector's kind checks its limits."""
    setting = declared[0]
    default = "" if setting.default is None else f" [{_type(name, declared).text(setting.default)}]"
    return Field(
        name, _type(name, declared), f"{setting.meaning}{default}.", KEEP, title=setting.title,
        example=setting.example or setting.suggestion,
    )  # fmt: skip


def _type(name: str, declared: Sequence[Setting]) -> Type:
    setting = declared[0]
    if setting.type is bool:
        return Flag(f"no-{name}")
    if setting.choices:
        return Choice(tuple(dict.fromkeys(word for each in declared for word in each.choices)))
    if setting.type is int:
        return Whole(min(int(each.least or 0) for each in declared), max(int(each.most or 0) for each in declared))
    if setting.type is float:
        return Decimal(max(each.most or 0.0 for each in declared))
    return Text(setting.parse if len(declared) == 1 else str)
