import pytest

from heliograph.app.dispatch import lane as lanes
from heliograph.app.dispatch.lane import Lane
from heliograph.app.dispatch.lane_item import LaneItem
from heliograph.app.facts import Accept, Facts, Queued, Verdict
from heliograph.app.marks import attempted
from heliograph.app.ports import Part
from tests.support.store import START
from tests.support.use_case_fakes import LONG, Messages, NotedCarrier, SetClock, accept_of

NOW = 1_000.0


UNHURRIED = 1_000_000.0
"""A rate that holds back nothing here."""


@pytest.fixture
def carrier() -> NotedCarrier:
    return NotedCarrier(capacity=3)


@pytest.fixture
def lane(carrier: NotedCarrier) -> Lane:
    lane = Lane(1, UNHURRIED)
    lane.window.carrier = carrier
    return lane


@pytest.fixture
def message() -> Messages:
    return Messages(SetClock())


@pytest.fixture
def large_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "PARTS_A_COMMIT", 2_000)


def commit(lane: Lane, *accepts: Accept, verdict: Verdict = Verdict.ACCEPTED, now: float = NOW) -> Facts:
    facts = Facts(accepts=list(accepts))
    for accept in accepts:
        for each in accept.messages:
            lane.admit(accept, each)
    lane.prepare(facts, now, START)
    for accept in accepts:
        accept.verdict = verdict
    lane.committed()
    lane.window.pump(now)
    return facts


def fail(lane: Lane, *accepts: Accept) -> None:
    for accept in accepts:
        for each in accept.messages:
            lane.admit(accept, each)
    lane.prepare(Facts(accepts=list(accepts)), NOW, START)
    lane.refused()


def places(lane: Lane) -> int:
    return lane.window.in_flight + len(lane.window.ready) + len(lane.window.marked)


def answer(lane: Lane, *parts: Part) -> None:
    for part in parts:
        assert lane.window.answered(part)
        lane.forget(part.owner)


# --- the window


def test_a_message_goes_right_after_the_commit_that_accepts_it(
    lane: Lane, carrier: NotedCarrier, message: Messages
) -> None:
    one = message()
    facts = Facts()
    accept = accept_of(one)
    lane.admit(accept, one)
    lane.prepare(facts, NOW, START)
    assert lane.window.pump(NOW) is None
    assert carrier.parts == []
    assert facts.marks == {attempted(1): one.key}
    accept.verdict = Verdict.ACCEPTED
    lane.committed()
    lane.window.pump(NOW)
    assert carrier.keys == [one.key]


def test_no_more_than_the_window_is_sent_and_the_mark_covers_no_more(
    lane: Lane, carrier: NotedCarrier, message: Messages
) -> None:
    several = [message() for _ in range(5)]
    facts = commit(lane, *(accept_of(each) for each in several))
    assert carrier.keys == [each.key for each in several[:3]]
    assert facts.marks == {attempted(1): several[2].key}


def test_a_place_is_free_only_when_the_answer_is_committed(
    lane: Lane, carrier: NotedCarrier, message: Messages
) -> None:
    several = [message() for _ in range(4)]
    commit(lane, *(accept_of(each) for each in several))
    answer(lane, carrier.take()[0])
    lane.window.pump(NOW)
    assert carrier.parts == []
    assert lane.window.in_flight == 3
    commit(lane)
    assert carrier.keys == [several[3].key]
    assert lane.window.in_flight == 3


def test_an_answer_that_comes_while_a_commit_is_written_waits_for_the_next_one(
    lane: Lane, carrier: NotedCarrier, message: Messages
) -> None:
    commit(lane, *(accept_of(message()) for _ in range(4)))
    lane.prepare(Facts(), NOW, START)
    answer(lane, carrier.take()[0])
    lane.committed()
    lane.window.pump(NOW)
    assert (carrier.parts, lane.window.in_flight) == ([], 3)
    commit(lane)
    assert len(carrier.parts) == 1


def test_a_failed_commit_frees_no_place_and_loses_none(lane: Lane, carrier: NotedCarrier, message: Messages) -> None:
    commit(lane, *(accept_of(message()) for _ in range(4)))
    answer(lane, carrier.take()[0])
    for _ in range(3):
        fail(lane)
        assert (carrier.parts, lane.window.in_flight) == ([], 3)
    commit(lane)
    assert (len(carrier.parts), lane.window.in_flight) == (1, 3)


