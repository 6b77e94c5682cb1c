"""Dispatch: from accepted messages to the operator's answers, over the lanes of all connectors."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from math import inf

from heliograph.app.facts import Attempt, Facts, Final, Message, Queued, Queueing, Submission
from heliograph.app.lane import SLOW_MESSAGES, Item, Lane
from heliograph.app.ports import (
    Accepted,
    Clock,
    Deferred,
    Gathering,
    Outcome,
    Part,
    Refused,
    Report,
    Store,
    Unknown,
)
from heliograph.app.report import Acknowledge, Reporter
from heliograph.domain.ids import first_key_at
from heliograph.domain.receipt import Delivery

UNANSWERED_TRIES = 3
"""How often a part is sent that gets no answer; then it counts as sent, with an unknown fate."""

FAST_LANE_MS = 60_000
"""How long a message may wait in a lane's memory without a row of the queue. Milliseconds."""

NO_ANSWER = -1
"""The status of an attempt that had no answer."""

NO_CODE = "001"
"""The error code of a final state that no operator gave."""

Route = Callable[[str], int | None]


@dataclass(slots=True)
class LaneEvents:
    """What one connector's carrier tells the dispatcher."""

    dispatcher: "Dispatcher"
    lane: Lane

    def on_outcome(self, part: Part, outcome: Outcome) -> None:
        self.dispatcher.on_outcome(self.lane, part, outcome)

    def on_report(self, report: Report, acknowledge: Acknowledge) -> None:
        self.dispatcher.reporter.on_report(self.lane.connector, report, acknowledge)

    def on_capacity(self) -> None:
        if self.lane.capacity == 0:
            self.lane.unready()
        else:
            self.dispatcher.gathering.wake()


