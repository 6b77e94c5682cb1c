"""Writes the messages of both directions that a search finds as a CSV file."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace

from heliograph.app.facts import InboundMessage
from heliograph.app.records import Search
from heliograph.app.resources.desk import Desk
from heliograph.app.resources.message_list import MessageLine, message_list
from heliograph.console import message_file
from heliograph.console.message_file import CUT, MOST_ROWS, MOST_STEPS, ROWS_AT_ONCE, sent_columns
from heliograph.domain.calendar import format_utc
from heliograph.domain.csv_lines import csv_line
from heliograph.domain.display import counted
from heliograph.domain.message import ids
from heliograph.domain.money.amounts import format_credits
from heliograph.domain.numbers.country import country_of

COLUMNS = ("direction", *message_file.COLUMNS, "keyword")


async def traffic_file(
    desk: Desk, text: str, search: Search, *, received: bool = True, most: int = MOST_ROWS
) -> AsyncGenerator[bytes]:
    """Yields the lines of the file, the newest message first, those of one search at once; `received` says whether
    messages from phones are wanted. Where it does not have all that fit, its last line says so."""
    accounts, connectors = await desk.account_names(), await desk.known_connectors()
    yield csv_line(*COLUMNS)
    left, before = most, None
    for _ in range(MOST_STEPS):
        step = replace(search, limit=min(ROWS_AT_ONCE, left))
        page = await message_list(desk, text, step, before, received=received)
        yield b"".join(_line(each, accounts, connectors) for each in page.lines)
        left -= len(page.lines)
        before = page.more
        if before is None:
            return
        if left <= 0:
            break
    yield csv_line(CUT.format(counted(most, "row")))


def _line(line: MessageLine, accounts: Mapping[int, str], connectors: Mapping[int, str]) -> bytes:
    if line.sent is not None:
        id_, _, *columns = sent_columns(line.sent, accounts, connectors)
        return csv_line("to phone", id_, format_utc(line.at), *columns, "")
    assert line.received is not None
    return csv_line("from phone", *_received_columns(line.received.message, accounts, connectors))


def _received_columns(
    message: InboundMessage, accounts: Mapping[int, str], connectors: Mapping[int, str]
) -> tuple[str, ...]:
    return (
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