def test_what_a_failed_commit_would_have_accepted_leaves_no_trace(
    lane: Lane, carrier: NotedCarrier, message: Messages
) -> None:
    fail(lane, *(accept_of(message()) for _ in range(5)))
    assert lane.idle
    assert lane.per_account == {}
    several = [message() for _ in range(3)]
    commit(lane, *(accept_of(each) for each in several))
    assert carrier.keys == [each.key for each in several]


@pytest.mark.parametrize("verdict", [Verdict.TOO_LITTLE_CREDIT, Verdict.REPLAYED, Verdict.UNAVAILABLE])
def test_what_is_not_accepted_is_not_sent_and_the_next_is_called_for(
    lane: Lane, carrier: NotedCarrier, message: Messages, verdict: Verdict
) -> None:
    bad, good = accept_of(message(LONG)), accept_of(message())
    for accept in (bad, good):
        for each in accept.messages:
            lane.admit(accept, each)
    lane.prepare(Facts(), NOW, START)
    bad.verdict, good.verdict = verdict, Verdict.ACCEPTED
    lane.committed()
    lane.window.pump(NOW)
    assert carrier.parts == []
    assert lane.can_send(NOW)
    commit(lane)
    assert carrier.keys == [good.messages[0].key]
    assert not lane.can_send(NOW)
    assert lane.per_account == {1: 1}


def test_a_message_longer_than_the_window_goes_a_window_at_a_time(message: Messages) -> None:
    lane, carrier = Lane(1, UNHURRIED), NotedCarrier(capacity=2)
    lane.window.carrier = carrier
    commit(lane, accept_of(message(LONG)), accept_of(message()))
    sent = [part.segment for part in carrier.parts]
    assert sent == [0, 1]
    for _ in range(3):
        answer(lane, *carrier.take()[:1])
        commit(lane)
        assert lane.window.in_flight <= 2
        sent += [part.segment for part in carrier.parts[1:]] or [part.segment for part in carrier.parts]
    assert places(lane) <= 3


def test_a_window_that_shrinks_sends_nothing_until_it_has_room(
    lane: Lane, carrier: NotedCarrier, message: Messages
) -> None:
    commit(lane, *(accept_of(message()) for _ in range(6)))
    parts = carrier.take()
    carrier.capacity = 1
    answer(lane, *parts[:2])
    commit(lane)
    assert carrier.parts == []
    answer(lane, parts[2])
    commit(lane)
    assert len(carrier.parts) == 1


def test_an_outcome_that_comes_twice_counts_once(lane: Lane, carrier: NotedCarrier, message: Messages) -> None:
    commit(lane, accept_of(message()))
    (part,) = carrier.take()
    assert lane.window.answered(part)
    assert not lane.window.answered(part)
    commit(lane)
    assert lane.window.in_flight == 0


# --- pauses and links


def test_nothing_goes_while_the_lane_pauses_not_even_what_is_ready(
    lane: Lane, carrier: NotedCarrier, message: Messages
) -> None:
    accept = accept_of(message())
    lane.admit(accept, accept.messages[0])
    lane.prepare(Facts(), NOW, START)
    accept.verdict = Verdict.ACCEPTED
    lane.committed()
    lane.window.paused_until = NOW + 2
    lane.window.pump(NOW + 1)
    assert carrier.parts == []
    lane.window.pump(NOW + 2)
    assert len(carrier.parts) == 1


def test_a_lane_that_is_off_takes_back_what_was_ready_and_sends_it_first_when_it_is_on_again(
    lane: Lane, carrier: NotedCarrier, message: Messages
) -> None:
    first, second = accept_of(message()), accept_of(message())
    commit(lane, first)
    carrier.parts.clear()
    lane.admit(second, second.messages[0])
    lane.prepare(Facts(), NOW, START)
    second.verdict = Verdict.ACCEPTED
    lane.window.off = True
    lane.unready()
    lane.committed()
    third = accept_of(message())
    commit(lane, third)
    assert (carrier.parts, list(lane.window.ready), lane.window.capacity, lane.can_send(NOW)) == ([], [], 0, False)
    assert lane.window.pump(NOW) is None
    lane.window.off = False
    assert lane.can_send(NOW)
    commit(lane)
    assert [part.message for part in carrier.parts] == [second.messages[0], third.messages[0]]


