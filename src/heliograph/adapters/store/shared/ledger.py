"""Entries of a ledger and the balance that they change, in the same transaction; and messages that are cancelled with a
refund."""

from collections.abc import Sequence

from heliograph.adapters.store.shared.steps import Q, Steps
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.state import Trigger
from heliograph.domain.money.amounts import EntryKind

WORKER_BITS = 31
"""The worker of entries that are no charges. Their keys are made from their time, so the ledger is in its order."""

STEP = WORKER_BITS + 1
AHEAD = 4096
"""Keys beyond the needed number that are searched for taken keys."""


def top_up(account: int, amount: int, at: int, note: str) -> Steps[None]:
    """Adds `amount` to the balance and makes a ledger entry; none for 0. The account must be locked."""
    if amount == 0:
        return
    key = yield from _free(account, at, 1)
    yield Q.enter(account=account, key=key, kind=EntryKind.TOP_UP, amount=amount, at=at, note=note)
    yield Q.change_balance(account=account, amount=amount)
    if amount > 0:
        yield Q.arm_low_balance(account=account)


def refund(account: int, keys: Sequence[int], at: int, note: str) -> Steps[None]:
    """Refunds the prices of these messages of the account. A second refund of a message is an error."""
    ((paid, amount),) = yield Q.cost(keys=keys)
    if not paid:
        return
    key = yield from _free(account, at, paid)
    yield Q.enter_refunds(account=account, key=key, keys=keys, at=at, note=note)
    yield Q.change_balance(account=account, amount=amount)


def _free(account: int, at: int, count: int) -> Steps[int]:
    """Returns the first of this many consecutive keys without an entry of the account."""
    key = first_key_at(at) | WORKER_BITS
    while True:
        ((taken,),) = yield Q.last_entry(account=account, start=key, end=key + STEP * (AHEAD + count))
        if taken is None:
            return key
        key = taken + STEP


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
