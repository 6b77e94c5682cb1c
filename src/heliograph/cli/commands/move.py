"""`heliograph move`: moves the embedded store to a PostgreSQL database."""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from heliograph.cli.command import Command, Failure, Invocation, examples, print_line
from heliograph.domain.display import counted


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph move --to postgresql://heliograph@db.example.net/heliograph    # the password in PGPASSWORD",
        "HELIOGRAPH_DATABASE_URL=postgresql://db.example.net/heliograph heliograph move",
        "heliograph move --abandon",
    ),
)
@click.option("--to", "url", metavar="URL", help="The PostgreSQL database [setting store.url].")
@click.option("--abandon", is_flag=True, help="Give up an unfinished move: the gateway can run on the file again.")
@click.pass_obj
def move(invocation: Invocation, url: str | None, *, abandon: bool) -> None:
    """Moves the embedded store in the data directory to a PostgreSQL database.

    The gateway must be stopped. Everything moves: accounts, balances, history, scheduled and waiting messages,
    receipts that are awaited, pending callbacks, users and the audit log. The ledgers are proven before and
    after. A move that broke off goes on where it stopped when the same command runs again.

    Afterwards the file stays as it was, and no gateway starts on it. Set store.url to the database, and start the
    gateway.
    """
    from heliograph.app.ports import Unavailable
    from heliograph.composition import moving
    from heliograph.config import SettingsError

    invocation.need_the_machine()
    settings = invocation.settings()
    if abandon:
        _abandon(invocation)
        return
    url = url or settings.store.url
    if not url:
        raise Failure("the move needs a database.", command="heliograph move --to postgresql://user@host/database")
    began = time.monotonic()
    try:
        with _progress(hidden=invocation.as_json) as progress:
            rows = asyncio.run(moving.move(settings, url, progress))
    except SettingsError as error:
        raise Failure(str(error), command="heliograph move --to postgresql://user@host/database") from error
    except (Unavailable, OSError) as error:
        raise Failure(f"the store was not moved: {error}.", "Run the same command again, and it goes on.") from error
    seconds = round(time.monotonic() - began, 1)
    invocation.show(
        {"rows": rows, "seconds": seconds},
        lambda: print_line(
            f"The store is in the database: {counted(sum(rows.values()), 'row')} in {seconds:,} s, and the ledgers are "
            "right.\n"
            "Set store.url, or HELIOGRAPH_DATABASE_URL, to its URL, and start the gateway."
        ),
    )


def _abandon(invocation: Invocation) -> None:
    from heliograph.app.ports import Unavailable
    from heliograph.composition import moving

    try:
        moving.abandon(invocation.settings())
    except (Unavailable, OSError) as error:
        raise Failure(f"{error}.") from error
    invocation.show(
        {"abandoned": True},
        lambda: print_line(
            "The gateway can run on the file again. Rows that came to the database are in its schema "
            "heliograph_moving; delete them with: DROP SCHEMA heliograph_moving CASCADE"
        ),
    )


@contextmanager
def _progress(*, hidden: bool) -> Iterator[Callable[[str, int, int], object]]:
    """Shows a progress bar for the present table on standard error, if it is a terminal."""
    if hidden or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (bars.TextColumn("{task.description:20}"), bars.BarColumn(), bars.MofNCompleteColumn())
    with bars.Progress(*columns, bars.TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        yield lambda table, done, total: bar.update(task, description=table, completed=done, total=total)