@pytest.mark.parametrize("closes", ["drains", "cap"])
def test_a_lane_that_may_send_nothing_new_sends_the_rest_of_a_message(
    lane: Lane, carrier: NotedCarrier, message: Messages, closes: str
) -> None:
    long = message(content=LONG, segments=4)
    commit(lane, accept_of(long), accept_of(message()))
    first = carrier.take()
    assert [part.segment for part in first] == [0, 1, 2]
    lane.window.drains, lane.window.quota = (True, 99) if closes == "drains" else (False, 0)
    lane.unready()
    commit(lane, accept_of(message()))
    assert (carrier.take(), lane.can_send(NOW)) == ([], False)
    for part in first:
        assert lane.window.answered(part)
        part.owner.taken += 1
    assert lane.can_send(NOW)
    commit(lane)
    commit(lane)
    assert [(part.message, part.segment) for part in carrier.take()] == [(long, 3)]
    assert (len(lane), lane.can_send(NOW)) == (2, False)
    lane.window.drains, lane.window.quota = False, 1
    commit(lane)
    assert [part.message.segments for part in carrier.take()] == [1]
    assert lane.window.only_finishes == (lane.window.quota == 0)


@pytest.mark.parametrize("closes", ["drains", "cap"])
def test_a_lane_that_may_send_nothing_new_sends_the_rest_of_a_message_that_comes_from_its_row(
    lane: Lane, carrier: NotedCarrier, message: Messages, closes: str
) -> None:
    """The operator deferred it, and half a text is worse than none."""
    lane.window.drains, lane.window.quota = (True, 99) if closes == "drains" else (False, 0)
    whole, long = message(), message(content=LONG, segments=4)
    taken = frozenset({0, 1})
    lane.resume(LaneItem.of_queue(Queued(whole, attempted=False)))
    lane.resume(LaneItem.of_queue(Queued(long, attempted=False, answered=taken, taken=taken)))
    assert (len(lane), lane.ahead, lane.can_send(NOW)) == (2, 1, True)
    commit(lane)
    commit(lane)
    assert [(part.message, part.segment) for part in carrier.take()] == [(long, 2), (long, 3)]
    assert (len(lane), lane.ahead, lane.can_send(NOW)) == (1, 1, False)


def test_what_was_ready_when_the_link_went_goes_first_when_it_is_back_and_in_order(
    lane: Lane, carrier: NotedCarrier, message: Messages
) -> None:
    several = [message() for _ in range(6)]
    commit(lane, *(accept_of(each) for each in several))
    in_flight = carrier.take()
    answer(lane, in_flight[0])
    lane.prepare(Facts(), NOW, START)
    carrier.capacity = 0
    lane.committed()
    for part in in_flight[1:]:
        assert lane.window.answered(part)
        lane.take_back(part.owner, part.segment)
    lane.unready()
    assert [item.message.key for item in lane.items()][:1] != []
    carrier.capacity = 10
    commit(lane)
    assert carrier.keys == [each.key for each in several[1:]]


def test_what_a_commit_marks_does_not_pass_what_was_ready_when_the_link_was_gone_for_a_moment(
    lane: Lane, carrier: NotedCarrier, message: Messages
) -> None:
    first, second = message(), message()
    for each in (first, second):
        accept = accept_of(each, verdict=Verdict.ACCEPTED)
        lane.admit(accept, each)
        lane.prepare(Facts(accepts=[accept]), NOW, START)
        if each is second:
            lane.unready()
        lane.committed()
    lane.window.pump(NOW)
    assert carrier.parts == []
    commit(lane)
    assert carrier.keys == [first.key, second.key]


def test_parts_of_one_message_come_back_in_order(lane: Lane, carrier: NotedCarrier, message: Messages) -> None:
    commit(lane, accept_of(message(LONG)))
    for part in reversed(carrier.take()):
        lane.window.answered(part)
        lane.take_back(part.owner, part.segment)
    commit(lane)
    assert [part.segment for part in carrier.parts] == [0, 1, 2]
    assert {part.reference for part in carrier.parts} != {0}


def test_a_rate_says_when_the_next_may_go(carrier: NotedCarrier, message: Messages) -> None:
    lane = Lane(1, rate=2.0)
    lane.window.carrier = carrier
    commit(lane, *(accept_of(message()) for _ in range(3)))
    assert len(carrier.parts) == 1
    again = lane.window.pump(NOW)
    assert again == pytest.approx(NOW + 0.5)
    lane.window.pump(NOW + 0.5)
    assert len(carrier.parts) == 2


