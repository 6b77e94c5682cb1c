"""Cancels waiting messages in the caller's transaction."""

from heliograph.adapters.store.shared.ledger import refund
from heliograph.adapters.store.shared.steps import Q, Steps
from heliograph.domain.message.state import Trigger


def cancel_waiting(account: int, keys: list[int], trigger: Trigger, now: int, note: str) -> Steps[None]:
    """Cancels messages of a locked account that are in the queue, ends and refunds them. `trigger` is CANCEL or
    OPT_OUT; `note` says in the ledger why."""
    if not keys:
        return
    yield Q.dequeue(keys=keys)
    yield Q.cancel(keys=keys) if trigger is Trigger.CANCEL else Q.withdraw(keys=keys)
    yield Q.end_cancelled(keys=keys, now=now)
    yield Q.owe_series(keys=keys, now=now)
    yield from refund(account, keys, now, note)
