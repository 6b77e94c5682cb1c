"""`heliograph price`: prices of messages, one by one and in lists."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import click

from heliograph.cli.command import Failure, Group, Invocation, as_json, examples, print_fields, print_table, tell
from heliograph.domain.display import counted

if TYPE_CHECKING:
    from heliograph.admin_api.price_shapes import Prices
    from heliograph.app.admin.price_table import PriceSheet
    from heliograph.app.admin.prices import ManagePrices
    from heliograph.app.configuration import Price

_SHOWN_PROBLEMS = 20


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
        "# from the first of March on another one",
        "heliograph price set --prefix 49 --price 0.07 --since 2027-03-01",
        "# the total of all that",
        "heliograph price list",
    ),
)
def price() -> None:
    """Prices of a segment, by the first digits of the number.

    A plan is a list of prices with a name, and each account has one: `default` unless it was given another. A number
    costs what the longest prefix that fits it says, in the account's plan, or where none fits in the plan `default`.

    As long as no price is set, every number costs 1 credit. So does a number that the plan `default` leaves out, to
    accounts of that plan; an account with a plan of its own is refused a number that neither plan has.

    A message from a phone costs its account nothing, or what the prefix says of such messages. It is charged whatever
    the balance.

    A price may have a date from which it holds, until the next one of its prefix and plan does.

    A running gateway goes by it within five seconds. Messages that are accepted keep their price, even
    scheduled ones."""


@price.command(
    "set",
    epilog=examples(
        "# every number, for all accounts whose plan does not say otherwise",
        'heliograph price set --prefix "" --price 0.05',
        "# numbers that begin with 49, for accounts of the plan resellers",
        "heliograph price set --prefix 49 --price 0.06 --plan resellers",
        "# and messages from such phones are charged too",
        "heliograph price set --prefix 49 --price 0.065 --inbound 0.01",
        "# from the first of March on, midnight in UTC",
        "heliograph price set --prefix 49 --price 0.07 --since 2027-03-01",
    ),
)
@click.option("--prefix", metavar="DIGITS", required=True, help='First digits of the numbers; "" is all of them.')
@click.option("--price", "amount", metavar="P", required=True, help="Credits a segment, such as 1 or 0.065.")
@click.option("--inbound", metavar="P", help="Credits a message from such a phone [as it was; 0 at first].")
@click.option("--plan", metavar="PLAN", default="default", show_default=True, help="The plan that it is in.")
@click.option(
    "--since", metavar="DATE", default="", help="When it begins to hold: a day, or ISO 8601, in UTC [at once]."
)
@click.pass_obj
def set_price(invocation: Invocation, prefix: str, amount: str, plan: str, inbound: str | None, since: str) -> None:
    """Sets the price of a segment to numbers with these first digits.

    It replaces what the plan said of the same prefix and date before; shorter and longer ones stay.
    """
    from heliograph.admin_api import serialize
    from heliograph.app.admin import fields, prices

    async def work(manage: "ManagePrices") -> "Price":
        of_inbound = None if inbound is None else fields.amount("inbound", inbound)
        return await manage.set(prefix, fields.amount("price", amount), plan, of_inbound, prices.parse_since(since))

    told = serialize.price(invocation.prices(work))
    sentence = f"{_numbers(prefix)} cost {counted(told.price, 'credit')} a segment in the plan {plan}"
    if told.inbound != "0":
        sentence += f", messages from them {counted(told.inbound, 'credit')} each"
    if told.since:
        sentence += f", from {_day(told.since)} on"
    invocation.show(as_json(told), lambda: click.echo(f"{sentence}."))


@price.command("list", epilog=examples("heliograph price list", "heliograph price list --plan resellers"))
@click.option("--plan", metavar="PLAN", help="Only this plan's.")
@click.option("--past", is_flag=True, help="Also those that others have taken the place of.")
@click.pass_obj
def list_prices(invocation: Invocation, plan: str | None, past: bool) -> None:
    """Every price, and what a number costs that none names.

    Prices that others have taken the place of are left out."""
    from heliograph.admin_api import serialize
    from heliograph.domain.money.pricing import DEFAULT_PLAN

    async def work(manage: "ManagePrices") -> "Prices":
        return serialize.prices(await manage.prices(plan, past=past), await manage.built_in())

    told = invocation.prices(work)
    rows = [(each.plan, each.prefix or "(all)", each.price, each.inbound, _day(each.since)) for each in told.prices]
    if told.built_in is not None and plan in (None, DEFAULT_PLAN):
        rows.append((DEFAULT_PLAN, "(others; built in)", told.built_in, "0", ""))
    columns = ("PLAN", "PREFIX", "PRICE", "INBOUND", "SINCE")
    invocation.show(
        as_json(told),
        lambda: print_table(columns, rows, empty="The plan names no price.", right=("PRICE", "INBOUND")),
    )


@price.command(
    "remove",
    epilog=examples(
        "# numbers that begin with 49 cost accounts of this plan what a shorter prefix says, or the plan default",
        "heliograph price remove --prefix 49 --plan resellers",
        "# only the price that was to hold from March on",
        "heliograph price remove --prefix 49 --since 2027-03-01",
    ),
)
@click.option("--prefix", metavar="DIGITS", required=True, help='First digits of the numbers; "" is all of them.')
@click.option("--plan", metavar="PLAN", default="default", show_default=True, help="The plan that it is in.")
@click.option(
    "--since", metavar="DATE", help='Only the price that holds from then on; "" is the one without a date [all].'
)
@click.pass_obj
def remove_price(invocation: Invocation, prefix: str, plan: str, since: str | None) -> None:
    """Removes the prices of a prefix from a plan, or that of one date."""

    async def work(manage: "ManagePrices") -> None:
        from heliograph.app.admin.prices import parse_since

        await manage.remove(prefix, plan, None if since is None else parse_since(since))

    invocation.prices(work)
    date = f" since {since}" if since else ""
    invocation.show(
        {"plan": plan, "prefix": prefix, "removed": True},
        lambda: click.echo(f"The price of {_numbers(prefix).lower()}{date} in the plan {plan} is removed."),
    )


@price.command(
    "import",
    epilog=examples(
        "heliograph price import rates.csv --dry-run               # says what would change",
        "heliograph price import rates.csv --plan resellers --since 2027-03-01",
        "heliograph price export --plan resellers | sed s/0.05/0.06/ | heliograph price import - --replace",
    ),
)
@click.argument("file", metavar="FILE")
@click.option("--plan", metavar="PLAN", default="default", show_default=True, help="The plan of rows that name none.")
@click.option("--since", metavar="DATE", default="", help="The date of rows that have none, as for set [at once].")
@click.option("--replace", is_flag=True, help="Leave the plans of the file no other prices than those of the file.")
@click.option("--dry-run", is_flag=True, help="Change nothing; say what would change.")
@click.pass_obj
def import_prices(invocation: Invocation, file: str, plan: str, since: str, replace: bool, dry_run: bool) -> None:
    """Sets the prices of a list, all or none; - is standard input.

    The list is CSV in UTF-8 with a heading that names its columns: prefix and price, and where they are wanted plan,
    inbound and since. Cells are apart by commas, semicolons or tabs."""
    with _progress("reading", hidden=invocation.as_json) as advance:
        table = _read(file, plan, since, advance)
    for line in table.bad[:_SHOWN_PROBLEMS]:
        tell(str(line), err=True)
    if len(table.bad) > _SHOWN_PROBLEMS:
        tell(f"... and {len(table.bad) - _SHOWN_PROBLEMS} more", err=True)
    if table.bad:
        raise Failure(f"{counted(len(table.bad), 'line')} of {file} cannot be used.", "Nothing was imported.")
    if not table.prices:
        raise Failure(f"{file} has no price.", "Nothing was imported.")
    changes = invocation.prices(lambda manage: manage.put(table.prices, replace=replace, dry_run=dry_run))
    would = "would be " if dry_run else ""
    invocation.show(
        {
            "prices": len(table.prices), "added": changes.added, "changed": changes.changed, "same": changes.same,
            "removed": changes.removed, "dry_run": dry_run,
        },
        lambda: print_fields(
            [
                (f"{would}added", changes.added),
                (f"{would}changed", changes.changed),
                ("the same already", changes.same),
                (f"{would}removed", changes.removed),
            ]
        ),
    )  # fmt: skip


@price.command(
    "export",
    epilog=examples(
        "heliograph price export > prices.csv", "heliograph price export --plan resellers -o resellers.csv"
    ),
)
@click.option("--plan", metavar="PLAN", help="Only this plan's.")
@click.option("--past", is_flag=True, help="Also those that others have taken the place of.")
@click.option("-o", "--output", metavar="FILE", default="-", help="Where the list goes [standard output].")
@click.pass_obj
def export_prices(invocation: Invocation, plan: str | None, past: bool, output: str) -> None:
    """Writes prices as a list that `price import` reads."""
    from heliograph.app.admin import price_table

    prices = invocation.prices(lambda manage: manage.prices(plan, past=past))
    try:
        with _opened(output) as file:
            price_table.write(prices, file)
    except OSError as problem:
        raise Failure(f"{output} cannot be written: {problem.strerror or problem}") from problem
    if output != "-":
        invocation.show(
            {"file": output, "prices": len(prices)},
            lambda: tell(f"{counted(len(prices), 'price')} written to {output}."),
        )


@contextmanager
def _opened(output: str) -> Iterator[TextIO]:
    if output == "-":
        yield sys.stdout
        return
    with click.open_file(output, "w", encoding="utf-8") as file:
        yield file  # type: ignore[misc] # it is opened as text


def _read(file: str, plan: str, since: str, advance: Callable[[], None]) -> "PriceSheet":
    from heliograph.app.admin.price_table import PriceSheet
    from heliograph.app.resources.desk import Invalid

    def counting(lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            yield line
            advance()

    try:
        with click.open_file(file, encoding="utf-8") as lines:
            return PriceSheet(counting(lines), plan, since)
    except Invalid as problem:
        raise Failure(f"--{problem.field}: {problem.problem}", "Nothing was imported.") from problem
    except UnicodeDecodeError as problem:
        raise Failure(f"{file} is no UTF-8.", "Nothing was imported. Save it as CSV in UTF-8.") from problem
    except OSError as problem:
        raise Failure(f"{file} cannot be read: {problem.strerror or problem}", "Nothing was imported.") from problem


@contextmanager
def _progress(what: str, *, hidden: bool) -> Iterator[Callable[[], None]]:
    """Counts lines on a terminal, on standard error; nothing elsewhere."""
    if hidden or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn(what), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda: progress.advance(task)


def _numbers(prefix: str) -> str:
    return f"Numbers with the prefix {prefix}" if prefix else "All numbers"


def _day(since: str | None) -> str:
    """The date of an answer for people."""
    return "" if since is None else since.replace(".000Z", "Z").removesuffix("T00:00:00Z")
