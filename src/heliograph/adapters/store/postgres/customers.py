"""Changes by customers, a single statement each, so that no lock is held between two round trips (`functions.sql`)."""

from heliograph.adapters.store.shared.customers import StoredCustomers
from heliograph.adapters.store.shared.messages import messages_of
from heliograph.adapters.store.shared.steps import Q, Steps, write
from heliograph.app.configuration import Missing
from heliograph.app.facts import Message
from heliograph.app.ports import NotScheduled
from heliograph.domain.message.state import Trigger, before


class PostgresCustomers(StoredCustomers):
    """`app.ports.Customers` on PostgreSQL."""

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
