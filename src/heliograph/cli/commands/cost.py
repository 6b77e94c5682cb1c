"""`heliograph cost`: what operators charge."""

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final

import click

from heliograph.app.resources.costs import COSTS, ROW, check_dates
from heliograph.cli.command import Failure, Invocation, examples
from heliograph.cli.drawn import group_of, show
from heliograph.domain.display import counted

if TYPE_CHECKING:
    from heliograph.app.admin.csv_rows import BadLine

_MICRO = Decimal("0.000001")

NAMES: Final = {
    "mccmnc": "network", "price_submit": "submitted", "price": "submitted", "price_delivered": "delivered",
    "effective": "since",
}  # fmt: skip
"""Names of columns as operators write them, with the fields that they are."""

cost = group_of(COSTS)


@cost.command(
    "import",
    epilog=examples(
        "heliograph cost import rates.csv --connector op1 --dry-run     # says what rises",
        "heliograph cost import rates.csv --connector op1 --replace --exchange EUR=1.08",
    ),
)
@click.argument("file", metavar="FILE")
@click.option("--connector", metavar="NAME", required=True, help="The connector of the operator.")
@click.option("--exchange", metavar="CUR=RATE", multiple=True, help="Credits for a unit of a currency. Repeatable.")
@click.option("--replace", is_flag=True, help="Remove all other costs of the connector.")
@click.option("--dry-run", is_flag=True, help="Change nothing; say what would change.")
@click.pass_obj
def import_costs(
    invocation: Invocation, file: str, connector: str, exchange: tuple[str, ...], replace: bool, dry_run: bool
) -> None:
    """Sets the costs of a CSV file, all or none; - is standard input.

    The file is in UTF-8. Its heading has the columns mccmnc or prefix, and price_submit; optional are price_delivered,
    currency, effective and until. Other columns are ignored and named. If semicolons or tabs separate cells, prices may
    have a decimal comma, such as 0,0312. For example:

    \b
      mccmnc,price_submit,currency,effective,until
      26201,0.0312,EUR,2027-03-01,
      26202,0.0288,EUR,2027-03-01,2027-07-01
    """
    from heliograph.cli.lists.reading import elapsed, read_file, refuse_bad

    rates = _rates(exchange)
    rows, bad, ignored = read_file(file, lambda lines: _read(lines, rates))
    if bad:
        invocation.ask(COSTS, "list", {"connector": connector, "limit": 1})  # an unknown connector is named first
    refuse_bad(bad, file, ignored)
    operation = COSTS.operation("import")
    given = {"connector": connector, "costs": rows, "replace": replace, "dry_run": dry_run}
    with elapsed(f"{'comparing' if dry_run else 'writing'} {counted(len(rows), 'cost')}", hidden=invocation.as_json):
        answer = invocation.ask(COSTS, operation.name, given)
    show(invocation, COSTS, operation, {"connector": connector, "dry_run": dry_run}, answer)


def _rates(exchange: tuple[str, ...]) -> dict[str, Decimal]:
    rates = {}
    for each in exchange:
        currency, _, rate = each.partition("=")
        try:
            value = Decimal(rate)
        except InvalidOperation:
            value = Decimal(0)
        if not (value.is_finite() and value > 0 and currency.strip()):
            raise Failure(f"--exchange: {each!r} is no rate.", "Write it as EUR=1.08.")
        rates[currency.strip().upper()] = value
    return rates


def _read(lines: Iterable[str], rates: dict[str, Decimal]) -> tuple[list[dict[str, Any]], "list[BadLine]", list[str]]:
    """Returns the JSON values of the costs, the lines that cannot be used, and the columns that are ignored."""
    from heliograph.app.admin.csv_rows import BadLine, NamedRows, values_of
    from heliograph.app.resources.desk import Invalid

    bad: list[BadLine] = []
    rows: list[dict[str, Any]] = []
    columns = [*(each.name for each in ROW), *NAMES, "currency"]
    amounts = [name for name in columns if NAMES.get(name, name) in ("submitted", "delivered")]
    required = (("mccmnc", "network", "prefix"), ("price_submit", "price", "submitted"))
    table = NamedRows(lines, columns, required, bad, amounts)
    for line, texts in table:
        named = {NAMES.get(name, name): text for name, text in texts.items() if text}
        currency = named.pop("currency", "").upper()
        if currency and currency not in rates:
            bad.append(BadLine(line, f"there is no rate of {currency}; give --exchange {currency}=RATE"))
            continue
        try:
            for name in {"submitted", "delivered"} & named.keys() if currency else ():
                amount = Decimal(named[name]) * rates[currency]
                named[name] = f"{amount.quantize(_MICRO):f}"
            values = values_of(ROW, named)
            check_dates(values["since"], values["until"])
        except InvalidOperation:
            bad.append(BadLine(line, "a price is not a number"))
        except Invalid as problem:
            bad.append(BadLine(line, str(problem)))
        else:
            rows.append({each.name: each.show(values[each.name]) for each in ROW})
    return rows, bad, table.ignored
