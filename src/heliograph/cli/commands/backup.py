"""`heliograph backup`, `restored` and `compact`: copies the store, reports the gaps of a restored copy, and shrinks the
store's file."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from heliograph.cli.command import Command, Failure, Invocation, examples, format_moment, print_line
from heliograph.domain.display import counted

if TYPE_CHECKING:
    from heliograph.app.records import RestorePoint
    from heliograph.app.resources.desk import Desk


@click.command(cls=Command, epilog=examples("heliograph backup /backup/heliograph-$(date +%F).db"))
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.pass_obj
def backup(invocation: Invocation, file: Path) -> None:
    """Copies the embedded store to FILE while the gateway runs.

    The copy is a consistent snapshot. FILE must not exist yet. For a PostgreSQL database, use its own tools.
    """
    from heliograph.app.ports import Unavailable
    from heliograph.composition import commands

    invocation.need_the_machine()
    settings = invocation.settings()
    if settings.store.url:
        raise Failure("The store is a PostgreSQL database.", "Use pg_dump or base backups.")
    try:
        commands.back_up(settings, file)
    except FileExistsError as error:
        raise Failure(f"{error}.", "A backup does not overwrite files. Give another name.") from error
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
    """Rewrites the embedded store without deleted rows.

    The gateway must not run. Afterwards the file is smaller, and has no octets of deleted or erased rows. The data
    directory needs space for two copies of the file. For a PostgreSQL database, use VACUUM FULL.
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
        raise Failure(f"The store was not compacted: {error}.", "Stop the gateway, and try again.") from error
    invocation.show(
        {"before": before, "after": after},
        lambda: print_line(f"The store is compacted: {counted(after, 'octet')} instead of {before:,}."),
    )


@click.command(cls=Command)
@click.pass_obj
def restored(invocation: Invocation) -> None:
    """Accepts a store that went back in time, and reports its gaps.

    A gateway refuses a store that lost confirmed commits, for example after a backup was put in its place. This
    command lets all gateways of the store go on. A gateway that waits goes on at once. A gateway that has run since
    before the loss ends, so that its supervisor starts it again. The audit log gets an entry.
    """
    from heliograph.app.resources.nodes import accept_loss, describe_missing
    from heliograph.runtime.past import FILE_NAME, new_number

    invocation.need_the_machine()
    has_past = (invocation.settings().data / FILE_NAME).exists()

    async def work(desk: "Desk") -> "tuple[RestorePoint, str, int]":
        loss = await describe_missing(desk)
        point = await desk.store.upkeep.reach()
        await accept_loss(desk, new_number(), loss)
        return point, loss, desk.now

    point, loss, now = invocation.at_desk(work, may_make=has_past)
    ends = format_moment(point.latest)
    counts = {"unsent": point.unsent, "scheduled": point.scheduled, "awaiting": point.awaiting, "pending": point.owed}
    lines = _format_gaps(point, now) if point.latest is not None else ["The store has no messages."]
    lost = [f"The store lost confirmed commits: {loss}.", ""] if loss else []
    invocation.show(
        {"ends": ends, **counts, "unknown": [line.removeprefix("- ") for line in lines[1:]], "loss": loss},
        lambda: click.echo("\n".join([*lost, *lines, "", _ACCEPTED])),
    )


_ACCEPTED = "Gateways go on upon this store as it is. Check its books: heliograph audit"


def _format_gaps(point: "RestorePoint", now: int) -> list[str]:
    assert point.latest is not None
    minutes = max(0, now - point.latest) // 60_000
    text = f"""\
The newest event in the store is of {format_moment(point.latest)}, {counted(minutes, "minute")} ago. \
If a gateway ran after that time, the store does not have its events:
- Accepted messages. They are neither charged nor sent here, and their receipts will match no message.
- Submissions of waiting messages ({counted(point.unsent, "message")}). These messages are sent now, perhaps twice.
- Submissions, changes and cancellations of scheduled messages ({counted(point.scheduled, "message")}). They are sent \
at the time that is stored here.
- Receipts of messages that await a receipt ({counted(point.awaiting, "message")}). Operators do not repeat receipts.
- Posts of pending callbacks ({counted(point.owed, "callback")}). They are posted again, with the same webhook-id.
- Changes of accounts, keys, prices, routes, connectors and credit."""
    return text.splitlines()
