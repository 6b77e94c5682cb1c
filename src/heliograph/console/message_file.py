"""Writes the messages that a search finds as a CSV file."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace

from heliograph.app.records import Hit, Search
from heliograph.app.resources.desk import Desk
from heliograph.app.resources.messages import find
from heliograph.domain.calendar import format_utc
from heliograph.domain.csv_lines import csv_line
from heliograph.domain.display import counted
from heliograph.domain.message import ids
from heliograph.domain.money.amounts import format_credits
from heliograph.domain.numbers.country import country_of

MOST_ROWS = 100_000
ROWS_AT_ONCE = 1_000
MOST_STEPS = 500
"""Searches for one file: what fits seldom is looked for no further than that."""

COLUMNS = (
    "id", "time", "account", "from", "to", "country", "state", "delivery", "error", "connector", "segments", "price",
    "reference",
)  # fmt: skip

CUT = "There may be more: this file ends after {}, and a search after some time. Narrow the times."


async def message_file(desk: Desk, text: str, search: Search, most: int = MOST_ROWS) -> AsyncGenerator[bytes]:
    """Yields the lines of the file, those of one search at once, the newest message first. Where it does not have all
    that fit, its last line says so."""
    accounts, connectors = await desk.account_names(), await desk.known_connectors()
    yield csv_line(*COLUMNS)
    search = replace(search, before=None)
    left = most
    for _ in range(MOST_STEPS):
        search.limit = min(ROWS_AT_ONCE, left)
        page = await find(desk, text, search)
        hits = page.hits[:left]
        yield b"".join(csv_line(*sent_columns(hit, accounts, connectors)) for hit in hits)
        left -= len(hits)
        if page.more is None and len(hits) == len(page.hits):
            return
        if left <= 0 or page.more is None:
            break
        search.before = page.more
    yield csv_line(CUT.format(counted(most, "row")))


def sent_columns(hit: Hit, accounts: Mapping[int, str], connectors: Mapping[int, str]) -> tuple[str, ...]:
    """Returns the values of COLUMNS."""
    message = hit.message
    failed = hit.delivery is not None and hit.status.value in ("undelivered", "failed")
    return (
        ids.to_hex(message.key, message.tail),
        format_utc(message.time),
        accounts.get(message.account, str(message.account)),
        message.sender,
        message.destination,
        country_of(message.destination),
        hit.status.value,
        hit.delivery.name if hit.delivery is not None else "",
        hit.err if failed else "",
        connectors.get(message.connector, f"#{message.connector}"),
        str(message.segments),
        format_credits(message.price),
        message.reference or "",
    )
