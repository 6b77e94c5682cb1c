"""`app.ports.Customers`: customers' questions about their messages, changes of scheduled messages, and replays."""

from collections.abc import Sequence
from dataclasses import replace

from heliograph.adapters.store.shared.accounts import lock_account
from heliograph.adapters.store.shared.ledger import cancel_waiting
from heliograph.adapters.store.shared.rows import MESSAGE_WIDTH, message_of, messages_of
from heliograph.adapters.store.shared.steps import Operations, Q, Steps, first, glance, lookup, read, write
from heliograph.adapters.store.shared.trace import record_of
from heliograph.app.configuration import Missing
from heliograph.app.facts import Accept, Message, Verdict
from heliograph.app.ports import BatchSlice, ListQuery, NotScheduled
from heliograph.app.records import MessageRecord
from heliograph.domain.limits.allowance import Allowance
from heliograph.domain.message.ids import time_of
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State, Trigger, before

_EARLIEST = -(1 << 62)
_LATEST = 1 << 62
_SECOND = 1_000


class StoredCustomers(Operations):
    @glance
    def balance(self, account: int) -> Steps[int]:
        found = yield from first(Q.balance(account=account))
        return found[0] if found else 0

    @read
    def allowance(self, account: int) -> Steps[Allowance]:
        found = yield from first(Q.allowance(account=account))
        if found is None:
            return Allowance()
        ((waiting,),) = yield Q.waiting(account=account)
        return replace(Allowance(*found), waiting=waiting)

    @glance
    def message(self, account: int, key: int, tail: int) -> Steps[Message | None]:
        return (yield from message_of_customer(account, key, tail))

    @read
    def tail(self, account: int, key: int) -> Steps[int | None]:
        found = yield from first(Q.tail(account=account, key=key))
        return None if found is None else found[0]

    @read
    def batch(self, account: int, key: int, tail: int, index: int, limit: int) -> Steps[BatchSlice | None]:
        found = yield from first(Q.batch(account=account, key=key, tail=tail))
        if found is None:
            return None
        last_key, reference = found
        rows = yield Q.batch_slice(key=key, last_key=last_key, index=index, limit=limit)
        return BatchSlice(key, tail, reference, [message_of(row) for row in rows])

    @lookup
    def replayed(self, account: int, reference: str) -> Steps[tuple[bytes, Accept] | None]:
        return (yield from replayed(account, reference))

    @read
    def messages(self, account: int, query: ListQuery) -> Steps[list[Message]]:
        if query.pending:
            page = Q.pending_page_down if query.descending else Q.pending_page_up
        else:
            page = Q.listed_page_down if query.descending else Q.listed_page_up
        rows = yield page(
            account=account,
            start=_EARLIEST if query.start is None else query.start,
            end=_LATEST if query.end is None else query.end + _SECOND,
            index=query.index,
            limit=query.limit,
        )
        return (yield from messages_of([key for _, key in rows]))

    @write
    def admit_list(self, account: int, now: int, interval: int, unanswered: int | None = None) -> Steps[int]:
        """Counts the last query unless it is far in the future, which means that the clock was set back. Calls may
        arrive a little out of order."""
        if (yield Q.admit_list(account=account, now=now, interval=interval, unanswered=unanswered)):
            return 0
        last = yield from first(Q.last_list(account=account))
        return 0 if last is None else last[0] + interval - now

    @read
    def trace(self, account: int, key: int, tail: int) -> Steps[MessageRecord | None]:
        message = yield from message_of_customer(account, key, tail)
        return None if message is None else (yield from record_of(message))

    @read
    def deliveries(self, keys: Sequence[int]) -> Steps[dict[int, tuple[Delivery | None, str, int]]]:
        rows = yield Q.deliveries(keys=list(keys))
        return {key: (None if state is None else Delivery(state), err, at) for key, state, err, at in rows}

    @write
    def cancel(self, account: int, key: int, tail: int, now: int) -> Steps[list[Message]]:
        keys = yield from _still_scheduled(account, key, tail, now, Trigger.CANCEL)
        yield from cancel_waiting(account, keys, Trigger.CANCEL, now, "cancelled")
        return (yield from messages_of(keys))

    @write
    def reschedule(self, account: int, key: int, tail: int, time: int, expires: int, now: int) -> Steps[list[Message]]:
        keys = yield from _still_scheduled(account, key, tail, now, Trigger.RESCHEDULE)
        yield Q.note_moves(keys=keys, time=time, now=now)
        yield Q.requeue(keys=keys, time=time, expires=expires)
        yield Q.move(keys=keys, time=time, expires=expires)
        return (yield from messages_of(keys))


def message_of_customer(account: int, key: int, tail: int) -> Steps[Message | None]:
    """The message, if it is the account's and has this tail."""
    found = yield from first(Q.message(account=account, key=key, tail=tail))
    return None if found is None else message_of(found)


def _still_scheduled(account: int, key: int, tail: int, now: int, trigger: Trigger) -> Steps[list[int]]:
    """Returns the keys of the message, or of the batch's messages, that may be changed. Locks them in the order of
    claims: the queue before the messages. A claim makes a message Sent, so a locked Scheduled message is unclaimed."""
    yield from lock_account(account)
    rows = yield Q.message_key(account=account, key=key, tail=tail)
    if not rows:
        batch = yield from first(Q.batch(account=account, key=key, tail=tail))
        if batch is None:
            raise Missing("no such message")
        rows = yield Q.batch_keys(key=key, last_key=batch[0])
    keys = [key for (key,) in rows]
    yield Q.lock_queued(keys=keys)
    rows = yield Q.still_scheduled(keys=keys, states=before(trigger), now=now)
    if not rows:
        raise NotScheduled("sent, cancelled or due already")
    return [key for (key,) in rows]


def replayed(account: int, reference: str) -> Steps[tuple[bytes, Accept] | None]:
    """`Customers.replayed`: the messages have the states that they were first answered with."""
    rows = yield Q.first_use(account=account, reference=reference)
    if not rows:
        return None
    messages = [message_of(row) for row in rows]
    fingerprint, key, batch, scheduled, tail, total, _ = rows[0][MESSAGE_WIDTH:]
    for message, row in zip(messages, rows, strict=True):
        failed_at = row[-1]
        if failed_at is not None and failed_at <= time_of(key):
            continue  # it failed at once, because its recipient had opted out
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
