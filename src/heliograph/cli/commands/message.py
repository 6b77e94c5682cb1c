"""`heliograph message`: messages of any account, found and looked at, moved and cancelled."""

from typing import TYPE_CHECKING, Any

import click

from heliograph.cli.command import (
    Failure,
    Group,
    Invocation,
    as_json,
    examples,
    format_moment,
    print_fields,
    print_table,
    tell,
)
from heliograph.domain.message.status import MessageStatus
from heliograph.domain.numbers.phone import number_in

if TYPE_CHECKING:
    from heliograph.app.admin.views import MessageView, Views
    from heliograph.app.records import SearchPage
    from heliograph.cli.remote.gateway import RemoteGateway

_COLUMNS = ("to", "status", "err", "account", "connector", "id")


@click.group(cls=Group)
def message() -> None:
    """Messages of any account, and what became of them.

    Scheduled ones can be moved and cancelled."""


@message.command(
    "find",
    epilog=examples(
        "heliograph message find 4917                          # a number, or its beginning",
        "heliograph message find order-1042                    # a reference",
        "heliograph message find --account acme --status undelivered --limit 20",
        "heliograph message find --connector op1 --error 'UNDELIV 011'",
        "heliograph message find --sender ACME --country DE",
        "heliograph message find --held                        # what the pumping guard holds",
    ),
)
@click.argument("text", default="")
@click.option("--account", "name", metavar="NAME", help="Only this account's.")
@click.option("--status", type=click.Choice([each.value for each in MessageStatus]), help="Only those that are so far.")
@click.option("--connector", metavar="NAME", default="", help="Only those that went, or are to go, to this connector.")
@click.option("--error", metavar="TEXT", default="", help="Only undelivered ones with this state, code, or both.")
@click.option("--sender", metavar="ID", default="", help="Only those from this sender.")
@click.option("--country", metavar="CODE", default="", help="Only those to this country, such as DE.")
@click.option("--held", is_flag=True, help="Only those that the pumping guard holds.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=50, show_default=True, help="Messages at most.")
@click.pass_obj
def find(
    invocation: Invocation,
    /,
    text: str,
    name: str | None,
    status: str | None,
    held: bool,
    limit: int,
    **narrowing: str,
) -> None:
    """Messages by id, number or reference, the newest first.

    A search for pending or submitted messages looks at 100,000 at most, and so does one for the first few digits of
    a number within an account.
    """

    async def work(views: "Views") -> "tuple[SearchPage, dict[int, str], dict[int, str]]":
        from heliograph.app.records import Search

        search = Search(limit=limit, status=None if status is None else MessageStatus(status), held=held)
        accounts = await views.account_names()
        if name is not None:
            number = next((number for number, known in accounts.items() if known == name), None)
            if number is None:
                raise Failure(f"there is no account {name}", command=invocation.typed("account list"))
            search.account = number
        if narrowing["connector"]:
            search.connector = await views.connector_id(narrowing["connector"])
        search.error, search.sender, search.country = (narrowing[each] for each in ("error", "sender", "country"))
        return await views.find(text, search), accounts, await views.connector_names()

    from heliograph.admin_api import serialize

    over = invocation.asked(lambda gateway: _find_over(gateway, text, name, status, limit, narrowing, held=held))
    if over is None:
        found, accounts, connectors = invocation.views(work)
        rows = [as_json(serialize.message(hit, accounts, connectors)) for hit in found.hits]
        reached = serialize.maybe_moment(found.reached)
    else:
        rows, reached = over

    def people() -> None:
        print_table(
            ("TIME", "TO", "STATUS", "ERR", "ACCOUNT", "CONNECTOR", "ID"),
            [
                (_second(row["time"]), *((row | {"status": _status(row)})[column] for column in _COLUMNS))
                for row in rows
            ],
            empty="Nothing was found.",
        )
        if reached is not None:
            click.echo(
                f"Looked back to {_second(reached)}; give more of the number, or an account, to look further.", err=True
            )

    invocation.show({"messages": rows, "reached": reached}, people)


@message.command("show")
@click.argument("message_id", metavar="ID")
@click.pass_obj
def show(invocation: Invocation, message_id: str) -> None:
    """One message: its history, and where its number would go now."""
    key, tail = _parse(invocation, message_id)

    async def work(views: "Views") -> "MessageView":
        return await views.look(key, tail)

    from heliograph.admin_api import serialize, shapes
    from heliograph.app.admin.history import Event
    from heliograph.app.admin.timeline import condense
    from heliograph.domain.calendar import parse_utc

    over = invocation.asked(lambda gateway: gateway.get(shapes.MessageInFull, "messages", message_id))
    result = as_json(serialize.message_in_full(invocation.views(work)) if over is None else over)

    def people() -> None:
        print_fields((name, value) for name, value in result.items() if name not in ("explanation", "history", "now"))
        tell(f"\n{result['explanation']}")
        click.echo()
        lines = condense(
            [
                Event(parse_utc(each["time"]), each["event"], each["segment"], each["detail"])
                for each in result["history"]
            ]
        )
        rows = [(format_moment(event.at), event.event, event.segment, event.detail) for event in lines]
        print_table(("TIME", "EVENT", "SEGMENT", "DETAIL"), rows, empty="")
        tell("\nA new message to this number:\n  " + "\n  ".join(result["now"]["reasons"]))

    invocation.show(result, people)


@message.command("cancel")
@click.argument("message_id", metavar="ID")
@click.pass_obj
def cancel(invocation: Invocation, message_id: str) -> None:
    """Cancels a scheduled message and refunds it."""
    key, tail = _parse(invocation, message_id)
    invocation.views(lambda views: views.cancel(key, tail))
    invocation.show({"id": message_id, "cancelled": True}, lambda: click.echo("It is cancelled and refunded."))


@message.command(
    "reschedule",
    epilog=examples("heliograph message reschedule 0198c5f2a1b37c4d8e9f001122334455 '2027-03-01 10:00:00'"),
)
@click.argument("message_id", metavar="ID")
@click.argument("time")
@click.pass_obj
def reschedule(invocation: Invocation, message_id: str, time: str) -> None:
    """Moves a scheduled message to another TIME.

    TIME is in its account's time zone."""
    key, tail = _parse(invocation, message_id)
    at = invocation.views(lambda views: views.reschedule(key, tail, time))
    from heliograph.domain.calendar import format_utc

    invocation.show(
        {"id": message_id, "time": format_utc(at)}, lambda: click.echo(f"It is sent at {format_moment(at)}.")
    )


def _find_over(
    gateway: "RemoteGateway",
    text: str,
    account: str | None,
    status: str | None,
    limit: int,
    narrowing: dict[str, str],
    *,
    held: bool,
) -> tuple[list[dict[str, Any]], str | None]:
    """The messages that a gateway elsewhere finds, as `Views.find` does here, and how far it looked back."""
    from heliograph.admin_api import shapes
    from heliograph.domain.message import ids

    text = text.strip()
    asked = {name: value or None for name, value in narrowing.items()}
    if ids.parse(text) is not None:
        full = as_json(gateway.get(shapes.MessageInFull, "messages", text))
        fits = (full["held"] or not held) and _has(full, narrowing)
        return [{name: full[name] for name in shapes.MessageShape.__struct_fields__}] if fits else [], None
    number = number_in(text)
    hits: dict[str, dict[str, Any]] = {}
    reached, cursor = None, None
    if text:
        page = gateway.get(
            shapes.MessagesShape, "messages", reference=text, account=account, held="true" if held else None,
            limit=min(limit, 100), **asked,
        )  # fmt: skip
        hits = {each.id: as_json(each) for each in page.messages}
    while (number or not text) and len(hits) < limit:
        page = gateway.get(
            shapes.MessagesShape, "messages", number=number or None, account=account, status=status,
            held="true" if held else None, limit=min(limit, 100), cursor=cursor, **asked,
        )  # fmt: skip
        hits |= {each.id: as_json(each) for each in page.messages if each.id not in hits}
        reached, cursor = page.reached, page.cursor
        if cursor is None:
            break
    return list(hits.values())[:limit], reached


def _has(row: dict[str, Any], narrowing: dict[str, str]) -> bool:
    """Whether a message of the admin API has the connector, error, sender and country that are asked for."""
    from heliograph.app.admin.message_filter import FilteredMessage, Narrowing, has
    from heliograph.domain.message.receipt import Delivery

    delivery = Delivery[row["delivery"]] if row["delivery"] else None
    message = FilteredMessage(row["connector"] or "", row["sender"], row["to"], delivery, row["err"] or "")
    return has(message, Narrowing(**narrowing))


def _status(row: dict[str, Any]) -> str:
    """The status for people: what stays as it is says so."""
    status: str = row["status"]
    if status == MessageStatus.SUBMITTED.value and not row["wants_receipt"]:
        return "submitted, no receipt requested"
    return status


def _second(moment: str) -> str:
    return moment[:19] + "Z"


def _parse(invocation: Invocation, text: str) -> tuple[int, int]:
    from heliograph.domain.message import ids

    found = ids.parse(text)
    if found is None:
        problem = f"{text!r} is no id of a message; it has 32 hexadecimal characters."
        raise Failure(problem, command=invocation.typed("message find"))
    return found
