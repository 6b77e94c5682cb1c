"""`heliograph inbound`: messages from phones, and whose they are."""

from typing import TYPE_CHECKING, Any

import click

from heliograph.cli.command import (
    Failure,
    Group,
    Invocation,
    as_json,
    examples,
    print_fields,
    print_table,
)

if TYPE_CHECKING:
    from heliograph.admin_api.shapes import InboundShape
    from heliograph.app.admin.inbound import ManageInbound
    from heliograph.app.records import InboundRecord
    from heliograph.cli.remote.gateway import RemoteGateway


@click.group(cls=Group)
def inbound() -> None:
    """Messages from phones.

    Messages to a number without an account are kept, and can be given to an account later."""


@inbound.command(
    "list",
    epilog=examples(
        "heliograph inbound list --unrouted", "heliograph inbound list --account acme --number 4917012345678"
    ),
)
@click.option("--account", "name", metavar="NAME", help="Only this account's.")
@click.option("--unrouted", is_flag=True, help="Only those that are nobody's.")
@click.option("--number", "digits", metavar="NUMBER", default="", help="Only those from or to this number.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, show_default=True, help="Messages at most.")
@click.pass_obj
def list_inbound(invocation: Invocation, name: str | None, unrouted: bool, digits: str, limit: int) -> None:
    """Messages from phones, the newest first."""
    if unrouted and name is not None:
        raise Failure("Take one of --account and --unrouted.")

    async def work(manage: "ManageInbound") -> list[dict[str, Any]]:
        from heliograph.app.records import InboundQuery

        query = InboundQuery(0 if unrouted else None, digits.removeprefix("+"), limit=limit)
        return await _told(manage, await manage.find(query, name))

    over = invocation.asked(lambda gateway: _find_over(gateway, name, unrouted, digits, limit))
    rows = invocation.inbound(work) if over is None else over
    invocation.show(
        {"messages": rows},
        lambda: print_table(
            ("TIME", "FROM", "TO", "ACCOUNT", "CALLBACK", "TEXT", "ID"),
            [
                (*(row[column] for column in ("time", "from", "to")), row["account"] or "(nobody)", *_last_columns(row))
                for row in rows
            ],
            empty="Nothing was found.",
        ),
    )


@inbound.command("show")
@click.argument("message_id", metavar="ID")
@click.pass_obj
def show(invocation: Invocation, message_id: str) -> None:
    """One message from a phone, and what became of it."""
    key, tail = _parse(invocation, message_id)

    async def work(manage: "ManageInbound") -> dict[str, Any]:
        return (await _told(manage, [await manage.show(key, tail)]))[0]

    over = invocation.asked(lambda gateway: as_json(gateway.get(_shape(), "inbound", message_id)))
    told = invocation.inbound(work) if over is None else over
    invocation.show(told, lambda: print_fields(told.items()))


@inbound.command("route", epilog=examples("heliograph inbound route 0198c5f2a1b37c4d8e9f001122334455 --account acme"))
@click.argument("message_id", metavar="ID")
@click.option("--account", metavar="NAME", required=True, help="The account that gets it.")
@click.pass_obj
def route(invocation: Invocation, message_id: str, account: str) -> None:
    """Gives a message that is nobody's to an account."""
    key, tail = _parse(invocation, message_id)

    async def work(manage: "ManageInbound") -> dict[str, Any]:
        return (await _told(manage, [await manage.route(key, tail, account)]))[0]

    over = invocation.asked(
        lambda gateway: as_json(
            gateway.ask("POST", _shape(), "inbound", message_id, "route", body={"account": account})
        )
    )
    told = invocation.inbound(work) if over is None else over
    invocation.show(told, lambda: click.echo(f"It goes to {account}."))


def _shape() -> "type[InboundShape]":
    from heliograph.admin_api.shapes import InboundShape

    return InboundShape


def _find_over(
    gateway: "RemoteGateway", account: str | None, unrouted: bool, digits: str, limit: int
) -> list[dict[str, Any]]:
    from heliograph.admin_api.shapes import InboundMessages

    rows: list[dict[str, Any]] = []
    cursor = None
    while len(rows) < limit:
        page = gateway.get(
            InboundMessages, "inbound", account=account, unrouted="true" if unrouted else None, number=digits or None,
            limit=min(100, limit - len(rows)), cursor=cursor,
        )  # fmt: skip
        rows += [as_json(each) for each in page.messages]
        cursor = page.cursor
        if cursor is None:
            break
    return rows


def _parse(invocation: Invocation, message_id: str) -> tuple[int, int]:
    from heliograph.domain.message import ids

    parsed = ids.parse(message_id)
    if parsed is None:
        raise Failure(f"{message_id!r} is no id of a message.", command=invocation.typed("inbound list"))
    return parsed


def _last_columns(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["callback"], row["content"], row["id"]


async def _told(manage: "ManageInbound", records: "list[InboundRecord]") -> list[dict[str, Any]]:
    from heliograph.admin_api import serialize

    accounts, connectors = await manage.account_names(), await manage.connector_names()
    return [as_json(serialize.inbound(record, accounts, connectors)) for record in records]
