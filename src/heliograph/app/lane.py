"""A lane: the messages of one connector on their way to the operator, and what limits their pace."""

from collections import deque
from collections.abc import Iterable

from heliograph.app.facts import Accept, Facts, Message, Queued, Verdict
from heliograph.app.marks import attempted
from heliograph.app.ports import Carrier, Part
from heliograph.domain.message import Kind
from heliograph.domain.segment import HEADER_OCTETS, split
from heliograph.domain.throttle import TokenBucket

FAST_MESSAGES = 4_000
"""New messages that a lane keeps in memory; what comes beyond waits in the queue's rows."""

FAST_MESSAGES_PER_ACCOUNT = 2_000
"""Of those, one account's; so that one customer's campaign leaves room for another's one-time passwords."""

SLOW_MESSAGES = 1_000
"""Messages that a lane claims from the queue ahead of their turn."""


class Item:
    """A message in a lane.

    `to_send` are the numbers of the parts that go next, `open` how many parts have no answer yet. `row` says that
    the queue has a row for it. `tries` counts answers that never came.
    """

    __slots__ = (
        "accept",
        "attempted",
        "message",
        "open",
        "pieces",
        "reference",
        "row",
        "taken",
        "to_send",
        "tries",
    )

    def __init__(self, message: Message, accept: Accept | None = None) -> None:
        self.message = message
        self.accept = accept
        self.to_send: list[int] | None = None
        self.pieces: list[bytes] = []
        self.reference = 0
        self.open = message.segments
        self.taken = 0
        self.row = False
        self.attempted = False
        self.tries = 0

    @classmethod
    def of_queue(cls, queued: Queued) -> "Item":
        """The item of a claimed row: only its parts without an answer are sent."""
        item = cls(queued.message)
        item.row = True
        item.attempted = queued.attempted
        item.taken = len(queued.taken)
        item.to_send = [n for n in range(queued.message.segments) if n not in queued.answered]
        item.open = len(item.to_send)
        return item


