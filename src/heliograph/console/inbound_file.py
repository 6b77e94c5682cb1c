"""Writes the messages from phones that a search finds as a CSV file."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace

from heliograph.app.facts import CallbackEnd
from heliograph.app.records import InboundQuery, InboundRecord
from heliograph.app.resources.desk import Desk
from heliograph.app.resources.inbound import search
from heliograph.domain.calendar import format_utc
from heliograph.domain.csv_lines import csv_line
from heliograph.domain.display import counted
from heliograph.domain.message import ids

MOST_ROWS = 100_000
ROWS_AT_ONCE = 500

COLUMNS = ("id", "time", "account", "from", "to", "keyword", "connector", "text", "callback")

CUT = "There may be more: this file ends after {}. Narrow the times."


async def inbound_file(
    desk: Desk, query: InboundQuery, account: str | None, start: int = 0, most: int = MOST_ROWS
) -> AsyncGenerator[bytes]:
    """Yields the lines of the file, the newest message first, back to `start` (ms). Where it does not have all that
    fit, its last line says so."""
    accounts, connectors = await desk.account_names(), await desk.connector_names()
    yield csv_line(*COLUMNS)
    query, left = replace(query), most
    while left > 0:
        query.limit = min(ROWS_AT_ONCE, left)
        found = await search(desk, query, account)
        fitting = [each for each in found if each.message.at >= start]
        yield b"".join(_line(each, accounts, connectors) for each in fitting)
        left -= len(fitting)
        if len(found) < query.limit or len(fitting) < len(found):
            return
        query.before = found[-1].message.key
    yield csv_line(CUT.format(counted(most, "row")))


def _line(record: InboundRecord, accounts: Mapping[int, str], connectors: Mapping[int, str]) -> bytes:
    message = record.message
    return csv_line(
        ids.to_hex(message.key, message.tail),
        format_utc(message.at),
        accounts.get(message.account, ""),
        message.sender,
        message.recipient,
        message.keyword,
        connectors.get(message.connector, f"#{message.connector}"),
        message.content,
        _callback(record),
    )


def _callback(record: InboundRecord) -> str:
    callback = record.callback
    if callback is not None and callback.end is not None:
        return "failed" if callback.end is CallbackEnd.FAILED else callback.end.name.lower()
    return "pending" if record.message.way else ""
