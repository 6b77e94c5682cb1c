"""`heliograph backup`, `restored` and `compact`: a copy of the store, what one that was put back cannot know, and the
file of the store without what is free in it."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from heliograph.cli.command import Command, Failure, Invocation, examples, format_moment, tell
from heliograph.domain.display import counted

if TYPE_CHECKING:
    from heliograph.app.records import RestorePoint
    from heliograph.app.resources.desk import Desk


@click.command(cls=Command, epilog=examples("heliograph backup /backup/heliograph-$(date +%F).db"))
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.pass_obj
def backup(invocation: Invocation, file: Path) -> None:
    """Copies the embedded store to FILE while it is used.

    The copy is of one moment. FILE must not be there yet. A PostgreSQL database is backed up with its own tools.
    """
    from heliograph.app.ports import Unavailable
    from heliograph.composition import commands

    invocation.need_the_machine()
    settings = invocation.settings()
    if settings.store.url:
        raise Failure("The store is a PostgreSQL database.", "Back it up with pg_dump, or with base backups.")
    try:
        commands.back_up(settings, file)
    except FileExistsError as error:
        raise Failure(f"{error}.", "A backup overwrites nothing: name another file.") from error
    except (Unavailable, OSError) as error:
        raise Failure(f"No backup was made: {error}.") from error
    octets = file.stat().st_size
    invocation.show(
        {"file": str(file), "octets": octets},
        lambda: click.echo(f"The store is in {file} ({counted(octets, 'octet')})."),
    )


@click.command(cls=Command, epilog=examples("heliograph compact"))
@click.pass_obj
def compact(invocation: Invocation) -> None:
    """Writes the embedded store anew, without deleted rows.

    The gateway must not run. The file becomes smaller, and no octet of a deleted or erased row is left in it. There
    must be room for two copies of it in the data directory meanwhile. For PostgreSQL it is VACUUM FULL.
    """
    from heliograph.app.ports import Unavailable
    from heliograph.composition import commands

    invocation.need_the_machine()
    settings = invocation.settings()
    if settings.store.url:
        raise Failure("The store is a PostgreSQL database.", "Run VACUUM FULL in it.")
    try:
        before, after = commands.compact(settings)
    except (Unavailable, OSError) as error:
        raise Failure(f"The store was not written anew: {error}.", "Stop the gateway, and try again.") from error
    invocation.show(
        {"before": before, "after": after},
        lambda: tell(f"The store is written anew: {counted(after, 'octet')} instead of {before:,}."),
    )


@click.command(cls=Command)
@click.pass_obj
def restored(invocation: Invocation) -> None:
    """Tells what a backup that was put back cannot know.

    Ask before the gateway is started on it: until then nothing is sent again.
    """

    async def work(desk: "Desk") -> "tuple[RestorePoint, int]":
        return await desk.store.upkeep.reach(), desk.now

    point, now = invocation.at_desk(work)
    ends = format_moment(point.latest)
    counts = {"unsent": point.unsent, "scheduled": point.scheduled, "awaiting": point.awaiting, "pending": point.owed}
    lines = _told(point, now) if point.latest is not None else ["The store has no messages."]
    invocation.show(
        {"ends": ends, **counts, "unknown": [line.removeprefix("- ") for line in lines[1:]]},
        lambda: click.echo("\n".join(lines)),
    )


def _told(point: "RestorePoint", now: int) -> list[str]:
    assert point.latest is not None
    minutes = max(0, now - point.latest) // 60_000
    text = f"""\
The newest that the store knows of happened {format_moment(point.latest)}, {counted(minutes, "minute")} ago. \
If a gateway went on after that, the store cannot know:
- which messages were accepted since. They are neither charged nor sent here; their receipts will be unmatched.
- whether what is to be sent was sent ({counted(point.unsent, "message")}). It will be, once more if it was.
- whether what is scheduled was sent, moved or cancelled ({counted(point.scheduled, "message")}). It will be sent at \
its time here.
- what receipts came for what waits for one ({counted(point.awaiting, "message")}). Operators do not repeat them.
- whether pending callbacks were posted ({counted(point.owed, "receipt")}). It will be, with the same webhook-id.
- which accounts, keys, prices, routes, connectors and credit were changed."""
    return text.splitlines()
