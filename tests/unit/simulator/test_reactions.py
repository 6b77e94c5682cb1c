"""What becomes of messages, on a clock that the tests wind."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.simulator.behaviour import Behaviour, Notation, ReceiptWording
from heliograph.simulator.reactions import Reaction, Reactions, SubmitRequest
from heliograph.smpp.constants import CommandStatus, MessageState

SHARES = st.sampled_from([0.0, 0.0, 0.3, 1.0])
TIMES = st.sampled_from([0.0, 0.0, 5.0, 700.0])
BEHAVIOURS = st.builds(
    Behaviour,
    latency_ms=TIMES,
    latency_jitter_ms=TIMES,
    withhold_share=SHARES,
    bodyless_share=SHARES,
    wrong_sequence_share=SHARES,
    report_congestion=st.booleans(),
    throttle_per_s=st.sampled_from([0.0, 1.0, 50.0]),
    queue_full_share=SHARES,
    queue_limit=st.sampled_from([0, 1, 5]),
    refuse_share=SHARES,
    undelivered_share=SHARES,
    receipt_delay_ms=TIMES,
    receipt_jitter_ms=TIMES,
    receipt_early_share=SHARES,
    receipt_early_ms=TIMES,
    receipt_late_share=SHARES,
    receipt_late_ms=TIMES,
    receipt_missing_share=SHARES,
    receipt_double_share=SHARES,
    receipt_text=st.sampled_from(ReceiptWording),
    cut_after=st.sampled_from([0, 0, 7]),
    cut_share=SHARES,
    half_open_after=st.sampled_from([0, 0, 9]),
    seed=st.integers(0, 1000),
)
DESTINATIONS = st.one_of(
    st.integers(9001, 9018).map(lambda code: f"44770090{code}"), st.sampled_from(["", "447700900100", "9001", "12"])
)
SUBMITS = st.lists(st.tuples(DESTINATIONS, st.integers(0, 3), st.sampled_from([0.0, 0.001, 0.3])), max_size=20)


def submit(destination: str = "447700900100", registered_delivery: int = 1, nth: int = 1) -> SubmitRequest:
    return SubmitRequest("acme", destination, registered_delivery, nth)


def plan_one(destination: str = "447700900100", **knobs: Any) -> Reaction:
    return Reactions(Behaviour(**{"seed": 1, **knobs})).decide(submit(destination), 100.0)


def plan_all(behaviour: Behaviour, submits: list[tuple[str, int, float]]) -> list[tuple[float, Reaction]]:
    reactions = Reactions(behaviour)
    now = 1000.0
    plans = []
    for nth, (destination, registered_delivery, pause) in enumerate(submits, 1):
        now += pause
        plans.append((now, reactions.decide(submit(destination, registered_delivery, nth), now)))
    return plans


@given(BEHAVIOURS, SUBMITS)
def test_a_plan_makes_sense_whatever_the_knobs(behaviour: Behaviour, submits: list[tuple[str, int, float]]) -> None:
    for (now, plan), (_, registered_delivery, _) in zip(plan_all(behaviour, submits), submits, strict=True):
        if plan.cut or plan.mute:
            assert not plan.accepted
        if not plan.accepted:
            assert plan.reports == ()
            assert plan.cut or plan.mute or (plan.answer is not None and plan.answer.status != 0)
            continue
        assert plan.state is not MessageState.ENROUTE
        assert plan.final_at >= now
        assert not plan.reports or registered_delivery
        assert len(plan.reports) <= 2
        if plan.answer is not None:
            assert plan.answer.at >= now
            assert plan.answer.status == 0
            earliest = min((report.at for report in plan.reports), default=plan.answer.at)
            assert earliest <= plan.answer.at if plan.early else earliest >= plan.answer.at
        assert all(report.at >= now for report in plan.reports)
        assert all(report.dialect is not ReceiptWording.MIXED for report in plan.reports)
        if plan.reports:
            assert plan.reports[-1].state is plan.state


@given(BEHAVIOURS, SUBMITS)
def test_a_seed_repeats_every_plan(behaviour: Behaviour, submits: list[tuple[str, int, float]]) -> None:
    assert plan_all(behaviour, submits) == plan_all(behaviour, submits)


def test_a_throttle_lets_its_rate_pass() -> None:
    reactions = Reactions(Behaviour(throttle_per_s=50.0))
    answers = [reactions.decide(submit(), 0.005 * tick).answer for tick in range(2000)]
    taken = sum(answer is not None and answer.status == 0 for answer in answers)
    assert 500 <= taken <= 511


def test_times() -> None:
    plan = plan_one(latency_ms=200.0, receipt_delay_ms=300.0)
    assert plan.answer is not None
    assert plan.answer.at == pytest.approx(100.2)
    assert plan.final_at == plan.reports[0].at == pytest.approx(100.5)


def test_jitter_spreads() -> None:
    reactions = Reactions(Behaviour(latency_ms=10.0, latency_jitter_ms=10.0, receipt_jitter_ms=100.0, seed=1))
    plans = [reactions.decide(submit(), 0.0) for _ in range(500)]
    answers = [plan.answer.at for plan in plans if plan.answer is not None]
    assert 0.01 <= min(answers) < 0.011
    assert 0.019 < max(answers) <= 0.02
    assert len({round(plan.final_at - at, 9) for plan, at in zip(plans, answers, strict=True)}) > 100


def test_an_early_receipt_goes_before_an_answer_that_waits_for_it() -> None:
    plan = plan_one(receipt_early_share=1.0, receipt_early_ms=50.0, latency_ms=20.0, receipt_delay_ms=9000.0)
    assert plan.answer is not None
    assert plan.early
    assert plan.reports[0].at == pytest.approx(100.0)
    assert plan.answer.at == pytest.approx(100.05)


def test_lateness_moves_the_receipt_and_not_the_state() -> None:
    plan = plan_one(receipt_late_share=1.0, receipt_late_ms=4000.0, receipt_delay_ms=1000.0)
    assert plan.final_at == pytest.approx(101.0)
    assert plan.reports[0].at == pytest.approx(105.0)


@pytest.mark.parametrize(
    ("registered_delivery", "undelivered", "reports"),
    [(0, 0.0, 0), (1, 0.0, 1), (2, 0.0, 0), (2, 1.0, 1), (0x10, 1.0, 0), (0x11, 0.0, 2)],
)
def test_receipts_are_sent_where_asked_for(registered_delivery: int, undelivered: float, reports: int) -> None:
    reactions = Reactions(Behaviour(undelivered_share=undelivered))
    assert len(reactions.decide(submit(registered_delivery=registered_delivery), 0.0).reports) == reports


@pytest.mark.parametrize("share", ["withhold", "bodyless", "cut", "queue_full", "refuse", "receipt_missing"])
def test_a_share_is_a_share(share: str) -> None:
    knobs: dict[str, Any] = {f"{share}_share": 0.25, "seed": 5}
    reactions = Reactions(Behaviour(**knobs))
    plain = Reactions(Behaviour()).decide(submit(), 0.0)
    odd = sum(reactions.decide(submit(), 0.0) != plain for _ in range(4000))
    assert 900 < odd < 1100


def test_the_queue_drains_as_messages_become_final() -> None:
    reactions = Reactions(Behaviour(queue_limit=1, receipt_delay_ms=1000.0))
    statuses = []
    for at in (0.0, 0.5, 1.0, 1.5):
        answer = reactions.decide(submit(registered_delivery=0), at).answer
        assert answer is not None
        statuses.append(answer.status)
    assert statuses == [0, CommandStatus.ESME_RMSGQFUL, 0, CommandStatus.ESME_RMSGQFUL]


def test_the_nth_submit_of_a_link() -> None:
    reactions = Reactions(Behaviour(cut_after=3))
    assert [reactions.decide(submit(nth=nth), 0.0).cut for nth in (1, 2, 3, 4)] == [False, False, True, True]
    reactions = Reactions(Behaviour(half_open_after=2))
    assert [reactions.decide(submit(nth=nth), 0.0).mute for nth in (1, 2)] == [False, True]


def test_magic_states_are_not_left_to_chance() -> None:
    plan = plan_one("447700909002", undelivered_share=1.0)
    assert (plan.state, plan.err) == (MessageState.EXPIRED, 2)


def test_a_magic_number_keeps_to_its_own_delay() -> None:
    assert plan_one("447700909013", receipt_delay_ms=1.0, latency_ms=100.0).final_at == pytest.approx(105.1)


def test_troubles_that_pass_are_remembered_by_number() -> None:
    reactions = Reactions(Behaviour())
    numbers = ["447700909008", "447700919008", "447700909008", "447700919008", "447700909008"]
    accepted = [reactions.decide(submit(number), 0.0).accepted for number in numbers]
    assert accepted == [False, False, True, True, False]


@pytest.mark.parametrize("answers", list(Notation))
def test_the_other_notation_is_another(answers: Notation) -> None:
    plan = plan_one("447700909017", answer_id=answers)
    [report] = plan.reports
    assert report.notation is report.tlv_notation
    assert report.notation.write(0xBEEF) != answers.write(0xBEEF)
