"""`app.ports.Suppressions`: phones that an account must not send to. Also messages that fail at acceptance, since their
recipients opted out."""

from collections.abc import Iterable, Sequence

from heliograph.adapters.store.shared.accounts import lock_account
from heliograph.adapters.store.shared.ledger import cancel_waiting
from heliograph.adapters.store.shared.steps import Operations, Q, Steps, first, listing, lookup, write
from heliograph.app.configuration import Missing
from heliograph.app.facts import Accept, Message
from heliograph.domain.message.state import State, Trigger
from heliograph.domain.message.suppression import Suppression


class StoredSuppressions(Operations):
    @write
    def suppress(self, account: int, numbers: Sequence[str], source: str, now: int) -> Steps[int]:
        yield from lock_account(account)
        if not (yield Q.account_by_id(account=account)):
            raise Missing("no such account")
        return (yield from self._suppress(account, numbers, now, source))

    def _suppress(self, account: int, numbers: Sequence[str], now: int, source: str) -> Steps[int]:
        """Numbers of a locked account; the step that engines take in their own way."""
        added = 0
        for number in numbers:
            added += yield from suppress(account, number, now, source)
        return added

    @write
    def lift(self, account: int, number: str) -> Steps[None]:
        yield from lock_account(account)
        if not (yield from lift(account, number)):
            raise Missing("the number is not suppressed")

    @lookup
    def find(self, account: int, number: str) -> Steps[Suppression | None]:
        row = yield from first(Q.suppression(account=account, number=number))
        return None if row is None else Suppression(number, *row)

    @listing
    def among(self, account: int, numbers: Sequence[str]) -> Steps[set[str]]:
        rows = yield Q.suppressed_numbers(account=account, numbers=list(numbers))
        return {number for (number,) in rows}

    @listing
    def page(self, account: int, after: str, limit: int) -> Steps[list[Suppression]]:
        rows = yield Q.suppressions(account=account, after=after, limit=limit)
        return [Suppression(*row) for row in rows]

    @lookup
    def made_since(self, since: int) -> Steps[list[tuple[int, str, int]]]:
        rows = yield Q.suppressed_since(since=since)
        return [(account, number, at) for account, number, at in rows]


def suppress(account: int, number: str, now: int, source: str) -> Steps[bool]:
    """Suppresses a number for a locked account, and withdraws messages that wait for it. Returns False if it was
    suppressed already."""
    if not (yield Q.add_suppression(account=account, number=number, since=now, source=source)):
        return False
    yield Q.note_suppressed(account=account)
    rows = yield Q.waiting_for(account=account, number=number)
    yield from cancel_waiting(account, [key for (key,) in rows], Trigger.OPT_OUT, now, "opted out")
    return True


def lift(account: int, number: str) -> Steps[bool]:
    """Lifts the suppression of a number for a locked account. Returns False if there was none."""
    if not (yield Q.lift_suppression(account=account, number=number)):
        return False
    yield Q.note_suppressed(account=account)
    return True


def fail_suppressed(accept: Accept, indexes: Iterable[int]) -> None:
    """Makes these messages of an accepted request fail, as in the store, because their recipients opted out."""
    for index in indexes:
        message = accept.messages[index]
        accept.total -= message.price
        fail_at_once(message)


def fail_at_once(message: Message) -> None:
    """Makes the message fail at no cost."""
    message.state, message.price, message.queued = State.FAILED, 0, False
