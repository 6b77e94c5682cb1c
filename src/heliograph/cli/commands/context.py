"""`heliograph context`: gateways on other machines, which commands administer over the admin API."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from heliograph.cli.command import Failure, Group, Invocation, examples, print_line, print_table
from heliograph.cli.remote import contexts
from heliograph.cli.remote.contexts import LOCAL, BadContexts, Contexts, GatewayContext

_TOKEN = "HELIOGRAPH_TOKEN"  # noqa: S105 - the name of a variable


@click.group(cls=Group)
def context() -> None:
    """Gateways on other machines, for all commands.

    A context is a name for the address of a gateway and a token of its admin API. Commands use the context of
    --context, else of the variable HELIOGRAPH_CONTEXT, else the context in use. Without any, they use the store on this
    machine. Commands that the admin API does not offer fail, and say that they need the gateway's machine.

    Tokens are stored in ~/.config/heliograph/contexts.json (XDG_CONFIG_HOME), which only you can read."""


@context.command(
    "add",
    epilog=examples(
        "heliograph context add prod --server https://sms.example.net          # asks for the token",
        "pass show sms/token | heliograph context add prod --server https://sms.example.net",
        "heliograph --context prod account list",
    ),
)
@click.argument("name")
@click.option("--server", metavar="URL", required=True, help="Address of the gateway, such as https://sms.example.net.")
@click.option("--clear", is_flag=True, help="Send the token even if others on the network can read it (http).")
@click.option("--unchecked", is_flag=True, help="Add the context without testing the token.")
@click.pass_obj
def add(invocation: Invocation, name: str, server: str, clear: bool, unchecked: bool) -> None:
    """Adds a context, or changes it. The first context is used at once.

    The command asks for the token, or reads it from standard input or from the variable HELIOGRAPH_TOKEN. It is never
    an argument, because other users of the machine could see it. To make a token, run heliograph admin token create on
    the gateway's machine."""
    from heliograph.app.resources.desk import Invalid, check_name
    from heliograph.cli.remote.client import BadUrl
    from heliograph.cli.remote.gateway import is_in_the_clear

    try:
        check_name("name", name)
        risky = is_in_the_clear(server)
    except (Invalid, BadUrl) as problem:
        raise Failure(str(problem), "Nothing was saved.") from problem
    if name == LOCAL:
        raise Failure(f"{LOCAL} is the name of this machine's gateway. Use another name.")
    if risky and not clear:
        raise Failure(
            "the token would cross the network without encryption.", "Give an https URL, or --clear if you accept that."
        )
    new = GatewayContext(server.rstrip("/"), _ask_token())
    if not unchecked:
        _check(name, new)
    with _changing() as kept:
        kept.known[name] = new
        kept.current = kept.current or name
        used = kept.current == name
    invocation.show(
        {"name": name, "server": new.server, "current": used},
        lambda: print_line(f"The context {name} is saved{', and in use' if used else ''}."),
    )


@context.command("list")
@click.pass_obj
def list_contexts(invocation: Invocation) -> None:
    """All contexts; a * marks the context in use."""
    kept = _read()
    rows = [
        {"name": name, "server": each.server, "current": name == kept.current}
        for name, each in sorted(kept.known.items())
    ]
    invocation.show(
        {"contexts": rows},
        lambda: print_table(
            ("", "NAME", "SERVER"),
            [("*" if row["current"] else "", row["name"], row["server"]) for row in rows],
            empty="There is no context yet. Add one: heliograph context add NAME --server URL",
        ),
    )


@context.command("use", epilog=examples("heliograph context use prod", "heliograph context use local"))
@click.argument("name")
@click.pass_obj
def use(invocation: Invocation, name: str) -> None:
    """Uses a context from now on. The context local is the gateway of this machine."""
    with _changing() as kept:
        if name != LOCAL and name not in kept.known:
            raise Failure(f"there is no context {name}", command="heliograph context list")
        kept.current = "" if name == LOCAL else name
    where = "the gateway of this machine" if name == LOCAL else f"the context {name}"
    invocation.show({"name": name, "current": True}, lambda: print_line(f"Commands now use {where}."))


@context.command("remove")
@click.argument("name")
@click.pass_obj
def remove(invocation: Invocation, name: str) -> None:
    """Removes a context with its token from this machine."""
    with _changing() as kept:
        if kept.known.pop(name, None) is None:
            raise Failure(f"there is no context {name}", command="heliograph context list")
        if kept.current == name:
            kept.current = ""
    invocation.show({"name": name, "removed": True}, lambda: print_line(f"The context {name} is removed."))


def _ask_token() -> str:
    token = os.environ.get(_TOKEN, "")
    if not token:
        asked = sys.stdin.isatty()
        token = click.prompt("Token", hide_input=True, err=True) if asked else sys.stdin.readline()
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise Failure("that is not a token; a token is hat_ and letters and digits.", "Nothing was saved.")
    return token


def _check(name: str, new: GatewayContext) -> None:
    """Raises Failure if the gateway does not accept the token. The token may lack scopes."""
    from heliograph.app.resources.overview import OVERVIEW
    from heliograph.cli.remote.gateway import RemoteGateway, RemoteRefusal

    try:
        RemoteGateway(name, new).send(OVERVIEW.operation("show").asked({}))
    except RemoteRefusal as refused:
        if refused.status != 403:
            raise Failure(str(refused), "Nothing was saved. To save it anyway, add --unchecked.") from refused


def _read() -> Contexts:
    try:
        return contexts.load(contexts.path(os.environ))
    except BadContexts as problem:
        raise Failure(str(problem), "Correct the file, or remove it.") from problem


@contextmanager
def _changing() -> Iterator[Contexts]:
    """Yields the contexts, and saves the changes."""
    kept = _read()
    yield kept
    file = contexts.path(os.environ)
    try:
        contexts.save(file, kept)
    except OSError as problem:
        raise Failure(f"{file} cannot be written: {problem.strerror or problem}", "Nothing was saved.") from problem
