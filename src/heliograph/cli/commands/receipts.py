"""`heliograph receipts`: receipts that match no message."""

import click

from heliograph.cli.command import Group, Invocation, format_moment, print_table


@click.group(cls=Group)
def receipts() -> None:
    """Receipts from operators."""


@receipts.command("unmatched")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="The most receipts.")
@click.pass_obj
def unmatched(invocation: Invocation, limit: int) -> None:
    """Receipts that match no message, newest first.

    Many of them mean that the connector expects another format of message ids than the operator sends."""
    from heliograph.app.facts import EarlyReceipt
    from heliograph.app.resources.desk import Desk
    from heliograph.domain.numbers.phone import mask

    async def work(desk: Desk) -> tuple[list[EarlyReceipt], dict[int, str]]:
        return await desk.store.receipts.orphans(limit), await desk.connector_names()

    found, names = invocation.at_desk(work)
    rows = [
        {
            "time": format_moment(each.at),
            "connector": names.get(each.connector, str(each.connector)),
            "operator_id": each.operator_id,
            "destination": mask(each.destination),
            "state": each.state.name,
            "operator_code": each.err,
        }
        for each in found
    ]
    columns = ("TIME", "CONNECTOR", "OPERATOR'S ID", "DESTINATION", "STATE", "OPERATOR'S CODE")
    invocation.show(
        {"receipts": rows},
        lambda: print_table(columns, [tuple(row.values()) for row in rows], empty="All receipts matched a message."),
    )
