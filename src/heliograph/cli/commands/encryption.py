"""`heliograph encryption`: seals texts and secrets in the store."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from heliograph.app.admin.encryption import begin, rewrap
from heliograph.app.resources.desk import needed
from heliograph.cli.command import Failure, Group, Invocation, examples, format_moment, print_fields, print_line

if TYPE_CHECKING:
    from heliograph.app.ports.encryption import EncryptionState

_THEN = (
    "Running processes apply it from then on. The gateway then converts the old rows; "
    "`heliograph encryption status` shows the progress."
)


@click.group(cls=Group)
def encryption() -> None:
    """Encryption of texts and secrets in the store.

    Every process that opens the store needs the master key, in the settings of [encryption]."""


@encryption.command(epilog=examples("heliograph encryption status", "heliograph encryption status --json"))
@click.pass_obj
def status(invocation: Invocation) -> None:
    """Shows whether rows are encrypted, and the progress for old rows. Counting the rows may take a while."""
    state = _state(invocation)
    result = {
        "encrypted": state.encrypted,
        "keys": state.keys,
        "newest_key": state.newest,
        "since": format_moment(state.since) if state.newest else None,
        "resealing": state.table,
        "resealed_rows": state.sealed,
        "rows": state.rows,
    }
    invocation.show(result, lambda: print_fields(_lines(state)))


def _state(invocation: Invocation, *, may_make: bool = False) -> "EncryptionState":
    return invocation.at_desk(lambda desk: needed(desk.encryption).state(), may_make=may_make)


def _lines(state: "EncryptionState") -> list[tuple[str, object]]:
    lines: list[tuple[str, object]] = [("new rows", "encrypted" if state.encrypted else "plain")]
    if state.newest:
        lines += [("keys", state.keys), ("newest since", format_moment(state.since))]
    if state.table is None:
        lines.append(("old rows", "all done" if state.newest else "plain"))
    else:
        lines.append(("old rows", f"{state.sealed:,} of about {state.rows:,} done, now at the table {state.table}"))
    return lines


@encryption.command(epilog=examples("HELIOGRAPH_ENCRYPTION_KEY=... heliograph encryption on"))
@click.pass_obj
def on(invocation: Invocation) -> None:
    """Encrypts new rows from now on, and old rows in the background.

    First give the master key to every process that opens the store, and store a copy of the key in another place.
    Without the key, nobody can read the texts and secrets again. Processes without the key end when they notice the
    change."""
    if _state(invocation, may_make=True).encrypted:
        raise Failure("the store is encrypted already.", "To change the key, rotate.", "heliograph encryption rotate")
    _begin(invocation, plain=False)


@encryption.command()
@click.pass_obj
def off(invocation: Invocation) -> None:
    """Ends encryption: new rows are plain, old rows are decrypted.

    Processes need the master key until `heliograph encryption status` shows that all old rows are done."""
    _begin(invocation, plain=True)


@encryption.command(
    epilog=examples("heliograph encryption rotate", "heliograph encryption rotate --master /etc/heliograph/new.key")
)
@click.option(
    "--master",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    metavar="FILE",
    help="Change only the master key, to the key in this file. Rows stay as they are. Then change the settings.",
)
@click.pass_obj
def rotate(invocation: Invocation, master: Path | None) -> None:
    """Makes a new data key, and encrypts all rows with it."""
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
        lambda: print_line(
            f"The key in {path} is the master key now, for {keys} data keys.\n"
            "Change the settings of all processes before they start again. Running processes need the new key after "
            "the next rotation."
        ),
    )


def _begin(invocation: Invocation, *, plain: bool) -> None:
    from heliograph.app.ports.encryption import SWITCH_MS

    number = invocation.at_desk(lambda desk: begin(desk, plain=plain))
    change = "new rows are written without encryption" if plain else f"new rows are encrypted with the key {number}"
    invocation.show(
        {"key": number, "seconds": SWITCH_MS // 1_000},
        lambda: print_line(f"In {SWITCH_MS // 1_000} s, {change}.\n{_THEN}"),
    )
