from collections.abc import Sequence
from dataclasses import replace
from math import inf

import pytest

from heliograph.app.dispatch import claims, dispatcher, lane
from heliograph.app.dispatch.dispatcher import FAST_LANE_MS, Dispatcher
from heliograph.app.dispatch.lane_item import LaneItem
from heliograph.app.dispatch.outcomes import LONGEST_PUT_OFF_MS, PUT_OFF_SHARE, UNANSWERED_TRIES
from heliograph.app.facts import (
    NO_ANSWER,
    NOT_SENT,
    Accept,
    Facts,
    Message,
    MessageEnd,
    Outstanding,
    Queued,
    Queueing,
    Verdict,
)
from heliograph.app.marks import DISPATCH
from heliograph.app.ports import Accepted, Deferred, Outcome, Part, Refused, Report, Unavailable, Unknown
from heliograph.app.ports.carrier import UNSENDABLE
from heliograph.app.receipts.matcher import ReceiptMatcher
from heliograph.domain.message.extras import Extras, read_extras
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import Kind
from heliograph.domain.message.tlv_rules import TlvRule, passing
from heliograph.domain.text import alphabet
from heliograph.domain.text.repertoire import Encoding, Repertoire
from heliograph.domain.text.segment import count
from tests.support.memory_store import MemoryStore
from tests.support.store import HOUR, START
from tests.support.use_case_fakes import LONG, Messages, NotedCarrier, NotedGathering, SetClock, SetRouter, accept_of

FAR = first_key_at(START + 1_000_000_000)
NODE = 7

TAKEN = Accepted("a")
REFUSED = Refused(0x0B, Delivery.REJECTD, "011")
LOST = Unknown("the link was lost")


class QueueStore(MemoryStore):
    """Gives what the test puts into it, once."""

    def __init__(self, *queued: Queued) -> None:
        super().__init__()
        self.rows = list(queued)
        self.known: dict[int, Outstanding] = {}
        self.failing = False

    async def queue_claim(
        self, connector: int, limit: int, now: int, node: int, accounts: Sequence[int] = ()
    ) -> list[Queued]:
        claimed, self.rows = self.rows[:limit], self.rows[limit:]
        return claimed

    async def queue_accounts(self, connector: int, now: int) -> list[int]:
        return sorted({queued.message.account for queued in self.rows})

    async def queue_claim_expired(self, limit: int, now: int, node: int) -> list[Queued]:
        return await self.queue_claim(0, limit, now, node)

    async def receipts_outstanding(self, key: int) -> Outstanding | None:
        if self.failing:
            raise Unavailable("no")
        return self.known.get(key)


class Desk:
    def __init__(self) -> None:
        self.clock = SetClock()
        self.gathering = NotedGathering()
        self.store = QueueStore()
        self.matcher = ReceiptMatcher(self.gathering, self.clock, self.store.receipts, self._finish)
        self.router = SetRouter()
        self.routes = self.router.routes
        self.finished: list[tuple[int, Delivery]] = []
        self.dispatcher = Dispatcher(self.gathering, self.clock, self.matcher, self._finish, self.router)
        self.message = Messages(self.clock)
        self.lane = self.dispatcher.lane(1)
        self.lane.window.pace.limit(0.0, 1_000_000.0)
        self.lane.window.carrier = self.carrier = NotedCarrier()

    def _finish(self, message: Message, final: MessageEnd) -> None:
        self.finished.append((message.key, final.state))

    def commit(self, *messages: Message, spill: bool = False) -> Facts:
        accepts: list[Accept] = [accept_of(each) for each in messages]
        self.gathering.facts.accepts += accepts
        now = self.clock.now()
        self.dispatcher.prepare(self.gathering.facts, now)
        self.matcher.prepare()
        if spill:
            self.dispatcher.spill(self.gathering.facts, now, FAR)
        facts = self.gathering.take()
        for accept in accepts:
            accept.verdict = Verdict.ACCEPTED
        self.matcher.committed()
        self.dispatcher.committed()
        self.dispatcher.pump()
        return facts

    def sent(self, message: Message) -> list[Part]:
        """A message that is with the operator; its parts."""
        self.commit(message)
        return self.carrier.take()

    def answer(self, part: Part, outcome: Outcome) -> None:
        self.dispatcher.outcomes.on_outcome(self.lane, part, outcome)

    def is_clean(self) -> bool:
        return self.lane.idle and not self.lane.per_account and not self.lane.cutter


