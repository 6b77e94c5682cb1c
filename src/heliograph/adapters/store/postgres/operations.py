"""Operations that PostgreSQL does in a single statement (`functions.sql`), where the shared operation has several.

- Changes by customers: no lock is held between two round trips.
- Repeats of a request: an answer keeps the request of another node that may still be in doubt.
- Suppressions: by the functions that also record them.
"""

from collections.abc import Sequence

from heliograph.adapters.store.shared.customers import StoredCustomers, replayed
from heliograph.adapters.store.shared.rows import messages_of
from heliograph.adapters.store.shared.steps import Q, Steps, write
from heliograph.adapters.store.shared.suppressions import StoredSuppressions
from heliograph.app.configuration import Missing
from heliograph.app.facts import Accept, Message
from heliograph.app.ports import NotScheduled
from heliograph.domain.message.state import Trigger, before


class PostgresCustomers(StoredCustomers):
    """`app.ports.Customers` on PostgreSQL."""

    @write
    def replayed(self, account: int, reference: str) -> Steps[tuple[bytes, Accept] | None]:
        yield Q.keep_replayed(account=account, reference=reference)
        return (yield from replayed(account, reference))

    @write
    def cancel(self, account: int, key: int, tail: int, now: int) -> Steps[list[Message]]:
        states = list(before(Trigger.CANCEL))
        ((keys,),) = yield Q.cancel_messages(account=account, key=key, tail=tail, states=states, now=now)
        return (yield from _changed(keys))

    @write
    def reschedule(self, account: int, key: int, tail: int, time: int, expires: int, now: int) -> Steps[list[Message]]:
        states = list(before(Trigger.RESCHEDULE))
        ((keys,),) = yield Q.reschedule_messages(
            account=account, key=key, tail=tail, states=states, time=time, expires=expires, now=now
        )
        return (yield from _changed(keys))


def _changed(keys: list[int] | None) -> Steps[list[Message]]:
    if keys is None:
        raise Missing("no such message")
    if not keys:
        raise NotScheduled("sent, cancelled or due already")
    return (yield from messages_of(keys))


class PostgresSuppressions(StoredSuppressions):
    """`app.ports.Suppressions` on PostgreSQL."""

    def _suppress(self, account: int, numbers: Sequence[str], now: int, source: str) -> Steps[int]:
        ((added,),) = yield Q.suppress_numbers(account=account, numbers=list(numbers), now=now, source=source)
        return int(added)
