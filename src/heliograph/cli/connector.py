"""`heliograph connector`: operator accounts, and whether they can be bound."""

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

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
from heliograph.domain.display import harmless

if TYPE_CHECKING:
    from heliograph.app.admin.manage import ConnectorChange, Manage
    from heliograph.app.admin.oversight import BacklogCounts
    from heliograph.app.configuration import Connector
    from heliograph.app.ports import ConnectorReport

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_FIELDS = (
    ("--host", "H", "Host name or address of the operator's SMSC."),
    ("--port", "P", "Its port, such as 2775."),
    ("--system-id", "S", "User name to bind with, up to 15 characters."),
    ("--password", "W", "Password to bind with; asked for if left out on a terminal."),
    ("--window", "N", "Unanswered submit_sm a bind, 1 to 1000 [10]."),
    ("--rate", "PER_SECOND", "Parts a second over all binds; 0 is no limit [0]."),
    ("--bind", "MODE", "transceiver, or transmitter+receiver [transceiver]."),
    ("--binds", "N", "How many binds at once [1]."),
)

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
    decorated = click.option("--tls/--no-tls", default=None, help="Bind over TLS, the certificate verified [no].")(
        decorated
    )
    for name, metavar, text in reversed(_FIELDS):
        decorated = click.option(name, metavar=metavar, help=text)(decorated)
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
@_field_options
@click.option("--disabled", is_flag=True, help="Do not bind yet.")
@click.pass_obj
def add(
    invocation: Invocation,
    /,
    name: str,
    tls: bool | None,
    options: tuple[str, ...],
    disabled: bool,
    **given: str | None,
) -> None:
    """Adds an operator account.

    A running gateway binds within five seconds. Numbers go there once a route says so.
    """
    texts = _texts(given, tls)
    if "password" not in texts and sys.stdin.isatty():
        texts["password"] = click.prompt("Password", hide_input=True, err=True)
    if disabled:
        texts["enabled"] = "false"
    change = invocation.manage(lambda manage: manage.add_connector(name, texts, parse_pairs(options)))
    _show_change(
        invocation, change, f'The connector {name} is there. Route numbers to it: heliograph route add --prefix "" '
        f"--connector {name}",
    )  # fmt: skip


@connector.command("list")
@click.pass_obj
def list_connectors(invocation: Invocation) -> None:
    """Every connector."""
    from heliograph.admin_api import serialize, shapes
    from heliograph.composition import dev

    async def work(manage: "Manage") -> "tuple[list[shapes.Connector], bool]":
        states, now = await _links(manage)
        found = [serialize.connector(each, states, now) for each in await manage.connectors()]
        return found, await dev.was_last(manage.store)

    found, simulated = invocation.manage(work)
    invocation.show(
        as_json(shapes.Connectors(found)),
        lambda: print_table(
            ("NAME", "HOST", "PORT", "SYSTEM ID", "BIND", "BINDS", "WINDOW", "RATE", "TLS", "STATE"),
            [
                (
                    each.name,
                    each.host,
                    each.port,
                    each.system_id,
                    each.bind,
                    each.binds,
                    each.window,
                    f"{each.rate:g}" if each.rate else "-",
                    "yes" if each.tls else "no",
                    each.state,
                )
                for each in found
            ],
            empty=_NONE + _SIMULATED * simulated,
            right=("PORT", "BINDS", "WINDOW", "RATE"),
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
    from heliograph.cli.bind_states import view

    async def work(manage: "Manage") -> "tuple[Connector, list[ConnectorReport], BacklogCounts, int]":
        found = await manage.connector(name)
        states = [state for state in await manage.store.network.link_states() if state.connector == found.id]
        return found, states, await manage.store.standing(manage.now), manage.now

    found, states, backlog, now = invocation.manage(work)
    result = as_json(serialize.connector_with_links(found, states, backlog, now))

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
    tls: bool | None,
    options: tuple[str, ...],
    **given: str | None,
) -> None:
    """Changes a connector, all or nothing.

    A running gateway binds anew where it has to.

    KEY is host, port, system_id, password, bind, binds, window, rate, tls or enabled; any other one is an option of
    the operator's dialect, as with --option.
    """
    from heliograph.app.admin.fields import CONNECTOR

    pairs = parse_pairs(changes)
    texts = {**{key: text for key, text in pairs.items() if key in CONNECTOR}, **_texts(given, tls)}
    dialect = {**{key: text for key, text in pairs.items() if key not in CONNECTOR}, **parse_pairs(options)}
    if not texts and not dialect:
        raise Failure("Nothing to change was named.", command=f"heliograph connector set {name} window=50")
    change = invocation.manage(lambda manage: manage.set_connector(name, texts, dialect))
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

    from heliograph.composition import commands

    invocation = context.find_object(Invocation) or Invocation()
    found = invocation.manage(lambda manage: manage.connector(name))
    report = asyncio.run(commands.test_connector(found))
    steps = [{"name": step, "ok": ok, "detail": detail} for step, ok, detail in report.steps]
    passed = all(step["ok"] for step in steps)

    def people() -> None:
        for step in steps:
            mark = click.style("ok  ", fg="green") if step["ok"] else click.style("FAIL", fg="red")
            click.echo(f"{mark}  {harmless(step['name'])}: {harmless(step['detail'])}")

    invocation.show({"connector": name, "ok": passed, "steps": steps}, people)
    if not passed:
        context.exit(1)


def _texts(given: dict[str, str | None], tls: bool | None) -> dict[str, str]:
    texts = {field: text for field, text in given.items() if text is not None}
    if tls is not None:
        texts["tls"] = "true" if tls else "false"
    return texts


def _show_change(invocation: Invocation, change: "ConnectorChange", done: str) -> None:
    from heliograph.admin_api import serialize

    for warning in change.warnings:
        tell(f"note: {warning}", err=True)
    states, now = invocation.manage(_links)
    result = serialize.connector(change.connector, states, now, change.warnings)
    invocation.show(as_json(result), lambda: click.echo(done))


async def _links(manage: "Manage") -> "tuple[list[ConnectorReport], int]":
    return await manage.store.network.link_states(), manage.now


def _word(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name}={each}" for name, each in value.items()) or "none"
    return f"{value:g}" if isinstance(value, float) else value
