"""`heliograph suppression`: phones that accounts must not send to."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from heliograph.cli.command import Failure, Group, Invocation, as_json, examples, print_fields, print_table, tell
from heliograph.domain.display import counted

if TYPE_CHECKING:
    from heliograph.app.admin.number_list import NumberList
    from heliograph.app.admin.suppressions import ManageSuppressions

_account = click.option("--account", metavar="NAME", required=True, help="The account.")


@click.group(cls=Group)
def suppression() -> None:
    """Phones that an account must not send to.

    A phone that writes STOP to one of the account's numbers is among them by itself."""


@suppression.command(
    "list",
    epilog=examples(
        "heliograph suppression list --account acme",
        "heliograph suppression list --account acme --after 4917012345678 --limit 1000 --json",
    ),
)
@_account
@click.option("--after", metavar="NUMBER", default="", help="Only numbers that come after this one.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Numbers at most.")
@click.pass_obj
def list_suppressions(invocation: Invocation, account: str, after: str, limit: int) -> None:
    """The suppressions of an account, by number."""
    found = invocation.suppressions(lambda manage: manage.page(account, after.removeprefix("+"), limit))
    from heliograph.admin_api import serialize

    answer = serialize.suppressions(found, limit)

    def people() -> None:
        print_table(
            ("NUMBER", "SINCE", "SOURCE"),
            [(each.number, each.since, each.source) for each in answer.suppressions],
            empty="There is none." if after else f"{account} may send to every phone.",
        )
        if answer.cursor:
            click.echo(f"There may be more: --after {answer.cursor}", err=True)

    invocation.show(as_json(answer), people)


@suppression.command("add", epilog=examples("heliograph suppression add 4917012345678 447700900123 --account acme"))
@click.argument("numbers", metavar="NUMBER...", nargs=-1, required=True)
@_account
@click.pass_obj
def add(invocation: Invocation, numbers: tuple[str, ...], account: str) -> None:
    """Suppresses phones: the account sends them nothing more.

    What waits or is scheduled for them is cancelled and refunded."""
    added = invocation.suppressions(lambda manage: manage.add(account, numbers, "command"))
    known = len(numbers) - added
    invocation.show(
        {"added": added, "known": known},
        lambda: click.echo(f"Suppressed for {account}: {added} new, {known} there already."),
    )


@suppression.command("remove", epilog=examples("heliograph suppression remove 4917012345678 --account acme"))
@click.argument("number")
@_account
@click.pass_obj
def remove(invocation: Invocation, number: str, account: str) -> None:
    """Lets an account send to a phone again, which agreed to it."""
    invocation.suppressions(lambda manage: manage.remove(account, number))
    told = number.removeprefix("+")
    invocation.show({"number": told, "removed": True}, lambda: tell(f"{account} may send to {told} again."))


@suppression.command(
    "import",
    epilog=examples(
        "heliograph suppression import optouts.csv --account acme",
        "gunzip -c optouts.gz | heliograph suppression import - --account acme --skip-bad",
    ),
)
@click.argument("file", metavar="FILE")
@_account
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

    async def work(manage: "ManageSuppressions") -> int:
        from heliograph.app.admin.suppressions import BATCH

        added = 0
        with _progress(len(numbers), hidden=invocation.as_json or len(numbers) <= BATCH) as advance:
            for batch in numbers.batches(BATCH):
                added += await manage.add(account, batch, "import")
                advance(len(batch))
        return added

    added = invocation.suppressions(work)
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
