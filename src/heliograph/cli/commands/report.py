"""`heliograph report`: what was sent, delivered, failed, spent and how long it took."""

from typing import Any

import click

from heliograph.app.resources.report_series import DEFAULT_RANGE
from heliograph.app.resources.report_steps import RANGES
from heliograph.app.resources.reports import BY, REPORTS, csv_of, table
from heliograph.cli.command import Command, Failure, Invocation, examples, print_table, tell
from heliograph.domain.display import duration

_SHOWN = ("accepted", "delivered", "failed", "delivery_share", "inbound", "refused", "spend")
"""Columns of the tables for people; JSON and CSV have all."""


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph report",
        "heliograph report --range 7d --by connector --compare",
        "heliograph report --range 30d --account acme --by country --csv > acme.csv",
        "heliograph report --range 90d --by time --zone Europe/Berlin",
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
@click.option(
    "--zone",
    metavar="NAME",
    default="UTC",
    show_default=True,
    help="Time zone of days and times, such as Europe/Berlin.",
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
    zone: str,
    *,
    compare: bool,
    as_csv: bool,
) -> None:
    """Messages sent, delivered and failed, spend, and delays.

    By account, connector, country or time; failures by code, refused requests by reason. Counts are exact, delays are
    right to 3 %. A running gateway adds to them every five seconds. The end of the range is that of the current minute,
    hour or day, whichever the range is made of. Days are those of the time zone where these are made of whole hours
    that are still kept, and those of UTC otherwise; the report says so."""
    if as_csv and invocation.as_json:
        raise Failure("--csv and --json exclude each other")
    asked = {"range": span, "account": account, "connector": connector, "country": country, "zone": zone}
    found = invocation.ask(REPORTS, REPORTS.operation("show").asked(asked))
    if as_csv:
        click.echo(csv_of(found, by), nl=False)
        return
    columns, rows = table(found, by)

    def people() -> None:
        _tell_total(found, compare=compare)
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

    invocation.show(found, people)


def _tell_total(found: dict[str, Any], *, compare: bool) -> None:
    total, before = found["total"], found["before"]

    def line(name: str, now: str, then: str) -> str:
        return f"{name:22}{now}" + (f"  ({then} before)" if compare else "")

    zone = "" if found["zone"] == "UTC" else f" Times are in {found['zone']}."
    tell(" ".join(filter(None, (f"{RANGES[found['range']].title}.{zone}", found["note"]))) + "\n")
    for name, field in (
        ("Accepted", "accepted"), ("Delivered", "delivered"), ("Failed", "failed"), ("Cancelled", "cancelled"),
        ("From phones", "inbound"), ("Refused requests", "refused"),
    ):  # fmt: skip
        tell(line(name, f"{total[field]:,}", f"{before[field]:,}"))
    tell(line("Delivery share", _share(total), _share(before)))
    tell(line("Spend", total["spend"], before["spend"]))
    for name, delay in (("Delay to the operator", found["to_operator"]), ("Delay to the receipt", found["to_receipt"])):
        tell(f"{name:22}{_delays(delay)}")


def _share(counts: dict[str, Any]) -> str:
    return "-" if counts["delivery_share"] is None else f"{counts['delivery_share']:.1%}"


def _delays(delay: dict[str, int | None]) -> str:
    if delay["p50"] is None or delay["p95"] is None:
        return "-"
    return f"half within {_short(delay['p50'])}, 95 % within {_short(delay['p95'])}"


def _short(ms: int) -> str:
    return f"{ms} ms" if ms < 10_000 else duration(ms)


def _cell(column: str, value: str) -> str:
    if not value:
        return "-"
    if column == "delivery_share":
        return f"{float(value):.1%}"
    return f"{int(value):,}" if value.isdigit() else value
