"""Outcomes: the effect of an operator's answer to a part on its message, and the end of messages.

Every step adds its facts to the next commit. A message leaves its lane in one of four ways: all of its parts have an
answer, it fails, it goes back to the queue for a while, or another connector tries it (`app.dispatch.failover`).
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from heliograph.app.dispatch.failover import REFUSED, ReceiptFailover, Router, is_for_another, next_connector
from heliograph.app.dispatch.lane import Lane
from heliograph.app.dispatch.lane_item import NO_PARTS, LaneItem, Refusal
from heliograph.app.dispatch.unknown_outcomes import UnknownOutcome, UnknownOutcomes
from heliograph.app.facts import NO_ANSWER, NOT_SENT, Attempt, Message, MessageEnd, Queueing, Submission, Withdrawal
from heliograph.app.ports import Accepted, Clock, Deferred, Gathering, Outcome, Part, Refused, Unknown
from heliograph.app.receipts.matcher import ReceiptMatcher
from heliograph.domain.message.receipt import NO_CODE, Delivery

UNANSWERED_TRIES = 3
"""Times that a part without an answer is sent. Then it counts as sent, with an unknown outcome."""

PUT_OFF_SHARE = 4
"""Divisor: a deferred message is due again after its age divided by this. For example, after 20 s at an age of 80 s."""

LONGEST_PUT_OFF_MS = 300_000
"""Longest time, in milliseconds, until a deferred message is due again."""

NO_REFUSALS: Final[Mapping[int, Refusal]] = {}

Finish = Callable[[Message, MessageEnd], None]


class PartOutcomes:
    """Turns the outcomes of parts into facts."""

    def __init__(
        self,
        gathering: Gathering,
        clock: Clock,
        matcher: ReceiptMatcher,
        finish: Finish,
        lane: Callable[[int], Lane],
        router: Router,
    ) -> None:
        """`finish` is called with each message that was never sent. `lane` returns a connector's lane."""
        self._lane = lane
        self._router = router
        self.failovers: Counter[tuple[int, str]] = Counter()
        """Messages that left a connector for another candidate, by connector and reason, such as REFUSED."""
        self.gathering = gathering
        self.matcher = matcher
        self.unknown = UnknownOutcomes()
        matcher.successor = ReceiptFailover(gathering, lane, router, self.unknown, self.failovers)
        self._clock = clock
        self._finish = finish

    def on_outcome(self, lane: Lane, part: Part, outcome: Outcome) -> None:
        """Applies the outcome of a part. Ignores parts that are not in flight."""
        if not lane.window.answered(part):
            return
        item: LaneItem = part.owner
        message = part.message
        if self.unknown.by_key and (unknown := self.unknown.of(message.key, lane.connector)) is not None:
            outcome = self._corrected(unknown, part.segment, outcome)
        now, monotonic = self._clock.now(), self._clock.monotonic()
        took = int((monotonic - part.written) * 1000)
        waited = now - took - (message.released or message.time)
        if isinstance(outcome, Accepted):
            lane.window.taken(part, monotonic)
            if lane.window.breaker.failures:
                lane.window.breaker.answered(monotonic, failed=False)
            self.accept(lane, item, part.segment, outcome.operator_id, now, waited, took)
        elif isinstance(outcome, Deferred) and outcome.status == NOT_SENT:
            lane.take_back(item, part.segment)
            lane.unready(overtaken=True)
        else:
            self._note_attempt(lane, part, outcome, now, monotonic)
            refusal = Refusal(outcome, waited, took)
            if self._judge(lane, outcome, monotonic):
                item.refusals = {**(item.refusals or {}), part.segment: refusal}
                if item.away > 1:
                    lane.recall(item)
            else:
                self._end_refused(lane, item, part.segment, refusal)
        if item.refusals and len(item.refusals) >= item.away:
            self._decide(lane, item)
        self.gathering.wake()

    def _note_attempt(
        self, lane: Lane, part: Part, outcome: Refused | Deferred | Unknown, now: int, monotonic: float
    ) -> None:
        """Notes an answer that ends nothing, or a missing answer."""
        facts, message, item = self.gathering.facts, part.message, part.owner
        if isinstance(outcome, Deferred):
            attempt = Attempt(message.account, message.key, part.segment, lane.connector, outcome.status, now)
            if outcome.throttled:
                facts.throttles.append(attempt)
                lane.window.throttled(part, monotonic, outcome.pause)
            else:
                facts.attempts.append(attempt)
        elif isinstance(outcome, Unknown):
            facts.attempts.append(Attempt(message.account, message.key, part.segment, lane.connector, NO_ANSWER, now))
            item.tries += 1
            self.unknown.note(item, lane.connector, 1)

    def _judge(self, lane: Lane, outcome: Refused | Deferred | Unknown, monotonic: float) -> bool:
        """Returns whether another operator may try the message, and counts the answer for the breaker. A message that
        was never sent says nothing about the operator, and a missing or a throttling answer little."""
        for_another = is_for_another(outcome, lane.policy.failover)
        breaker = lane.window.breaker
        if isinstance(outcome, Refused) and outcome.status == NOT_SENT:
            return for_another
        if for_another or (isinstance(outcome, Refused) and breaker.failures):
            breaker.answered(monotonic, failed=for_another)
        return for_another

    def _deferred(self, lane: Lane, item: LaneItem, segment: int, deferred: Deferred) -> None:
        """Sends a part again later. Only such parts count for the pause of the lane: the parts of messages that go to
        another operator come back to no lane, and the breaker counts them."""
        if not deferred.throttled:
            lane.window.hold(self._clock.monotonic(), deferred.pause)
        if deferred.throttled or item.away > 1 or item.to_send or item.paused:
            lane.take_back(item, segment)
        else:
            self._defer(lane, item, segment, deferred.pause)

    def _decide(self, lane: Lane, item: LaneItem) -> None:
        """Gives a message to another connector, or ends its refused parts here."""
        refusals, item.refusals = item.refusals or {}, None
        connector = next_connector(lane, item, self._router)
        if connector is None:
            for segment, refusal in refusals.items():
                self._end_refused(lane, item, segment, refusal)
            return
        if item.to_send:
            lane.drop(item)
        item.to_send = list(range(item.open))
        self.fail_over(lane, item, connector, REFUSED, refusals)

    def _end_refused(self, lane: Lane, item: LaneItem, segment: int, refusal: Refusal) -> None:
        match refusal.outcome:
            case Refused():
                self.refuse(lane, item, segment, refusal.outcome, refusal.waited, refusal.took)
            case Deferred():
                self._deferred(lane, item, segment, refusal.outcome)
            case Unknown():
                self._unanswered(lane, item, segment)

    def fail_over(
        self, lane: Lane, item: LaneItem, connector: int, reason: str, refusals: Mapping[int, Refusal] = NO_REFUSALS
    ) -> None:
        """Gives a message to another candidate: its operator refused it, or cannot take it soon. An operator that may
        have a part of it, which `failover_unknown` allows, counts among the operators that tried it."""
        self.failovers[lane.connector, reason] += 1
        message, now = item.message, self._clock.now()
        statuses = dict.fromkeys(sorted(item.doubtful.difference(refusals)), NO_ANSWER)
        for segment, refusal in refusals.items():
            if isinstance(refusal.outcome, Refused):  # others are among the attempts already
                statuses[segment] = refusal.outcome.status
        self.gathering.facts.attempts += [
            Attempt(message.account, message.key, segment, lane.connector, status, now)
            for segment, status in statuses.items()
        ]
        item.doubtful = NO_PARTS
        self.move(lane, item, connector)

    def move(self, lane: Lane, item: LaneItem, connector: int) -> None:
        """Gives a message that has left its lane to the queue of another connector. No operator may have a part of
        it."""
        lane.forget(item)
        self.requeue(self._lane(connector), item)
        self.gathering.wake()
        self.gathering.wake_feeder()

    def _unanswered(self, lane: Lane, item: LaneItem, segment: int) -> None:
        """Sends a part with an unknown outcome again, up to UNANSWERED_TRIES times: at once, or after it waited for a
        late answer or a receipt."""
        if lane.policy.unknown_wait_ms and segment not in item.doubtful:
            item.doubtful |= {segment}
            item.paused |= {segment}
            self.rest(lane, item)
        elif not lane.policy.unknown_wait_ms and item.tries < UNANSWERED_TRIES * (
            1 if item.whole else item.message.segments
        ):
            item.doubtful |= {segment}
            lane.take_back(item, segment)
        else:
            item.taken += 1
            self._end_part(lane, item, segment, Delivery.UNKNOWN)

    def rest(self, lane: Lane, item: LaneItem) -> None:
        """Moves a message to the queue if only paused parts are left of it."""
        message = item.message
        if item.open > len(item.paused):
            return
        unknown = self.unknown.of(message.key, lane.connector)
        if unknown is None:  # forgotten, because many others came since the part was paused
            unknown = self.unknown.note(item, lane.connector, 0)
        if unknown.queued:
            return
        unknown.until = self._clock.now() + lane.policy.unknown_wait_ms
        self.put_off(lane, item, unknown.until)

    def accept(
        self, lane: Lane, item: LaneItem, segment: int, operator_id: str, now: int, waited: int = -1, took: int = -1
    ) -> None:
        """Notes that the operator has the part."""
        message = item.message
        segments = item.covers(segment)
        for number in segments:
            self.gathering.facts.submissions.append(
                Submission(
                    message.account, message.key, number, lane.connector, operator_id, 0, now, waited, took, message
                )
            )
            waited = took = -1
        item.taken += 1
        if message.wants_receipt:
            sent_once = segment not in item.doubtful
            if not sent_once and not item.tries and lane.policy.failover.receipts:
                # A process before this one may have sent the first copy, and left no attempt.
                self.gathering.facts.attempts.append(
                    Attempt(message.account, message.key, segment, lane.connector, NO_ANSWER, now)
                )
            self.matcher.taken(message, segments, lane.connector, operator_id, now, item.tried, sent_once=sent_once)
        self.close_part(lane, item, segment)

    def refuse(
        self, lane: Lane, item: LaneItem, segment: int, refused: Refused, waited: int = -1, took: int = -1
    ) -> None:
        """Notes that the operator refused the part for good."""
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
            self.matcher.part_over(message, segment, refused.state, refused.err)
        self.close_part(lane, item, segment)

    def _defer(self, lane: Lane, item: LaneItem, segment: int, pause: float) -> None:
        """Moves the message to the queue for a while, longer the older it is, so that others may pass it."""
        message = item.message
        now = self._clock.now()
        item.to_send = [segment]
        age = now - (message.released or message.time)
        due = now + max(int(pause * 1000), min(age // PUT_OFF_SHARE, LONGEST_PUT_OFF_MS))
        self.put_off(lane, item, due)

    def _hand_over(self, lane: Lane, item: LaneItem) -> None:
        """Notes that the message is in the queue, so that late answers to its parts no longer rely on memory."""
        item.row = True
        if item.message.segments > 1:
            self.matcher.leave(item.message.key)
        unknown = self.unknown.of(item.message.key, lane.connector)
        if unknown is not None:
            unknown.queued = True

    def _end_part(self, lane: Lane, item: LaneItem, segment: int, state: Delivery, status: int = NO_ANSWER) -> None:
        """Ends a part without an answer that is not sent again, or never was."""
        message = item.message
        for number in item.covers(segment):
            self.gathering.facts.submissions.append(
                Submission(message.account, message.key, number, lane.connector, "", status, self._clock.now())
            )
            if message.wants_receipt:
                self.matcher.part_over(message, number, state, NO_CODE)
        self.close_part(lane, item, segment)

    def close_part(self, lane: Lane, item: LaneItem, segment: int) -> None:
        """Closes a part whose end is among the facts."""
        if item.doubtful:
            item.doubtful -= {segment}
            item.paused -= {segment}
        item.open -= 1
        unknown = self.unknown.of(item.message.key, lane.connector) if self.unknown.by_key else None
        if unknown is not None:
            for number in item.covers(segment):
                unknown.answered.setdefault(number, None)
            if item.open == 0:
                unknown.item = None
        if item.open == 0:
            if item.row:
                self.gathering.facts.dequeued.append((item.message.account, item.message.key))
            lane.forget(item)
        elif item.paused:
            self.rest(lane, item)

    def end_waiting(self, lane: Lane, item: LaneItem, state: Delivery) -> None:
        """Ends the waiting parts of a message that has left its lane, for example because it is too late or has no
        route.

        The message is refunded unless the operator has, or may have, a part of it.
        """
        if item.unsent:
            self._fail(lane, item, state, NO_CODE)
            return
        waiting, item.to_send = item.waiting, []
        item.taken += len(item.doubtful.intersection(waiting))
        for segment in waiting:
            self._end_part(lane, item, segment, state, NO_ANSWER if segment in item.doubtful else NOT_SENT)
        self.gathering.wake()

    def withdraw(self, lane: Lane, item: LaneItem, note: str = "opted out") -> None:
        """Cancels and refunds a message of which nothing left. `note` is the reason in the ledger. A message that an
        earlier operator took ends as not delivered, without a refund."""
        if item.resent:
            self._fail(lane, item, Delivery.UNDELIV, NO_CODE)
            return
        lane.forget(item)
        message = item.message
        self.gathering.facts.withdrawals.append(
            Withdrawal(message.account, message.key, message.price, self._clock.now(), note)
        )
        self.unknown.forget(message.key)
        self.matcher.forget(message.key)
        self.gathering.wake()

    def _fail(self, lane: Lane, item: LaneItem, state: Delivery, err: str) -> None:
        """Fails a message that never left: refunds it, and owes the customer a notice. A message that an earlier
        operator took ends without a refund."""
        lane.forget(item)
        message = item.message
        facts = self.gathering.facts
        owed = bool(message.way)
        final = MessageEnd(
            message.account,
            message.key,
            state,
            err,
            self._clock.now(),
            owed,
            failed=not item.resent,
            refund=0 if item.resent else message.price,
            message=message,
            connector=lane.connector,
        )
        facts.finals.append(final)
        if item.row:
            facts.dequeued.append((message.account, message.key))
        if (unknown := self.unknown.of(message.key, lane.connector)) is not None:
            unknown.item, unknown.queued = None, False
            unknown.answered = dict.fromkeys(range(message.segments), None) | unknown.answered
        self.matcher.forget(message.key)
        self._finish(message, final)
        self.gathering.wake()

    def _corrected(self, unknown: UnknownOutcome, segment: int, outcome: Outcome) -> Outcome:
        """Returns the outcome of a part that was sent again, corrected by a late answer to its first copy. If the
        operator took the first copy, it has the part, even if it refused the second copy."""
        late = unknown.late.pop(segment, None)
        if isinstance(outcome, Accepted):
            unknown.answered[segment] = outcome.operator_id
            if late is not None:
                self.matcher.add_alias(unknown.connector, late, outcome.operator_id, unknown.destination)
        elif late is not None:
            unknown.answered[segment] = late
            return Accepted(late)
        return outcome

    # --- back to the queue

    def put_off(self, lane: Lane, item: LaneItem, due: int, held: str | None = None) -> None:
        """Puts a message back into the queue until `due` (ms), or for as long as it is `held`. Others may pass it."""
        message = item.message
        since = 0 if held is None else self._clock.now()
        self.gathering.facts.queueings.append(
            Queueing(
                message.account, message.key, lane.connector, due, message.expires, item.attempted, False, held, since
            )
        )
        self._hand_over(lane, item)
        lane.forget(item)
        self.gathering.wake()

    def requeue(self, lane: Lane, item: LaneItem) -> None:
        """Puts a message into the queue for this lane, in the order of its account."""
        self.gathering.facts.queueings.append(queueing(item, lane.connector, claimed=False))
        lane.expect_row(item.message.account)
        self.unknown.forget(item.message.key)
        if item.message.segments > 1:
            self.matcher.leave(item.message.key)


def queueing(item: LaneItem, connector: int, *, claimed: bool) -> Queueing:
    """Returns the fact that gives a message its row of the queue."""
    message = item.message
    return Queueing(message.account, message.key, connector, message.time, message.expires, item.attempted, claimed)
