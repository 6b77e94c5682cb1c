"""The waiting messages of the in-memory store as administrators see and change them."""

from collections.abc import Sequence
from dataclasses import replace

from heliograph.app.facts import NO_ANSWER
from heliograph.app.ports.backlog import OrderAnswer, QueueAction, QueueOrder, WaitingGroup, WaitingRow
from heliograph.app.records import MessageHold
from heliograph.domain.calendar import DAY_MS
from heliograph.domain.limits.gate import OF_ADMINISTRATOR
from heliograph.domain.numbers.country import HEAD
from tests.support.memory_rows import MemoryPart, end_holds
from tests.support.memory_suppressions import is_whole, withdraw_waiting


class MemoryBacklog(MemoryPart):
    """`app.ports.Backlog`."""

    async def groups(self, after: int, until: int, limit: int) -> tuple[list[WaitingGroup], int | None]:
        rows = await self.rows(after, limit)
        found: dict[tuple[int, int, str, str], WaitingGroup] = {}
        for each in (row for row in rows if row.time <= until):
            place = each.connector, each.account, each.destination[:HEAD], each.network
            known = found.get(place, WaitingGroup(*place, 0, 0, 0, each.time, 0))
            found[place] = WaitingGroup(
                *place,
                known.messages + 1,
                known.held + (each.held is not None),
                known.on_hold + each.on_hold,
                min(known.oldest, each.time),
                known.price + each.price,
            )
        return list(found.values()), rows[-1].key if len(rows) == limit else None

    async def rows(self, after: int, limit: int) -> list[WaitingRow]:
        rows = self._open()
        found = []
        for key in sorted(key for key in rows.queue if key > after)[:limit]:
            row, message = rows.queue[key], rows.messages[key]
            found.append(
                WaitingRow(
                    key,
                    message.tail,
                    row.connector,
                    message.account,
                    message.destination,
                    message.network,
                    message.time,
                    message.price,
                    row.held,
                    row.node is not None,
                    row.attempted,
                    message.reference or "",
                )
            )
        return found

    async def change(self, action: QueueAction, keys: Sequence[int], now: int, connector: int = 0) -> int:
        rows = self._open()
        resent = {each.key for each in rows.attempts if each.status in (0, NO_ANSWER)}
        free = [key for key in sorted(keys) if key in rows.queue and rows.queue[key].node is None]
        unsent = [key for key in free if key not in resent and is_whole(self._place, key)]
        for key in unsent:
            row = rows.queue[key]
            on_hold = row.held is not None and row.held.startswith(OF_ADMINISTRATOR)
            if action is QueueAction.MOVE:
                row.connector, row.due = connector, min(row.due, max(rows.messages[key].time, 0))
            elif action is QueueAction.HOLD and not on_hold:
                row.held = OF_ADMINISTRATOR + (row.held or "")
                rows.message_holds.setdefault((key, now), MessageHold(now, None, OF_ADMINISTRATOR))
            elif action is QueueAction.RELEASE and on_hold:
                row.held, row.due = (row.held or "")[1:] or None, max(row.due, now)
                end_holds(rows, [key], now, OF_ADMINISTRATOR)
        if action is QueueAction.CANCEL:
            withdraw_waiting(self._place, unsent, now, "cancelled in the queue")
        return len(unsent)

    async def order(self, order: QueueOrder, now: int) -> int:
        rows = self._open()
        rows.orders = {of: each for of, each in rows.orders.items() if each[1] >= now - 7 * DAY_MS}
        rows.answers = {of: each for of, each in rows.answers.items() if of[0] in rows.orders}
        number = self._place.next("order")
        rows.orders[number] = replace(order, id=number), now
        return number

    async def orders(self, after: int) -> list[QueueOrder]:
        return [replace(order) for number, (order, _) in self._open().orders.items() if number > after]

    async def answer(self, order: int, node: int, answer: OrderAnswer) -> None:
        self._open().answers.setdefault((order, node), answer)

    async def answers(self, order: int) -> dict[int, OrderAnswer]:
        return {node: answer for (of, node), answer in self._open().answers.items() if of == order}
