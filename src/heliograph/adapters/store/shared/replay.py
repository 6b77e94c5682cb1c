"""Idempotent replays: looks up the first result of the request that used a reference."""

from heliograph.adapters.store.shared.rows import MESSAGE_WIDTH, message_of
from heliograph.adapters.store.shared.steps import Q, Steps
from heliograph.app.facts import Accept, Verdict
from heliograph.domain.message.ids import time_of
from heliograph.domain.message.state import State


def replayed(account: int, reference: str) -> Steps[tuple[bytes, Accept] | None]:
    """`Customers.replayed`: the messages have the states that they were first answered with."""
    rows = yield Q.first_use(account=account, reference=reference)
    if not rows:
        return None
    messages = [message_of(row) for row in rows]
    fingerprint, key, batch, scheduled, tail, total = rows[0][MESSAGE_WIDTH:]
    for message in messages:
        message.state = State.SCHEDULED if scheduled else State.SENT
    first = Accept(
        account=account,
        messages=messages,
        total=total if batch else messages[0].price,
        at=time_of(key),
        scheduled=bool(scheduled),
        batch=bool(batch),
        reference=reference,
        fingerprint=fingerprint,
        key=key,
        tail=tail if batch else messages[0].tail,
        verdict=Verdict.REPLAYED,
    )
    return fingerprint, first