class Lane:
    """Decides which message goes next, and when: order, window, pause and rate. Times are monotonic seconds.

    A part is `marked` by the commit under way, `ready` to be written when that is over, and then in flight; it keeps
    its place in the window until its outcome is committed.
    """

    __slots__ = (
        "_bucket", "_committing", "_gathered", "_references", "_turn", "carrier", "connector", "fast", "flying",
        "front", "header_octets", "in_flight", "incoming", "mark", "marked", "more", "overflow", "paused_until",
        "per_account", "queued_count", "ready", "slow",
    )  # fmt: skip

    def __init__(self, connector: int, rate: float = 0.0, header_octets: int = HEADER_OCTETS, mark: int = 0) -> None:
        self.connector = connector
        self.carrier: Carrier | None = None
        self.header_octets = header_octets
        self.mark = mark
        self.front: deque[Item] = deque()
        self.fast: deque[Item] = deque()
        self.slow: deque[Item] = deque()
        self.incoming: deque[Item] = deque()
        self.marked: list[Part] = []
        self.ready: deque[Part] = deque()
        self.in_flight = 0
        self.paused_until = 0.0
        self.per_account: dict[int, int] = {}
        self.overflow: set[int] = set()
        self.queued_count = 0
        self.more = True
        self.flying: set[Part] = set()
        self._gathered = 0
        self._committing = 0
        self._turn = False
        self._bucket = TokenBucket(rate) if rate > 0 else None
        self._references: dict[str, set[int]] = {}

    def pace(self, now: float, rate: float) -> None:
        """Another rate, in parts a second; 0 is none."""
        if rate <= 0:
            self._bucket = None
        elif self._bucket is None:
            self._bucket = TokenBucket(rate)
        elif self._bucket.rate != rate:
            self._bucket.change(now, rate)

    @property
    def capacity(self) -> int:
        """Places in the window, over all binds that are up."""
        return 0 if self.carrier is None else self.carrier.capacity

    def __len__(self) -> int:
        return len(self.front) + len(self.fast) + len(self.slow)

    # --- in

    def admit(self, accept: Accept, message: Message) -> None:
        """A new message, right before the commit that accepts it: to the fast lane, or to the queue's rows."""
        account = message.account
        here = self.per_account.get(account, 0)
        if (
            account in self.overflow
            or here >= FAST_MESSAGES_PER_ACCOUNT
            or len(self.fast) + len(self.incoming) >= FAST_MESSAGES
        ):
            self.overflow.add(account)
            self.queued_count += 1
            self.more = True
            message.queued = True
            return
        self.per_account[account] = here + 1
        self.incoming.append(Item(message, accept))

    def settle(self) -> None:
        """The commit is over: what it accepted stays, what it refused leaves."""
        incoming, fast = self.incoming, self.fast
        while incoming:
            item = incoming.popleft()
            if item.accept is not None and item.accept.verdict is Verdict.ACCEPTED:
                item.accept = None
                fast.append(item)
            else:
                self.forget(item)

    def take_back(self, item: Item, segment: int) -> None:
        """A part that must go again, before anything else."""
        if item.to_send:
            if segment not in item.to_send:
                item.to_send.append(segment)
                item.to_send.sort()
            return
        item.to_send = [segment]
        self.front.append(item)

    def unready(self) -> None:
        """No bind is up: what was ready waits at the front again, in its order."""
        items: list[Item] = []
        while self.ready:
            part = self.ready.popleft()
            item: Item = part.owner
            if not item.to_send:
                item.to_send = []
                items.append(item)
            item.to_send.append(part.segment)
        self.front.extendleft(reversed(items))

    # --- out

    def prepare(self, facts: Facts, now: float, now_ms: int) -> list[Item]:
        """Right before a commit: chooses what goes right after it, and puts the mark over it.

        Returns what it came across whose validity is over; that has left the lane.
        """
        late: list[Item] = []
        self._committing += self._gathered
        self._gathered = 0
        free = self.capacity - self.in_flight + self._committing - len(self.ready) - len(self.marked)
        if free <= 0 or now < self.paused_until:
            return late
        mark = self.mark
        while free > 0:
            item = self._next()
            if item is None:
                break
            message = item.message
            if message.expires <= now_ms:
                late.append(item)
                continue
            free -= self._make_ready(item)
            if item.row:
                if not item.attempted:
                    facts.sending.append(message.key)
            elif message.key > mark:
                mark = message.key
        if mark != self.mark:
            self.mark = mark
            facts.marks[attempted(self.connector)] = mark
        return late

    def pump(self, now: float) -> float | None:
        """Right after a commit, or when time has come: writes what is ready, as window and rate allow.

        Returns when to be called again because of the rate, or None.
        """
        ready, carrier = self.ready, self.carrier
        if not ready or carrier is None:
            return None
        room = min(len(ready), carrier.capacity - self.in_flight)
        if room <= 0:
            return None
        if self._bucket is not None:
            room = self._bucket.take(now, room)
        parts: list[Part] = []
        for _ in range(room):
            part = ready.popleft()
            part.owner.attempted = True
            parts.append(part)
        if parts:
            self.in_flight += len(parts)
            self.flying.update(parts)
            carrier.submit(parts)
        if ready and self._bucket is not None and carrier.capacity > self.in_flight:
            return self._bucket.ready_at(now)
        return None

    def committed(self) -> None:
        """What was prepared is durable: answered parts leave the window, marked ones may go."""
        self.in_flight -= self._committing
        self._committing = 0
        if self.marked:
            for part in self.marked:
                item: Item = part.owner
                if item.accept is None or item.accept.verdict is Verdict.ACCEPTED:
                    item.accept = None
                    self.ready.append(part)
                elif part.segment == 0:
                    self.forget(item)
            self.marked.clear()
            if self.capacity == 0:
                self.unready()

    def answered(self, part: Part) -> None:
        """A part has its outcome, in the facts being gathered."""
        self.flying.discard(part)
        self._gathered += 1

    # --- keeping order

    def expire(self, now_ms: int) -> list[Item]:
        """Takes out what waits and whose validity is over."""
        late: list[Item] = []
        for waiting in (self.front, self.fast, self.slow):
            if any(item.message.expires <= now_ms for item in waiting):
                late.extend(item for item in waiting if item.message.expires <= now_ms)
                keep = [item for item in waiting if item.message.expires > now_ms]
                waiting.clear()
                waiting.extend(keep)
        return late

    def empty(self) -> list[Item]:
        """Takes out everything that is not in flight."""
        self.unready()
        items = [*self.front, *self.fast, *self.slow]
        self.front.clear()
        self.fast.clear()
        self.slow.clear()
        for item in items:
            self.forget(item)
        return items

    def items(self) -> Iterable[tuple[Item, bool]]:
        """All items that are not over, and whether a part is ready or in flight; maybe more than once."""
        for part in (*self.marked, *self.ready, *self.flying):
            yield part.owner, True
        for item in (*self.front, *self.fast, *self.slow):
            yield item, False

    def _next(self) -> Item | None:
        if self.front:
            return self.front.popleft()
        self._turn = not self._turn
        if self.slow and (self._turn or not self.fast):
            return self.slow.popleft()
        if self.fast:
            return self.fast.popleft()
        if self.incoming:
            return self.incoming.popleft()
        return None

    def _make_ready(self, item: Item) -> int:
        """Marks the item's parts; returns how many."""
        message = item.message
        total = message.segments
        encoding, pieces = split(message.content, Kind(message.kind), self.header_octets)
        if item.to_send is None:
            item.to_send = list(range(len(pieces)))
            item.open = len(pieces)
        if total > 1 and not item.reference:
            item.reference = self._reference(message)
        numbers, item.to_send = item.to_send, []
        for number in numbers:
            self.marked.append(Part(message, number, total, encoding, pieces[number], item.reference, item))
        return len(numbers)

    def _reference(self, message: Message) -> int:
        """A concatenation reference, 1 to 255, that no other long message to this number has at the moment.

        It follows from the key, so that parts sent again after a restart most likely join those sent before.
        """
        used = self._references.setdefault(message.destination, set())
        reference = (message.key * 0x9E3779B97F4A7C15 >> 40) % 255 + 1
        for _ in range(255):
            if reference not in used:
                break
            reference = reference % 255 + 1
        used.add(reference)
        return reference

    def forget(self, item: Item) -> None:
        """The item is over with, or leaves the lane."""
        message = item.message
        if item.reference:
            used = self._references.get(message.destination)
            if used is not None:
                used.discard(item.reference)
                if not used:
                    del self._references[message.destination]
            item.reference = 0
        if not item.row:
            left = self.per_account.get(message.account, 0) - 1
            if left > 0:
                self.per_account[message.account] = left
            else:
                self.per_account.pop(message.account, None)
