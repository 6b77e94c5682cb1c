"""`heliograph route`: the connector for each prefix of numbers."""

import re
from itertools import takewhile
from typing import Final

import click

from heliograph.app.resources import coverage
from heliograph.app.resources.coverage import COVERAGE
from heliograph.app.resources.routes import ROUTES
from heliograph.cli.command import Failure, Invocation, examples
from heliograph.cli.drawn import each_row, group_of, show
from heliograph.domain.display import counted

_BAD_ROW: Final = re.compile(r"routes\[([0-9]+)\]\.")
"""A row in an error of the admin API, counted from 0, for example in `routes[3].account: there is no account acme`."""

route = group_of(ROUTES)


@route.command("remove", epilog=examples(*(f"heliograph {each}" for each in ROUTES.operation("remove").examples)))
@click.argument("route_id", metavar="ID", type=int, required=False)
@click.option("--prefix", metavar="DIGITS", help="The prefix of the route, instead of its id.")
@click.option("--connector", metavar="NAME", help="With --prefix: only a route to this connector.")
@click.pass_obj
def remove_route(invocation: Invocation, route_id: int | None, prefix: str | None, connector: str | None) -> None:
    """Remove a route by its id, or the route of a prefix."""
    if (route_id is None) == (prefix is None):
        raise Failure("Give the route's id or --prefix.", command=invocation.typed("route list"))
    if route_id is None:
        near = each_row(invocation, ROUTES, {"prefix": prefix, "connector": connector})
        upto = takewhile(lambda each: each["prefix"] <= prefix, near)
        fitting = [each["id"] for each in upto if (each["prefix"], each["network"]) == (prefix, "")]
        if len(fitting) != 1:
            found = f"{len(fitting)} routes match" if fitting else "No route matches"
            raise Failure(f"{found}. Nothing was changed.", "Give the route's id.", invocation.typed("route list"))
        route_id = fitting[0]
    remove = ROUTES.operation("remove")
    given = {"id": route_id}
    show(invocation, ROUTES, remove, given, invocation.ask(ROUTES, remove.name, given))


@route.command(
    "import",
    epilog=examples(
        "heliograph route import routes.csv --dry-run               # only counts the changes",
        "heliograph route import coverage.csv --connector op1 --replace",
    ),
)
@click.argument("file", metavar="FILE")
@click.option("--connector", metavar="NAME", default="", help="The connector of rows without a connector.")
@click.option("--replace", is_flag=True, help="Remove all other routes to the connectors in the file.")
@click.option("--dry-run", is_flag=True, help="Only count the changes, without making them.")
@click.pass_obj
def import_routes(invocation: Invocation, file: str, connector: str, replace: bool, dry_run: bool) -> None:
    """Sets the routes of a CSV file, all or none; - is standard input.

    The file is in UTF-8. Its heading has the columns prefix and connector, and optionally priority, network, account,
    plan, sender, share and fallback. Other columns are ignored and named. A route that exists gets the share and
    fallback of the file, and keeps its own if the cell is empty. For example:

    \b
      prefix,network,connector,priority
      49,,op1,10
      ,26201,op2,10
    """
    from heliograph.app.admin import route_table
    from heliograph.cli.lists.reading import elapsed, read_file, refuse_bad, show_changes

    sheet = read_file(file, lambda lines: route_table.read(lines, connector=connector))
    refuse_bad(sheet.bad, file, sheet.ignored)
    if not sheet.rows:
        raise Failure(f"{file} has no routes.", "Nothing was imported.")
    given = {"routes": sheet.rows, "replace": replace, "dry_run": dry_run}
    try:
        with elapsed(
            f"{'comparing' if dry_run else 'writing'} {counted(len(sheet.rows), 'route')}", hidden=invocation.as_json
        ):
            changes = invocation.ask(ROUTES, "import", given)
    except Failure as failure:
        message = _BAD_ROW.sub(lambda row: f"line {sheet.lines[int(row[1])]}: ", failure.message)
        raise Failure(message, failure.hint, failure.command) from failure
    show_changes(invocation, {"routes": len(sheet.rows), **changes, "dry_run": dry_run})


@route.command(
    "coverage",
    epilog=examples(
        "heliograph route coverage",
        "heliograph route coverage --plan resellers --prefix 4917",
        "heliograph route coverage --plan resellers --csv coverage.csv",
    ),
)
@click.option("--plan", metavar="NAME", default="default", show_default=True, help="The price plan.")
@click.option("--prefix", metavar="DIGITS", default="", help="Only destinations of numbers with this prefix.")
@click.option("--csv", "file", metavar="FILE", help="Write a table to this file; - is standard output.")
@click.pass_obj
def show_coverage(invocation: Invocation, plan: str, prefix: str, file: str | None) -> None:
    """Connector, price and cost of each destination.

    The destinations are those of a price plan, with margins. Destinations without a route or price, and losses, are
    marked."""
    given = {"plan": plan, "prefix": prefix}
    rows = each_row(invocation, COVERAGE, given)
    if file is None:
        show(invocation, COVERAGE, COVERAGE.operation("list"), given, {COVERAGE.plural: list(rows)})
        return
    try:
        with click.open_file(file, "w", encoding="utf-8", lazy=False) as table:
            coverage.write(rows, table)
    except OSError as problem:
        raise Failure(f"{file} cannot be written: {problem.strerror or problem}") from problem