class Dispatcher:
    """Brings messages into their lanes and turns answers into facts.

    A message leaves the fast lane's memory in one of four ways: answered, failed, too old (it then gets a row of
    the queue but stays), or back to the queue because its connector is gone.
    """

    def __init__(
        self,
        gathering: Gathering,
        clock: Clock,
        reporter: Reporter,
        finish: Callable[[Message, Final], None],
        route: Route,
    ) -> None:
        self.gathering = gathering
        self.reporter = reporter
        self.lanes: dict[int, Lane] = {}
        self._clock = clock
        self._finish = finish
        self._route = route

    def lane(self, connector: int) -> Lane:
        """The connector's lane; made when it is first asked for."""
        lane = self.lanes.get(connector)
        if lane is None:
            lane = self.lanes[connector] = Lane(connector)
        return lane

    # --- around a commit

    def prepare(self, facts: Facts, now: int) -> None:
        """Right before a commit, when its accepts have their keys: enlists them and chooses what goes after it."""
        for accept in facts.accepts:
            for message in accept.messages:
                if accept.scheduled:
                    message.queued = True
                else:
                    self.lane(message.connector).admit(accept, message)
        monotonic = self._clock.monotonic()
        for lane in self.lanes.values():
            for item in lane.prepare(facts, monotonic, now):
                self._expire(lane, item)

    def committed(self) -> None:
        """The commit is over: places are free, accepted messages are in their lanes."""
        for lane in self.lanes.values():
            lane.committed()
            lane.settle()

    def refused(self) -> None:
        """The commit failed: what it would have accepted leaves the lanes; all the rest waits for the next one."""
        for lane in self.lanes.values():
            lane.settle()

    def pump(self) -> float | None:
        """Writes what is ready; returns the monotonic time to be called again at because of a rate, or None."""
        monotonic = self._clock.monotonic()
        again: float | None = None
        for lane in self.lanes.values():
            if lane.ready:
                at = lane.pump(monotonic)
                if at is not None and (again is None or at < again):
                    again = at
            if monotonic < lane.paused_until < inf and (again is None or lane.paused_until < again):
                again = lane.paused_until
        return again

    # --- answers

    def on_outcome(self, lane: Lane, part: Part, outcome: Outcome) -> None:
        """One part has its outcome."""
        item: Item = part.owner
        message = part.message
        now = self._clock.now()
        facts = self.gathering.facts
        lane.answered(part)
        match outcome:
            case Accepted(operator_id):
                facts.submissions.append(Submission(message.key, part.segment, lane.connector, operator_id, 0, now))
                item.taken += 1
                if message.wants_receipt:
                    first = item.open == message.segments
                    self.reporter.taken(message, part.segment, lane.connector, operator_id, first)
                self._close_part(lane, item)
            case Refused(status, state, err):
                self._refuse(lane, item, part, status, state, err)
            case Deferred(status, pause):
                facts.attempts.append(Attempt(message.key, part.segment, lane.connector, status, now))
                lane.paused_until = max(lane.paused_until, self._clock.monotonic() + pause)
                item.attempted = False
                lane.take_back(item, part.segment)
            case Unknown():
                facts.attempts.append(Attempt(message.key, part.segment, lane.connector, NO_ANSWER, now))
                item.tries += 1
                if item.tries < UNANSWERED_TRIES * message.segments:
                    lane.take_back(item, part.segment)
                else:
                    self._give_up(lane, item, part)
        self.gathering.wake()

    def _refuse(self, lane: Lane, item: Item, part: Part, status: int, state: Delivery, err: str) -> None:
        message = part.message
        self.gathering.facts.submissions.append(
            Submission(message.key, part.segment, lane.connector, "", status, self._clock.now())
        )
        if item.open == 1 and item.taken == 0:
            self._fail(lane, item, state, err)
            return
        if message.wants_receipt:
            self.reporter.part_over(message, part.segment, state, err, item.open == message.segments)
        self._close_part(lane, item)

    def _give_up(self, lane: Lane, item: Item, part: Part) -> None:
        """The operator never answers for this part: it may have it, so it is neither sent again nor refunded."""
        message = part.message
        self.gathering.facts.submissions.append(
            Submission(message.key, part.segment, lane.connector, "", NO_ANSWER, self._clock.now())
        )
        item.taken += 1
        first = item.open == message.segments
        self.reporter.part_over(message, part.segment, Delivery.UNKNOWN, NO_CODE, first)
        self._close_part(lane, item)

    def _close_part(self, lane: Lane, item: Item) -> None:
        item.open -= 1
        if item.open == 0:
            if item.row:
                self.gathering.facts.dequeued.append(item.message.key)
            lane.forget(item)

    def _fail(self, lane: Lane, item: Item, state: Delivery, err: str) -> None:
        """The message never left: it is refunded, and the customer is told."""
        lane.forget(item)
        self._fail_message(item.message, item.row, state, err)

    def _fail_message(self, message: Message, row: bool, state: Delivery, err: str) -> None:
        facts = self.gathering.facts
        owed = message.wants_receipt and bool(message.callback_url)
        final = Final(
            message.key,
            state,
            err,
            self._clock.now(),
            owed,
            failed=True,
            account=message.account,
            refund=message.price,
        )
        facts.finals.append(final)
        if row:
            facts.dequeued.append(message.key)
        self._finish(message, final)
        self.gathering.wake()

    def _expire(self, lane: Lane, item: Item) -> None:
        """Too late to be sent. A part that the operator has, or may have, means that the message did leave."""
        message = item.message
        if item.taken == 0 and not item.attempted and item.open == message.segments:
            self._fail(lane, item, Delivery.EXPIRED, NO_CODE)
            return
        now = self._clock.now()
        first = item.open == message.segments
        for segment in item.to_send if item.to_send is not None else range(message.segments):
            self.gathering.facts.submissions.append(
                Submission(message.key, segment, lane.connector, "", NO_ANSWER, now)
            )
            if message.wants_receipt:
                self.reporter.part_over(message, segment, Delivery.EXPIRED, NO_CODE, first)
            first = False
            self._close_part(lane, item)
        self.gathering.wake()

    # --- the queue

    def resume(self, queued: Queued, row: bool) -> None:
        """Takes up a message that the rows say is not answered."""
        lane = self.lane(queued.message.connector)
        item = Item.of_queue(queued)
        if not item.to_send:
            if row:
                self.gathering.facts.dequeued.append(queued.message.key)
                self.gathering.wake()
            return
        if row:
            lane.slow.append(item)
            return
        item.row = False
        lane.per_account[queued.message.account] = lane.per_account.get(queued.message.account, 0) + 1
        (lane.front if item.attempted else lane.fast).append(item)

    async def refill(self, lane: Lane, store: Store, node: int) -> bool:
        """Claims due messages for the lane if it runs low; True if there may be more due at once."""
        if len(lane.slow) > SLOW_MESSAGES // 2:
            return False
        limit = SLOW_MESSAGES - len(lane.slow)
        overflowed = lane.queued_count
        lane.more = False
        claimed = await store.claim_queued(lane.connector, limit, self._clock.now(), node)
        for queued in claimed:
            self.resume(queued, row=True)
        if claimed:
            self.gathering.wake()
        elif lane.queued_count == overflowed and not lane.slow:
            lane.overflow.clear()
        if len(claimed) == limit:
            lane.more = True
        return lane.more

    async def reclaim(self, lane: Lane, store: Store, node: int) -> None:
        """Claims due messages of a connector that is no more, and routes them anew."""
        for queued in await store.claim_queued(lane.connector, SLOW_MESSAGES, self._clock.now(), node):
            self._reroute_item(lane, Item.of_queue(queued))

    async def drop_expired(self, store: Store, node: int, limit: int) -> int:
        """Fails messages whose validity ended in the queue; returns how many."""
        claimed = await store.claim_expired(limit, self._clock.now(), node)
        for queued in claimed:
            lane = self.lane(queued.message.connector)
            item = Item.of_queue(queued)
            if item.to_send:
                self._expire(lane, item)
            else:
                self.gathering.facts.dequeued.append(queued.message.key)
        return len(claimed)

    def sweep(self, now: int) -> None:
        """Fails messages whose validity ended in the lanes' memory."""
        for lane in self.lanes.values():
            for item in lane.expire(now):
                self._expire(lane, item)

    def spill(self, facts: Facts, now: int) -> int:
        """Gives messages that have waited for long in memory their row of the queue.

        Returns the highest key below which every message that is not answered has a row now.
        """
        cutoff = first_key_at(now - FAST_LANE_MS)
        for lane in self.lanes.values():
            for item, goes in lane.items():
                if not item.row and item.message.key <= cutoff:
                    item.row = True
                    queueing = self._queueing(item, lane.connector, held=True)
                    queueing.attempted = item.attempted or goes
                    facts.queueings.append(queueing)
        return cutoff

    @staticmethod
    def _queueing(item: Item, connector: int, *, held: bool) -> Queueing:
        message = item.message
        return Queueing(message.key, connector, message.time, message.expires, item.attempted, held)

    # --- connectors that come and go

    def reroute(self, live: Collection[int]) -> None:
        """Messages of connectors that are no more go to the queue of another, or fail for want of a route."""
        for connector in [connector for connector in self.lanes if connector not in live]:
            lane = self.lanes[connector]
            for item in lane.empty():
                self._reroute_item(lane, item)
            if lane.in_flight == 0 and not lane.incoming and not lane.marked:
                del self.lanes[connector]

    def _reroute_item(self, lane: Lane, item: Item) -> None:
        message = item.message
        connector = self._route(message.destination)
        if connector is None:
            if item.taken == 0 and not item.attempted:
                self._fail_message(message, item.row, Delivery.REJECTD, NO_CODE)
            else:
                self._expire(lane, item)
            return
        self.gathering.facts.queueings.append(self._queueing(item, connector, held=False))
        self.gathering.wake()
        self.gathering.stir()

    def park(self, facts: Facts) -> None:
        """Before a planned end: everything that is not with the operator gets its row; nothing more is sent."""
        for lane in self.lanes.values():
            lane.paused_until = inf
            for item in lane.empty():
                facts.queueings.append(self._queueing(item, lane.connector, held=False))

    @property
    def hungry(self) -> bool:
        """Whether a lane runs low while the queue may hold more for it."""
        return any(lane.more and len(lane.slow) <= SLOW_MESSAGES // 2 for lane in self.lanes.values())

    @property
    def busy(self) -> bool:
        """Whether any lane holds messages."""
        return any(lane.in_flight or lane.marked or lane.ready or len(lane) for lane in self.lanes.values())
