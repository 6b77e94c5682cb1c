"""Dispatch: from accepted messages to the operator's answers, over the lanes of all connectors."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from math import inf

from heliograph.app.dispatch.claims import PolicyOf, QueueClaims
from heliograph.app.dispatch.failover import UNUSABLE, Router, leaving_from, next_connector
from heliograph.app.dispatch.lane import SLOW_MESSAGES, Lane
from heliograph.app.dispatch.lane_item import LaneItem
from heliograph.app.dispatch.late_answers import LateAnswers
from heliograph.app.dispatch.outcomes import Finish, PartOutcomes, queueing
from heliograph.app.facts import Facts
from heliograph.app.marks import DISPATCH
from heliograph.app.ports import Clock, Gathering, Incoming, Outcome, Part, Report
from heliograph.app.receipts.matcher import Acknowledge, ReceiptMatcher
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.receipt import Delivery

FAST_LANE_MS = 60_000
"""Milliseconds for which a message may wait in a lane's memory without a row of the queue. The dispatch mark stays as
far back, so that a restart reads at most a minute of messages."""


@dataclass(slots=True)
class LaneEvents:
    """Receives the events of a connector's carrier for its lane."""

    dispatcher: "Dispatcher"
    lane: Lane
    take_inbound: Callable[[int, Incoming], None]

    def on_outcome(self, part: Part, outcome: Outcome) -> None:
        self.dispatcher.outcomes.on_outcome(self.lane, part, outcome)

    def on_late(self, part: Part, outcome: Outcome) -> None:
        self.dispatcher.late.on_late(self.lane, part, outcome)

    def on_report(self, report: Report, acknowledge: Acknowledge) -> None:
        self.dispatcher.matcher.on_report(self.lane.connector, report, acknowledge)

    def on_unmarked(self, report: Report, acknowledge: Acknowledge, otherwise: Callable[[], None]) -> None:
        self.dispatcher.matcher.on_unmarked(self.lane.connector, report, acknowledge, otherwise)

    def on_inbound(self, incoming: Incoming) -> None:
        self.take_inbound(self.lane.connector, incoming)

    def on_congestion(self, percent: int) -> None:
        self.lane.window.pace.congested(self.dispatcher.monotonic(), percent)

    def on_capacity(self) -> None:
        window = self.lane.window
        if window.capacity == 0:
            window.note_down(self.dispatcher.monotonic())
            self.lane.unready()
        else:
            window.down_since = None
            self.dispatcher.gathering.wake()


