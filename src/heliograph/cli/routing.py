"""`heliograph route` and `heliograph price`: which operator takes a number, and what it costs."""

from typing import TYPE_CHECKING

import click

from heliograph.cli.command import Failure, Group, Invocation, as_json, examples, print_table
from heliograph.domain.display import counted

if TYPE_CHECKING:
    from heliograph.admin_api.shapes import Prices
    from heliograph.app.admin.manage import Manage


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


@click.group(
    cls=Group,
    epilog=examples(
        "# every number costs 0.05 credits a segment ...",
        'heliograph price set --prefix "" --price 0.05',
        "# ... save those that begin with 49: they cost 0.065",
        "heliograph price set --prefix 49 --price 0.065",
        "# and for accounts of the plan resellers, of which acme is one, 0.06",
        "heliograph price set --prefix 49 --price 0.06 --plan resellers",
        "heliograph account set acme plan=resellers",
        "# what all that comes to",
        "heliograph price list",
    ),
)
def price() -> None:
    """What a segment costs, by the first digits of the number.

    A plan is a list of prices with a name, and each account has one: `default` unless it was given another. A number
    costs what the longest prefix that fits it says, in the account's plan, or where none fits in the plan `default`.

    As long as no price is set, every number costs 1 credit. So does a number that the plan `default` leaves out, to
    accounts of that plan; an account with a plan of its own is refused a number that neither plan has.

    A message from a phone costs its account nothing, or what the prefix says of such messages. It is charged whatever
    the balance.

    A running gateway goes by it within five seconds. Messages that are accepted keep their price."""


@price.command(
    "set",
    epilog=examples(
        "# every number, for all accounts whose plan does not say otherwise",
        'heliograph price set --prefix "" --price 0.05',
        "# numbers that begin with 49, for accounts of the plan resellers",
        "heliograph price set --prefix 49 --price 0.06 --plan resellers",
        "# and messages from such phones are charged too",
        "heliograph price set --prefix 49 --price 0.065 --inbound 0.01",
    ),
)
@click.option("--prefix", metavar="DIGITS", required=True, help='First digits of the numbers; "" is all of them.')
@click.option("--price", "amount", metavar="P", required=True, help="Credits a segment, such as 1 or 0.065.")
@click.option("--inbound", metavar="P", help="Credits a message from such a phone [as it was; 0 at first].")
@click.option("--plan", metavar="PLAN", default="default", show_default=True, help="The plan that it is in.")
@click.pass_obj
def set_price(invocation: Invocation, prefix: str, amount: str, plan: str, inbound: str | None) -> None:
    """Sets the price of a segment to numbers with these first digits.

    It replaces what the plan said of the same prefix before; shorter and longer ones stay.
    """
    from heliograph.admin_api import serialize
    from heliograph.app.admin import fields

    price, of_inbound = fields.amount("price", amount), None if inbound is None else fields.amount("inbound", inbound)
    told = serialize.price(invocation.manage(lambda manage: manage.set_price(prefix, price, plan, of_inbound)))
    sentence = f"{_numbers(prefix)} cost {counted(told.price, 'credit')} a segment in the plan {plan}"
    if told.inbound != "0":
        sentence += f", messages from them {counted(told.inbound, 'credit')} each"
    invocation.show(as_json(told), lambda: click.echo(f"{sentence}."))


@price.command("list", epilog=examples("heliograph price list", "heliograph price list --plan resellers"))
@click.option("--plan", metavar="PLAN", help="Only this plan's.")
@click.pass_obj
def list_prices(invocation: Invocation, plan: str | None) -> None:
    """Every price, and what a number costs that none names."""
    from heliograph.admin_api import serialize
    from heliograph.domain.pricing import DEFAULT_PLAN

    async def work(manage: "Manage") -> "Prices":
        return serialize.prices(await manage.prices(plan), await manage.built_in_price())

    told = invocation.manage(work)
    rows = [(each.plan, each.prefix or "(all)", each.price, each.inbound) for each in told.prices]
    if told.built_in is not None and plan in (None, DEFAULT_PLAN):
        rows.append((DEFAULT_PLAN, "(others; built in)", told.built_in, "0"))
    invocation.show(
        as_json(told),
        lambda: print_table(
            ("PLAN", "PREFIX", "PRICE", "INBOUND"), rows, empty="The plan names no price.", right=("PRICE", "INBOUND")
        ),
    )


@price.command(
    "remove",
    epilog=examples(
        "# numbers that begin with 49 cost accounts of this plan what a shorter prefix says, or the plan default",
        "heliograph price remove --prefix 49 --plan resellers",
    ),
)
@click.option("--prefix", metavar="DIGITS", required=True, help='First digits of the numbers; "" is all of them.')
@click.option("--plan", metavar="PLAN", default="default", show_default=True, help="The plan that it is in.")
@click.pass_obj
def remove_price(invocation: Invocation, prefix: str, plan: str) -> None:
    """Removes the price of a prefix from a plan."""
    invocation.manage(lambda manage: manage.remove_price(prefix, plan))
    invocation.show(
        {"plan": plan, "prefix": prefix, "removed": True},
        lambda: click.echo(f"The price of {_numbers(prefix).lower()} in the plan {plan} is removed."),
    )


def _numbers(prefix: str) -> str:
    return f"Numbers with the prefix {prefix}" if prefix else "All numbers"
