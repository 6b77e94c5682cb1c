"""`heliograph encryption`: rows of the store, sealed by a key."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from heliograph.app.admin.encryption import begin, rewrap
from heliograph.app.resources.desk import needed
from heliograph.cli.command import Failure, Group, Invocation, examples, format_moment, print_fields, tell

if TYPE_CHECKING:
    from heliograph.app.ports.encryption import EncryptionState

_THEN = (
    "Processes that run use it from then on, and a gateway goes through the old rows afterwards: "
    "`heliograph encryption status` tells how far it is."
)


@click.group(cls=Group)
def encryption() -> None:
    """Seals texts and secrets in the store.

    The master key is given by the settings of [encryption], to every process that opens the store."""


@encryption.command(epilog=examples("heliograph encryption status", "heliograph encryption status --json"))
@click.pass_obj
def status(invocation: Invocation) -> None:
    """Whether rows are sealed, and how far older ones are sealed anew. It counts rows, which takes its time."""
    state = _state(invocation)
    told = {
        "encrypted": state.encrypted,
        "keys": state.keys,
        "newest_key": state.newest,
        "since": format_moment(state.since) if state.newest else None,
        "resealing": state.table,
        "resealed_rows": state.sealed,
        "rows": state.rows,
    }
    invocation.show(told, lambda: print_fields(_lines(state)))


def _state(invocation: Invocation) -> "EncryptionState":
    return invocation.at_desk(lambda desk: needed(desk.encryption).state())


def _lines(state: "EncryptionState") -> list[tuple[str, object]]:
    lines: list[tuple[str, object]] = [("new rows", "sealed" if state.encrypted else "as they are")]
    if state.newest:
        lines += [("keys", state.keys), ("newest since", format_moment(state.since))]
    if state.table is None:
        lines.append(("old rows", "all done" if state.newest else "as they are"))
    else:
        lines.append(("old rows", f"{state.sealed:,} done, at the table {state.table}; some {state.rows:,} in all"))
    return lines


@encryption.command(epilog=examples("HELIOGRAPH_ENCRYPTION_KEY=... heliograph encryption on"))
@click.pass_obj
def on(invocation: Invocation) -> None:
    """Seals rows from now on, and old ones in the background.

    Give the master key to every process that opens the store first, and keep a copy of it elsewhere: without it nothing
    in the store can be read, by anybody. Processes without the key end when they notice."""
    if _state(invocation).encrypted:
        raise Failure("the store is encrypted already.", "For a new key, rotate.", "heliograph encryption rotate")
    _begin(invocation, plain=False)


@encryption.command()
@click.pass_obj
def off(invocation: Invocation) -> None:
    """Seals nothing more, and opens what was sealed.

    Processes need the master key until `heliograph encryption status` says that all is done."""
    _begin(invocation, plain=True)


@encryption.command(
    epilog=examples("heliograph encryption rotate", "heliograph encryption rotate --master /etc/heliograph/new.key")
)
@click.option(
    "--master",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    metavar="FILE",
    help="Change the master key to the one in this file instead: no row is touched. Then give it by the settings.",
)
@click.pass_obj
def rotate(invocation: Invocation, master: Path | None) -> None:
    """Makes a new data key, and seals all rows by it."""
    if master is not None:
        _change_master(invocation, master)
        return
    if not _state(invocation).encrypted:
        raise Failure("the store is not encrypted.", command="heliograph encryption on")
    _begin(invocation, plain=False)


def _change_master(invocation: Invocation, path: Path) -> None:
    from heliograph.composition.encryption import vault_of_file

    with invocation.explained():
        vault = vault_of_file(path, "--master")
    keys = invocation.at_desk(lambda desk: rewrap(desk, vault))
    invocation.show(
        {"keys": keys},
        lambda: tell(
            f"The master key is the one in {path} now, for {keys} data keys.\n"
            "Give it by the settings before a process starts again; running processes need it when a data key is new."
        ),
    )


def _begin(invocation: Invocation, *, plain: bool) -> None:
    from heliograph.app.ports.encryption import SWITCH_MS

    number = invocation.at_desk(lambda desk: begin(desk, plain=plain))
    what = "Rows are written as they are" if plain else f"Rows are sealed by key {number}"
    invocation.show(
        {"key": number, "seconds": SWITCH_MS // 1_000}, lambda: tell(f"{what} in {SWITCH_MS // 1_000} s.\n{_THEN}")
    )
