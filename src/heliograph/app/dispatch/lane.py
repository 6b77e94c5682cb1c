"""A lane: the messages of one connector on their way to the operator, and what limits their pace."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator

from heliograph.app.dispatch.account_order import Backlogs, Stage
from heliograph.app.dispatch.lane_item import Item
from heliograph.app.facts import Accept, Facts, Message, Queueing, Verdict
from heliograph.app.marks import attempted
from heliograph.app.ports import Carrier, Part
from heliograph.domain.pace import Pace
from heliograph.domain.segment import HEADER_OCTETS, split

FAST_MESSAGES = 4_000
"""New messages that a lane keeps in memory; what comes beyond waits in the queue's rows."""

FAST_MESSAGES_PER_ACCOUNT = 2_000
"""Of those, one account's; so that one customer's campaign leaves room for another's one-time passwords."""

TROUBLES = 3
"""Parts that an operator puts off one after the other before the whole lane pauses."""

SLOW_MESSAGES = 1_000
"""Messages that a lane claims from the queue ahead of their turn."""

PARTS_A_COMMIT = 100
"""Parts that one commit makes ready. Receipts are acknowledged once a commit, in the next one or the one after that,
and operators leave some two hundred of them unacknowledged: with a backlog to send, larger commits would send faster
than receipts can come back."""

REFERENCES = 255
"""Concatenation references of 8 bits, 0 left out: so many long messages to one number are under way at most."""

ASIDE = 100
"""Messages to one number that a lane passes over, looking for some to others."""


