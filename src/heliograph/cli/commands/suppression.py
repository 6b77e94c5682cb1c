"""`heliograph suppression`: phones that accounts must not send to."""

import click

from heliograph.app.resources.suppressions import BATCH, SUPPRESSIONS
from heliograph.cli.command import Failure, Invocation, examples, print_fields, print_line
from heliograph.cli.drawn import group_of
from heliograph.domain.display import counted

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
@click.option("--skip-bad", is_flag=True, help="Skip lines without a valid number, instead of importing nothing.")
@click.pass_obj
def import_file(invocation: Invocation, file: str, account: str, skip_bad: bool) -> None:
    """Suppresses the phones of a file; - is standard input.

    The file has a number on each line, or is a table with the numbers in its first column. Numbers may be written as
    +49 (0)170 1234567 or 0049-170-1234567. Empty lines, lines that begin with #, and the heading of a table are
    ignored. You can import the same file again."""
    from heliograph.app.admin.number_list import NumberList
    from heliograph.cli.lists.reading import progress, read_file

    numbers = read_file(file, NumberList, errors="replace")
    for line in numbers.bad:
        print_line(str(line), err=True)
    if numbers.bad and not skip_bad:
        raise Failure(
            f"{counted(len(numbers.bad), 'line')} of {file} cannot be used.",
            "Nothing was imported. Correct these lines, or skip them with --skip-bad.",
        )

    add, added = SUPPRESSIONS.operation("add"), 0
    with progress("importing", len(numbers), hidden=invocation.as_json or len(numbers) <= BATCH) as advance:
        for batch in numbers.batches(BATCH):
            given = {"account": account, "numbers": batch, "imported": True}
            added += invocation.ask(SUPPRESSIONS, add.name, given)["added"]
            advance(len(batch))
    known = len(numbers) - added
    bad = [{"line": each.line, "problem": each.problem} for each in numbers.bad]
    invocation.show(
        {"numbers": len(numbers), "added": added, "known": known, "skipped": bad},
        lambda: print_fields(
            [("numbers", len(numbers)), ("new", added), ("known already", known), ("lines skipped", len(bad))]
        ),
    )
