"""`heliograph price`: single prices, and lists of prices."""

from collections.abc import Iterable, Iterator
from typing import Any

import click

from heliograph.app.resources.prices import NEW, PRICES
from heliograph.cli.command import Failure, Invocation, examples, print_line
from heliograph.cli.drawn import each_row, group_of
from heliograph.domain.display import counted

price = group_of(PRICES)


@price.command(
    "import",
    epilog=examples(
        "heliograph price import rates.csv --dry-run               # only counts the changes",
        "heliograph price import rates.csv --plan resellers --since 2027-03-01",
        "heliograph price export --plan resellers | sed s/0.05/0.06/ | heliograph price import - --replace",
    ),
)
@click.argument("file", metavar="FILE")
@click.option("--plan", metavar="PLAN", default="default", show_default=True, help="The plan of rows without a plan.")
@click.option("--since", metavar="DATE", default="", help="The start date of rows without a date [at once].")
@click.option("--replace", is_flag=True, help="Remove all other prices of the plans in the file.")
@click.option("--dry-run", is_flag=True, help="Only count the changes, without making them.")
@click.pass_obj
def import_prices(invocation: Invocation, file: str, plan: str, since: str, replace: bool, dry_run: bool) -> None:
    """Sets the prices of a CSV file, all or none; - is standard input.

    The file is in UTF-8. Its heading has the columns mccmnc or prefix, and price, and optionally plan, inbound and
    since. Other columns are ignored and named. Cells are separated by semicolons, tabs or commas. If commas do not
    separate them, prices may have a decimal comma, such as 0,065. For example:

    \b
      prefix,price
      49,0.065
      491,0.06
    """
    from heliograph.app.admin.price_table import PriceSheet
    from heliograph.cli.lists.reading import elapsed, progress, read_file, refuse_bad, show_changes

    with progress("reading", None, hidden=invocation.as_json) as advance:

        def counting(lines: Iterable[str]) -> Iterator[str]:
            for line in lines:
                yield line
                advance(1)

        table = read_file(file, lambda lines: PriceSheet(counting(lines), plan, since))
    refuse_bad(table.bad, file, table.ignored)
    if not table.prices:
        raise Failure(f"{file} has no prices.", "Nothing was imported.")
    rows = [{each.name: each.show(row[each.name]) for each in NEW if each.name in row} for row in table.prices]
    given = {"prices": rows, "replace": replace, "dry_run": dry_run}
    with elapsed(f"{'comparing' if dry_run else 'writing'} {counted(len(rows), 'price')}", hidden=invocation.as_json):
        changes = invocation.ask(PRICES, "import", given)
    show_changes(invocation, {"prices": len(table.prices), **changes, "dry_run": dry_run})
    if changes["note"] and not invocation.as_json:
        print_line(changes["note"], err=True)


@price.command(
    "export",
    epilog=examples(
        "heliograph price export > prices.csv", "heliograph price export --plan resellers -o resellers.csv"
    ),
)
@click.option("--plan", metavar="PLAN", help="Only prices of this plan.")
@click.option("--past", is_flag=True, help="Include prices that later prices have replaced.")
@click.option("-o", "--output", metavar="FILE", default="-", help="The file to write [standard output].")
@click.pass_obj
def export_prices(invocation: Invocation, plan: str | None, past: bool, output: str) -> None:
    """Writes prices as a CSV file that `price import` can read."""
    from heliograph.app.admin import price_table

    prices = each_row(invocation, PRICES, {"plan": plan, "past": past})
    written = 0

    def counted_rows() -> Iterator[dict[str, Any]]:
        nonlocal written
        for row in prices:
            written += 1
            yield {each.name: each.read(row[each.name] or "") for each in NEW}

    try:
        with click.open_file(output, "w", encoding="utf-8") as file:
            price_table.write(counted_rows(), file)  # type: ignore[arg-type] # opened as text
    except OSError as problem:
        raise Failure(f"{output} cannot be written: {problem.strerror or problem}") from problem
    if output != "-":
        invocation.show(
            {"file": output, "prices": written},
            lambda: print_line(f"{counted(written, 'price')} written to {output}."),
        )
