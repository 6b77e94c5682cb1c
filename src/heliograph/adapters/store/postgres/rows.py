"""Rows of messages and the values they stand for."""

from collections.abc import Iterable, Sequence
from typing import Any

from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.shared import rows
from heliograph.adapters.store.shared.rows import MESSAGE_COLUMNS
from heliograph.app.facts import Message

_BY_KEYS = f"""
SELECT {MESSAGE_COLUMNS}
FROM unnest($1::bigint[]) WITH ORDINALITY AS wanted (key, n)
JOIN message AS m ON m.key = wanted.key ORDER BY wanted.n
"""  # noqa: S608 - made of constants


def message_of(row: Sequence[Any], *, queued: bool = False) -> Message:
    """The message of a row that begins with MESSAGE_COLUMNS."""
    return rows.message_of(row, queued=queued, content=row[4].decode())


async def messages_of(db: Db, keys: Iterable[int], *, queued: bool = False) -> list[Message]:
    """The messages of these keys, in that order; those that are not there are left out."""
    return [message_of(row, queued=queued) for row in await db.fetch(_BY_KEYS, list(keys))]
