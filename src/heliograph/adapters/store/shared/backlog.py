"""`app.ports.Backlog`: waiting messages as administrators see and change them, and orders to the nodes."""

from collections.abc import Sequence

import msgspec

from heliograph.adapters.store.shared.accounts import lock_account
from heliograph.adapters.store.shared.ledger import cancel_waiting
from heliograph.adapters.store.shared.steps import Operations, Q, Runner, Steps, browse, glance, lookup, write
from heliograph.app.ports.backlog import OrderAnswer, QueueAction, QueueOrder, WaitingGroup, WaitingRow
from heliograph.app.ports.encryption import UnreadableValues
from heliograph.domain.calendar import DAY_MS
from heliograph.domain.message.state import Trigger

KEPT_MS = 7 * DAY_MS
"""Milliseconds for which orders are kept, for nodes that start after an outage."""


class StoredBacklog(Operations):
    def __init__(self, runner: Runner, unreadable: UnreadableValues) -> None:
        super().__init__(runner)
        self._unreadable = unreadable

    @browse
    def groups(self, after: int, until: int, limit: int) -> Steps[tuple[list[WaitingGroup], int | None]]:
        ((last, count),) = yield Q.backlog_stretch(after=after, limit=limit)
        if not count:
            return [], None
        rows = yield Q.backlog_groups(after=after, last=last, until=until)
        return [WaitingGroup(*row) for row in rows], last if count == limit else None

    @browse
    def rows(self, after: int, limit: int) -> Steps[list[WaitingRow]]:
        rows = yield Q.backlog_rows(after=after, limit=limit)
        return [WaitingRow(*row) for row in rows]

    @write
    def change(self, action: QueueAction, keys: Sequence[int], now: int, connector: int = 0) -> Steps[int]:
        rows = yield Q.unsent_among(keys=list(keys))
        for account in sorted({account for _, account in rows}) if action is QueueAction.CANCEL else ():
            yield from lock_account(account)
        yield Q.lock_queued(keys=[key for key, _ in rows])
        found = yield Q.unsent_among(keys=[key for key, _ in rows])
        unsent = [key for key, _ in found]
        match action:
            case QueueAction.MOVE:
                yield Q.move_queued(keys=unsent, connector=connector)
            case QueueAction.HOLD:
                yield Q.note_holds(keys=unsent, now=now)
                yield Q.hold_queued(keys=unsent)
            case QueueAction.RELEASE:
                yield Q.release_queued(keys=unsent, now=now)
                yield Q.end_administrators_holds(keys=unsent, now=now)
            case QueueAction.CANCEL:
                for owner in sorted({account for _, account in found}):
                    own = [key for key, account in found if account == owner]
                    yield from cancel_waiting(owner, own, Trigger.OPT_OUT, now, "cancelled in the queue")
        return len(unsent)

    @write
    def order(self, order: QueueOrder, now: int) -> Steps[int]:
        yield Q.forget_queue_answers(before=now - KEPT_MS)
        yield Q.forget_queue_orders(before=now - KEPT_MS)
        ((number,),) = yield Q.add_queue_order(at=now, body=msgspec.json.encode(order).decode())
        return int(number)

    @glance
    def orders(self, after: int) -> Steps[list[QueueOrder]]:
        rows = yield Q.queue_orders(after=after)
        found = []
        for number, body in rows:
            try:
                order = msgspec.json.decode(body, type=QueueOrder)
            except msgspec.MsgspecError:  # no node carries it out, or answers it
                self._unreadable.note("queue_order.body", str(number))
                continue
            order.id = number
            found.append(order)
        return found

    @write
    def answer(self, order: int, node: int, answer: OrderAnswer) -> Steps[None]:
        yield Q.answer_queue_order(order=order, node=node, messages=answer.messages, spared=answer.spared)

    @lookup
    def answers(self, order: int) -> Steps[dict[int, OrderAnswer]]:
        rows = yield Q.queue_answers(order=order)
        return {node: OrderAnswer(messages, spared) for node, messages, spared in rows}
