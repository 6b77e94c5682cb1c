"""`heliograph report`: what was sent, delivered, failed, spent and how long it took."""

import click

from heliograph.app.admin.report_tables import BY, csv_of, delay, delivery_share, table
from heliograph.app.admin.reports import DEFAULT_RANGE, RANGES, ReportQuery, SeriesReport
from heliograph.cli.command import Command, Failure, Invocation, as_json, examples, print_table, tell
from heliograph.domain.display import duration
from heliograph.domain.money import format_credits
from heliograph.domain.series import Cell
from heliograph.domain.sketch import Sketch

_SHOWN = ("accepted", "delivered", "failed", "delivery_share", "inbound", "refused", "spend")
"""Columns of the tables for people; JSON and CSV have all."""


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph report",
        "heliograph report --range 7d --by connector --compare",
        "heliograph report --range 30d --account acme --by country --csv > acme.csv",
    ),
)
@click.option(
    "--range", "span", type=click.Choice(list(RANGES)), default=DEFAULT_RANGE, show_default=True, help="How far back."
)
@click.option("--account", metavar="NAME", default="", help="Only this account's.")
@click.option("--connector", metavar="NAME", default="", help="Only by way of this connector.")
@click.option("--country", metavar="CODE", default="", help="Only to and from this country, such as DE.")
@click.option(
    "--by", type=click.Choice(BY), default="connector", show_default=True, help="What the rows of the table stand for."
)
@click.option("--compare", is_flag=True, help="Compare with the range of the same length before.")
@click.option("--csv", "as_csv", is_flag=True, help="The table as CSV, with all columns.")
@click.pass_obj
def report(
    invocation: Invocation,
    span: str,
    account: str,
    connector: str,
    country: str,
    by: str,
    *,
    compare: bool,
    as_csv: bool,
) -> None:
    """Messages sent, delivered and failed, spend, and delays.

    By account, connector, country or time; failures by code, refused requests by reason. Counts are exact, delays are
    right to 3 %. A running gateway adds to them every five seconds. The end of the range is that of the current minute,
    hour or day, whichever the range is made of."""
    if as_csv and invocation.as_json:
        raise Failure("--csv and --json exclude each other")
    found = invocation.reports(lambda view: view.report(ReportQuery(span, account, connector, country)))
    if as_csv:
        click.echo(csv_of(found, by), nl=False)
        return
    from heliograph.admin_api.reports import report as answer_of

    def people() -> None:
        _tell_total(found, compare=compare)
        columns, rows = table(found, by)
        shown = [
            number for number, name in enumerate(columns) if number == 0 or name in _SHOWN or by in ("code", "reason")
        ]
        tell("")
        print_table(
            [columns[number].replace("_", " ").upper() for number in shown],
            [[_cell(columns[number], row[number]) for number in shown] for row in rows],
            empty="Nothing was counted.",
            right=[columns[number].replace("_", " ").upper() for number in shown[1:]],
        )

    invocation.show(as_json(answer_of(found)), people)


def _tell_total(found: SeriesReport, *, compare: bool) -> None:
    total, before = found.total, found.before

    def line(name: str, now: str, then: str) -> str:
        return f"{name:22}{now}" + (f"  ({then} before)" if compare else "")

    tell(f"{found.range.title}.\n")
    for name, field in (
        ("Accepted", "accepted"), ("Delivered", "delivered"), ("Failed", "failed"), ("Cancelled", "cancelled"),
        ("From phones", "inbound"), ("Refused requests", "refused"),
    ):  # fmt: skip
        tell(line(name, f"{getattr(total, field):,}", f"{getattr(before, field):,}"))
    tell(line("Delivery share", _share(total), _share(before)))
    tell(line("Spend", format_credits(total.spend), format_credits(before.spend)))
    for name, sketch in (("Delay to the operator", total.to_operator), ("Delay to the receipt", total.to_receipt)):
        tell(f"{name:22}{_delays(sketch)}")


def _share(cell: Cell) -> str:
    share = delivery_share(cell)
    return "-" if share is None else f"{share:.1%}"


def _delays(sketch: Sketch) -> str:
    half, most = delay(sketch, 0.5), delay(sketch, 0.95)
    if half is None or most is None:
        return "-"
    return f"half within {_short(half)}, 95 % within {_short(most)}"


def _short(ms: int) -> str:
    return f"{ms} ms" if ms < 10_000 else duration(ms)


def _cell(column: str, value: str) -> str:
    if not value:
        return "-"
    if column == "delivery_share":
        return f"{float(value):.1%}"
    return f"{int(value):,}" if value.isdigit() else value
