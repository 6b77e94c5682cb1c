"""CSV files of inbound messages and of both directions, written while they are sent: the newest message first."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from heliograph.app.facts import CallbackEnd
from heliograph.app.records import InboundQuery, InboundRecord, Search
from heliograph.app.resources.desk import Desk
from heliograph.app.resources.inbound import page_of_text
from heliograph.app.resources.message_export import COLUMNS, cells_of, exported_row
from heliograph.app.resources.message_list import MessageLine, message_list
from heliograph.app.resources.messages import row
from heliograph.domain.calendar import format_utc
from heliograph.domain.csv_lines import csv_line
from heliograph.domain.message import ids
from heliograph.domain.money.amounts import format_credits
from heliograph.domain.numbers.country import country_of

ROWS_AT_ONCE = 1_000

TRAFFIC_COLUMNS: Final = ("direction", *COLUMNS, "keyword")
INBOUND_COLUMNS: Final = ("id", "time", "account", "from", "to", "keyword", "connector", "text", "callback")

Fetch = Callable[[Any], Awaitable[tuple[list[bytes], Any]]]
"""Returns about ROWS_AT_ONCE lines after a cursor (None for the first), and the cursor of the next lines or None."""


async def traffic_file(desk: Desk, text: str, search: Search, *, received: bool = True) -> AsyncGenerator[bytes]:
    """Yields the messages of both directions that a search finds; without `received` only messages to phones."""
    accounts, connectors = await desk.account_names(), await desk.known_connectors()

    async def fetch(cursor: int | None) -> tuple[list[bytes], int | None]:
        page = await message_list(desk, text, replace(search, limit=ROWS_AT_ONCE), cursor, received=received)
        return [_either(line, accounts, connectors) for line in page.lines], page.more

    async for piece in file_of(TRAFFIC_COLUMNS, fetch):
        yield piece


async def inbound_file(desk: Desk, text: str, query: InboundQuery, start: int = 0) -> AsyncGenerator[bytes]:
    """Yields the messages from phones that an id or a query finds, back to `start` (ms)."""
    accounts, connectors = await desk.account_names(), await desk.connector_names()

    async def fetch(cursor: int | None) -> tuple[list[bytes], int | None]:
        page = replace(query, limit=ROWS_AT_ONCE, before=query.before if cursor is None else cursor)
        found, more = await page_of_text(desk, text, page, start)
        return [_inbound(each, accounts, connectors) for each in found], more

    async for piece in file_of(INBOUND_COLUMNS, fetch):
        yield piece


async def file_of(columns: tuple[str, ...], fetch: Fetch) -> AsyncGenerator[bytes]:
    """Yields the heading, and the lines of each fetch at once, without a limit.

    As in `messages.message_file`, a fetch is a short read of the store with a cursor, and may have no line.
    """
    yield csv_line(*columns)
    lines, cursor = await fetch(None)
    yield b"".join(lines)
    while cursor is not None:
        lines, cursor = await fetch(cursor)
        yield b"".join(lines)


def _either(line: MessageLine, accounts: Mapping[int, str], connectors: Mapping[int, str]) -> bytes:
    if line.sent is not None:
        id_, _, *columns = cells_of(exported_row(row(line.sent, accounts, connectors)))
        return csv_line("to phone", id_, format_utc(line.at), *columns, "")
    assert line.received is not None
    message = line.received.message
    return csv_line(
        "from phone",
        ids.to_hex(message.key, message.tail),
        format_utc(message.at),
        accounts.get(message.account, ""),
        message.sender,
        message.recipient,
        country_of(message.sender),
        "received",
        "",
        "",
        connectors.get(message.connector, f"#{message.connector}"),
        str(message.parts),
        format_credits(message.price),
        "",
        message.keyword,
    )


def _inbound(record: InboundRecord, accounts: Mapping[int, str], connectors: Mapping[int, str]) -> bytes:
    message, callback = record.message, record.callback
    told = "pending" if message.way else ""
    if callback is not None and callback.end is not None:
        told = "failed" if callback.end is CallbackEnd.FAILED else callback.end.name.lower()
    return csv_line(
        ids.to_hex(message.key, message.tail),
        format_utc(message.at),
        accounts.get(message.account, ""),
        message.sender,
        message.recipient,
        message.keyword,
        connectors.get(message.connector, f"#{message.connector}"),
        message.content,
        told,
    )