@pytest.fixture
def desk() -> Desk:
    return Desk()


# --- answers


def test_what_the_operator_takes_is_recorded_under_its_name_for_it(desk: Desk) -> None:
    one = desk.message()
    (part,) = desk.sent(one)
    desk.answer(part, Accepted("4711"))
    (submission,) = desk.commit().submissions
    assert (submission.key, submission.segment, submission.connector, submission.operator_id, submission.status) == (
        one.key, 0, 1, "4711", 0,
    )  # fmt: skip
    assert len(desk.matcher.awaited) == 1
    assert desk.is_clean()


def test_what_was_never_written_goes_again_at_once_and_nobody_hears_of_it(desk: Desk) -> None:
    one = desk.message()
    (part,) = desk.sent(one)
    desk.answer(part, Deferred(NOT_SENT, 0.0))
    facts = desk.commit()
    assert (facts.attempts, facts.queueings) == ([], [])
    assert [each.message.key for each in desk.carrier.take()] == [one.key]
    assert desk.lane.window.paused_until == 0.0


def test_nobody_waits_for_a_receipt_that_was_not_wanted(desk: Desk) -> None:
    (part,) = desk.sent(desk.message(wants_receipt=False))
    desk.answer(part, TAKEN)
    assert len(desk.matcher.awaited) == 0


def test_what_the_operator_refuses_for_good_is_refunded_and_told(desk: Desk) -> None:
    one = desk.message()
    (part,) = desk.sent(one)
    desk.answer(part, REFUSED)
    (final,) = desk.commit().finals
    assert (final.state, final.err, final.failed, final.refund, final.owed) == (
        Delivery.REJECTD, "011", True, one.price, True,
    )  # fmt: skip
    assert desk.finished == [(one.key, Delivery.REJECTD)]
    assert desk.is_clean()


def test_a_message_whose_every_part_is_refused_is_refunded_once(desk: Desk) -> None:
    long = desk.message(LONG)
    for part in desk.sent(long):
        desk.answer(part, REFUSED)
    facts = desk.commit()
    assert [(final.failed, final.refund) for final in facts.finals] == [(True, long.price)]
    assert len(facts.submissions) == 3
    assert desk.is_clean()
    assert desk.matcher.awaited.tracks == {}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_a_message_one_part_of_which_was_taken_is_not_refunded(desk: Desk, order: tuple[int, ...]) -> None:
    long = desk.message(LONG)
    parts = desk.sent(long)
    for number in order:
        desk.answer(parts[number], TAKEN if number == 1 else REFUSED)
    facts = desk.commit()
    assert facts.finals == []
    assert sorted(submission.status for submission in facts.submissions) == [0, 0x0B, 0x0B]
    assert desk.is_clean()


@pytest.mark.parametrize("rest", [10_000, LONGEST_PUT_OFF_MS, LONGEST_PUT_OFF_MS + 1])
def test_what_is_put_off_for_no_time_is_not_sent_again_and_again(desk: Desk, rest: int) -> None:
    """A connector's options may say `defer 0` of a status that an operator has for one number, for good."""
    (part,) = desk.sent(desk.message())
    desk.clock.pass_ms(PUT_OFF_SHARE * rest)
    desk.answer(part, Deferred(0x401, 0.0))
    facts = desk.commit()
    assert [queueing.due for queueing in facts.queueings] == [desk.clock.now() + min(rest, LONGEST_PUT_OFF_MS)]
    assert desk.carrier.parts == []


