"""The files of `GET /account/v1/messages`: all messages of an account, written while they are sent."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Final
from zoneinfo import ZoneInfo

import msgspec

from heliograph.api.answer import Deliveries, record_of
from heliograph.api.shapes import Record, RecordEnd
from heliograph.app.facts import Message
from heliograph.domain.csv_lines import csv_line

COLUMNS: Final = ("id", "from", "to", "time", "rate", "status", "content", "state", "err", "done")


async def message_file(
    pages: AsyncGenerator[list[Message]],
    deliveries: Callable[[list[Message]], Awaitable[Deliveries]],
    zone: ZoneInfo,
    *,
    as_csv: bool,
) -> AsyncGenerator[bytes]:
    """Yields the lines of a page at a time: records with their ends, as JSON or as CSV with a heading."""
    if as_csv:
        yield csv_line(*COLUMNS)
    async for page in pages:
        ends = await deliveries(page)
        records = [record_of(message, zone, ends) for message in page]
        yield b"".join(_csv(each) if as_csv else msgspec.json.encode(each) + b"\n" for each in records)


def _csv(record: Record) -> bytes:
    end = record.delivery if isinstance(record.delivery, RecordEnd) else None
    ended = ("", "", "") if end is None else (end.state, end.err, end.done or "")
    return csv_line(
        record.message_id, record.sender, record.to, record.time, record.rate, record.status, record.content, *ended
    )
