"""The tally: what a commit's facts add to the numbers."""

from typing import Any

from heliograph.app.configuration import Cost
from heliograph.app.facts import (
    Accept,
    Attempt,
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    EarlyReceipt,
    Facts,
    InboundMessage,
    InboundPart,
    Message,
    MessageEnd,
    PartSet,
    Resend,
    Submission,
    Verdict,
)
from heliograph.app.observing.counters import CODES, Histogram, LaneCounters, MessageCounters
from heliograph.app.observing.margin_counter import MarginCounter
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.money.costs import CostTable

NOW = 1_800_000_000_000
THROTTLED = 0x58
NO_ANSWER = -1


def message(key: int = 1) -> Message:
    return Message(1, "4917012345678", "Acme", 0, "x", 1, 7, NOW, NOW + 1, 1, 1, key=key)


def accept(verdict: Verdict = Verdict.ACCEPTED, *, at: int = NOW, count: int = 1, scheduled: bool = False) -> Accept:
    messages = [message(n + 1) for n in range(count)]
    return Accept(1, messages, 7 * count, at, scheduled=scheduled, batch=count > 1, verdict=verdict)


def tallied(facts: Facts, *, seconds: float = 0.002) -> MessageCounters:
    counters = MessageCounters()
    counters.committed(facts, NOW, seconds)
    return counters


def filled(histogram: Histogram) -> dict[int | None, int]:
    """The classes that hold something, by their upper bound; None is the last."""
    return {bound: number for bound, number in zip((*histogram.bounds, None), histogram.classes, strict=True) if number}


def test_accepted_messages_are_counted_one_by_one_and_requests_once() -> None:
    counters = tallied(Facts(accepts=[accept(), accept(count=3, at=NOW - 30), accept(scheduled=True, count=2)]))
    assert (counters.immediate, counters.scheduled, counters.charged) == (4, 2, 42)
    assert filled(counters.accept_ms) == {1: 2, 50: 1}
    assert counters.accept_ms.total == 30


def test_refused_requests_charge_nothing_and_have_no_latency() -> None:
    refused = [accept(Verdict.TOO_LITTLE_CREDIT), accept(Verdict.TOO_LITTLE_CREDIT), accept(Verdict.REPLAYED)]
    counters = tallied(Facts(accepts=refused))
    assert (counters.immediate, counters.charged) == (0, 0)
    assert counters.verdicts == {Verdict.TOO_LITTLE_CREDIT: 2, Verdict.REPLAYED: 1}
    assert filled(counters.accept_ms) == {}


def test_a_clock_that_was_set_back_makes_no_negative_time() -> None:
    answer = Submission(1, 1, 0, 1, "id", 0, NOW, waited=-50, took=3)
    counters = tallied(Facts(accepts=[accept(at=NOW + 500)], submissions=[answer]))
    assert (filled(counters.accept_ms), counters.accept_ms.total) == ({1: 1}, 0)
    assert (filled(counters.lanes[1].waited), counters.lanes[1].waited.total) == ({10: 1}, 0)


def test_parts_are_counted_by_connector_and_outcome() -> None:
    counters = tallied(
        Facts(
            submissions=[
                Submission(1, 1, 0, 1, "a", 0, NOW, 20, 4),
                Submission(1, 1, 1, 1, "b", 0, NOW, 20, 5),
                Submission(1, 2, 0, 2, "c", 0, NOW, 0, 80),
                Submission(1, 3, 0, 1, "", 0x0B, NOW, 1, 1),
            ],
            attempts=[Attempt(1, 5, 0, 1, NO_ANSWER, NOW)],
            throttles=[Attempt(1, 4, 0, 1, THROTTLED, NOW)],
        )
    )
    one, two = counters.lanes[1], counters.lanes[2]
    assert (one.messages, one.accepted, one.refused, one.deferred, one.unknown, one.throttled) == (1, 2, 1, 1, 1, 1)
    assert (two.messages, two.accepted, two.refused) == (1, 1, 0)
    assert one.codes == {0x0B: 1, THROTTLED: 1}
    assert filled(one.took) == {1: 1, 5: 2}
    assert filled(two.took) == {100: 1}
    assert one.waited.total == 41


def test_a_part_that_is_given_up_after_silence_is_no_refusal() -> None:
    counters = tallied(Facts(submissions=[Submission(1, 1, 0, 1, "", NO_ANSWER, NOW)]))
    assert counters.lanes[1].refused == 0
    assert counters.lanes[1].codes == {}


def test_an_operator_cannot_make_up_labels_without_end() -> None:
    attempts = [Attempt(1, 1, 0, 1, 0x400 + n, NOW) for n in range(CODES + 25)]
    codes = tallied(Facts(attempts=attempts)).lanes[1].codes
    assert len(codes) == CODES + 1
    assert codes[-1] == 25


