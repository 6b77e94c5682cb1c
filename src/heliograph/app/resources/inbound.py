"""Messages from phones, and the accounts that own them."""

from collections.abc import Mapping
from typing import Any, Final

from heliograph.app.configuration import Missing
from heliograph.app.records import InboundQuery, InboundRecord, Scope
from heliograph.app.resources.callbacks import replay_notice
from heliograph.app.resources.description import Answer, Operation, Page, Resource, Scopes
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, NoSuch, account_id
from heliograph.app.resources.fields import Credits, Field, Flag, Moment, Reference, Text, Whole
from heliograph.domain.message import ids

PAGE: Final = 100


async def page_of_text(
    desk: Desk, text: str, query: InboundQuery, start: int = 0
) -> tuple[list[InboundRecord], int | None]:
    """Finds messages by `text` if it is an id, and by `query`, newest first. Returns up to `query.limit` of them, and
    the key that the next page begins below; None at the end.

    `start`: the earliest time, in ms, when the message was whole, as its key has it. The first part of a long message
    may have come hours earlier.
    """
    id_ = ids.parse(text)
    if id_ is None:
        found = await desk.store.inbound.find(query)
    else:
        record = await desk.store.inbound.show(*id_)
        found = [] if record is None or not query.takes(record.message) else [record]
    first = ids.first_key_at(start)
    found = [each for each in found if each.message.key >= first]
    return found, found[-1].message.key if len(found) == query.limit else None


async def look(desk: Desk, message: str) -> InboundRecord:
    """Returns the message with this id. Raises NoSuch."""
    parsed = ids.parse(message)
    found = None if parsed is None else await desk.store.inbound.show(*parsed)
    if found is None:
        raise NoSuch("inbound message", message)
    return found


async def find(desk: Desk, account: str | None, unrouted: bool, number: str, after: str, limit: int) -> Page:
    """Returns messages before the key `after`, newest first."""
    if unrouted and account is not None:
        raise Invalid("unrouted", "unrouted messages have no account; give either account or unrouted")
    owner = 0 if unrouted else None if account is None else await account_id(desk.store, account)
    query = InboundQuery(owner, number, int(after) if after else None, limit)
    found, more = await page_of_text(desk, "", query)
    return Page(await rows(desk, found), None if more is None else str(more))


async def show(desk: Desk, id: str) -> dict[str, Any]:
    return (await rows(desk, [await look(desk, id)]))[0]


async def route(desk: Desk, id: str, account: str) -> dict[str, Any]:
    """Gives an unrouted message to an account. The account gets a callback, as for every inbound message."""
    owner = await account_id(desk.store, account)
    found = await look(desk, id)
    key, tail = found.message.key, found.message.tail
    try:
        audited = desk.audited("inbound.route", id, {"account": account})
        routed = await audited.inbound.route(key, tail, owner, desk.now)
    except Missing:
        names = await desk.account_names()
        raise AlreadyThere("owner", names.get((await look(desk, id)).message.account, "?")) from None
    return (await rows(desk, [routed]))[0]


async def replay(desk: Desk, id: str) -> None:
    """Makes the failed callback of a message pending again."""
    message = (await look(desk, id)).message
    await replay_notice(desk, message.key, message.tail, (await desk.account_names()).get(message.account, ""))


async def rows(desk: Desk, found: list[InboundRecord]) -> list[dict[str, Any]]:
    accounts, connectors = await desk.account_names(), await desk.connector_names()
    return [row(each, accounts, connectors) for each in found]


def row(record: InboundRecord, accounts: Mapping[int, str], connectors: Mapping[int, str]) -> dict[str, Any]:
    message, callback = record.message, record.callback
    if callback is None:
        state = "being pushed" if message.way else "none"
    else:
        state = "pending" if callback.end is None else callback.end.name.lower()
    return {
        "id": ids.to_hex(message.key, message.tail),
        "time": message.at,
        "from": message.sender,
        "to": message.recipient,
        "account": accounts.get(message.account),
        "connector": connectors.get(message.connector),
        "keyword": message.keyword,
        "content": message.content,
        "binary": message.octets.hex(),
        "coding": message.coding,
        "parts": message.parts,
        "complete": message.complete,
        "price": message.price,
        "callback": state,
        "problem": "" if callback is None else callback.problem,
        "reply": None if record.reply is None else ids.to_hex(*record.reply),
        "refused": record.refused,
    }


