"""Messages by their destinations, for people who search: in blocks that are written a while after the messages.

An index would be written to at random with every message, which over millions of rows costs several times what
accepting one does. A block is some thousands of messages in the order of their keys, sorted by number and written in
one go at the end of its table. A search goes through the blocks newest first, with one look into the tree for each.
"""

import sqlite3

_LAST = "SELECT block, last_key FROM number_block ORDER BY block DESC LIMIT 1"
_END = "SELECT key FROM message WHERE key > ? ORDER BY key LIMIT 1 OFFSET ?"
_ADD_BLOCK = "INSERT INTO number_block (block, first_key, last_key) VALUES (?, ?, ?)"
_FILL = """
INSERT INTO message_number (block, number, key)
SELECT ?, destination, key FROM message WHERE key >= ? AND key <= ? ORDER BY destination, key
"""


def reached(db: sqlite3.Connection) -> int:
    """The key up to which messages are in blocks."""
    return _last(db)[1]


def next_block(db: sqlite3.Connection, size: int) -> tuple[int, int, int] | None:
    """The number of the block that could be written now, its first key and its last.

    Ids are given in the order of commits here: below the newest message none is still to come.
    """
    block, last = _last(db)
    end = db.execute(_END, (last, size - 1)).fetchone()
    return None if end is None else (block + 1, last + 1, end[0])


def index_numbers(db: sqlite3.Connection, size: int) -> int:
    found = next_block(db, size)
    if found is None:
        return 0
    db.execute(_ADD_BLOCK, found)
    db.execute(_FILL, found)
    return size


def _last(db: sqlite3.Connection) -> tuple[int, int]:
    """The number of the newest block and its last key."""
    row = db.execute(_LAST).fetchone()
    return (0, 0) if row is None else (row[0], row[1])