def test_only_the_part_that_was_put_off_is_sent_again(desk: Desk) -> None:
    parts = desk.sent(desk.message(LONG))
    desk.answer(parts[1], Deferred(0x58, 1.0, throttled=True))
    facts = desk.commit()
    assert [(throttle.segment, throttle.status) for throttle in facts.throttles] == [(1, 0x58)]
    assert facts.attempts == [], "no row for it"
    assert desk.carrier.parts == [], "the lane pauses"
    desk.clock.pass_ms(5_000)
    desk.commit()
    assert [part.segment for part in desk.carrier.parts] == [1]


def test_a_message_that_gets_no_answer_is_sent_so_often_and_then_counts_as_sent(desk: Desk) -> None:
    one = desk.message()
    (part,) = desk.sent(one)
    facts = Facts()
    for attempt in range(UNANSWERED_TRIES):
        desk.answer(part, LOST)
        facts = desk.commit()
        assert [each.status for each in facts.attempts] == [NO_ANSWER]
        if attempt < UNANSWERED_TRIES - 1:
            (part,) = desk.carrier.take()
    assert [submission.status for submission in facts.submissions] == [NO_ANSWER]
    assert [(final.state, final.failed) for final in facts.finals] == [(Delivery.UNKNOWN, False)]
    assert desk.carrier.parts == []
    assert desk.is_clean()


def test_one_without_a_receipt_that_gets_no_answer_leaves_nothing_behind(desk: Desk) -> None:
    one = desk.message("x" * 200, wants_receipt=False)
    parts = desk.sent(one)
    for _ in range(2 * UNANSWERED_TRIES):
        for part in parts:
            desk.answer(part, LOST)
        desk.commit()
        parts = desk.carrier.take()
    assert desk.finished == []
    assert (desk.matcher.awaited.tracks, desk.is_clean()) == ({}, True)


def test_a_second_outcome_of_a_part_is_not_believed(desk: Desk) -> None:
    (part,) = desk.sent(desk.message())
    desk.answer(part, TAKEN)
    desk.answer(part, REFUSED)
    facts = desk.commit()
    assert (len(facts.submissions), facts.finals) == (1, [])
    assert desk.lane.window.in_flight == 0


# --- too late


def test_what_never_left_in_its_time_is_refunded(desk: Desk) -> None:
    desk.carrier.capacity = 0
    one = desk.message(LONG, expires=START + HOUR)
    desk.commit(one)
    desk.clock.pass_ms(HOUR)
    desk.dispatcher.sweep(desk.clock.now())
    (final,) = desk.commit().finals
    assert (final.state, final.failed, final.refund) == (Delivery.EXPIRED, True, one.price)
    assert desk.is_clean()


def test_what_may_have_left_is_not_refunded_when_its_time_is_up(desk: Desk) -> None:
    one = desk.message(expires=START + HOUR)
    (part,) = desk.sent(one)
    desk.answer(part, LOST)
    desk.clock.pass_ms(HOUR)
    facts = desk.commit()
    assert [(final.state, final.failed) for final in facts.finals] == [(Delivery.EXPIRED, False)]
    assert [submission.status for submission in facts.submissions] == [NO_ANSWER]
    assert desk.is_clean()


def test_a_part_put_off_after_another_got_no_answer_does_not_make_it_unsent(desk: Desk) -> None:
    one = desk.message("x" * 200, expires=START + HOUR)
    first, second = desk.sent(one)
    desk.answer(first, LOST)
    desk.answer(second, Deferred(0x58, 1.0, throttled=True))
    desk.clock.pass_ms(HOUR)
    facts = desk.commit()
    assert not any(final.failed for final in facts.finals)


@pytest.mark.parametrize(("outcome", "refunded"), [(TAKEN, False), (REFUSED, True)])
def test_a_part_under_way_decides_what_becomes_of_a_message_whose_time_is_up(
    desk: Desk, outcome: Outcome, refunded: bool
) -> None:
    one = desk.message("x" * 200, expires=START + HOUR)
    first, second = desk.sent(one)
    desk.answer(first, Deferred(0x58, 1.0, throttled=True))
    desk.clock.pass_ms(HOUR)
    desk.dispatcher.sweep(desk.clock.now())
    assert desk.commit().finals == []
    desk.answer(second, outcome)
    facts = desk.commit()
    assert [final.failed for final in facts.finals] == ([True] if refunded else [])
    assert desk.is_clean()
    assert desk.carrier.parts == []