class Dispatcher:
    """Brings accepted messages into their lanes, around each commit. `claims` handles rows of the queue, `outcomes` the
    operators' answers, and `late` their late answers.

    A message leaves the fast lane's memory in one of four ways: answered, failed, too old (it then gets a row of
    the queue but stays), or back to the queue because its connector is gone.
    """

    def __init__(
        self,
        gathering: Gathering,
        clock: Clock,
        matcher: ReceiptMatcher,
        finish: Finish,
        router: Router,
        mark: int = 0,
        *,
        shared: bool = False,
        policy_of: PolicyOf | None = None,
    ) -> None:
        """`shared`: connectors belong to other nodes until their lane is opened here."""
        self.mark = mark
        self._shared = shared
        self.gathering = gathering
        self.matcher = matcher
        self.lanes: dict[int, Lane] = {}
        self.outcomes = PartOutcomes(gathering, clock, matcher, finish, self.lane, router)
        self.late = LateAnswers(self.outcomes, self.lanes, clock)
        self.claims = QueueClaims(self.outcomes, clock, self.lane, router, policy_of)
        self._clock = clock
        self._router = router

    def lane(self, connector: int) -> Lane:
        """Returns the connector's lane; makes it on the first call."""
        lane = self.lanes.get(connector)
        if lane is None:
            lane = self.lanes[connector] = Lane(connector)
            lane.closed = self._shared
        return lane

    def monotonic(self) -> float:
        """Returns monotonic seconds, the times of lanes."""
        return self._clock.monotonic()

    # --- around a commit

    def prepare(self, facts: Facts, now: int) -> None:
        """Puts accepted messages into their lanes, and chooses the parts that are sent after the commit. Must be called
        right before the commit, once messages have their keys."""
        for accept in facts.accepts:
            for message in accept.messages:
                if accept.scheduled or message.queued:
                    message.queued = True  # scheduled, or held by the gate: judged anew when it is claimed
                else:
                    self.lane(message.connector).admit(accept, message)
        monotonic = self._clock.monotonic()
        for lane in self.lanes.values():
            for item in lane.prepare(facts, monotonic, now):
                self.outcomes.end_waiting(lane, item, Delivery.EXPIRED)

    def committed(self) -> None:
        """Frees slots after a commit, and lets its accepted messages into their lanes."""
        for lane in self.lanes.values():
            lane.committed()

    def refused(self) -> None:
        """Removes messages that a failed commit would have accepted. All others wait for the next commit."""
        for lane in self.lanes.values():
            lane.refused()

    def pump(self) -> float | None:
        """Submits the ready parts. Returns the monotonic time at which a pace allows the next part, or None."""
        monotonic = self._clock.monotonic()
        again: float | None = None
        for lane in self.lanes.values():
            if lane.window.ready:
                at = lane.window.pump(monotonic)
                if at is not None and (again is None or at < again):
                    again = at
            if monotonic < lane.window.paused_until < inf and (again is None or lane.window.paused_until < again):
                again = lane.window.paused_until
        return again

    # --- suppressions and rules

    def withdraw(self, account: int, number: str, before: int) -> None:
        """Cancels and refunds waiting messages of the account to a number that opted out, with keys below `before`. A
        message goes on if any part of it has left."""
        self.withdraw_all({(account, number): before})

    def withdraw_all(self, suppressed: Mapping[tuple[int, str], int]) -> None:
        """Does the same for several numbers: `before` by account and number. Each lane is searched once."""

        def opted_out(item: LaneItem) -> bool:
            message = item.message
            before = None if item.is_reply else suppressed.get((message.account, message.destination))
            return before is not None and message.key < before

        for lane in self.lanes.values():
            for item in lane.withdraw(opted_out):
                self.outcomes.withdraw(lane, item)

    def judge_anew(self) -> None:
        """Has the gate judge waiting messages again, because rules of accounts or plans have changed. Held messages go
        back to the queue, and refused messages fail. A message goes on if any part of it has left."""
        for lane in list(self.lanes.values()):
            for item in lane.withdraw(partial(self.claims.is_stopped, lane)):
                self.claims.passes(lane, item)

    # --- long waits

    def sweep(self, now: int) -> None:
        """Ends messages that expired in the lanes' memory."""
        for lane in self.lanes.values():
            for item in lane.expire(now):
                self.outcomes.end_waiting(lane, item, Delivery.EXPIRED)

    def spill(self, facts: Facts, now: int, last_key: int) -> None:
        """Gives messages that have waited in memory for `FAST_LANE_MS` a row of the queue, and moves the mark on.

        Must be called once a second, right before a commit. The mark never passes `last_key`, the highest key given:
        the clock may have been set back.
        """
        mark = max(self.mark, min(first_key_at(now - FAST_LANE_MS), last_key))
        for lane in self.lanes.values():
            for item in lane.items():
                if not item.row and item.message.key <= mark:
                    item.row = True
                    facts.queueings.append(queueing(item, lane.connector, claimed=True))
        if mark > self.mark:
            self.mark = facts.marks[DISPATCH] = mark

    # --- connectors that come and go

    def reroute(self, live: Collection[int]) -> None:
        """Moves messages of removed connectors to the queue of another, or fails them without a route. A message with a
        part in flight stays until the answer, so that no part is sent twice."""
        for connector in [connector for connector in self.lanes if connector not in live]:
            lane = self.lanes[connector]
            for item in lane.vacate():
                self.claims.reroute(lane, item)
            if lane.idle:
                del self.lanes[connector]

    def divert(self) -> None:
        """Gives waiting messages of connectors that cannot send to another candidate, if they have one."""
        for lane in list(self.lanes.values()):
            obstacle = self._router.obstacle(lane.connector)
            if not len(lane) or lane.closed or not obstacle:
                continue
            last = leaving_from(lane, obstacle, self._clock.now())
            found = {
                item.message.key: connector
                for item in lane.items()
                if item.unsent
                and item.message.time <= last
                and (connector := next_connector(lane, item, self._router)) is not None
            }
            for item in lane.withdraw(partial(_is_among, found)):
                self.outcomes.fail_over(lane, item, found[item.message.key], UNUSABLE)

    def park(self) -> None:
        """Stops sending before a planned shutdown, and gives a row to each message that the operator does not have."""
        for lane in self.lanes.values():
            lane.window.paused_until = inf
            for item in lane.vacate():
                self.outcomes.requeue(lane, item)
        self.gathering.wake()

    def hand_back(self, lane: Lane) -> None:
        """Moves the lane's waiting messages to the queue, for the nodes that have the connector now."""
        for item in lane.vacate():
            self.outcomes.requeue(lane, item)
            self.gathering.wake()

    @property
    def wants_rows(self) -> bool:
        """Whether a lane runs low while the queue may hold more for it."""
        return any(lane.more and lane.ahead <= SLOW_MESSAGES // 2 for lane in self.lanes.values())

    @property
    def can_send(self) -> bool:
        """Whether a commit could make parts ready, even without facts."""
        monotonic = self._clock.monotonic()
        return any(lane.can_send(monotonic) for lane in self.lanes.values())

    @property
    def busy(self) -> bool:
        """Whether any lane holds messages."""
        return not all(lane.idle for lane in self.lanes.values())


def _is_among(keys: Collection[int], item: LaneItem) -> bool:
    return item.message.key in keys
