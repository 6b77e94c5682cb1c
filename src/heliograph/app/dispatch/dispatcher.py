"""Dispatch: from accepted messages to the operator's answers, over the lanes of all connectors."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import partial
from math import inf

from heliograph.app.dispatch.lane import SLOW_MESSAGES, Lane
from heliograph.app.dispatch.lane_item import Item
from heliograph.app.dispatch.late_answers import Hindsight
from heliograph.app.facts import NO_ANSWER, NOT_SENT, Attempt, Facts, Final, Message, Queued, Queueing, Submission
from heliograph.app.marks import DISPATCH
from heliograph.app.notices.notice import owes_receipt
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
    Unavailable,
    Unknown,
)
from heliograph.app.receipts.matcher import NO_CODE, Acknowledge, Reporter
from heliograph.domain.ids import first_key_at
from heliograph.domain.receipt import Delivery

UNANSWERED_TRIES = 3
"""How often a part is sent that gets no answer; then it counts as sent, with an unknown fate."""

FAST_LANE_MS = 60_000
"""How long a message may wait in a lane's memory without a row of the queue. Milliseconds."""

PUT_OFF_SHARE = 4
"""A message that the operator does not want now comes again after this part of its age."""

LONGEST_PUT_OFF_MS = 300_000
"""And after so many milliseconds at the latest."""

Route = Callable[[str], int | None]