async def test_a_part_that_got_no_answer_is_remembered_when_the_rest_comes_back_from_the_queue(desk: Desk) -> None:
    one = desk.message("x" * 200, expires=START + HOUR)
    first, second = desk.sent(one)
    desk.answer(first, LOST)
    desk.clock.pass_ms(HOUR)
    desk.commit()
    desk.answer(second, Deferred(0x14, 1.0))
    facts = desk.commit()
    assert [queueing.key for queueing in facts.queueings] == [one.key]
    store = QueueStore(Queued(one, True, frozenset({0}), frozenset({0})))
    desk.store.known[one.key] = Outstanding(one, {}, {0: (Delivery.EXPIRED, "001")})
    await desk.dispatcher.claims.drop_expired(store.queue, NODE, 10)
    facts = desk.commit()
    assert [(final.state, final.failed) for final in facts.finals] == [(Delivery.EXPIRED, False)]


async def test_a_late_answer_to_a_part_that_waits_in_the_queue_finds_what_became_of_the_others(desk: Desk) -> None:
    one = desk.message("x" * 200)
    first, second = desk.sent(one)
    desk.answer(second, Accepted("b"))
    desk.answer(first, LOST)
    desk.commit()
    (again,) = desk.carrier.take()
    desk.answer(again, Deferred(0x14, 1.0))
    desk.matcher.on_report(1, Report("b", "", Delivery.UNDELIV, True, "034"), lambda _: None)
    for _ in range(2):
        desk.commit()
    assert desk.matcher.awaited.tracks == {}
    desk.store.known[one.key] = Outstanding(one, {}, {1: (Delivery.UNDELIV, "034")})
    desk.dispatcher.late.on_late(desk.lane, first, Accepted("a"))
    await desk.dispatcher.late.settle()
    desk.matcher.on_report(1, Report("a", "", Delivery.DELIVRD, True, "000"), lambda _: None)
    assert desk.finished == [(one.key, Delivery.UNDELIV)]
    assert desk.commit().dequeued == [(one.account, one.key)]


def test_what_was_never_sent_is_recorded_as_such(desk: Desk) -> None:
    one = desk.message("x" * 200, expires=START + HOUR)
    first, second = desk.sent(one)
    desk.answer(first, TAKEN)
    desk.answer(second, Deferred(0x58, 1.0, throttled=True))
    desk.clock.pass_ms(HOUR)
    assert [(each.segment, each.status) for each in desk.commit().submissions] == [(0, 0), (1, NOT_SENT)]


# --- the queue


async def test_due_messages_are_claimed_for_the_lane_that_asked_whatever_they_were_accepted_for(desk: Desk) -> None:
    rerouted = desk.message(connector=99)
    store = QueueStore(Queued(rerouted, False))
    assert not await desk.dispatcher.claims.refill(desk.lane, store.queue, NODE)
    desk.commit()
    (part,) = desk.carrier.take()
    desk.answer(part, TAKEN)
    facts = desk.commit()
    assert [submission.connector for submission in facts.submissions] == [1]
    assert facts.dequeued == [(rerouted.account, rerouted.key)]
    assert list(desk.dispatcher.lanes) == [1]


