"""`heliograph context`: gateways elsewhere, which commands administer over the admin API."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from heliograph.cli.command import Failure, Group, Invocation, examples, print_table, tell
from heliograph.cli.remote import contexts
from heliograph.cli.remote.contexts import LOCAL, BadContexts, Contexts, GatewayContext

_TOKEN = "HELIOGRAPH_TOKEN"  # noqa: S105 - the name of a variable


@click.group(cls=Group)
def context() -> None:
    """Gateways elsewhere that commands may mean.

    A context is the address of a gateway and a token of its admin API. Commands mean the one that --context names, else
    the variable HELIOGRAPH_CONTEXT, else the one in use; what the admin API cannot do says that it needs the machine.

    Tokens are kept in ~/.config/heliograph/contexts.json (XDG_CONFIG_HOME), which nobody else can read."""


@context.command(
    "add",
    epilog=examples(
        "heliograph context add prod --server https://sms.example.net          # asks for the token",
        "pass show sms/token | heliograph context add prod --server https://sms.example.net",
        "heliograph --context prod account list",
    ),
)
@click.argument("name")
@click.option("--server", metavar="URL", required=True, help="Address of the gateway, as for its console.")
@click.option("--clear", is_flag=True, help="Send the token even where it can be read on its way (http).")
@click.option("--unchecked", is_flag=True, help="Do not try whether the gateway takes the token.")
@click.pass_obj
def add(invocation: Invocation, name: str, server: str, clear: bool, unchecked: bool) -> None:
    """Adds a gateway, or changes it, and uses it if it is the first.

    The token is asked for, or read from standard input, or from the variable HELIOGRAPH_TOKEN: never an argument, which
    others on the machine could see. heliograph admin token create makes one there."""
    from heliograph.app.resources.desk import Invalid, check_name
    from heliograph.cli.remote.client import BadUrl
    from heliograph.cli.remote.gateway import is_in_the_clear

    try:
        check_name("name", name)
        risky = is_in_the_clear(server)
    except (Invalid, BadUrl) as problem:
        raise Failure(str(problem), "Nothing was kept.") from problem
    if name == LOCAL:
        raise Failure(f"{LOCAL} is the gateway of this machine; take another name.")
    if risky and not clear:
        raise Failure(
            "the token would cross the network in the clear.", "Give an https URL, or --clear if you mean it."
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
        lambda: tell(f"The context {name} is kept{', and in use' if used else ''}."),
    )


@context.command("list")
@click.pass_obj
def list_contexts(invocation: Invocation) -> None:
    """Every context; a * marks the one in use."""
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
            empty="There is none: heliograph context add NAME --server URL",
        ),
    )


@context.command("use", epilog=examples("heliograph context use prod", "heliograph context use local"))
@click.argument("name")
@click.pass_obj
def use(invocation: Invocation, name: str) -> None:
    """Has commands mean this gateway; local is that of this machine."""
    with _changing() as kept:
        if name != LOCAL and name not in kept.known:
            raise Failure(f"there is no context {name}", command="heliograph context list")
        kept.current = "" if name == LOCAL else name
    where = "the gateway of this machine" if name == LOCAL else f"the context {name}"
    invocation.show({"name": name, "current": True}, lambda: tell(f"Commands now mean {where}."))


@context.command("remove")
@click.argument("name")
@click.pass_obj
def remove(invocation: Invocation, name: str) -> None:
    """Forgets a gateway and its token here."""
    with _changing() as kept:
        if kept.known.pop(name, None) is None:
            raise Failure(f"there is no context {name}", command="heliograph context list")
        if kept.current == name:
            kept.current = ""
    invocation.show({"name": name, "removed": True}, lambda: tell(f"The context {name} is forgotten."))


def _ask_token() -> str:
    token = os.environ.get(_TOKEN, "")
    if not token:
        asked = sys.stdin.isatty()
        token = click.prompt("Token", hide_input=True, err=True) if asked else sys.stdin.readline()
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise Failure("that is no token; it begins with hat_, letters and digits follow.", "Nothing was kept.")
    return token


def _check(name: str, new: GatewayContext) -> None:
    """Raises Failure where the gateway does not take the token, whatever its scopes are."""
    from heliograph.app.resources.overview import OVERVIEW
    from heliograph.cli.remote.gateway import RemoteGateway, RemoteRefusal

    try:
        RemoteGateway(name, new).send(OVERVIEW.operation("show").asked({}))
    except RemoteRefusal as refused:
        if refused.status != 403:
            raise Failure(str(refused), "Nothing was kept; --unchecked keeps it all the same.") from refused


def _read() -> Contexts:
    try:
        return contexts.load(contexts.path(os.environ))
    except BadContexts as problem:
        raise Failure(str(problem), "Mend the file, or remove it.") from problem


@contextmanager
def _changing() -> Iterator[Contexts]:
    """Yields the contexts and keeps what was changed."""
    kept = _read()
    yield kept
    file = contexts.path(os.environ)
    try:
        contexts.save(file, kept)
    except OSError as problem:
        raise Failure(f"{file} cannot be written: {problem.strerror or problem}", "Nothing was kept.") from problem
