"""Leases of nodes that share the in-memory store, as PostgreSQL keeps them."""

from collections.abc import Callable

from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH, attempted
from heliograph.app.ports import SingleJob
from heliograph.domain.message.ids import WORKERS, worker_of
from heliograph.domain.message.state import State
from tests.support.memory_rows import MemoryPart, MemoryState, NodeRow, PartRow, QueueRow, RetryRow, Rows


class MemoryLeases(MemoryPart):
    """`app.ports.Leases`."""

    def __init__(self, place: MemoryState, now: Callable[[], int]) -> None:
        """`now` is the store's own clock, in ms."""
        super().__init__(place)
        self._now = now
        place.shared = True

    async def heartbeat(self, node: int, lasts: int) -> int | None:
        row = self._open().nodes.setdefault(node, NodeRow())
        if row.gone:
            return None
        now = self._now()
        row.until = now + lasts
        return now

    async def release_dead(self, deadline: int, ago: int = 0) -> list[int]:
        rows = self._open()
        now = self._now()
        if now > deadline:
            return []
        before = now - ago
        dead = [number for number, row in sorted(rows.nodes.items()) if not row.gone and row.until <= before]
        for node in dead:
            fence(rows, node)
            for worker in sorted(number for number, of in rows.workers.items() if of == node):
                _spill(rows, worker)
                rows.workers[worker] = None
        return dead

    async def lease_worker(self, node: int) -> int | None:
        rows = self._open()
        self._place.check_node(node)
        worker = next((number for number in range(WORKERS) if rows.workers.get(number) is None), None)
        if worker is not None:
            if worker not in rows.workers:
                _move_marks(rows, worker)
            rows.workers[worker] = node
        return worker

    async def gathered(self, start: int, end: int) -> tuple[list[int], int]:
        rows = self._open()
        ends = [part.key for part in rows.parts.values() if start <= part.at < end]
        counts = {key: sum(of == key and part.at < end for (of, _), part in rows.parts.items()) for key in ends}
        whole = [key for key, count in counts.items() if count == rows.messages[key].segments]
        return sorted(key for key in whole if key not in rows.finals), len(ends)

    async def lease_binds(self, connector: int, node: int, binds: int, want: int) -> list[int]:
        rows = self._open()
        self._place.check_node(node)
        held = sorted(slot for (of, slot), who in rows.slots.items() if (of, who) == (connector, node))
        kept = [slot for slot in held if slot < binds][:want]
        for slot in held:
            if slot not in kept:
                del rows.slots[connector, slot]
        free = [slot for slot in range(binds) if (connector, slot) not in rows.slots][: max(0, want - len(kept))]
        rows.slots |= {(connector, slot): node for slot in free}
        return sorted(kept + free)

    async def lease_job(self, job: SingleJob, node: int) -> bool:
        return bool(await self.lease_binds(-1_000 - job, node, 1, 1))


def claimable(rows: Rows) -> list[QueueRow | RetryRow | PartRow]:
    """Returns all rows that a node may claim."""
    return [*rows.queue.values(), *rows.retries.values(), *rows.inbound_parts.values()]


def take_worker(place: MemoryState, worker: int, node: int) -> None:
    """Gives a worker number to a node, and fences the node that still has it. Raises Fenced."""
    rows = place.rows
    place.check_node(node)
    rows.nodes.setdefault(node, NodeRow())
    predecessor = rows.workers.get(worker)
    if predecessor not in (None, node):
        fence(rows, predecessor)
    rows.workers[worker] = node


def fence(rows: Rows, node: int) -> None:
    """Gives up a node: it may not write or claim any more, and its claims and bind slots are free."""
    rows.nodes[node].gone = True
    for row in claimable(rows):
        row.node = None if row.node == node else row.node
    for unanswered in rows.unanswered.values():
        unanswered.lost = unanswered.lost or unanswered.node == node
    rows.slots = {slot: who for slot, who in rows.slots.items() if who != node}
    rows.link_states = {key: state for key, state in rows.link_states.items() if state.node != node}
    rows.node_reports.pop(node, None)


def _spill(rows: Rows, worker: int) -> None:
    """Moves pending work of a dead worker's fast lane into rows, where any node finds it."""
    for key, message in rows.messages.items():
        if worker_of(key) != worker or key in rows.finals:
            continue
        if key > rows.mark(key, DISPATCH) and is_unsent(rows, key):
            was_tried = key <= rows.mark(key, attempted(message.connector))
            rows.queue[key] = QueueRow(message.connector, message.time, message.expires, was_tried)
        if key > rows.mark(key, AWAITING):
            rows.awaiting |= {
                (rows.sent[key, segment].connector, rows.sent[key, segment].operator_id, key, segment)
                for segment in unlisted_parts(rows, key)
            }
    ends = {key: end.at for key, end in rows.finals.items() if end.owed and end.state is not None}
    ends |= {key: message.at for key, message in rows.inbound.items() if message.way}
    for key, at in ends.items():
        is_known = key in rows.callbacks or key in rows.retries
        if worker_of(key) == worker and key > rows.mark(key, CALLBACK) and not is_known:
            rows.retries[key] = RetryRow(at, 0, b"", "", at)
    _move_marks(rows, worker)


def _move_marks(rows: Rows, worker: int) -> None:
    """Moves the marks of a worker without pending work to the highest key."""
    latest = max((0, *rows.messages, *rows.inbound))
    rows.marks.setdefault(worker, {}).update(dict.fromkeys((DISPATCH, AWAITING, CALLBACK), latest))


def is_unsent(rows: Rows, key: int) -> bool:
    """Whether a message has parts without an answer, and no row in the queue."""
    message = rows.messages[key]
    answered = sum(of == key for of, _ in rows.sent)
    return message.state == State.SENT and key not in rows.queue and answered < message.segments


def unlisted_parts(rows: Rows, key: int) -> list[int]:
    """Returns the parts of a message that await receipts and have no row for that."""
    listed = {segment for *_, of, segment in rows.awaiting if of == key}
    taken = {segment for (of, segment), row in rows.sent.items() if of == key and row.status == 0}
    ended = {segment for of, segment in rows.parts if of == key}
    return sorted(taken - ended - listed) if rows.messages[key].wants_receipt else []
