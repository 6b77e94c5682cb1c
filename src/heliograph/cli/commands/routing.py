"""`heliograph route`: the connector for each prefix of numbers."""

from itertools import takewhile

import click

from heliograph.app.resources import coverage
from heliograph.app.resources.coverage import COVERAGE
from heliograph.app.resources.routes import ROUTES
from heliograph.cli.command import Failure, Invocation, examples
from heliograph.cli.drawn import each_row, group_of, show

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
        fitting = [each["id"] for each in upto if each["prefix"] == prefix]
        if len(fitting) != 1:
            found = f"{len(fitting)} routes match" if fitting else "No route matches"
            raise Failure(f"{found}. Nothing was changed.", "Give the route's id.", invocation.typed("route list"))
        route_id = fitting[0]
    remove = ROUTES.operation("remove")
    given = {"id": route_id}
    show(invocation, ROUTES, remove, given, invocation.ask(ROUTES, remove.name, given))


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
    with click.open_file(file, "w", encoding="utf-8", lazy=False) as table:
        coverage.write(rows, table)
