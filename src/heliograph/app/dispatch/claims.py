"""Claims: messages that return from the rows of the queue to their lanes, after the gate judged them again.

    row due --claim--> claimed by this node --_is_open--> a part is left to send?   no: dequeued
                             |                                  | yes
                             | recipient opted out              v
                             v                              the gate judges again   hold: back to the queue
                         withdrawn                              | pass              refuse: ends, refunded
                                                                v
                                             lane.resume, or first a pause for a late answer (`_resume`)

A message whose row is damaged has no text (`Message.is_unreadable`), and ends instead of going to its lane.

A claimed row belongs to this node until it is dequeued or put back. If the store is away, or the lane was closed
meanwhile, the row is put back, so that no message stays behind.

The gate judges a message again because rules and the hour may have changed since it was accepted. It also judges
messages of an earlier run's memory, and messages in memory when rules change. A message goes on if a part of it may
have been sent: half a text is worse than no text.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Final

from heliograph.app.dispatch.failover import PUT_BACK_MS, RETURNED, UNUSABLE, Router, leaving_from, next_connector
from heliograph.app.dispatch.lane import SLOW_MESSAGES, Lane
from heliograph.app.dispatch.lane_item import LaneItem
from heliograph.app.dispatch.outcomes import PartOutcomes, queueing
from heliograph.app.facts import Message, Queued, UntriedRow
from heliograph.app.ports import Clock, Queue, Unavailable
from heliograph.domain.limits.gate import PASS, Hold, Judgement, Policy, Refuse, judge
from heliograph.domain.message.ids import time_of
from heliograph.domain.message.receipt import Delivery

CHOSEN_FOR_MS: Final = 60_000
"""Milliseconds after acceptance for which the choice of a connector holds. Messages that wait longer, and scheduled
messages, are chosen a connector again when they are claimed: routes, costs and quality may have changed."""

DIVERTED_ROWS: Final = 4_000
"""Rows that leave a connector that cannot send in a transaction: up to 60 ms of the store, and 20 ms of the event loop.
Each transaction waits for the event loop twice, so a busy gateway moves a backlog faster in large steps."""

DIVERT_MS: Final = 250
"""Milliseconds for which such rows may leave before other lanes get rows. If both took turns, a backlog would leave no
faster than the other lane sends it."""

RETURN_ROWS: Final = 1_000
"""Rows that may return to a better candidate at once, so that it gets no more than it can send soon."""

RETURN_MS: Final = 5_000
"""Milliseconds between two looks at a lane that has no messages to give back. A look takes some 10 ms."""

PolicyOf = Callable[[int], Policy | None]
"""Returns the policy of an account by its id."""


class QueueClaims:
    """Claims rows, and hands their messages to the lanes."""

    def __init__(
        self,
        outcomes: PartOutcomes,
        clock: Clock,
        lane: Callable[[int], Lane],
        router: Router,
        policy_of: PolicyOf | None = None,
    ) -> None:
        """`lane` returns a connector's lane. Without `policy_of` the gate passes everything."""
        self._outcomes = outcomes
        self._gathering = outcomes.gathering
        self._matcher = outcomes.matcher
        self._unknown = outcomes.unknown
        self._clock = clock
        self._lane = lane
        self._router = router
        self._policy_of = policy_of

    async def recover(self, unsent: Iterable[Queued]) -> None:
        """Takes up the fast lane's messages of an earlier run. Raises Unavailable."""
        for queued in unsent:
            item = LaneItem.of_queue(queued, row=False)
            lane = self._lane(queued.message.connector)
            if queued.suppressed and item.unsent:
                self._outcomes.withdraw(lane, item)
            elif not await self._is_open(item, queued):
                continue
            elif queued.message.is_unreadable:
                self._end_unreadable(lane, item)
            elif self.passes(lane, item):
                self._resume(lane, item)

    async def refill(self, lane: Lane, queue: Queue, node: int) -> bool:
        """Claims due messages for the lane if it runs low; True if there may be more due at once.

        If the lane was closed while the claim ran, the claimed rows go back to the queue together with the lane's own.
        A closed lane claims nothing; `open` waits until a claim under way is over.
        """
        if lane.closed or lane.ahead > SLOW_MESSAGES // 2 or not lane.queues.claimable:
            return False
        lane.filling = True
        try:
            await self._fill(lane, queue, node)
        finally:
            lane.filling = False
        return lane.more

    async def _fill(self, lane: Lane, queue: Queue, node: int) -> None:
        limit = SLOW_MESSAGES - lane.ahead
        done, now = lane.queues.done, self._clock.now()
        lane.more = False
        accounts = lane.holders[:limit] if len(lane.holders) > 1 else []
        share = limit // len(accounts) if accounts else limit
        claimed = await queue.claim(lane.connector, share, now, node, accounts)
        await self._take_up(lane, claimed, partial(self._refilled, lane))
        left: list[int] = []
        if accounts or len(claimed) == limit:
            left = await queue.accounts(lane.connector, now)
        lane.queues.found(set(left), done)
        next_one = bisect_right(left, accounts[-1]) if accounts else 0
        lane.holders = left[next_one:] + left[:next_one]
        if left:
            lane.more = True

    def _refilled(self, lane: Lane, item: LaneItem) -> None:
        if lane.closed:
            self._outcomes.requeue(lane, item)
        elif not self.passes(lane, item):
            return
        elif (connector := self._chosen_anew(lane, item)) is not None:
            self._outcomes.move(lane, item, connector)
        else:
            self._resume(lane, item)

    def _chosen_anew(self, lane: Lane, item: LaneItem) -> int | None:
        """Returns the connector that is now the first choice for a scheduled message, or a message that was accepted a
        while ago, if it is another. Its next claim does not choose again, so that it moves once at most."""
        accepted = time_of(item.message.key)
        is_fresh = item.message.time <= accepted and self._clock.now() - accepted < CHOSEN_FOR_MS
        if is_fresh or not item.preliminary:
            return None
        if self._router.obstacle(lane.connector):
            return None  # `divert` decides which messages leave a connector with an obstacle
        connector = self._router.another(item.message, ())
        return None if connector == lane.connector else connector

    def is_stopped(self, lane: Lane, item: LaneItem) -> bool:
        """Returns whether the gate now holds or refuses a message, or its plan keeps it from the lane's connector."""
        message = item.message
        return self._judgement(message) is not PASS or self._router.is_excluded(message, lane.connector)

    def passes(self, lane: Lane, item: LaneItem) -> bool:
        """Returns whether the gate passes a message that is in no queue of the lane. Puts a held message back to the
        queue's rows, fails a refused message, and routes a message again that its plan keeps from the connector."""
        judgement = self._judgement(item.message) if item.unsent else PASS
        if isinstance(judgement, Hold):
            self._outcomes.put_off(lane, item, item.message.time, judgement.range)
            return False
        if isinstance(judgement, Refuse):
            self._outcomes.end_waiting(lane, item, Delivery.REJECTD)
            return False
        if item.unsent and self._router.is_excluded(item.message, lane.connector):
            self.reroute(lane, item)
            return False
        return True

    def _judgement(self, message: Message) -> Judgement:
        policy = None if self._policy_of is None else self._policy_of(message.account)
        if policy is None or not policy.at_claim:
            return PASS
        return judge(message, policy.at_claim, self._clock.now())

    async def open(self, lane: Lane, queue: Queue) -> None:
        """Lets new messages into the lane's memory from now on. Raises Unavailable.

        Messages of accounts with rows in the queue go behind these rows, messages in memory included. The lane stays
        closed while it is being refilled, since claimed rows are neither in the lane nor visible in the queue. The
        caller then tries again.
        """
        if lane.filling:
            return
        accounts = await queue.accounts(lane.connector, self._clock.now())
        lane.queues.suspect(accounts)
        for item in lane.vacate(set(accounts)):
            self._outcomes.requeue(lane, item)
        lane.closed = False
        lane.more = True
        self._gathering.wake()

    async def reclaim(self, lane: Lane, queue: Queue, node: int) -> None:
        """Claims due messages of a removed connector, and routes them again."""
        claimed = await queue.claim(lane.connector, SLOW_MESSAGES, self._clock.now(), node)
        await self._take_up(lane, claimed, partial(self.reroute, lane))

    def reroute(self, lane: Lane, item: LaneItem) -> None:
        """Routes a message that has left its lane; ends it if there is no route, or each operator has tried it."""
        route = self._router
        connector = route.remaining(item.message, item.tried) if item.tried else route.route(item.message)
        if connector is None:
            self._outcomes.end_waiting(lane, item, Delivery.REJECTD)
            return
        self._outcomes.move(lane, item, connector)

    async def divert(self, lane: Lane, queue: Queue, node: int, *, fills: bool) -> bool:
        """Claims due messages of a connector that cannot send, and gives them to another. Returns whether it found
        any. Messages without another candidate fill the lane, in their order, if it `fills`; the others are looked at
        again after PUT_BACK_MS."""
        last = leaving_from(lane, self._router.obstacle(lane.connector), self._clock.now())
        until = self._clock.now() + DIVERT_MS
        while lane.policy.failover.most:
            rows = await queue.untried(lane.connector, DIVERTED_ROWS, last)
            moved = await self._move_rows(
                lane, queue, rows, lambda row: self._router.another(row, {lane.connector}), UNUSABLE
            )
            if 2 * moved <= len(rows):
                break
            if len(rows) < DIVERTED_ROWS or self._clock.now() >= until:
                return True  # the others need no look yet
        claimed = await queue.claim(lane.connector, SLOW_MESSAGES, last, node)
        await self._take_up(lane, claimed, partial(self._diverted, lane, fills=fills))
        return bool(claimed)

    async def give_back(self, lane: Lane, queue: Queue) -> bool:
        """Gives untried messages of a lane that is behind to better candidates, for which it stood in. A better
        candidate gets a batch when it works and none of its rows wait. Returns whether any row has moved."""
        now, policy = self._clock.now(), lane.policy.failover
        if (
            lane.closed
            or not policy.most
            or 0 < lane.next_return - now <= RETURN_MS  # more: the clock was set back
            or self._router.obstacle(lane.connector)
            or not any(self._is_free(other) for other in self._router.others(lane.connector))
        ):
            return False
        lane.next_return = now + RETURN_MS
        if lane.oldest_wait_s(now) <= policy.after_s:
            return False
        found = {
            item.message.key: connector
            for item in lane.items()
            if item.untried and (connector := self._better(lane, item.message)) is not None
        }
        for item in lane.withdraw(lambda item: item.message.key in found):
            self._outcomes.fail_over(lane, item, found[item.message.key], RETURNED)
        rows = [] if lane.oldest_row is None else await queue.untried(lane.connector, RETURN_ROWS, now)
        moved = await self._move_rows(lane, queue, rows, partial(self._better, lane), RETURNED)
        if found or moved:
            lane.next_return = now
        return moved > 0

    def _better(self, lane: Lane, message: Message | UntriedRow) -> int | None:
        """Returns the first choice for an untried message if that is another connector, and free. A message that is too
        old for it (`overflow_after_s`) would leave it at once."""
        connector = self._router.another(message, ())
        if connector in (None, lane.connector) or message.key < lane.kept_below or not self._is_free(connector):
            return None
        most_s = self._lane(connector).policy.failover.overflow_after_s
        is_too_old = most_s and self._clock.now() - time_of(message.key) > most_s * 1000
        return None if is_too_old else connector

    def _is_free(self, connector: int) -> bool:
        """Returns whether a connector without an obstacle has sent all rows that were due."""
        lane = self._lane(connector)
        return lane.oldest_row is None and (lane.closed or lane.window.capacity > 0)

    async def _move_rows(
        self, lane: Lane, queue: Queue, rows: list[UntriedRow], choose: Callable[[UntriedRow], int | None], reason: str
    ) -> int:
        """Moves rows that no operator has tried, by their keys: in a fifth of the time of a claim and a new row.
        Returns how many."""
        instead: dict[int, list[UntriedRow]] = {}
        for row in rows:
            connector = choose(row)
            if connector is not None:
                instead.setdefault(connector, []).append(row)
        moved = 0
        for connector, found in instead.items():
            count = await queue.move([row.key for row in found], lane.connector, connector)
            for account in {row.account for row in found}:
                self._lane(connector).expect_row(account)
            self._outcomes.failovers[lane.connector, reason] += count
            moved += count
        if moved:
            self._gathering.wake()
            self._gathering.wake_feeder()
        return moved

    def _diverted(self, lane: Lane, item: LaneItem, *, fills: bool) -> None:
        connector = next_connector(lane, item, self._router)
        if connector is not None:
            self._outcomes.fail_over(lane, item, connector, UNUSABLE)
        elif fills and lane.ahead < SLOW_MESSAGES:
            self._refilled(lane, item)
        else:
            self._outcomes.put_off(lane, item, self._clock.now() + PUT_BACK_MS)

    async def drop_expired(self, queue: Queue, node: int, limit: int) -> int:
        """Fails messages that expired in the queue; returns how many were found."""
        claimed = await queue.claim_expired(limit, self._clock.now(), node)
        for queued in claimed:
            lane = self._lane(queued.message.connector)
            expire = partial(self._outcomes.end_waiting, lane, state=Delivery.EXPIRED)
            await self._take_up(lane, [queued], expire)
        return len(claimed)

    async def _take_up(self, lane: Lane, claimed: Iterable[Queued], then: Callable[[LaneItem], None]) -> None:
        """Calls `then` with the items of claimed rows that have a part to send. Puts rows back if the store is away."""
        for row in claimed:
            queued = self._known_better(row, lane.connector)
            item = LaneItem.of_queue(queued)
            if queued.suppressed and item.unsent:
                self._outcomes.withdraw(lane, item)
                continue
            try:
                is_open = await self._is_open(item, queued)
            except Unavailable:
                self._gathering.facts.queueings.append(queueing(item, lane.connector, claimed=False))
                self._gathering.wake()
                continue
            if is_open and queued.message.is_unreadable:
                self._end_unreadable(lane, item)
            elif is_open:
                then(item)
            else:
                self._gathering.facts.dequeued.append((queued.message.account, queued.message.key))
            self._gathering.wake()

    def _end_unreadable(self, lane: Lane, item: LaneItem) -> None:
        """Ends a message without a text, because its row is damaged. It is refunded if nothing of it may have left."""
        self._outcomes.end_waiting(lane, item, Delivery.UNKNOWN if item.attempted else Delivery.REJECTD)

    def _resume(self, lane: Lane, item: LaneItem) -> None:
        """Hands an item to its lane. An item that may have been sent already is first paused for a late answer or a
        receipt, if the lane does so."""
        if not item.attempted:
            lane.resume(item)
            return
        item.shape(lane.policy.joins_parts)
        until = self._unknown.pause_end(item.message.key, lane.connector)
        self._unknown.note(item, lane.connector, item.open if until is None else 0)
        if lane.policy.unknown_wait_ms and (until is None or self._clock.now() < until):
            item.paused, item.to_send = frozenset(item.waiting), []
            self._outcomes.rest(lane, item)
            self._gathering.wake()
        else:
            lane.resume(item)

    async def _is_open(self, item: LaneItem, queued: Queued) -> bool:
        """Returns whether a part is left to send. The matcher then knows the state of the other parts."""
        message = queued.message
        if not item.open:
            return False
        if item.tried:
            self._matcher.awaited.forget_earlier(message.key, item.tried)
        if message.segments == 1 or not message.wants_receipt or not queued.answered:
            return True
        return await self._matcher.load(message, item.open)

    def _known_better(self, queued: Queued, connector: int) -> Queued:
        """Adds to a row the answers that came after it was read."""
        unknown = self._unknown.of(queued.message.key, connector) if self._unknown.by_key else None
        if unknown is None or not unknown.answered:
            return queued
        taken = {segment for segment, operator_id in unknown.answered.items() if operator_id is not None}
        return replace(queued, answered=queued.answered.union(unknown.answered), taken=queued.taken | taken)