# --- order


def test_a_message_for_at_once_and_one_from_the_queue_take_turns(
    lane: Lane, carrier: NotedCarrier, message: Messages
) -> None:
    carrier.capacity = 4
    slow = [message(destination="slow") for _ in range(2)]
    fast = [message(destination="fast") for _ in range(2)]
    for each in slow:
        lane.resume(LaneItem.of_queue(Queued(each, False)))
    facts = commit(lane, *(accept_of(each) for each in fast))
    # The first commit finds those of the queue, and behind them what it accepts.
    assert {part.message.destination for part in carrier.parts[:2]} <= {"slow", "fast"}
    assert sorted(carrier.keys) == sorted(each.key for each in slow + fast)
    assert [key for key in carrier.keys if key in {each.key for each in slow}] == [each.key for each in slow]
    assert facts.sending == [(each.account, each.key) for each in slow]
    assert facts.marks == {attempted(1): fast[-1].key}


def test_a_row_is_marked_before_each_of_its_attempts(lane: Lane, carrier: NotedCarrier, message: Messages) -> None:
    one = message()
    lane.resume(LaneItem.of_queue(Queued(one, False)))
    assert commit(lane).sending == [(one.account, one.key)]
    (part,) = carrier.take()
    lane.window.answered(part)
    lane.take_back(part.owner, 0)
    facts = commit(lane)
    assert facts.sending == [(one.account, one.key)]
    assert facts.marks == {}


def test_only_parts_without_an_answer_are_sent(lane: Lane, carrier: NotedCarrier, message: Messages) -> None:
    one = message(LONG)
    lane.resume(LaneItem.of_queue(Queued(one, True, frozenset({1}), frozenset({1}))))
    commit(lane)
    assert [part.segment for part in carrier.parts] == [0, 2]


def test_what_may_have_been_sent_before_a_crash_goes_first(
    lane: Lane, carrier: NotedCarrier, message: Messages
) -> None:
    first, second, third = message(), message(), message()
    for queued in (Queued(first, True), Queued(third, False), Queued(second, True)):
        lane.resume(LaneItem.of_queue(queued, row=False))
    commit(lane)
    assert carrier.keys == [first.key, second.key, third.key]


# --- memory


def test_beyond_its_share_an_accounts_messages_wait_in_the_queue_behind_each_other(
    lane: Lane, message: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "FAST_MESSAGES_PER_ACCOUNT", 2)
    mine = [message() for _ in range(4)]
    others = message(account=2)
    facts = commit(lane, *(accept_of(each) for each in [*mine, others]))
    assert [each.queued for each in mine] == [False, False, True, True]
    assert not others.queued
    assert facts.marks[attempted(1)] == others.key
    assert lane.more
    late = message()
    answer(lane, *lane.window.flying.copy())
    commit(lane, accept_of(late))
    assert late.queued, "it may not overtake what is in the queue"


def test_the_fast_lane_has_an_end(lane: Lane, message: Messages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "FAST_MESSAGES", 2)
    several = [message(account=n) for n in range(4)]
    lane.window.carrier = None
    commit(lane, *(accept_of(each) for each in several))
    assert [each.queued for each in several] == [False, False, True, True]
    assert lane.per_account == {0: 1, 1: 1}


def test_an_item_counts_for_its_account_until_it_is_over_whether_or_not_it_has_a_row(
    lane: Lane, carrier: NotedCarrier, message: Messages
) -> None:
    commit(lane, accept_of(message()))
    (part,) = carrier.take()
    part.owner.row = True  # the commit after a minute gives it one
    lane.forget(part.owner)
    lane.forget(part.owner)
    assert lane.per_account == {}


def test_messages_whose_validity_is_over_are_handed_back(lane: Lane, message: Messages) -> None:
    late, good = message(expires=START), message(expires=START + 1)
    for each in (late, good):
        lane.resume(LaneItem.of_queue(Queued(each, False)))
    assert [item.message for item in lane.expire(START)] == [late]
    assert len(lane) == 1
    lane.resume(LaneItem.of_queue(Queued(late, False)))
    facts = Facts()
    assert [item.message for item in lane.prepare(facts, NOW, START)] == [late]
    assert facts.sending == [(good.account, good.key)]