async def test_a_lane_is_refilled_when_it_runs_low_and_not_before(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (claims, dispatcher):
        monkeypatch.setattr(module, "SLOW_MESSAGES", 4)
    desk.lane.window.carrier = None
    store = QueueStore(*(Queued(desk.message(), False) for _ in range(10)))
    assert await desk.dispatcher.claims.refill(desk.lane, store.queue, NODE)
    assert (desk.lane.ahead, desk.dispatcher.wants_rows) == (4, False)
    assert not await desk.dispatcher.claims.refill(desk.lane, store.queue, NODE)
    assert desk.lane.ahead == 4
    for item in list(desk.lane.items())[:2]:
        desk.lane.drop(item)
    assert desk.dispatcher.wants_rows


async def test_overflow_ends_when_the_queue_is_empty_not_while_its_rows_are_on_the_way(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "FAST_MESSAGES", 1)
    desk.lane.window.carrier = None
    one, other = desk.message(), desk.message()
    accepts = [accept_of(one), accept_of(other)]
    desk.gathering.facts.accepts += accepts
    desk.dispatcher.prepare(desk.gathering.facts, START)
    assert other.queued
    await desk.dispatcher.claims.refill(desk.lane, QueueStore().queue, NODE)
    assert desk.lane.queues.must_read_rows, "the row is being written"
    for accept in accepts:
        accept.verdict = Verdict.ACCEPTED
    desk.dispatcher.committed()
    assert desk.dispatcher.wants_rows
    await desk.dispatcher.claims.refill(desk.lane, QueueStore().queue, NODE)
    assert not desk.lane.queues.by_account
    assert not desk.dispatcher.wants_rows


def test_a_request_that_is_tried_again_keeps_the_order_of_its_messages(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first commit failed: its second message was to go to the rows, and still comes after the first one."""
    monkeypatch.setattr(lane, "FAST_MESSAGES", 1)
    one, other = desk.message(), desk.message()
    accepts = [accept_of(one), accept_of(other)]
    facts = Facts(accepts=accepts)
    desk.dispatcher.prepare(facts, START)
    assert [one.queued, other.queued] == [False, True]
    desk.dispatcher.refused()
    assert [one.queued, other.queued] == [False, False]
    monkeypatch.setattr(lane, "FAST_MESSAGES", 9)
    desk.dispatcher.prepare(facts, START)
    for accept in accepts:
        accept.verdict = Verdict.ACCEPTED
    desk.dispatcher.committed()
    assert [one.queued, other.queued] == [True, True], "rows of the account may be on their way"


async def test_a_claimed_message_that_was_answered_already_leaves_the_queue(desk: Desk) -> None:
    one = desk.message()
    await desk.dispatcher.claims.refill(
        desk.lane, QueueStore(Queued(one, True, frozenset({0}), frozenset({0}))).queue, NODE
    )
    assert desk.commit().dequeued == [(one.account, one.key)]
    assert desk.is_clean()


async def test_what_was_claimed_goes_back_when_the_store_cannot_say_more_of_it(desk: Desk) -> None:
    half, one = desk.message("x" * 200), desk.message()
    store = QueueStore(Queued(half, False, frozenset({0}), frozenset({0})), Queued(one, False))
    desk.store.failing = True
    await desk.dispatcher.claims.refill(desk.lane, store.queue, NODE)
    facts = desk.commit()
    assert facts.queueings == [Queueing(half.account, half.key, 1, half.time, half.expires, False, False)]
    assert desk.carrier.keys == [one.key]


async def test_messages_whose_time_ends_in_the_queue_are_refunded_unless_they_left(desk: Desk) -> None:
    unsent, doubtful, half = (desk.message("x" * 200) for _ in range(3))
    store = QueueStore(
        Queued(unsent, False), Queued(doubtful, True), Queued(half, False, frozenset({0}), frozenset({0}))
    )
    desk.store.known[half.key] = Outstanding(half, {(1, "a"): (0,)}, {})
    assert await desk.dispatcher.claims.drop_expired(store.queue, NODE, 10) == 3
    facts = desk.commit()
    assert [(final.key, final.failed) for final in facts.finals] == [(unsent.key, True), (doubtful.key, False)]
    assert sorted(facts.dequeued) == sorted((each.account, each.key) for each in (unsent, doubtful, half))
    assert [(each.key, each.segment) for each in facts.parts if each.key == half.key] == [(half.key, 1)]


def test_what_waits_for_long_gets_a_row_once_and_says_whether_it_may_have_been_sent(desk: Desk) -> None:
    desk.carrier.capacity = 1
    flying, waiting, young = desk.message(), desk.message(), desk.message(key=FAR - 1)
    desk.commit(flying, waiting, young)
    desk.clock.pass_ms(FAST_LANE_MS + 1)
    facts = desk.commit(spill=True)
    assert {each.key: (each.attempted, each.claimed) for each in facts.queueings} == {
        flying.key: (True, True), waiting.key: (False, True),
    }  # fmt: skip
    assert facts.marks[DISPATCH] == first_key_at(START + 1)
    desk.clock.pass_ms(1_000)
    assert desk.commit(spill=True).queueings == []
    desk.answer(desk.carrier.take()[0], TAKEN)
    assert desk.commit().dequeued == [(flying.account, flying.key)]
    assert desk.lane.per_account == {1: 2}


def test_the_mark_never_passes_the_last_key_and_never_goes_back(desk: Desk) -> None:
    one = desk.message()
    facts = Facts()
    desk.dispatcher.spill(facts, START + HOUR, one.key)
    assert facts.marks == {DISPATCH: one.key}
    facts = Facts()
    desk.dispatcher.spill(facts, START - HOUR, one.key)
    assert facts.marks == {}


async def test_after_a_start_what_may_have_been_sent_goes_first(desk: Desk) -> None:
    new, old = desk.message(), desk.message()
    half = desk.message("x" * 200)
    desk.store.known[half.key] = Outstanding(half, {}, {0: (Delivery.UNDELIV, "034")})
    unsent = [Queued(new, False), Queued(old, True), Queued(half, False, frozenset({0}))]
    await desk.dispatcher.claims.recover(unsent)
    desk.commit()
    assert [(part.message.key, part.segment) for part in desk.carrier.parts] == [
        (old.key, 0), (new.key, 0), (half.key, 1),
    ]  # fmt: skip
    desk.answer(desk.carrier.parts[2], REFUSED)
    assert desk.finished == [(half.key, Delivery.REJECTD)], "what became of the first part is known"


async def test_after_a_start_what_is_over_is_not_sent(desk: Desk) -> None:
    over = desk.message("x" * 200)
    await desk.dispatcher.claims.recover([Queued(over, True, frozenset({0}), frozenset({0}))])
    desk.commit()
    assert desk.carrier.parts == []


# --- connectors that go, gateways that stop


def test_messages_of_a_connector_that_is_gone_go_to_another_one(desk: Desk) -> None:
    desk.carrier.capacity = 0
    one = desk.message()
    desk.commit(one)
    desk.routes[one.destination] = 2
    desk.dispatcher.reroute({2})
    assert desk.commit().queueings == [Queueing(one.account, one.key, 2, one.time, one.expires, False, False)]
    assert 1 not in desk.dispatcher.lanes


def test_without_another_route_they_are_refunded(desk: Desk) -> None:
    desk.carrier.capacity = 0
    one = desk.message()
    desk.commit(one)
    desk.dispatcher.reroute({2})
    (final,) = desk.commit().finals
    assert (final.state, final.failed, final.refund) == (Delivery.REJECTD, True, one.price)


def test_a_message_with_a_part_under_way_is_rerouted_when_that_is_answered(desk: Desk) -> None:
    one = desk.message("x" * 200)
    desk.routes[one.destination] = 2
    first, second = desk.sent(one)
    desk.answer(first, LOST)
    desk.carrier.capacity = 0
    desk.dispatcher.reroute({2})
    assert desk.commit().queueings == []
    desk.answer(second, TAKEN)
    desk.commit()
    desk.dispatcher.reroute({2})
    (queueing,) = desk.commit().queueings
    assert (queueing.connector, queueing.attempted) == (2, True)
    assert 1 not in desk.dispatcher.lanes
    assert not desk.matcher.awaited.tracks[one.key].held, "it may leave memory, for whoever claims it"


def test_a_stop_gives_rows_to_what_is_not_with_the_operator_and_sends_no_more(desk: Desk) -> None:
    desk.carrier.capacity = 1
    flying, waiting = desk.message(), desk.message()
    desk.commit(flying, waiting)
    desk.dispatcher.park()
    late = desk.message()
    facts = desk.commit(late)
    assert [queueing.key for queueing in facts.queueings] == [waiting.key]
    desk.answer(desk.carrier.take()[0], Deferred(0x14, 1.0))
    desk.commit()
    assert desk.lane.window.paused_until == inf
    desk.dispatcher.park()
    assert late.queued, "nothing passes what waits in the queue"
    assert desk.commit().queueings == []
    assert desk.carrier.parts == []
    assert desk.is_clean()


# --- several nodes on one store


def test_without_the_connectors_binds_new_messages_go_to_the_queue_and_so_does_what_waits(desk: Desk) -> None:
    dispatcher = Dispatcher(desk.gathering, desk.clock, desk.matcher, desk._finish, desk.router, shared=True)
    assert dispatcher.lane(1).closed
    desk.carrier.capacity = 1
    away, waiting = desk.message(), desk.message()
    desk.commit(away)
    desk.commit(waiting)
    assert not waiting.queued
    desk.lane.closed = True
    desk.dispatcher.hand_back(desk.lane)
    one = desk.message()
    facts = desk.commit(one)
    assert one.queued
    assert [(each.key, each.attempted, each.claimed) for each in facts.queueings] == [(waiting.key, False, False)]
    (part,) = desk.carrier.take()
    desk.answer(part, Accepted("a"))
    desk.commit()
    assert desk.is_clean()


# --- operators' alphabets


@pytest.mark.parametrize("kind", [Kind.TEXT, Kind.FLASH])
@pytest.mark.parametrize(
    ("charged_for", "now", "encoding"),
    [
        ("latin1", "latin1", Encoding.UCS2),
        ("latin1", "gsm", Encoding.GSM7),
        ("gsm", "gsm", Encoding.GSM7),
    ],
)
def test_a_text_is_cut_into_as_many_parts_as_were_charged(
    desk: Desk, charged_for: str, now: str, encoding: Encoding, kind: Kind
) -> None:
    content = "€" + "x" * 200
    desk.lane.policy = replace(desk.lane.policy, repertoire=Repertoire(now))
    message = desk.message(content, kind=kind, segments=count(content, kind, Repertoire(charged_for))[1])
    parts = desk.sent(message)
    assert {part.encoding for part in parts} == {encoding}
    octets = b"".join(part.octets for part in parts)
    assert (alphabet.decode(octets) if encoding is Encoding.GSM7 else octets.decode("utf-16-be")) == content


def test_a_text_that_takes_more_parts_than_were_charged_cannot_be_sent(desk: Desk) -> None:
    content = "€" + "x" * 200
    desk.lane.policy = replace(desk.lane.policy, repertoire=Repertoire("latin1"))
    parts = desk.sent(desk.message(content, segments=count(content, Kind.TEXT)[1]))
    assert [(part.encoding, part.octets) for part in parts] == [(UNSENDABLE, b"")] * 2


def test_a_connector_that_always_asks_for_receipts_asks_for_those_of_messages_accepted_for_another(desk: Desk) -> None:
    desk.lane.policy = replace(desk.lane.policy, asks_receipts=True)
    (part,) = desk.sent(desk.message(wants_receipt=False))
    assert part.message.wants_receipt
    queued = desk.message(wants_receipt=False)
    desk.lane.resume(LaneItem.of_queue(Queued(queued, False)))
    assert desk.commit().asking == [(queued.account, queued.key)]
    assert queued.wants_receipt
    desk.lane.resume(LaneItem.of_queue(Queued(desk.message(wants_receipt=False), True)))
    assert desk.commit().asking == []


def test_tlvs_are_made_for_the_operator_that_a_message_is_written_to(desk: Desk) -> None:
    desk.lane.tlvs_of = lambda message: passing(read_extras(message.extras).tlvs, (TlvRule(0x1400, 0x1400, "ref"),))
    (part,) = desk.sent(desk.message(extras=Extras(tlvs={"ref": "7"}).text()))
    assert part.tlvs == ((0x1400, b"7"),)
    (other,) = desk.sent(desk.message(extras=Extras(tlvs={"0x1401": "7"}).text()))
    assert (other.encoding, other.octets, other.tlvs) == (UNSENDABLE, b"", ())
    (plain,) = desk.sent(desk.message())
    assert plain.tlvs == ()
