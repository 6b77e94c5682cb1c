"""`heliograph report`: counts of messages, delivery share, spend and delays."""

from typing import Any

import click

from heliograph.app.resources.report_margin import MARGIN, MARGIN_SUMS, margin_csv, margin_table
from heliograph.app.resources.report_periods import FORMS
from heliograph.app.resources.report_series import DEFAULT_RANGE
from heliograph.app.resources.reports import BY, REPORTS, csv_of, table
from heliograph.cli.command import Failure, Group, Invocation, examples, print_line, print_table
from heliograph.domain.display import counted, duration

_SHOWN = ("accepted", "delivered", "failed", "delivery_share", "inbound", "refused", "spend")
"""Columns of the tables for people. JSON and CSV have all columns."""

_HELP = {each.name: each.meaning for each in MARGIN.reads}


@click.group(
    cls=Group,
    invoke_without_command=True,
    epilog=examples(
        "heliograph report",
        "heliograph report --range 7d --by connector --compare",
        "heliograph report --range 30d --account acme --by country --csv > acme.csv",
        "heliograph report --range 'last week' --by time --zone Europe/Berlin",
        "heliograph report --range October --by account",
        "heliograph report --range 2026-10-01..2026-10-15",
    ),
)
@click.option(
    "--range", "span", metavar="PERIOD", default=DEFAULT_RANGE, show_default=True, help=f"The period: {FORMS}."
)
@click.option("--account", metavar="NAME", default="", help="Only messages of this account.")
@click.option("--connector", metavar="NAME", default="", help="Only messages over this connector.")
@click.option("--country", metavar="CODE", default="", help="Only messages to and from this country, such as DE.")
@click.option("--network", metavar="MCCMNC", default="", help="Only messages to this network, such as 26201.")
@click.option("--by", type=click.Choice(BY), default="connector", show_default=True, help="The rows of the table.")
@click.option(
    "--zone",
    metavar="NAME",
    default="UTC",
    show_default=True,
    help="Time zone of days and times, such as Europe/Berlin.",
)
@click.option("--compare", is_flag=True, help="Compare with the period before.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the table as CSV, with all columns.")
@click.pass_context
def report(
    context: click.Context,
    span: str,
    account: str,
    connector: str,
    country: str,
    network: str,
    by: str,
    zone: str,
    *,
    compare: bool,
    as_csv: bool,
) -> None:
    """Counts of messages, delivery share, spend, and delays.

    The table is by account, connector, country, network or time, or has failures by code, or refused requests by
    reason. Counts are exact; delays are accurate to 3 %. A running gateway updates them every five seconds.

    By connector, a message is accepted and charged at the connector that it was accepted for, and submitted, delivered
    and failed at the connector that sent it. A failover makes these two differ. `report margin --by connector` has the
    messages and charges of the connector that sent them.

    A report of 1h to 1y ends with the current minute, hour or day, depending on its steps. Other periods are whole
    days; a week begins on Monday. Days are those of the time zone, if it is whole hours from UTC and counts by the hour
    still exist. Otherwise days are in UTC, and the report says so."""
    invocation = context.ensure_object(Invocation)
    if context.invoked_subcommand is not None:
        return
    _check_form(invocation, as_csv=as_csv)
    asked = {
        "range": span,
        "account": account,
        "connector": connector,
        "country": country,
        "network": network,
        "zone": zone,
    }
    found = invocation.ask(REPORTS, "show", asked)
    if as_csv:
        click.echo(csv_of(found, by), nl=False)
        return
    columns, rows = table(found, by)

    def people() -> None:
        _print_total(found, compare=compare)
        shown = [
            number for number, name in enumerate(columns) if number == 0 or name in _SHOWN or by in ("code", "reason")
        ]
        print_line("")
        print_table(
            [columns[number].replace("_", " ").upper() for number in shown],
            [[_cell(columns[number], row[number]) for number in shown] for row in rows],
            empty="There are no figures.",
            right=[columns[number].replace("_", " ").upper() for number in shown[1:]],
        )

    invocation.show(found, people)


def _check_form(invocation: Invocation, *, as_csv: bool) -> None:
    if as_csv and invocation.as_json:
        raise Failure("--csv and --json cannot be combined.")


@report.command("margin", epilog=examples(*(f"heliograph {each}" for each in MARGIN.examples)))
@click.option("--by", metavar="LIST", default="connector", show_default=True, help=_HELP["by"])
@click.option("--from", "start", metavar="TIME", default="", help=_HELP["from"])
@click.option("--to", "end", metavar="TIME", default="", help=_HELP["to"])
@click.option("--csv", "as_csv", is_flag=True, help="Print the table as CSV.")
@click.pass_obj
def report_margin(invocation: Invocation, by: str, start: str, end: str, *, as_csv: bool) -> None:
    """Revenue, cost and margin of messages.

    Messages count by the time of their acceptance, once an operator took them. A cost is that of the moment at which
    the operator took the segment. Amounts are exact over changes of prices and costs."""
    _check_form(invocation, as_csv=as_csv)
    found = invocation.ask(REPORTS, MARGIN.name, {"by": by, "from": start, "to": end})
    if as_csv:
        click.echo(margin_csv(found), nl=False)
        return
    columns, rows = margin_table(found)

    def people() -> None:
        total = found["total"]
        print_line(f"Messages accepted from {found['from'][:19]}Z to {found['to'][:19]}Z.\n")
        for name in ("revenue", "cost", "margin"):
            print_line(f"{name.capitalize():22}{total[name]}")
        if total["unknown"]:
            print_line(f"The cost of {counted(total['unknown'], 'segment')} is not known.")
        print_line("")
        kinds = len(columns) - len(MARGIN_SUMS)
        names = [name.upper() for name in columns]
        print_table(names, rows, empty="There are no figures.", right=names[kinds:])

    invocation.show(found, people)


def _print_total(found: dict[str, Any], *, compare: bool) -> None:
    total, before = found["total"], found["before"]

    def line(name: str, now: str, then: str) -> str:
        return f"{name:22}{now}" + (f"  ({then} before)" if compare else "")

    zone = "" if found["zone"] == "UTC" else f" Times are in {found['zone']}."
    print_line(" ".join(filter(None, (f"{found['title']}.{zone}", found["note"]))) + "\n")
    for name, field in (
        ("Accepted", "accepted"), ("Delivered", "delivered"), ("Failed", "failed"), ("Cancelled", "cancelled"),
        ("From phones", "inbound"), ("Refused requests", "refused"),
    ):  # fmt: skip
        print_line(line(name, f"{total[field]:,}", f"{before[field]:,}"))
    print_line(line("Delivery share", _share(total), _share(before)))
    print_line(line("Spend", total["spend"], before["spend"]))
    for name, delay in (("Delay to the operator", found["to_operator"]), ("Delay to the receipt", found["to_receipt"])):
        print_line(f"{name:22}{_delays(delay)}")


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