def test_a_message_with_a_part_under_way_does_not_vacate_the_lane(
    lane: Lane, carrier: NotedCarrier, message: Messages
) -> None:
    one, other = message(LONG), message()
    commit(lane, accept_of(one))
    commit(lane, accept_of(other))
    parts = carrier.take()
    for part in parts[:2]:
        lane.window.answered(part)
        lane.take_back(part.owner, part.segment)
    carrier.capacity = 0
    commit(lane)
    assert [item.message for item in lane.vacate()] == [other]
    lane.window.answered(parts[2])
    lane.take_back(parts[2].owner, 2)
    commit(lane)
    assert [item.message for item in lane.vacate()] == [one]
    assert lane.idle
    assert lane.per_account == {}


@pytest.mark.usefixtures("large_commits")
def test_long_messages_to_one_number_have_references_of_their_own(
    lane: Lane, carrier: NotedCarrier, message: Messages
) -> None:
    carrier.capacity = 3 * 255
    commit(lane, *(accept_of(message(LONG)) for _ in range(255)))
    references = [part.reference for part in carrier.parts if part.segment == 0]
    assert sorted(references) == list(range(1, 256))
    for part in carrier.take():
        lane.window.answered(part)
        lane.forget(part.owner)
    assert not lane.cutter


def test_one_commit_makes_no_more_than_so_many_ready_and_calls_for_the_next(
    lane: Lane, carrier: NotedCarrier, message: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanes, "PARTS_A_COMMIT", 2)
    carrier.capacity = 10
    commit(lane, *(accept_of(message()) for _ in range(5)))
    assert (len(carrier.parts), lane.can_send(NOW)) == (2, True)
    commit(lane)
    commit(lane)
    assert (len(carrier.parts), lane.can_send(NOW)) == (5, False)


# --- concatenation references


@pytest.mark.usefixtures("large_commits")
def test_a_thousand_long_messages_to_one_number_never_share_a_reference(lane: Lane, message: Messages) -> None:
    carrier = NotedCarrier(capacity=1_000)
    lane.window.carrier = carrier
    messages = [message("x" * 200) for _ in range(1_000)]
    under_way: dict[int, int] = {}
    """By reference, the message that has it."""
    order: list[int] = []
    most = 0
    facts = commit(lane, *(accept_of(each) for each in messages))
    assert facts.marks == {attempted(1): messages[254].key}, "the others are not even marked"
    while carrier.parts:
        parts = carrier.take()
        for part in parts:
            assert part.message.key == under_way.setdefault(part.reference, part.message.key)
            assert 1 <= part.reference <= 255
            if part.segment == 0:
                order.append(part.message.key)
        most = max(most, len(under_way))
        for part in parts:
            lane.window.answered(part)
            if part.segment == 1:
                lane.forget(part.owner)
                del under_way[part.reference]
        commit(lane)
    assert order == [each.key for each in messages]
    assert most == 255
    assert lane.idle
    assert not lane.cutter


@pytest.mark.usefixtures("large_commits")
def test_others_pass_those_that_wait_for_a_reference_and_nobody_spins(lane: Lane, message: Messages) -> None:
    carrier = NotedCarrier(capacity=2_000)
    lane.window.carrier = carrier
    crowd = [message("x" * 200) for _ in range(300)]
    short, other, long = message("hi"), message("hi", destination="49170999"), message(LONG, destination="49170999")
    commit(lane, *(accept_of(each) for each in (*crowd, short, other, long)))
    sent = {part.message.key for part in carrier.take()}
    assert sent == {each.key for each in (*crowd[:255], other, long)}, "what is for the same number keeps its place"
    assert not lane.can_send(NOW)
    fail(lane, accept_of(message("x" * 200)))
    commit(lane)
    assert carrier.parts == []
    assert len(lane) == 46


@pytest.mark.usefixtures("large_commits")
def test_a_part_of_a_message_that_has_its_reference_goes_before_those_that_wait_for_one(
    lane: Lane, message: Messages
) -> None:
    carrier = NotedCarrier(capacity=2_000)
    lane.window.carrier = carrier
    crowd = [message("x" * 200) for _ in range(256)]
    commit(lane, *(accept_of(each) for each in crowd))
    parts = carrier.take()
    for part in parts:
        lane.window.answered(part)
        lane.take_back(part.owner, part.segment)
    commit(lane)
    assert len({part.message.key for part in carrier.parts}) == 255
    assert [(part.message.key, part.reference) for part in carrier.parts] == [
        (part.message.key, part.reference) for part in parts
    ]
