"""`heliograph suppression`: phones that accounts must not send to."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from heliograph.app.resources.suppressions import BATCH, SUPPRESSIONS
from heliograph.cli.command import Failure, Invocation, examples, print_fields, tell
from heliograph.cli.drawn import group_of
from heliograph.domain.display import counted

if TYPE_CHECKING:
    from heliograph.app.admin.number_list import NumberList

suppression = group_of(SUPPRESSIONS)


@suppression.command(
    "import",
    epilog=examples(
        "heliograph suppression import optouts.csv --account acme",
        "gunzip -c optouts.gz | heliograph suppression import - --account acme --skip-bad",
    ),
)
@click.argument("file", metavar="FILE")
@click.option("--account", metavar="NAME", required=True, help="The account.")
@click.option("--skip-bad", is_flag=True, help="Leave out lines that have no number, rather than import nothing.")
@click.pass_obj
def import_file(invocation: Invocation, file: str, account: str, skip_bad: bool) -> None:
    """Suppresses the phones of a file; - is standard input.

    One number a line, or a table whose first column has them. Empty lines, lines that begin with # and the heading
    of a table are passed over. The same file can be imported again: what is there stays as it is."""
    numbers = _read(file)
    for line in numbers.bad:
        tell(str(line), err=True)
    if numbers.bad and not skip_bad:
        raise Failure(
            f"{counted(len(numbers.bad), 'line')} of {file} cannot be used.",
            "Nothing was imported. Mend them, or leave them out with --skip-bad.",
        )

    add, added = SUPPRESSIONS.operation("add"), 0
    with _progress(len(numbers), hidden=invocation.as_json or len(numbers) <= BATCH) as advance:
        for batch in numbers.batches(BATCH):
            given = {"account": account, "numbers": batch, "imported": True}
            added += invocation.ask(SUPPRESSIONS, add.asked(given))["added"]
            advance(len(batch))
    known = len(numbers) - added
    bad = [{"line": each.line, "problem": each.problem} for each in numbers.bad]
    invocation.show(
        {"numbers": len(numbers), "added": added, "known": known, "skipped": bad},
        lambda: print_fields(
            [("numbers", len(numbers)), ("new", added), ("there already", known), ("lines left out", len(bad))]
        ),
    )


def _read(file: str) -> "NumberList":
    from heliograph.app.admin.number_list import NumberList

    try:
        with click.open_file(file, encoding="utf-8", errors="replace") as lines:
            return NumberList(lines)
    except OSError as problem:
        raise Failure(f"{file} cannot be read: {problem.strerror or problem}", "Nothing was imported.") from problem


@contextmanager
def _progress(total: int, *, hidden: bool) -> Iterator[Callable[[int], None]]:
    """Shows a bar on a terminal, on standard error; nothing elsewhere."""
    if hidden or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("importing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("importing", total=total)
        yield lambda count: progress.advance(task, count)
