"""A lane: the messages of a connector on their way to the operator.

It has two halves: `Lane` keeps the waiting messages and their order; `LaneWindow` (`lane_window`) keeps the parts from
the commit that marks them to the commit of their outcome, and the limits of the pace.

         accepted by a commit                    rows of the queue
              |                                        |
              v                                        v claim
        +------------+     +------+           +------------------+
        |  incoming  |---->| fast |           |      queues      |   one queue an account, in turn
        +------------+     +------+           +------------------+   (account_order)
          commit is           | in memory              |             _behind: new messages in them
          under way           |                        |
                              |    +---------+         |
   parts that must go again --|--->|  front  |         |             before all others
                              |    +---------+         |
                              v         v              v
            which next:  front, then fast and queues in turn, then incoming          (_next)        Lane
     - - - - - - - - - - - - - - - - -  |  prepare: cut into parts, at most PARTS_A_COMMIT  - - - - - - - -
                                        v
                                  +----------+
                                  |  marked  |      the commit under way writes the attempt mark  LaneWindow
                                  +----------+
                                        |  committed
                                        v
                                  +----------+
                                  |  ready   |      waits for window, pause and pace
                                  +----------+
                                        |  pump
                                        v
                                  +----------+
                                  |  flying  |      written, without an outcome
                                  +----------+
                                        |  answered
                                        v
                            outcome among the facts (_gathered, then _committing): the slot of the
                            window is free once these are committed

What can go wrong: the commit fails (`refused`: its messages leave, marked parts stay marked). The last link goes
(`unready`: ready parts go back to `front`). The connector moves to other nodes (`vacate`: messages without a part under
way go back to the rows). A part may have reached the operator without an answer (`app.dispatch.unknown_outcomes`).
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator

from heliograph.app.connector_kind import LanePolicy
from heliograph.app.dispatch.account_order import AccountQueues, SpillStage
from heliograph.app.dispatch.lane_item import LaneItem
from heliograph.app.dispatch.lane_window import LaneWindow
from heliograph.app.dispatch.parts import PartCutter, TlvsOf
from heliograph.app.facts import Accept, Facts, Message, Queueing, Verdict
from heliograph.app.marks import attempted
from heliograph.app.ports import Part
from heliograph.domain.message.state import State

FAST_MESSAGES = 4_000
"""New messages that a lane keeps in memory, about 4 MB. Further messages wait in the queue's rows."""

FAST_MESSAGES_PER_ACCOUNT = 2_000
"""New messages of an account that a lane keeps in memory: half of `FAST_MESSAGES`, so that a campaign leaves room for
other accounts' sign-in codes."""

SLOW_MESSAGES = 1_000
"""Messages that a lane claims from the queue ahead of their turn: some seconds of a fast operator."""

PARTS_A_COMMIT = 100
"""Parts that a commit makes ready, at most. A receipt is acknowledged within two commits, and operators leave some two
hundred receipts unacknowledged. With a backlog, larger commits would send faster than receipts can come back."""

ASIDE = 100
"""Messages to the same number that a lane skips in a commit while it looks for messages to other numbers."""


