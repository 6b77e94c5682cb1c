"""`heliograph route`: which operator takes a number."""

import click

from heliograph.cli.command import Failure, Group, Invocation, as_json, examples, print_table


@click.group(cls=Group)
def route() -> None:
    """Which connector takes which numbers.

    The longest prefix wins, then the higher priority."""


@route.command(
    "add",
    epilog=examples(
        'heliograph route add --prefix "" --connector op1           # everything',
        "heliograph route add --prefix 4477 --connector uk --priority 10",
    ),
)
@click.option("--prefix", metavar="DIGITS", required=True, help='First digits of the numbers; "" is all of them.')
@click.option("--connector", metavar="NAME", required=True, help="The connector that takes them.")
@click.option(
    "--priority", type=int, metavar="N", default=0, show_default=True, help="Higher ones of a prefix come first."
)
@click.pass_obj
def add_route(invocation: Invocation, prefix: str, connector: str, priority: int) -> None:
    """Sends numbers to a connector."""
    added = invocation.manage(lambda manage: manage.add_route(prefix, connector, priority))
    from heliograph.admin_api import serialize

    invocation.show(
        as_json(serialize.route(added)),
        lambda: click.echo(f"{_numbers(prefix)} now go to {connector} (route {added.id})."),
    )


@route.command("list")
@click.pass_obj
def list_routes(invocation: Invocation) -> None:
    """Every route."""
    routes = invocation.manage(lambda manage: manage.routes())
    from heliograph.admin_api import serialize, shapes

    invocation.show(
        as_json(shapes.Routes([serialize.route(each) for each in routes])),
        lambda: print_table(
            ("ID", "PREFIX", "CONNECTOR", "PRIORITY"),
            [(each.id, each.prefix or "(all)", each.connector, each.priority) for each in routes],
            empty='There is no route yet: heliograph route add --prefix "" --connector NAME',
            right=("ID", "PRIORITY"),
        ),
    )


@route.command(
    "remove", epilog=examples("heliograph route remove 3", "heliograph route remove --prefix 4477 --connector uk")
)
@click.argument("route_id", type=int, required=False)
@click.option("--prefix", metavar="DIGITS", help="Instead of the id: the route's prefix.")
@click.option("--connector", metavar="NAME", help="With --prefix: only that connector's.")
@click.pass_obj
def remove_route(invocation: Invocation, route_id: int | None, prefix: str | None, connector: str | None) -> None:
    """Removes a route by its id, or the one of a prefix."""
    if (route_id is None) == (prefix is None):
        raise Failure("Name the route by its id or by --prefix.", command=invocation.typed("route list"))
    if route_id is None:
        routes = invocation.manage(lambda manage: manage.routes())
        fitting = [each.id for each in routes if each.prefix == prefix and connector in (None, each.connector)]
        if len(fitting) != 1:
            found = f"{len(fitting)} routes fit" if fitting else "No route fits"
            raise Failure(f"{found}; nothing was changed.", "Name it by its id.", invocation.typed("route list"))
        route_id = fitting[0]
    chosen = route_id
    invocation.manage(lambda manage: manage.remove_route(chosen))
    invocation.show({"id": chosen, "removed": True}, lambda: click.echo(f"Route {chosen} is removed."))


def _numbers(prefix: str) -> str:
    return f"Numbers with the prefix {prefix}" if prefix else "All numbers"