def test_finals_tell_what_left_from_what_never_did() -> None:
    counters = tallied(
        Facts(
            finals=[
                MessageEnd(1, 1, Delivery.DELIVRD, "000", NOW, owed=True, waited=700),
                MessageEnd(1, 2, Delivery.UNKNOWN, "001", NOW, owed=True),
                MessageEnd(1, 3, Delivery.REJECTD, "011", NOW, owed=True, failed=True, refund=7),
            ]
        )
    )
    assert counters.finals == {Delivery.DELIVRD: 1, Delivery.UNKNOWN: 1}
    assert counters.failures == {Delivery.REJECTD: 1}
    assert counters.refunded == 7
    assert filled(counters.receipt_ms) == {1000: 1}


def test_callbacks_and_their_retries() -> None:
    counters = tallied(
        Facts(
            callbacks=[
                CallbackDone(1, 1, CallbackEnd.DELIVERED, 200, 1, NOW, 90),
                CallbackDone(1, 2, CallbackEnd.FAILED, 500, 9, NOW, 86_400_000),
            ],
            callback_retries=[
                CallbackRetry(1, 3, NOW, 1, b"x", "HTTP 500", NOW),
                CallbackRetry(1, 4, NOW, 0, b"", "", NOW),  # only moved to its row
                CallbackRetry(1, 5, NOW, 1, b"x", "", NOW, claimed=True),  # in the air
            ],
            early=[EarlyReceipt(1, "x", "", Delivery.DELIVRD, "000", NOW)],
            early_matched=[(1, "y"), (1, "z")],
        )
    )
    assert counters.callbacks == {CallbackEnd.DELIVERED: 1, CallbackEnd.FAILED: 1}
    assert filled(counters.callback_ms) == {100: 1}
    assert counters.callback_retries == 1
    assert (counters.early, counters.late_matches) == (1, 2)


def test_each_commit_is_measured() -> None:
    counters = MessageCounters()
    for seconds in (0.0002, 0.004, 9.0):
        counters.committed(Facts(accepts=[accept()], attempts=[Attempt(1, 1, 0, 1, 1, NOW)]), NOW, seconds)
    assert filled(counters.commit_us) == {250: 1, 5_000: 1, None: 1}
    assert filled(counters.commit_facts) == {2: 3}


def test_a_value_on_a_bound_belongs_below_it() -> None:
    histogram = Histogram((1, 5))
    for value in (-3, 0, 1, 2, 5, 6):
        histogram.observe(value)
    assert histogram.classes == [3, 2, 1]
    assert histogram.total == 14


def test_tallies_of_one_name_add_up() -> None:
    one, two = LaneCounters(), LaneCounters()
    two.throttled = 1
    for each, code in ((one, 8), (two, 8), (two, THROTTLED)):
        each.accepted += 1
        each.note(code)
        each.took.observe(3)
    one.add(two)
    assert (one.accepted, one.throttled) == (3, 1)
    assert one.codes == {8: 2, THROTTLED: 1}
    assert (sum(one.took.classes), one.took.total) == (3, 9)


def inbound(connector: int, account: int = 1, **fields: Any) -> InboundMessage:
    return InboundMessage(account, connector, "491701", "3388", "Hello", b"Hello", 0, NOW - 20, **fields)


def test_messages_from_phones_by_connector() -> None:
    joined = inbound(1, complete=False, wish=Wish.SUSPECTED)
    whole = [inbound(1, digest=7, wish=Wish.STOP), inbound(1, account=0, digest=8), inbound(2, digest=9)]
    part = InboundPart(PartSet(2, "491701", "3388", 5, 3), 1, 0, True, b"x", NOW)
    counters = tallied(Facts(inbound=[joined, *whole], inbound_parts=[part]))
    first, second = counters.inbound[1], counters.inbound[2]
    assert (first.routed, first.unrouted, first.incomplete, first.parts) == (2, 1, 1, 0)
    assert (second.routed, second.unrouted, second.incomplete, second.parts) == (1, 0, 0, 1)
    assert counters.wishes == {Wish.SUSPECTED: 1, Wish.STOP: 1, Wish.NONE: 2}
    assert filled(counters.inbound_ms) == {25: 3}, "parts wait for each other: that is no latency of ours"
    first.add(second)
    assert (first.routed, first.unrouted, first.incomplete, first.parts) == (3, 1, 1, 1)


def test_margins_are_prices_less_costs_of_the_segments_that_an_operator_took() -> None:
    counter, long = MarginCounter(), message()
    long.price, long.segments = 140, 2
    facts = Facts(
        submissions=[
            Submission(1, 1, 0, 4, "a", 0, NOW, message=long),
            Submission(1, 1, 1, 4, "b", 0, NOW, message=long),
            Submission(1, 2, 0, 5, "c", 0, NOW, message=message()),
            Submission(1, 3, 0, 4, "", 8, NOW, message=message()),
        ]
    )
    counter.committed(facts, NOW, 0.001)
    assert (counter.earned, counter.unknown) == ({}, {})
    table = CostTable([Cost(4, "49", "", 50, 10)])
    counter.costs = lambda: table
    counter.committed(facts, NOW, 0.001)
    assert (counter.earned, counter.unknown) == ({4: 20}, {5: 1})
    counter.committed(Facts(resends=[Resend(1, 1, 4, 5, Delivery.UNDELIV, "011", NOW, NOW, NOW, long)]), NOW, 0.001)
    assert counter.earned == {4: -120}
