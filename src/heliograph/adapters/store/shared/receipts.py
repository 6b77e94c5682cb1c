"""`app.ports.Receipts`: awaited receipts, and receipts that match no message."""

from collections import Counter
from collections.abc import Sequence

from heliograph.adapters.store.shared.rows import MESSAGE_WIDTH, message_of, messages_of
from heliograph.adapters.store.shared.steps import Operations, Q, Steps, browse, first, lookup, read, write
from heliograph.app.facts import EarlyReceipt, Outstanding
from heliograph.app.ports import EndedPart, Unreported
from heliograph.app.records import Feedback
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.receipt import Delivery


class StoredReceipts(Operations):
    @read
    def find(self, connector: int, operator_ids: Sequence[str]) -> Steps[list[Outstanding]]:
        rows = yield Q.awaited(connector=connector, operator_ids=list(operator_ids))
        return (yield from outstanding_of([key for (key,) in rows]))

    @read
    def outstanding(self, key: int) -> Steps[Outstanding | None]:
        rows = yield Q.open_message(key=key)
        found = yield from outstanding_of([key for (key,) in rows])
        return found[0] if found else None

    @read
    def overdue(self, expired: int, beyond: int, limit: int) -> Steps[tuple[list[Outstanding], list[int], int | None]]:
        rows = yield Q.overdue(before=first_key_at(expired), expired=expired, beyond=beyond, limit=limit)
        rows = sorted(rows)
        found = yield from outstanding_of([key for key, is_over, has_end in rows if is_over and not has_end])
        ended = [key for key, is_over, has_end in rows if is_over and has_end]
        return found, ended, rows[-1][0] if len(rows) == limit else None

    @write
    def forget_awaited(self, keys: Sequence[int]) -> Steps[None]:
        yield Q.drop_awaiting(keys=list(keys))

    @read
    def unreported(self, before: int, beyond: int, limit: int) -> Steps[tuple[list[Unreported], int | None]]:
        rows = yield Q.unreported(before=first_key_at(before), beyond=beyond, limit=limit)
        keys = {row[0] for row in rows}
        taken: dict[tuple[int, int, str, str, str], int] = {}
        for key, connector, operator_id, at, sender, destination, is_open in rows:
            if is_open:
                name = (key, connector, operator_id, sender, destination)
                taken[name] = max(at, taken.get(name, 0))
        found = [
            Unreported(key, connector, operator_id, at, sender, destination)
            for (key, connector, operator_id, sender, destination), at in sorted(taken.items())
        ]
        return found, max(keys) if len(keys) == limit else None

    @browse
    def ended(self, connector: int, operator_ids: Sequence[str], since: int, before: int) -> Steps[list[EndedPart]]:
        rows = yield Q.ended_parts(
            connector=connector,
            operator_ids=list(operator_ids),
            since=first_key_at(since),
            before=first_key_at(before),
        )
        return [EndedPart(operator_id, destination, Delivery(state)) for operator_id, destination, state in rows]

    @write
    def confirm(self, account: int, key: int, tail: int, delivered: bool, now: int) -> Steps[Feedback | None]:
        found = yield from first(Q.feedback_subject(account=account, key=key, tail=tail))
        if found is None:
            return None
        message = message_of(found)
        connector, state, before, corrects = found[MESSAGE_WIDTH:]
        if connector is None:
            return Feedback(message, False, None, None)
        message.connector = connector
        contradicts = state is not None and delivered != (state == Delivery.DELIVRD)
        yield Q.put_feedback(key=key, at=now, delivered=delivered, corrects=contradicts)
        return Feedback(message, True, bool(before) if corrects else None, delivered if contradicts else None)

    @lookup
    def orphans(self, limit: int, skip: int = 0) -> Steps[list[EarlyReceipt]]:
        return (yield from orphans(limit, skip))

    @write
    def forget(self, before: int, most: int, limit: int) -> Steps[int]:
        forgotten = yield Q.forget_early(before=before, most=most, limit=limit)
        return len(forgotten)


def orphans(limit: int, skip: int = 0) -> Steps[list[EarlyReceipt]]:
    """Receipts that match nothing, newest first, without the newest `skip`."""
    rows = yield Q.orphans(limit=limit, skip=skip)
    return [
        EarlyReceipt(connector, operator_id, destination, Delivery(state), err, at)
        for connector, operator_id, destination, state, err, at in rows
    ]


def outstanding_of(keys: Sequence[int]) -> Steps[list[Outstanding]]:
    """Returns the operator ids and delivery states of the messages' parts. Requires keys of messages without a
    final."""
    if not keys:
        return []
    states: dict[int, dict[int, tuple[Delivery, str]]] = {}
    rows = yield Q.part_states(keys=keys)
    for key, segment, state, err in rows:
        states.setdefault(key, {})[segment] = (Delivery(state), err)
    operator_ids: dict[int, dict[tuple[int, str], tuple[int, ...]]] = {}
    rows = yield Q.taken_parts(keys=keys)
    taken = Counter(key for key, *_ in rows)
    for key, segment, connector, operator_id in rows:
        if segment not in states.get(key, {}):
            of = operator_ids.setdefault(key, {})
            of[connector, operator_id] = (*of.get((connector, operator_id), ()), segment)
    tried: dict[int, set[int]] = {}
    undelivered_by: dict[int, set[int]] = {}
    for key, connector, was_taken, is_unanswered, has_parts in (yield Q.tried_among(keys=keys)):
        if not has_parts:
            tried.setdefault(key, set()).add(connector)
            if was_taken:
                undelivered_by.setdefault(key, set()).add(connector)
        elif is_unanswered:
            taken[key] = 0
    messages = yield from messages_of(keys)
    return [
        Outstanding(
            message,
            operator_ids.get(message.key, {}),
            states.get(message.key, {}),
            taken[message.key],
            frozenset(tried.get(message.key, ())),
            frozenset(undelivered_by.get(message.key, ())),
        )
        for message in messages
    ]
