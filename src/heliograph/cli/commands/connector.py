"""`heliograph connector`: operator accounts, and whether they can be bound."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from heliograph.app.connector_kind import SMPP, ConnectorKind, all_settings
from heliograph.cli.command import (
    Command,
    Failure,
    Group,
    Invocation,
    as_json,
    examples,
    parse_pairs,
    print_fields,
    print_table,
    tell,
)
from heliograph.composition.connectors import ADAPTERS, KINDS
from heliograph.domain.display import harmless

if TYPE_CHECKING:
    from heliograph.app.admin.manage import ConnectorChange, Manage
    from heliograph.app.configuration import Connector
    from heliograph.app.ports import ConnectorReport
    from heliograph.app.records import BacklogCounts

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_FIELDS = {name: setting for name, setting in all_settings(KINDS).items() if name != "enabled"}

_NONE = "There is no connector yet: heliograph connector add NAME --host H --port P --system-id S"
_SIMULATED = "\nThe simulated operator of a development run is in heliograph top, and in the console."


def _field_options(function: Decorated) -> Decorated:
    decorated: Any = function
    decorated = click.option(
        "--option",
        "options",
        multiple=True,
        metavar="KEY=VALUE",
        help="An option of the operator's dialect; an empty value goes back to the default. Repeatable.",
    )(decorated)
    for name, setting in reversed(_FIELDS.items()):
        default = setting.default
        flag = "--" + name.replace("_", "-")
        if setting.type is bool:
            words = f"{setting.meaning} [{'yes' if default else 'no'}]."
            decorated = click.option(f"{flag}/--no{flag[1:]}", default=None, help=words)(decorated)
        else:
            words = setting.meaning + (f" [{setting.text(default)}]." if default is not None else ".")
            decorated = click.option(flag, metavar=setting.metavar, help=words)(decorated)
    result: Decorated = decorated
    return result


@click.group(cls=Group)
def connector() -> None:
    """Operator accounts: where to bind, as whom, and how fast."""


@connector.command(
    "add",
    epilog=examples(
        "heliograph connector add op1 --host smsc.example.net --port 2775 --system-id acme --password W",
        "heliograph connector add op2 --host 192.0.2.9 --port 3550 --system-id acme --password W \\",
        "    --window 50 --rate 100 --tls",
        'heliograph route add --prefix "" --connector op1',
    ),
)
@click.argument("name")
@click.option("--kind", type=click.Choice(list(KINDS)), default=SMPP, help=f"How it is connected [{SMPP}].")
@_field_options
@click.option("--disabled", is_flag=True, help="Do not bind yet.")
@click.pass_obj
def add(
    invocation: Invocation,
    /,
    name: str,
    kind: str,
    options: tuple[str, ...],
    disabled: bool,
    **given: str | bool | None,
) -> None:
    """Adds an operator account.

    A running gateway binds within five seconds. Numbers go there once a route says so.
    """
    texts = _texts(given)
    for secret in _secrets_needed(KINDS[kind], texts) if sys.stdin.isatty() else ():
        texts[secret] = click.prompt(secret.replace("_", " ").capitalize(), hide_input=True, err=True)
    if disabled:
        texts["enabled"] = "false"
    dialect = parse_pairs(options)
    done = f'The connector {name} is there. Route numbers to it: heliograph route add --prefix "" --connector {name}'
    body = {"name": name, "kind": kind, **_values(texts), "options": dialect}
    over = invocation.asked(lambda gateway: gateway.ask("POST", dict[str, Any], "connectors", body=body))
    if over is not None:
        _show_over(invocation, over, done)
        return
    change = invocation.manage(lambda manage: manage.add_connector(name, texts, dialect, kind))
    _show_change(invocation, change, done)


@connector.command("list")
@click.pass_obj
def list_connectors(invocation: Invocation) -> None:
    """Every connector."""
    from heliograph.admin_api import serialize
    from heliograph.composition import dev

    async def work(manage: "Manage") -> tuple[list[dict[str, Any]], bool]:
        states, now = await _links(manage)
        found = [serialize.connector(KINDS[each.kind], each, states, now) for each in await manage.connectors()]
        return found, await dev.was_last(manage)

    over = invocation.asked(lambda gateway: gateway.get(dict[str, Any], "connectors"))
    found, simulated = invocation.manage(work) if over is None else (over["connectors"], False)
    columns = ["name", "kind", *(name for name, setting in _FIELDS.items() if not setting.secret), "state"]
    invocation.show(
        as_json({"connectors": found}),
        lambda: print_table(
            [column.upper().replace("_", " ") for column in columns],
            [
                ["-" if column == "rate" and not each["rate"] else _word(each.get(column)) for column in columns]
                for each in found
            ],
            empty=_NONE + _SIMULATED * simulated,
            right=[name.upper() for name, setting in _FIELDS.items() if setting.type in (int, float)],
        ),
    )


@connector.command("show")
@click.argument("name")
@click.pass_obj
def show(invocation: Invocation, name: str) -> None:
    """One connector, and what the gateway last said of its links.

    With --json it has all that the gateway said, counters too.
    """
    from heliograph.admin_api import serialize
    from heliograph.cli.live.bind_states import view

    async def work(manage: "Manage") -> "tuple[Connector, list[ConnectorReport], BacklogCounts, int]":
        found = await manage.connector(name)
        states = [state for state in await manage.link_states() if state.connector == found.id]
        return found, states, await manage.backlog(), manage.now

    over = invocation.asked(lambda gateway: gateway.get(dict[str, Any], "connectors", name))
    if over is not None:
        told = [(field, _word(value)) for field, value in over.items() if field not in ("links", "warnings")]
        links = [(f"links, {each['time'][:19]}Z", each["state"].get("summary", "")) for each in over["links"]]
        invocation.show(over, lambda: print_fields([*told, *links]))
        return
    found, states, backlog, now = invocation.manage(work)
    result = as_json(serialize.connector_with_links(KINDS[found.kind], found, states, backlog, now))

    def people() -> None:
        print_fields((field, _word(value)) for field, value in result.items() if field not in ("links", "warnings"))
        for line in view(found, states, now):
            tell(line)

    invocation.show(result, people)


@connector.command(
    "set",
    epilog=examples(
        "heliograph connector set op1 --window 50 --rate 100",
        "heliograph connector set op1 window=50 enabled=false",
        "heliograph connector set op1 unknown=wait system_type=VMA rate=20",
        "heliograph connector set op1 system_type=           # back to the default",
    ),
)
@click.argument("name")
@click.argument("changes", metavar="[KEY=VALUE]...", nargs=-1)
@_field_options
@click.pass_obj
def set_fields(
    invocation: Invocation,
    /,
    name: str,
    changes: tuple[str, ...],
    options: tuple[str, ...],
    **given: str | bool | None,
) -> None:
    """Changes a connector, all or nothing.

    A running gateway binds anew where it has to.

    KEY is a setting of the connector's kind, such as host, window or enabled; any other one is an option of the
    operator's dialect, as with --option.
    """
    pairs = parse_pairs(changes)
    known = {*_FIELDS, "enabled"}
    texts = {**{key: text for key, text in pairs.items() if key in known}, **_texts(given)}
    dialect = {**{key: text for key, text in pairs.items() if key not in known}, **parse_pairs(options)}
    if not texts and not dialect:
        raise Failure("Nothing to change was named.", command=f"heliograph connector set {name} window=50")
    body: dict[str, Any] = {**_values(texts), **({"options": dialect} if dialect else {})}
    over = invocation.asked(lambda gateway: gateway.ask("PATCH", dict[str, Any], "connectors", name, body=body))
    if over is not None:
        _show_over(invocation, over, f"The connector {name} is changed.")
        return
    # Whoever runs this reads the password in the store as it is: to ask for it again would keep nobody out.
    change = invocation.manage(lambda manage: manage.set_connector(name, texts, dialect, knows_secrets=True))
    _show_change(invocation, change, f"The connector {name} is changed.")


@connector.command("remove")
@click.argument("name")
@click.pass_obj
def remove(invocation: Invocation, name: str) -> None:
    """Removes a connector and its routes.

    Messages that wait for it are routed anew."""
    invocation.manage(lambda manage: manage.remove_connector(name))
    invocation.show(
        {"name": name, "removed": True}, lambda: click.echo(f"The connector {name} and its routes are removed.")
    )


@connector.command("test", cls=Command)
@click.argument("name")
@click.pass_context
def test(context: click.Context, name: str) -> None:
    """Binds, sends enquire_link, unbinds, and says what happened.

    Exit code 1 if a step failed. Some operators allow few binds at once: a test may then fail because the gateway holds
    them.
    """
    import asyncio

    invocation = context.find_object(Invocation) or Invocation()
    over = invocation.asked(lambda gateway: gateway.ask("POST", dict[str, Any], "connectors", name, "test"))
    if over is None:
        found = invocation.manage(lambda manage: manage.connector(name))
        report = asyncio.run(ADAPTERS[found.kind].probe(found, invocation.settings()))
        steps: list[dict[str, Any]] = [{"name": step, "ok": ok, "detail": detail} for step, ok, detail in report.steps]
    else:
        steps = over["steps"]
    passed = all(step["ok"] for step in steps)

    def people() -> None:
        for step in steps:
            mark = click.style("ok  ", fg="green") if step["ok"] else click.style("FAIL", fg="red")
            click.echo(f"{mark}  {harmless(step['name'])}: {harmless(step['detail'])}")

    invocation.show({"connector": name, "ok": passed, "steps": steps}, people)
    if not passed:
        context.exit(1)


def _secrets_needed(kind: ConnectorKind, texts: dict[str, str]) -> list[str]:
    """Returns the names of the secrets that a connector of the kind needs, and that were not given."""
    return [
        name
        for name, setting in kind.settings.items()
        if setting.secret and setting.default is None and name not in texts
    ]


def _texts(given: dict[str, str | bool | None]) -> dict[str, str]:
    """Converts the given options of the command line to texts of settings."""
    told = {name: value for name, value in given.items() if value is not None}
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in told.items()}


def _values(texts: dict[str, str]) -> dict[str, Any]:
    """Converts texts of settings to the values of the admin API. Raises Failure."""
    from heliograph.app.admin.fields import parse_changes
    from heliograph.app.resources.desk import Invalid

    try:
        return parse_changes(all_settings(KINDS), texts)
    except Invalid as problem:
        raise Failure(str(problem), "Nothing was changed.") from problem


def _show_over(invocation: Invocation, told: dict[str, Any], done: str) -> None:
    """Shows a connector that a gateway elsewhere answered with."""
    for warning in told["warnings"]:
        tell(f"note: {warning}", err=True)
    invocation.show(told, lambda: click.echo(done))


def _show_change(invocation: Invocation, change: "ConnectorChange", done: str) -> None:
    from heliograph.admin_api import serialize

    for warning in change.warnings:
        tell(f"note: {warning}", err=True)
    states, now = invocation.manage(_links)
    kind = KINDS[change.connector.kind]
    result = serialize.connector(kind, change.connector, states, now, change.warnings)
    invocation.show(as_json(result), lambda: click.echo(done))


async def _links(manage: "Manage") -> "tuple[list[ConnectorReport], int]":
    return await manage.link_states(), manage.now


def _word(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name}={each}" for name, each in value.items()) or "none"
    return f"{value:g}" if isinstance(value, float) else value
