"""Entries of a ledger and the balance that they change, in the same transaction."""

from heliograph.adapters.store.shared.steps import Q, Steps
from heliograph.domain.ids import first_key_at

WORKER_BITS = 31
"""The worker of entries that are no charges. Their keys are made from their time, so the ledger is in its order."""


def enter(account: int, kind: int, amount: int, at: int, note: str, message: int = 0) -> Steps[None]:
    """Enters nothing where nothing changes. The account must be locked."""
    if amount == 0:
        return
    base = first_key_at(at) | WORKER_BITS
    yield Q.enter_ledger(account=account, kind=kind, amount=amount, base=base, message=message, at=at, note=note)
    yield Q.change_balance(account=account, amount=amount)