def _without_plus(number: str) -> str:
    return number.removeprefix("+")


_ID = "[0-9a-f]{32}"

INBOUND = Resource(
    name="inbound",
    plural="messages",
    summary="Messages from phones",
    more="Messages to a number without an account are kept *unrouted*, and can be given to an account later.",
    nothing="No messages were found.",
    key=("id",),
    fields=(
        Field("id", Text(pattern=_ID), "Id of the message.", example="0198c5f2a1b37c4d8e9f001122334455"),
        Field("time", Moment(), "When it arrived."),
        Field("from", Text(), "The phone's number.", example="491701234567"),
        Field("to", Text(), "The number that the phone wrote to.", example="3388"),
        Field("account", Reference("account"), "The owner; null: unrouted.", nullable=True, empty="(unrouted)"),
        Field("connector", Reference("connector"), "The connector that it came from.", nullable=True),
        Field("keyword", Text(), "The keyword that selected the account.", example="pizza"),
        Field("content", Text(), "The text.", example="PIZZA with olives"),
        Field("binary", Text(), "The octets without headers, in hexadecimal digits.", example="50495a5a41"),
        Field("coding", Whole(least=-1), "SMPP data_coding; -1: the text was redacted."),
        Field("parts", Whole(), "Number of parts."),
        Field("complete", Flag(), "False if parts are missing."),
        Field("price", Credits(), "Credits charged to the owner."),
        Field(
            "callback",
            Text(),
            "State of the callback: none, being pushed, pending, delivered, gone or failed.",
            example="delivered",
        ),
        Field("problem", Text(), "The last error of the callback.", example="connection refused"),
        Field(
            "reply",
            Text(pattern=_ID),
            "Id of the message that was sent as reply; or null.",
            nullable=True,
            example="019e2b1c5f3a70008c1de1f5a0b7c3d2",
        ),
        Field("refused", Text(), "Why the callback's answer was not sent as reply; or empty.", example="no credit"),
    ),
    columns=("time", "from", "to", "account", "callback", "content", "id"),
    scopes=Scopes(Scope.READ_MESSAGES, Scope.WRITE_MESSAGES),
    operations=(
        Operation(
            "list",
            "GET /inbound",
            find,
            "Messages from phones, newest first",
            reads=(
                Field("account", Reference("account"), "Only messages of this account.", None),
                Field("unrouted", Flag(), "Only messages without an account.", False),
                Field("number", Text(_without_plus), "Only messages from or to this number.", ""),
            ),
            answers=Answer.EACH,
            answer_name="InboundMessages",
            id="search_inbound",
            page=PAGE,
            rows=50,
            newest_first=True,
            examples=("inbound list --unrouted", "inbound list --account acme --number 4917012345678"),
        ),
        Operation(
            "show",
            "GET /inbound/{id}",
            show,
            "A message from a phone, with its callback and reply",
            answers=Answer.ITEM,
            id="get_inbound",
            examples=("inbound show 0198c5f2a1b37c4d8e9f001122334455",),
        ),
        Operation(
            "route",
            "POST /inbound/{id}/route",
            route,
            "Give an unrouted message to an account",
            reads=(Field("account", Reference("account"), "The account that gets the message."),),
            answers=Answer.ITEM,
            conflicts=True,
            id="route_inbound",
            read_name="NewOwner",
            done="The message belongs to {account} now.",
            examples=("inbound route 0198c5f2a1b37c4d8e9f001122334455 --account acme",),
        ),
        Operation(
            "replay",
            "POST /inbound/{id}/replay-callback",
            replay,
            "Retry the failed callback of a message from a phone",
            conflicts=True,
            scope=Scope.WRITE_CALLBACKS,
            id="replay_inbound",
            result="replayed",
            done="The callback is retried.",
            examples=("inbound replay 0198c5f2a1b37c4d8e9f001122334455",),
        ),
    ),
)