@dataclass(slots=True)
class LaneEvents:
    """What one connector's carrier tells the dispatcher."""

    dispatcher: "Dispatcher"
    lane: Lane

    def on_outcome(self, part: Part, outcome: Outcome) -> None:
        self.dispatcher.on_outcome(self.lane, part, outcome)

    def on_late(self, part: Part, outcome: Outcome) -> None:
        self.dispatcher.hindsight.on_late(self.lane, part, outcome)

    def on_report(self, report: Report, acknowledge: Acknowledge) -> None:
        self.dispatcher.reporter.on_report(self.lane.connector, report, acknowledge)

    def on_congestion(self, percent: int) -> None:
        self.lane.pace.congested(self.dispatcher.monotonic(), percent)

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
        mark: int = 0,
        *,
        shared: bool = False,
    ) -> None:
        """`shared`: connectors are other nodes' until their lane is opened."""
        self.mark = mark
        self._shared = shared
        self.gathering = gathering
        self.reporter = reporter
        self.lanes: dict[int, Lane] = {}
        self.hindsight = Hindsight(self, clock)
        self._doubts = self.hindsight.doubts
        self._clock = clock
        self._finish = finish
        self._route = route

    def lane(self, connector: int) -> Lane:
        """The connector's lane; made when it is first asked for."""
        lane = self.lanes.get(connector)
        if lane is None:
            lane = self.lanes[connector] = Lane(connector)
            lane.closed = self._shared
        return lane

    def monotonic(self) -> float:
        """Seconds of the clock that lanes go by."""
        return self._clock.monotonic()

    # --- around a commit

    def prepare(self, facts: Facts, now: int) -> None:
        """Right before a commit, when its accepts have their keys: enlists them and chooses what goes after it."""
        for accept in facts.accepts:
            for message in accept.messages:
                if accept.scheduled or message.queued:
                    message.queued = True  # scheduled, or held by the gate: judged anew when it is claimed
                else:
                    self.lane(message.connector).admit(accept, message)
        monotonic = self._clock.monotonic()
        for lane in self.lanes.values():
            for item in lane.prepare(facts, monotonic, now):
                self._end_waiting(lane, item, Delivery.EXPIRED)

    def committed(self) -> None:
        """The commit is over: places are free, accepted messages are in their lanes."""
        for lane in self.lanes.values():
            lane.committed()

    def refused(self) -> None:
        """The commit failed: what it would have accepted leaves the lanes; all the rest waits for the next one."""
        for lane in self.lanes.values():
            lane.refused()

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
        if not lane.answered(part):
            return
        item: Item = part.owner
        message = part.message
        if self._doubts and (doubt := self._doubts.of(message.key, lane.connector)) is not None:
            outcome = self.hindsight.seen(doubt, part.segment, outcome)
        now = self._clock.now()
        facts = self.gathering.facts
        match outcome:
            case Accepted(operator_id):
                took = self._took(part)
                lane.took += 1
                self.accept(lane, item, part.segment, operator_id, now, now - took - message.time, took)
            case Refused():
                took = self._took(part)
                self.refuse(lane, item, part.segment, outcome, now - took - message.time, took)
            case Deferred() if outcome.status == NOT_SENT:
                lane.take_back(item, part.segment)
                lane.unready(overtaken=True)
            case Deferred(status, pause, throttled):
                facts.attempts.append(Attempt(message.account, message.key, part.segment, lane.connector, status, now))
                lane.hold(self._clock.monotonic(), pause, throttled=throttled)
                if throttled or item.away > 1 or item.to_send or item.withheld:
                    lane.take_back(item, part.segment)
                else:
                    self._put_off(lane, item, part.segment, pause)
            case Unknown():
                facts.attempts.append(
                    Attempt(message.account, message.key, part.segment, lane.connector, NO_ANSWER, now)
                )
                item.tries += 1
                self._doubts.note(item, lane.connector, 1)
                self._unanswered(lane, item, part.segment)
        self.gathering.wake()

    def _unanswered(self, lane: Lane, item: Item, segment: int) -> None:
        """The operator may have the part: it is sent again, at once or when nothing was heard of it for long; but not
        for ever."""
        if lane.unknown_wait_ms and segment not in item.doubtful:
            item.doubtful.add(segment)
            item.withheld.add(segment)
            self._rest(lane, item)
        elif not lane.unknown_wait_ms and item.tries < UNANSWERED_TRIES * (1 if item.whole else item.message.segments):
            item.doubtful.add(segment)
            lane.take_back(item, segment)
        else:
            item.taken += 1
            self._end_part(lane, item, segment, Delivery.UNKNOWN)

    def _rest(self, lane: Lane, item: Item) -> None:
        """A message of which nothing but withheld parts is left waits in the queue."""
        message = item.message
        doubt = self._doubts.of(message.key, lane.connector)
        if doubt is None or doubt.queued or item.open > len(item.withheld):
            return
        doubt.until = self._clock.now() + lane.unknown_wait_ms
        self.gathering.facts.queueings.append(
            Queueing(message.account, message.key, lane.connector, doubt.until, message.expires, True, False)
        )
        self._hand_over(lane, item)
        lane.forget(item)

    def accept(
        self, lane: Lane, item: Item, segment: int, operator_id: str, now: int, waited: int = -1, took: int = -1
    ) -> None:
        """The operator has the part."""
        message = item.message
        segments = item.covers(segment)
        for number in segments:
            self.gathering.facts.submissions.append(
                Submission(message.account, message.key, number, lane.connector, operator_id, 0, now, waited, took)
            )
            waited = took = -1
        item.taken += 1
        if message.wants_receipt:
            self.reporter.taken(message, segments, lane.connector, operator_id)
        self.close_part(lane, item, segment)

    def refuse(self, lane: Lane, item: Item, segment: int, refused: Refused, waited: int = -1, took: int = -1) -> None:
        """The operator will never take the part."""
        message = item.message
        self.gathering.facts.submissions.append(
            Submission(
                message.account,
                message.key,
                segment,
                lane.connector,
                "",
                refused.status,
                self._clock.now(),
                waited,
                took,
            )
        )
        if item.open == 1 and item.taken == 0:
            self._fail(lane, item, refused.state, refused.err)
            return
        if message.wants_receipt:
            self.reporter.part_over(message, segment, refused.state, refused.err)
        self.close_part(lane, item, segment)

    def _took(self, part: Part) -> int:
        """Milliseconds since the part was written."""
        return int((self._clock.monotonic() - part.written) * 1000)

    def _put_off(self, lane: Lane, item: Item, segment: int, pause: float) -> None:
        """The message goes to the queue for a while, the longer the older it is, so that others may pass it."""
        message = item.message
        now = self._clock.now()
        item.to_send = [segment]
        age = now - message.time
        due = now + max(int(pause * 1000), min(age // PUT_OFF_SHARE, LONGEST_PUT_OFF_MS))
        self.gathering.facts.queueings.append(
            Queueing(message.account, message.key, lane.connector, due, message.expires, item.attempted, False)
        )
        self._hand_over(lane, item)
        lane.forget(item)

    def _hand_over(self, lane: Lane, item: Item) -> None:
        """The message is the queue's from now on: what else comes to light about its parts must not count on memory."""
        item.row = True
        if item.message.segments > 1:
            self.reporter.leave(item.message.key)
        doubt = self._doubts.of(item.message.key, lane.connector)
        if doubt is not None:
            doubt.queued = True

    def _end_part(self, lane: Lane, item: Item, segment: int, state: Delivery, status: int = NO_ANSWER) -> None:
        """A part that is sent no more, if it ever was, and that the operator never answered for."""
        message = item.message
        for number in item.covers(segment):
            self.gathering.facts.submissions.append(
                Submission(message.account, message.key, number, lane.connector, "", status, self._clock.now())
            )
            if message.wants_receipt:
                self.reporter.part_over(message, number, state, NO_CODE)
        self.close_part(lane, item, segment)

    def close_part(self, lane: Lane, item: Item, segment: int) -> None:
        """The part has its answer, or will have none; that is among the facts."""
        item.doubtful.discard(segment)
        item.withheld.discard(segment)
        item.open -= 1
        doubt = self._doubts.of(item.message.key, lane.connector) if self._doubts else None
        if doubt is not None:
            for number in item.covers(segment):
                doubt.answered.setdefault(number, None)
            if item.open == 0:
                doubt.item = None
        if item.open == 0:
            if item.row:
                self.gathering.facts.dequeued.append((item.message.account, item.message.key))
            lane.forget(item)
        elif item.withheld:
            self._rest(lane, item)

    def _end_waiting(self, lane: Lane, item: Item, state: Delivery) -> None:
        """What waits of the message is not sent any more: too late, or without a route. It has left the lane.

        A part that the operator has, or may have, means that the message did leave; else it is refunded.
        """
        if item.unsent:
            self._fail(lane, item, state, NO_CODE)
            return
        waiting, item.to_send = item.waiting, []
        item.taken += len(item.doubtful.intersection(waiting))
        for segment in waiting:
            self._end_part(lane, item, segment, state, NO_ANSWER if segment in item.doubtful else NOT_SENT)
        self.gathering.wake()

    def _fail(self, lane: Lane, item: Item, state: Delivery, err: str) -> None:
        """The message never left: it is refunded, and the customer is told."""
        lane.forget(item)
        message = item.message
        facts = self.gathering.facts
        owed = owes_receipt(message)
        final = Final(
            message.account,
            message.key,
            state,
            err,
            self._clock.now(),
            owed,
            failed=True,
            refund=message.price,
        )
        facts.finals.append(final)
        if item.row:
            facts.dequeued.append((message.account, message.key))
        if (doubt := self._doubts.of(message.key, lane.connector)) is not None:
            doubt.item, doubt.queued = None, False
            doubt.answered = dict.fromkeys(range(message.segments), None) | doubt.answered
        self.reporter.forget(message.key)
        self._finish(message, final)
        self.gathering.wake()

    # --- the queue

    async def recover(self, unsent: Iterable[Queued], store: Store) -> None:
        """After a start: takes up the fast lane's messages of an earlier run. Raises Unavailable."""
        for queued in unsent:
            item = Item.of_queue(queued, row=False)
            if await self._is_open(item, queued, store):
                self._resume(self.lane(queued.message.connector), item)

    async def refill(self, lane: Lane, store: Store, node: int) -> bool:
        """Claims due messages for the lane if it runs low; True if there may be more due at once.

        Closed meanwhile, the lane gets none of them: what it had before them is the queue's again, and so are they. One
        that is closed claims nothing, since it is not opened before this is over.
        """
        if lane.closed or lane.ahead > SLOW_MESSAGES // 2 or not lane.backlogs.claimable:
            return False
        lane.filling = True
        try:
            await self._fill(lane, store, node)
        finally:
            lane.filling = False
        return lane.more

    async def _fill(self, lane: Lane, store: Store, node: int) -> None:
        limit = SLOW_MESSAGES - lane.ahead
        done, now = lane.backlogs.done, self._clock.now()
        lane.more = False
        accounts = lane.holders[:limit] if len(lane.holders) > 1 else []
        share = limit // len(accounts) if accounts else limit
        claimed = await store.claim_queued(lane.connector, share, now, node, accounts)
        await self._take_up(lane, claimed, store, partial(self._refilled, lane))
        left: list[int] = []
        if accounts or len(claimed) == limit:
            left = await store.queued_accounts(lane.connector, now)
        lane.backlogs.found(set(left), done)
        next_one = bisect_right(left, accounts[-1]) if accounts else 0
        lane.holders = left[next_one:] + left[:next_one]
        if left:
            lane.more = True

    def _refilled(self, lane: Lane, item: Item) -> None:
        if lane.closed:
            self._requeue(self.gathering.facts, item, lane.connector)
        else:
            self._resume(lane, item)

    async def open(self, lane: Lane, store: Store) -> None:
        """New messages may go to the lane's memory from now on; but those of accounts that have rows in the queue go
        behind these, and so does what is in memory. Raises Unavailable.

        While the lane is being refilled it stays closed, and this is to be called again: rows are claimed that are
        neither in the lane nor seen in the queue.
        """
        if lane.filling:
            return
        accounts = await store.queued_accounts(lane.connector, self._clock.now())
        lane.backlogs.suspect(accounts)
        for item in lane.vacate(set(accounts)):
            self._requeue(self.gathering.facts, item, lane.connector)
        lane.closed = False
        lane.more = True
        self.gathering.wake()

    async def reclaim(self, lane: Lane, store: Store, node: int) -> None:
        """Claims due messages of a connector that is no more, and routes them anew."""
        claimed = await store.claim_queued(lane.connector, SLOW_MESSAGES, self._clock.now(), node)
        await self._take_up(lane, claimed, store, lambda item: self._reroute_item(lane, item))

    async def drop_expired(self, store: Store, node: int, limit: int) -> int:
        """Fails messages whose validity ended in the queue; returns how many were found."""
        claimed = await store.claim_expired(limit, self._clock.now(), node)
        for queued in claimed:
            lane = self.lane(queued.message.connector)
            await self._take_up(lane, [queued], store, partial(self._end_waiting, lane, state=Delivery.EXPIRED))
        return len(claimed)

    async def _take_up(self, lane: Lane, claimed: Iterable[Queued], store: Store, then: Callable[[Item], None]) -> None:
        """Hands on the items of claimed rows that have something to send. Their rows are this node's, so that none
        may be left lying, whatever the store does."""
        for row in claimed:
            queued = self.hindsight.of_row(row, lane.connector)
            item = Item.of_queue(queued)
            try:
                is_open = await self._is_open(item, queued, store)
            except Unavailable:
                self.gathering.facts.queueings.append(self._queueing(item, lane.connector, held=False))
                self.gathering.wake()
                continue
            if is_open:
                then(item)
            else:
                self.gathering.facts.dequeued.append((queued.message.account, queued.message.key))
            self.gathering.wake()

    def _resume(self, lane: Lane, item: Item) -> None:
        """The item is its lane's; but where it may have been sent already, and the lane waits for word, not yet."""
        if not item.attempted:
            lane.resume(item)
            return
        item.shape(lane.joins)
        known = self._doubts.of(item.message.key, lane.connector)
        doubt = self._doubts.note(item, lane.connector, 0 if known else item.open)
        if lane.unknown_wait_ms and (known is None or self._clock.now() < doubt.until):
            item.withheld, item.to_send = set(item.waiting), []
            self._rest(lane, item)
            self.gathering.wake()
        else:
            lane.resume(item)

    async def _is_open(self, item: Item, queued: Queued, store: Store) -> bool:
        """Whether there is something to send; the reporter then knows what became of the parts that were sent."""
        message = queued.message
        if not item.to_send:
            return False
        if message.segments == 1 or not message.wants_receipt or not queued.answered:
            return True
        return await self.reporter.load(store, message)

    def sweep(self, now: int) -> None:
        """Ends messages whose validity ended in the lanes' memory."""
        for lane in self.lanes.values():
            for item in lane.expire(now):
                self._end_waiting(lane, item, Delivery.EXPIRED)

    def spill(self, facts: Facts, now: int, last_key: int) -> None:
        """Once a second, right before a commit: gives messages that have waited for long in memory their row of the
        queue; the mark moves on.

        It never passes `last_key`, the highest key that was given: the clock may have been ahead of itself.
        """
        mark = max(self.mark, min(first_key_at(now - FAST_LANE_MS), last_key))
        for lane in self.lanes.values():
            for item in lane.items():
                if not item.row and item.message.key <= mark:
                    item.row = True
                    facts.queueings.append(self._queueing(item, lane.connector, held=True))
        if mark > self.mark:
            self.mark = facts.marks[DISPATCH] = mark

    @staticmethod
    def _queueing(item: Item, connector: int, *, held: bool) -> Queueing:
        message = item.message
        return Queueing(message.account, message.key, connector, message.time, message.expires, item.attempted, held)

    # --- connectors that come and go

    def reroute(self, live: Collection[int]) -> None:
        """Messages of connectors that are no more go to the queue of another, or fail for want of a route.

        One that has a part under way stays until that is answered, lest the part be sent twice.
        """
        for connector in [connector for connector in self.lanes if connector not in live]:
            lane = self.lanes[connector]
            for item in lane.vacate():
                self._reroute_item(lane, item)
            if lane.idle:
                del self.lanes[connector]

    def _reroute_item(self, lane: Lane, item: Item) -> None:
        message = item.message
        connector = self._route(message.destination)
        if connector is None:
            self._end_waiting(lane, item, Delivery.REJECTD)
            return
        self._requeue(self.gathering.facts, item, connector)
        self.gathering.wake()
        self.gathering.stir()

    def _requeue(self, facts: Facts, item: Item, connector: int) -> None:
        """The message is the queue's from now on."""
        facts.queueings.append(self._queueing(item, connector, held=False))
        self.lane(connector).expect_row(item.message.account)
        self._doubts.forget(item.message.key)
        if item.message.segments > 1:
            self.reporter.leave(item.message.key)

    def park(self) -> None:
        """Before a planned end: nothing more is sent, and what is not with the operator gets its row."""
        for lane in self.lanes.values():
            lane.paused_until = inf
            for item in lane.vacate():
                self._requeue(self.gathering.facts, item, lane.connector)
        self.gathering.wake()

    def hand_back(self, lane: Lane) -> None:
        """The connector is other nodes': what waits in its lane goes to the queue, where they find it."""
        for item in lane.vacate():
            self._requeue(self.gathering.facts, item, lane.connector)
            self.gathering.wake()

    @property
    def hungry(self) -> bool:
        """Whether a lane runs low while the queue may hold more for it."""
        return any(lane.more and lane.ahead <= SLOW_MESSAGES // 2 for lane in self.lanes.values())

    @property
    def eager(self) -> bool:
        """Whether the next commit could send more on its way, though nothing else calls for one."""
        monotonic = self._clock.monotonic()
        return any(lane.eager(monotonic) for lane in self.lanes.values())

    @property
    def busy(self) -> bool:
        """Whether any lane holds messages."""
        return not all(lane.idle for lane in self.lanes.values())