class Lane:
    """Decides which message goes next, and when: order, window, pause and rate. Times are monotonic seconds.

    A part is `marked` by the commit under way, `ready` to be written when that is over, and then in flight; it keeps
    its place in the window until its outcome is committed.
    """

    __slots__ = (
        "_begun", "_behind", "_committing", "_crowded", "_disordered", "_gathered", "_overtaking", "_references",
        "_returned", "_troubles", "_turn", "ahead", "backlogs", "carrier", "closed", "connector", "fast", "filling",
        "flying", "front", "holders", "in_flight", "incoming", "joins", "mark", "marked", "more", "overflowing", "pace",
        "paused_until", "per_account", "ready", "took", "unknown_wait_ms",
    )  # fmt: skip

    def __init__(self, connector: int, rate: float = 0.0, mark: int = 0) -> None:
        self.connector = connector
        self.carrier: Carrier | None = None
        self.closed = False
        """Other nodes have the connector's binds: new messages go to the queue."""
        self.filling = False
        """Messages are being claimed from the queue for it."""
        self.mark = mark
        self.front: deque[Item] = deque()
        """Messages that go before all others: they were on their way before."""
        self.fast: deque[Item] = deque()
        self.backlogs: Backlogs[Item] = Backlogs()
        """Messages that come back from the queue, and what stands behind them."""
        self.ahead = 0
        """How many of them were claimed from the queue ahead of their turn."""
        self.holders: list[int] = []
        """The accounts that had more in the queue when somebody looked."""
        self.incoming: deque[Item] = deque()
        """Messages that the commit under way accepts."""
        self.marked: list[Part] = []
        self.ready: deque[Part] = deque()
        self.flying: set[Part] = set()
        """Parts that were written and have no outcome yet."""
        self.in_flight = 0
        """Places of the window in use: those parts, and those whose outcome is not committed yet."""
        self.paused_until = 0.0
        self.per_account: dict[int, int] = {}
        self.overflowing = False
        """The commit under way writes messages to the queue, for want of room."""
        self._behind: list[Item] = []
        """Messages that the commit under way accepts, and that stand behind others in `backlogs`."""
        self._begun = False
        """A commit is under way: what it accepts is written as it is."""
        self._returned: list[Item] = []
        """Messages that were in memory, and that the next commit gives rows."""
        self.more = False
        """The queue may hold more messages that are due."""
        self._overtaking = False
        """What the commit under way marks stood behind parts that are to be marked again."""
        self._gathered = 0
        self._committing = 0
        self._disordered = False
        self._turn = False
        self.pace = Pace(rate)
        self.took = 0
        """Parts that the operator took and the pace does not know of yet."""
        self.unknown_wait_ms = 0
        """How long a part without an answer is not sent again; 0: it is sent again at once."""
        self.joins = False
        """Long messages go whole: the operator cuts them up."""
        self._troubles = 0
        self._references: dict[str, set[int]] = {}
        self._crowded = False
        """All that waits does so for a concatenation reference."""

    @property
    def capacity(self) -> int:
        """Places in the window, over all binds that are up."""
        return 0 if self.carrier is None else self.carrier.capacity

    def __len__(self) -> int:
        """Messages that wait, whole or in part."""
        return len(self.front) + len(self.fast) + len(self.backlogs)

    @property
    def idle(self) -> bool:
        """Whether there is nothing in it at all."""
        return not (len(self) or self.incoming or self.marked or self.ready or self.in_flight)

    def eager(self, now: float) -> bool:
        """Whether the next commit could send more on its way."""
        if not self._sendable or now < self.paused_until or self._crowded:
            return False
        return self.capacity - self.in_flight + self._gathered - len(self.ready) - len(self.marked) > 0

    # --- in

    def admit(self, accept: Accept, message: Message) -> None:
        """A new message, right before the commit that accepts it: to the fast lane, or to the queue's rows."""
        account = message.account
        is_full = self.closed or self.per_account.get(account, 0) >= FAST_MESSAGES_PER_ACCOUNT
        in_memory = len(self.fast) + len(self.incoming)
        backlogs = self.backlogs
        backlog = backlogs.by_account.get(account) if backlogs.by_account else None
        if backlog is None or backlog.stage == Stage.OPEN:
            if not is_full and in_memory < FAST_MESSAGES:
                item = Item(message, accept)
                self._count(item)
                self.incoming.append(item)
                return
        elif not is_full and backlog.stage != Stage.ROWS and in_memory + len(backlogs) < FAST_MESSAGES + SLOW_MESSAGES:
            item = Item(message, accept)
            self._count(item)
            backlogs.admit(backlog, item)
            self._behind.append(item)
            return
        message.queued = True
        self.overflowing = not self.closed
        self.expect_row(account)

    def expect_row(self, account: int) -> None:
        """The next commit gives a message of the account its row: what is newer goes behind it, and what is in the
        fast lane already before it."""
        newest = self.incoming or self.fast
        for item in self.backlogs.write(account, newest[-1].message.key if newest else 0):
            self.forget(item)
            if item.accept is None or self._begun:
                self._returned.append(item)
            else:
                item.message.queued = True
                self._behind.remove(item)

    def resume(self, item: Item) -> None:
        """A message that the rows know: of the queue, or of the fast lane of an earlier run."""
        if item.row:
            self.ahead += 1
            self.backlogs.claimed(item.message.account, item)
            return
        self._count(item)
        (self.front if item.attempted else self.fast).append(item)

    def take_back(self, item: Item, segment: int) -> None:
        """A part that must go again, before anything else."""
        if item.to_send:
            item.to_send.append(segment)
            item.to_send.sort()
            return
        item.to_send = [segment]
        self.front.append(item)
        self._disordered = True

    def unready(self, *, overtaken: bool = False) -> None:
        """What was ready waits at the front again, in its order: no bind is up, or nothing more is to be sent."""
        if self.marked and (self.ready or overtaken):
            self._overtaking = True
        while self.ready:
            part = self.ready.popleft()
            self.take_back(part.owner, part.segment)

    # --- out

    def prepare(self, facts: Facts, now: float, now_ms: int) -> list[Item]:
        """Right before a commit: chooses what goes right after it, and puts the mark over it.

        Returns what it came across whose validity is over; that waits in the lane no more.
        """
        late: list[Item] = []
        aside: dict[str, list[Item]] = {}
        self._crowded = False
        self._begin(facts, now)
        free = self.capacity - self.in_flight + self._committing - len(self.ready) - len(self.marked)
        free = min(free, PARTS_A_COMMIT)
        if free <= 0 or now < self.paused_until:
            return late
        mark = self.mark
        while free > 0:
            item = self._next()
            if item is None:
                break
            message = item.message
            if message.expires <= now_ms and item.accept is None:
                late.append(item)
                continue
            if not item.reference and self._goes_aside(item, aside):
                if len(aside[message.destination]) > ASIDE:
                    break
                continue
            free -= self._make_ready(item)
            if item.row:
                facts.sending.append((message.account, message.key))
            elif message.key > mark:
                mark = message.key
        if aside:
            self._put_aside(aside)
        if mark != self.mark:
            self.mark = mark
            facts.marks[attempted(self.connector)] = mark
        return late

    def pump(self, now: float) -> float | None:
        """Right after a commit, or when time has come: writes what is ready, as window, pause and rate allow.

        Returns when to be called again because of the rate, or None.
        """
        ready, carrier = self.ready, self.carrier
        if not ready or carrier is None or now < self.paused_until:
            return None
        room = min(len(ready), carrier.capacity - self.in_flight)
        if room <= 0:
            return None
        room = self.pace.take(now, room)
        parts = [ready.popleft() for _ in range(room)]
        if parts:
            for part in parts:
                part.written = now
            self.in_flight += len(parts)
            self.flying.update(parts)
            carrier.submit(parts)
        if ready and carrier.capacity > self.in_flight:
            return self.pace.ready_at(now)
        return None

    def committed(self) -> None:
        """The commit is over: answered parts leave the window, marked ones may go; what it accepted stays, what it
        refused leaves."""
        self.in_flight -= self._committing
        self._committing = 0
        marked, self.marked = self.marked, []
        for part in marked:
            if self._is_accepted(part.owner):
                self.ready.append(part)
        self._settle()
        self.backlogs.committed()
        if self.capacity == 0 or self._overtaking:
            self._overtaking = False
            self.unready()
        if self.overflowing:
            self.overflowing = False
            self.more = True

    def refused(self) -> None:
        """The commit failed: what it would have accepted leaves; all the rest waits for the next one."""
        self.marked = [part for part in self.marked if self._is_accepted(part.owner)]
        self._settle()
        self.backlogs.refused()
        self.overflowing = False

    def answered(self, part: Part) -> bool:
        """A part has its outcome, in the facts being gathered; False if it was not in flight."""
        if part not in self.flying:
            return False
        self.flying.remove(part)
        self._gathered += 1
        return True

    def hold(self, now: float, pause: float, *, throttled: bool) -> None:
        """The operator took a part not now. It is left alone when it says that all is too fast, and when it has put
        off `TROUBLES` parts without taking one: then it is not about the messages."""
        if self.took:
            self.pace.taken(now, self.took)
            self.took = self._troubles = 0
        if throttled:
            pauses = self.pace.throttled(now)
        else:
            self._troubles += 1
            pauses = self._troubles >= TROUBLES
        if pauses:
            self.paused_until = max(self.paused_until, now + pause)

    # --- keeping order

    def is_sending_to(self, destination: str) -> bool:
        """Whether a part to this number is on its way."""
        return any(part.message.destination == destination for part in (*self.flying, *self.ready, *self.marked))

    def drop(self, item: Item) -> None:
        """The item has nothing to send any more."""
        for waiting in (self.front, self.fast):
            if item in waiting:
                waiting.remove(item)
        if self.backlogs.remove(item.message.account, item):
            self._leave([item])

    def expire(self, now_ms: int) -> list[Item]:
        """Takes out what waits and whose validity is over."""
        return self._take_out(lambda item: item.message.expires <= now_ms)

    def vacate(self, accounts: Collection[int] | None = None) -> list[Item]:
        """Takes out every message that has no part under way, of these accounts or of all, for good."""
        self.unready()
        items = self._take_out(lambda item: item.away == 0 and (accounts is None or item.message.account in accounts))
        for item in items:
            self.forget(item)
        return items

    def items(self) -> Iterator[Item]:
        """All items that are not over; maybe more than once."""
        for part in (*self.marked, *self.ready, *self.flying):
            yield part.owner
        yield from self.front
        yield from self.fast
        yield from self.backlogs.items()

    @property
    def oldest(self) -> int | None:
        """When the message that waits longest was due. The first of each queue is looked at, which are in order but
        for those that came back."""
        queues = (self.front, self.fast, *self.backlogs.queues())
        return min((waiting[0].message.time for waiting in queues if waiting), default=None)

    def forget(self, item: Item) -> None:
        """The item is over with, or leaves the lane. Harmless when repeated."""
        message = item.message
        if item.reference:
            used = self._references.get(message.destination)
            if used is not None:
                used.discard(item.reference)
                if not used:
                    del self._references[message.destination]
            item.reference = 0
        if item.counted:
            item.counted = False
            left = self.per_account[message.account] - 1
            if left:
                self.per_account[message.account] = left
            else:
                del self.per_account[message.account]

    # --- inside

    def _count(self, item: Item) -> None:
        account = item.message.account
        item.counted = True
        self.per_account[account] = self.per_account.get(account, 0) + 1

    def _settle(self) -> None:
        self._begun = False
        incoming, self.incoming = self.incoming, deque()
        self.fast.extend(item for item in incoming if self._is_accepted(item))
        if self._behind:
            behind, self._behind = self._behind, []
            for item in behind:
                if not self._is_accepted(item):
                    self.backlogs.remove(item.message.account, item)

    def _is_accepted(self, item: Item) -> bool:
        """After a commit, whether the item's message is in the store; it is forgotten if it is not."""
        if item.accept is None:
            return True
        if item.accept.verdict is Verdict.ACCEPTED:
            item.accept = None
            return True
        self.forget(item)
        return False

    def _take_out(self, wanted: Callable[[Item], bool]) -> list[Item]:
        out: list[Item] = []
        self._order()
        for waiting in (self.front, self.fast):
            found = [item for item in waiting if wanted(item)]
            if found:
                out += found
                keep = [item for item in waiting if not wanted(item)]
                waiting.clear()
                waiting.extend(keep)
        claimed = self.backlogs.take_out(lambda item: item.accept is None and wanted(item))
        self._leave(claimed)
        return out + claimed

    @property
    def _sendable(self) -> int:
        """Messages that wait for nothing but a place."""
        return len(self.front) + len(self.fast) + self.backlogs.count

    def _begin(self, facts: Facts, now: float) -> None:
        """A commit begins; what went from memory to the queue gets its rows from it."""
        self._committing += self._gathered
        self._gathered = 0
        if self.took:
            self.pace.taken(now, self.took)
            self.took = 0
            self._troubles = 0
        self.backlogs.begun += 1
        self._begun = True
        for message in (item.message for item in self._returned if item.accept is None):
            facts.queueings.append(
                Queueing(
                    message.account,
                    message.key,
                    self.connector,
                    message.time,
                    message.expires,
                    attempted=False,
                    held=False,
                )
            )
        self._returned.clear()

    def _leave(self, items: Iterable[Item]) -> None:
        """These are in the backlogs no more."""
        for item in items:
            if not item.counted:
                self.ahead -= 1

    def _order(self) -> None:
        """Messages that came back stand in the order in which they were accepted or due."""
        if self._disordered:
            self._disordered = False
            self.front = deque(sorted(self.front, key=lambda item: (item.message.time, item.message.key)))

    def _next(self) -> Item | None:
        if self.front:
            self._order()
            return self.front.popleft()
        self._turn = not self._turn
        if self.backlogs.count and (self._turn or not self.fast):
            claimed = self.backlogs.take(self.fast[0].message.key if self.fast else None)
            if claimed is not None:
                self._leave([claimed])
                return claimed
        if self.fast:
            return self.fast.popleft()
        if self.incoming:
            return self.incoming.popleft()
        return None

    def _goes_aside(self, item: Item, aside: dict[str, list[Item]]) -> bool:
        """Whether as many long messages to its number are under way as there are references; or one before it waits
        for that."""
        message = item.message
        destination = message.destination
        if destination not in aside:
            if message.segments == 1 or not self._references:
                return False
            if len(self._references.get(destination, ())) < REFERENCES:
                return False
        aside.setdefault(destination, []).append(item)
        return True

    def _put_aside(self, aside: dict[str, list[Item]]) -> None:
        """Puts back, in its order, what has to wait for an answer to others to its number."""
        items = [item for group in aside.values() for item in group]
        for item in reversed(items):
            if item.accept is None:
                self.front.appendleft(item)
            elif item in self._behind:
                self.backlogs.put_back(item.message.account, item)
            else:
                self.incoming.appendleft(item)
        self._crowded = len(items) >= self._sendable + len(self.incoming)

    def _make_ready(self, item: Item) -> int:
        """Marks the item's parts; returns how many."""
        message = item.message
        total = message.segments
        header_octets = HEADER_OCTETS
        item.shape(self.joins)
        if total > 1 and self.carrier is not None:
            header_octets = self.carrier.header_octets
        cut = split(message.content, message.kind, header_octets)
        if len(cut.parts) != total:
            header_octets = HEADER_OCTETS
            cut = split(message.content, message.kind)
        encoding, pieces = cut.encoding, cut.parts
        if item.whole:
            total, pieces = 1, [b"".join(pieces)]
        elif total > 1 and not item.reference:
            item.reference = self._reference(message)
        numbers, item.to_send = item.waiting, []
        for number in numbers:
            self.marked.append(
                Part(message, number, total, encoding, pieces[number], item.reference, item, header_octets)
            )
        return len(numbers)

    def _reference(self, message: Message) -> int:
        """A concatenation reference, 1 to 255, that no other long message to this number has at the moment.

        It follows from the key, so that parts sent again after a restart most likely join those sent before.
        """
        used = self._references.setdefault(message.destination, set())
        reference = (message.key * 0x9E3779B97F4A7C15 >> 40) % REFERENCES + 1
        while reference in used and len(used) < REFERENCES:
            reference = reference % REFERENCES + 1
        used.add(reference)
        return reference
