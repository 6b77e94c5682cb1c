"""What customers change after acceptance: cancelling and moving scheduled messages."""

from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.rows import messages_of
from heliograph.app.configuration import Missing
from heliograph.app.facts import Message
from heliograph.app.ports import NotScheduled

_CANCEL = "SELECT cancel_messages($1, $2, $3, $4)"
_RESCHEDULE = "SELECT reschedule_messages($1, $2, $3, $4, $5, $6)"


async def cancel(db: Db, account: int, key: int, tail: int, now: int) -> list[Message]:
    return await _changed(db, await db.fetchval(_CANCEL, account, key, tail, now))


async def reschedule(db: Db, account: int, key: int, tail: int, time: int, expires: int, now: int) -> list[Message]:
    return await _changed(db, await db.fetchval(_RESCHEDULE, account, key, tail, time, expires, now))


async def _changed(db: Db, keys: list[int] | None) -> list[Message]:
    if keys is None:
        raise Missing("no such message")
    if not keys:
        raise NotScheduled("sent, cancelled or due already")
    return await messages_of(db, keys)
