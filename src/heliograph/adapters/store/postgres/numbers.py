"""Messages by their destinations, for people who search: in blocks that are written a while after the messages.

An index would be written to at random with every message, which over millions of rows costs several times what
accepting one does. A block is some thousands of messages in the order of their keys, sorted by number and written in
one go. A search goes through the blocks newest first, with one look into the index for each.
"""

from heliograph.adapters.store.postgres.db import Db
from heliograph.domain.ids import first_key_at

SETTLED_MS = 30_000
"""Nodes make ids by their own clocks and commit when they can; older ones are not still to come. It is more than a
lease, what two clocks may differ by, and the longest that a statement may take, together."""

_LAST = "SELECT block, last_key FROM number_block ORDER BY block DESC LIMIT 1"
_END = "SELECT key FROM message WHERE key > $1 AND key < $2 ORDER BY key LIMIT 1 OFFSET $3"
# whoever comes second waits here for the first, and then has nothing to do
_ADD_BLOCK = """
INSERT INTO number_block (block, first_key, last_key) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1
"""
_FILL = """
INSERT INTO message_number (block, number, key)
SELECT $1, destination, key FROM message WHERE key >= $2 AND key <= $3 ORDER BY destination COLLATE "C", key
"""


async def reached(db: Db) -> int:
    """The key up to which messages are in blocks."""
    return (await _last(db))[1]


async def next_block(db: Db, now: int, size: int) -> tuple[int, int, int] | None:
    """The number of the block that could be written now, its first key and its last."""
    block, last = await _last(db)
    end = await db.fetchval(_END, last, first_key_at(now - SETTLED_MS), size - 1)
    return None if end is None else (block + 1, last + 1, end)


async def index_numbers(db: Db, now: int, size: int) -> int:
    found = await next_block(db, now, size)
    if found is None or await db.fetchval(_ADD_BLOCK, *found) is None:
        return 0
    await db.execute(_FILL, *found)
    return size


async def _last(db: Db) -> tuple[int, int]:
    """The number of the newest block and its last key."""
    row = await db.fetchrow(_LAST)
    return (0, 0) if row is None else (row[0], row[1])
