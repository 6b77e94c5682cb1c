"""What a reference was first used for."""

from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.rows import message_of
from heliograph.adapters.store.shared.rows import MESSAGE_COLUMNS
from heliograph.app.facts import Accept, Verdict
from heliograph.domain.ids import time_of
from heliograph.domain.message import State

_FIRST = f"""
SELECT {MESSAGE_COLUMNS}, r.fingerprint, r.key, r.batch, r.scheduled, b.tail, b.total
FROM reference AS r
LEFT JOIN batch AS b ON r.batch AND b.key = r.key
JOIN message AS m ON m.key >= r.key AND m.key <= coalesce(b.last_key, r.key)
    AND m.batch = CASE WHEN r.batch THEN r.key ELSE 0 END
WHERE r.account = $1 AND r.reference = $2 ORDER BY m.key
"""  # noqa: S608 - made of constants


async def replayed(db: Db, account: int, reference: str) -> tuple[bytes, Accept] | None:
    """`Store.replayed`: the messages have the states that they were first answered with."""
    rows = await db.fetch(_FIRST, account, reference)
    if not rows:
        return None
    messages = [message_of(row) for row in rows]
    fingerprint, key, batch, scheduled, tail, total = tuple(rows[0])[-6:]
    for message in messages:
        message.state = State.SCHEDULED if scheduled else State.SENT
    first = Accept(
        account=account,
        messages=messages,
        total=total if batch else messages[0].price,
        at=time_of(key),
        scheduled=scheduled,
        batch=batch,
        reference=reference,
        fingerprint=fingerprint,
        key=key,
        tail=tail if batch else messages[0].tail,
        verdict=Verdict.REPLAYED,
    )
    return fingerprint, first
