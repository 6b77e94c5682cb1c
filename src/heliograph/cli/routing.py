"""`heliograph route` and `heliograph price`: which operator takes a number, and what it costs."""

from typing import TYPE_CHECKING

import click

from heliograph.cli.command import Failure, Group, Invocation, as_json, examples, print_table

if TYPE_CHECKING:
    from heliograph.admin.shapes import Prices
    from heliograph.app.administer import Administration


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
    added = invocation.administer(lambda admin: admin.add_route(prefix, connector, priority))
    from heliograph.admin import views

    invocation.show(
        as_json(views.route(added)),
        lambda: click.echo(f"{_numbers(prefix)} now go to {connector} (route {added.id})."),
    )


@route.command("list")
@click.pass_obj
def list_routes(invocation: Invocation) -> None:
    """Every route."""
    routes = invocation.administer(lambda admin: admin.routes())
    from heliograph.admin import shapes, views

    invocation.show(
        as_json(shapes.Routes([views.route(each) for each in routes])),
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
        routes = invocation.administer(lambda admin: admin.routes())
        fitting = [each.id for each in routes if each.prefix == prefix and connector in (None, each.connector)]
        if len(fitting) != 1:
            found = f"{len(fitting)} routes fit" if fitting else "No route fits"
            raise Failure(f"{found}; nothing was changed.", "Name it by its id.", invocation.typed("route list"))
        route_id = fitting[0]
    chosen = route_id
    invocation.administer(lambda admin: admin.remove_route(chosen))
    invocation.show({"id": chosen, "removed": True}, lambda: click.echo(f"Route {chosen} is removed."))


@click.group(cls=Group)
def price() -> None:
    """What a segment costs, by plan and prefix.

    The longest prefix wins. A plan falls back on the plan `default`, and that one on 1 credit; a number that neither
    an account's own plan nor the plan `default` covers is refused."""


@price.command(
    "set",
    epilog=examples(
        'heliograph price set --prefix "" --price 1               # everywhere, in the default plan',
        "heliograph price set --prefix 49 --price 0.065 --plan resellers",
    ),
)
@click.option("--prefix", metavar="DIGITS", required=True, help='First digits of the numbers; "" is all of them.')
@click.option("--price", "amount", metavar="P", required=True, help="Credits a segment, such as 1 or 0.035.")
@click.option("--plan", metavar="PLAN", default="default", show_default=True, help="The price plan.")
@click.pass_obj
def set_price(invocation: Invocation, prefix: str, amount: str, plan: str) -> None:
    """Sets or replaces a price."""
    from heliograph.admin import views
    from heliograph.app import fields

    entry = invocation.administer(lambda admin: admin.set_price(prefix, fields.amount("price", amount), plan))
    told = views.price(entry)
    invocation.show(
        as_json(told),
        lambda: click.echo(f"{_numbers(prefix)} cost {told.price} credits a segment in the plan {plan}."),
    )


@price.command("list")
@click.option("--plan", metavar="PLAN", help="Only this plan's.")
@click.pass_obj
def list_prices(invocation: Invocation, plan: str | None) -> None:
    """Every price, and what a number costs that none names."""
    from heliograph.admin import views
    from heliograph.app.directory import DEFAULT_PLAN

    async def work(admin: "Administration") -> "Prices":
        return views.prices(await admin.prices(plan), await admin.built_in_price())

    told = invocation.administer(work)
    rows = [(each.plan, each.prefix or "(all)", each.price) for each in told.prices]
    if told.built_in is not None and plan in (None, DEFAULT_PLAN):
        rows.append((DEFAULT_PLAN, "(others; built in)", told.built_in))
    invocation.show(
        as_json(told),
        lambda: print_table(("PLAN", "PREFIX", "PRICE"), rows, empty="The plan names no price.", right=("PRICE",)),
    )


@price.command("remove")
@click.option("--prefix", metavar="DIGITS", required=True, help='First digits of the numbers; "" is all of them.')
@click.option("--plan", metavar="PLAN", default="default", show_default=True, help="The price plan.")
@click.pass_obj
def remove_price(invocation: Invocation, prefix: str, plan: str) -> None:
    """Removes a price."""
    invocation.administer(lambda admin: admin.remove_price(prefix, plan))
    invocation.show(
        {"plan": plan, "prefix": prefix, "removed": True},
        lambda: click.echo(f"The price of {_numbers(prefix).lower()} in the plan {plan} is removed."),
    )


def _numbers(prefix: str) -> str:
    return f"Numbers with the prefix {prefix}" if prefix else "All numbers"