class Lane:
    """Keeps the waiting messages of a connector, and decides which message goes next. Times are monotonic seconds."""

    __slots__ = (
        "_begun", "_behind", "_disordered", "_lacks_references", "_overtaking", "_returned", "_spilled", "_turn",
        "ahead", "closed", "connector", "cutter", "fast", "filling", "front", "holders", "incoming", "kept_below",
        "mark", "more", "next_return", "oldest_row", "overflowing", "per_account", "policy", "queues", "tlvs_of",
        "window",
    )  # fmt: skip

    window: LaneWindow
    """Parts that are marked, ready or in flight."""
    closed: bool
    """Whether other nodes have the connector's binds, so that new messages go to the queue's rows."""
    filling: bool
    """Whether messages are being claimed from the queue for the lane."""
    mark: int
    """Highest key up to which a message may have been sent: the attempt mark."""
    front: deque[LaneItem]
    """Messages that are sent before all others, since they were marked or in flight before."""
    fast: deque[LaneItem]
    """New messages, in the order in which they were accepted."""
    queues: AccountQueues[LaneItem]
    """Messages that come back from the queue's rows, and newer messages behind them."""
    ahead: int
    """Messages in `queues` that were claimed ahead of their turn."""
    holders: list[int]
    """Accounts that had more rows in the queue at the last claim."""
    incoming: deque[LaneItem]
    """Messages that the commit under way accepts."""
    kept_below: int
    """Key. An administrator moved messages with lower keys here, so they do not return to a better candidate."""
    per_account: dict[int, int]
    """New messages in memory by account."""
    overflowing: bool
    """Whether the commit under way writes messages to the queue's rows, since memory is full."""
    more: bool
    """Whether the queue may hold more messages that are due."""
    next_return: int
    """Time (ms) from which messages are looked for that could return to a better candidate."""
    oldest_row: int | None
    """Time (ms) at which the first row of the queue was due that no lane has claimed, when it was last looked at."""
    policy: LanePolicy
    """The carrier's rules for messages, such as alphabets."""
    tlvs_of: TlvsOf | None
    """Returns the TLVs of a message over this connector; None if it has none."""
    _behind: list[LaneItem]
    """Messages that the commit under way accepts, and that wait behind others in `queues`."""
    _begun: bool
    """Whether a commit is under way, so that messages which it accepts must not change any more."""
    _returned: list[LaneItem]
    """Messages that were in memory, and that the next commit gives rows."""
    _spilled: list[Message]
    """New messages that the next commit, or the commit under way, gives rows."""
    _overtaking: bool
    """True if a part of the commit under way was overtaken by a part that must be sent again."""
    _disordered: bool
    """Whether `front` must be sorted before its next use."""
    _turn: bool
    """Whether `queues` have their turn before `fast`."""
    _lacks_references: bool
    """Whether all waiting messages wait for a concatenation reference."""

    def __init__(self, connector: int, rate: float = 0.0, mark: int = 0) -> None:
        self.connector, self.mark = connector, mark
        self.window = LaneWindow(rate)
        self.policy, self.tlvs_of = LanePolicy(), None
        self.closed = self.filling = self.overflowing = self.more = False
        self.oldest_row = None
        self.kept_below = self.next_return = 0
        self.front, self.fast, self.incoming = deque(), deque(), deque()
        self.queues = AccountQueues()
        self.ahead = 0
        self.holders, self.per_account = [], {}
        self.cutter = PartCutter()
        self._behind, self._returned, self._spilled = [], [], []
        self._begun = self._overtaking = self._disordered = self._turn = self._lacks_references = False

    def __len__(self) -> int:
        """Messages that wait, whole or in part."""
        return len(self.front) + len(self.fast) + len(self.queues)

    @property
    def idle(self) -> bool:
        """Whether the lane holds no message and no part."""
        return not (len(self) or self.incoming or self.window.busy)

    def can_send(self, now: float) -> bool:
        """Returns whether the next commit could make more parts ready."""
        has_some = any(map(_is_begun, self.front)) if self.window.only_finishes else self._sendable > 0
        return has_some and not self._lacks_references and self.window.will_have_room(now)

    # --- in

    def admit(self, accept: Accept, message: Message) -> None:
        """Puts a new message into the fast lane, or has it written to the queue's rows. Must be called right before the
        commit that accepts it."""
        account = message.account
        is_full = self.closed or self.per_account.get(account, 0) >= FAST_MESSAGES_PER_ACCOUNT
        in_memory = len(self.fast) + len(self.incoming)
        queues = self.queues
        queue = queues.by_account.get(account) if queues.by_account else None
        if queue is None or queue.stage == SpillStage.OPEN:
            if not is_full and in_memory < FAST_MESSAGES:
                item = LaneItem(message, accept)
                self._count(item)
                self.incoming.append(item)
                return
        elif (
            not is_full
            and queue.stage != SpillStage.SPILLING
            and in_memory + len(queues) < FAST_MESSAGES + SLOW_MESSAGES
        ):
            item = LaneItem(message, accept)
            self._count(item)
            queues.admit(queue, item)
            self._behind.append(item)
            return
        self._spill(message)
        self.overflowing = not self.closed
        self.expect_row(account)

    def expect_row(self, account: int) -> None:
        """Notes that the next commit gives a message of the account its row. Newer messages go behind it, messages
        in the fast lane before it."""
        newest = self.incoming or self.fast
        for item in self.queues.write(account, newest[-1].message.key if newest else 0):
            self.forget(item)
            if item.accept is None or self._begun:
                self._returned.append(item)
            else:
                self._spill(item.message)
                self._behind.remove(item)

    def resume(self, item: LaneItem) -> None:
        """Takes in a message that has a row: in the queue, or from the fast lane of an earlier run. The rest of a
        message that was sent in part goes before all others, and while nothing new is sent."""
        if item.row and not item.taken:
            self.ahead += 1
            self.queues.claimed(item.message.account, item)
            return
        if not item.row:
            self._count(item)
        if item.taken or item.attempted:
            self.front.append(item)
            self._disordered = True
        else:
            self.fast.append(item)

    def take_back(self, item: LaneItem, segment: int) -> None:
        """Takes back a part that must go again, before anything else."""
        if item.to_send:
            item.to_send.append(segment)
            item.to_send.sort()
            return
        item.to_send = [segment]
        self.front.append(item)
        self._disordered = True

    def recall(self, item: LaneItem) -> None:
        """Takes back the parts of a message that are not written yet, because the operator refused another part."""
        for parts in (self.window.marked, self.window.ready):
            for part in [part for part in parts if part.owner is item]:
                parts.remove(part)
                self.take_back(item, part.segment)

    def unready(self, *, overtaken: bool = False) -> None:
        """Puts the ready parts back to the front, in their order, since no bind is up or sending has stopped."""
        window = self.window
        if window.marked and (window.ready or overtaken):
            self._overtaking = True
        while window.ready:
            part = window.ready.popleft()
            self.take_back(part.owner, part.segment)

    # --- out

    def prepare(self, facts: Facts, now: float, now_ms: int) -> list[LaneItem]:
        """Chooses the parts that are sent right after a commit, and moves the mark past their messages. Must be called
        right before the commit. Returns expired messages, which have left the lane's queues."""
        late: list[LaneItem] = []
        aside: dict[str, list[LaneItem]] = {}
        self._lacks_references = False
        self._begin(facts, now)
        window = self.window
        free = min(window.room(now), PARTS_A_COMMIT)
        if free <= 0:
            return late
        mark = self.mark
        header_octets = window.header_octets
        was_empty, only_finishes = not window.marked, window.only_finishes
        while free > 0:
            item = self._next_begun() if only_finishes else self._next()
            if item is None:
                break
            message = item.message
            if message.expires <= now_ms and item.accept is None:
                late.append(item)
                continue
            if (aside or message.segments > 1) and not item.reference and self._goes_aside(item, aside):
                if len(aside[message.destination]) > ASIDE:
                    break
                continue
            parts = self._make(item, header_octets, facts)
            window.marked += parts
            free -= len(parts)
            if item.row:
                facts.sending.append((message.account, message.key))
            elif message.key > mark:
                mark = message.key
        if window.breaker.is_open and was_empty and window.marked:
            window.breaker.tests(now)
        if aside:
            self._put_aside(aside)
        if mark != self.mark:
            self.mark = mark
            facts.marks[attempted(self.connector)] = mark
        return late

    def _make(self, item: LaneItem, header_octets: int, facts: Facts) -> list[Part]:
        """Makes the parts of a message for this connector: its alphabet, its TLVs, and whether it asks for receipts."""
        message, policy = item.message, self.policy
        if policy.asks_receipts and not message.wants_receipt and item.unsent:
            message.wants_receipt = True
            if item.accept is None:  # else its row is written by this commit
                facts.asking.append((message.account, message.key))
        tlvs_of = self.tlvs_of if message.extras or policy.needs_templates else None
        repertoire = policy.repertoire
        return self.cutter.cut(item, header_octets, joins=policy.joins_parts, repertoire=repertoire, tlvs_of=tlvs_of)

    def committed(self) -> None:
        """Applies a successful commit: answered parts leave the window, and marked parts become ready. Accepted
        messages stay, refused messages leave."""
        self.window.committed(self._is_accepted)
        self._settle()
        self._spilled.clear()
        self.queues.committed()
        if self.window.capacity == 0 or self._overtaking:
            self._overtaking = False
            self.unready()
        if self.overflowing:
            self.overflowing = False
            self.more = True

    def refused(self) -> None:
        """Applies a failed commit: messages that it would have accepted leave, all others wait for the next commit."""
        self.window.refused(self._is_accepted)
        self._settle()
        for message in self._spilled:
            message.queued = False  # its request may be tried again
        self._spilled.clear()
        self.queues.refused()
        self.overflowing = False

    # --- keeping order

    def drop(self, item: LaneItem) -> None:
        """Removes an item that has nothing left to send."""
        for waiting in (self.front, self.fast):
            if item in waiting:
                waiting.remove(item)
        if self.queues.remove(item.message.account, item):
            self._leave([item])

    def expire(self, now_ms: int) -> list[LaneItem]:
        """Removes and returns the waiting messages that have expired."""
        return self._take_out(lambda item: item.message.expires <= now_ms)

    def withdraw(self, wanted: Callable[[LaneItem], object]) -> list[LaneItem]:
        """Removes and returns the `wanted` waiting messages of which certainly no part has left."""

        def is_wanted(item: LaneItem) -> bool:
            return item.accept is None and bool(wanted(item))

        if not any(map(is_wanted, self.items())):
            return []
        if any(is_wanted(part.owner) for part in self.window.ready):
            self.unready()
        return self._take_out(lambda item: is_wanted(item) and item.unsent)

    def vacate(self, accounts: Collection[int] | None = None) -> list[LaneItem]:
        """Removes and returns every message without a part in flight, of these accounts or of all."""
        self.unready()
        items = self._take_out(lambda item: item.away == 0 and (accounts is None or item.message.account in accounts))
        for item in items:
            self.forget(item)
        return items

    def items(self) -> Iterator[LaneItem]:
        """Yields all unfinished items; an item with several parts under way may come more than once."""
        for part in self.window.parts():
            yield part.owner
        yield from self.front
        yield from self.fast
        yield from self.queues.items()

    @property
    def oldest(self) -> int | None:
        """Time (ms) at which the longest waiting message was due, about: only the first of each queue is compared."""
        queues = (self.front, self.fast, *self.queues.waiting())
        messages = (waiting[0].message for waiting in queues if waiting)
        return min((each.released or each.time for each in messages), default=None)

    def oldest_wait_s(self, now_ms: int) -> float:
        """Returns the seconds for which the longest waiting message has been due, in memory or in the queue's rows."""
        since = min(self.oldest or now_ms, self.oldest_row or now_ms)
        return (now_ms - since) / 1000

    def forget(self, item: LaneItem) -> None:
        """Frees the concatenation reference of an item that ends or leaves the lane, and its share of the account's
        messages in memory. Idempotent."""
        message = item.message
        if item.reference:
            self.cutter.release(item)
        if item.counted:
            item.counted = False
            left = self.per_account[message.account] - 1
            if left:
                self.per_account[message.account] = left
            else:
                del self.per_account[message.account]

    # --- inside

    def _spill(self, message: Message) -> None:
        """Has the next commit write a new message to the queue's rows."""
        message.queued = True
        self._spilled.append(message)

    def _count(self, item: LaneItem) -> None:
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
                    self.queues.remove(item.message.account, item)

    def _is_accepted(self, item: LaneItem) -> bool:
        """Returns after a commit whether the item's message is to be sent; forgets the item if not."""
        if item.accept is None:
            return True
        if item.accept.verdict is Verdict.ACCEPTED and item.message.state != State.FAILED:
            item.accept = None
            return True
        self.forget(item)
        return False

    def _take_out(self, wanted: Callable[[LaneItem], bool]) -> list[LaneItem]:
        out: list[LaneItem] = []
        self._order()
        for waiting in (self.front, self.fast):
            found = [item for item in waiting if wanted(item)]
            if found:
                out += found
                keep = [item for item in waiting if not wanted(item)]
                waiting.clear()
                waiting.extend(keep)
        claimed = self.queues.take_out(lambda item: item.accept is None and wanted(item))
        self._leave(claimed)
        return out + claimed

    @property
    def _sendable(self) -> int:
        """Counts the messages that wait only for a slot of the window."""
        return len(self.front) + len(self.fast) + self.queues.count

    def _begin(self, facts: Facts, now: float) -> None:
        """Begins a commit, which also writes the rows of messages that moved from memory to the queue."""
        self.window.begin(now)
        self.queues.begun += 1
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
                    claimed=False,
                )
            )
        self._returned.clear()

    def _leave(self, items: Iterable[LaneItem]) -> None:
        """Notes that items have left `queues`."""
        self.ahead -= sum(not item.counted for item in items)

    def _order(self) -> None:
        """Sorts the messages at the front by the time when they were accepted or due."""
        if self._disordered:
            self._disordered = False
            self.front = deque(sorted(self.front, key=lambda item: (item.message.time, item.message.key)))

    def _next_begun(self) -> LaneItem | None:
        """Takes out the next message that is sent in part: half a text is worse than a part too many."""
        for item in self.front:
            if _is_begun(item):
                self.front.remove(item)
                return item
        return None

    def _next(self) -> LaneItem | None:
        if self.front:
            self._order()
            return self.front.popleft()
        self._turn = not self._turn
        if self.queues.count and (self._turn or not self.fast):
            claimed = self.queues.take(self.fast[0].message.key if self.fast else None)
            if claimed is not None:
                self._leave([claimed])
                return claimed
        if self.fast:
            return self.fast.popleft()
        if self.incoming:
            return self.incoming.popleft()
        return None

    def _goes_aside(self, item: LaneItem, aside: dict[str, list[LaneItem]]) -> bool:
        """Puts an item aside that must wait for a free concatenation reference to its number, or behind such an item.
        Returns whether it did."""
        message = item.message
        destination = message.destination
        if destination not in aside and (message.segments == 1 or not self.cutter.is_full(destination)):
            return False
        aside.setdefault(destination, []).append(item)
        return True

    def _put_aside(self, aside: dict[str, list[LaneItem]]) -> None:
        """Puts the items set aside back in their order. They wait for an answer to a message to the same number."""
        items = [item for group in aside.values() for item in group]
        for item in reversed(items):
            if item.accept is None:
                self.front.appendleft(item)
            elif item in self._behind:
                self.queues.put_back(item.message.account, item)
            else:
                self.incoming.appendleft(item)
        self._lacks_references = len(items) >= self._sendable + len(self.incoming)


def _is_begun(item: LaneItem) -> bool:
    """Whether the operator has a part of the message, or one is on its way."""
    return item.taken > 0 or item.away > 0
