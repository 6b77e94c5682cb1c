"""The benchmark's own arithmetic: what counts as lost, as doubled, as a rate that holds."""

from array import array
from dataclasses import replace

import pytest
from bench.loop.figures import (
    NS,
    Counts,
    Journey,
    Refused,
    Request,
    Run,
    Window,
    alike,
    count,
    demand_sound,
    holds,
    journeys_of,
    latencies,
    middle,
    next_rate,
    percentiles,
    problems,
    rates,
    ratio,
    read_journeys,
    read_requests,
    table,
)

SOUND = Run("ours", 1000, 1000, 1000, 1000, 0.2, counts=Counts(accepted=6000))
ACCEPTED = Request(sent=1, answered=2, status=200, expected=True)
WHOLE = Journey(submitted=3, receipt=4, called_back=5, submits=1, callbacks=1)


def test_a_sound_run_is_reported() -> None:
    assert demand_sound(SOUND) is SOUND


@pytest.mark.parametrize(
    "counts",
    [
        Counts(accepted=10, never_submitted=1),
        Counts(accepted=10, never_called_back=1),
        Counts(accepted=10, submitted_twice=1),
        Counts(accepted=10, called_back_twice=1),
        Counts(accepted=10, submitted_unaccepted=1),
        Counts(accepted=0),
    ],
)
def test_a_run_with_a_message_lost_or_doubled_is_refused(counts: Counts) -> None:
    with pytest.raises(Refused):
        demand_sound(replace(SOUND, counts=counts))


def test_a_run_whose_books_are_wrong_is_refused() -> None:
    with pytest.raises(Refused, match="account 1"):
        demand_sound(replace(SOUND, audit=["account 1 has too much"]))


def test_callbacks_are_not_missed_where_none_were_asked_for() -> None:
    assert not problems(replace(SOUND, with_receipts=False, counts=Counts(accepted=10, never_called_back=10)))


def test_after_a_kill_messages_may_go_again_but_none_may_be_missing() -> None:
    killed = replace(SOUND, killed=True)
    assert not problems(replace(killed, counts=Counts(accepted=10, submitted_twice=3, called_back_twice=2)))
    assert problems(replace(killed, counts=Counts(accepted=10, never_submitted=1)))


@pytest.mark.parametrize(
    ("run", "held"),
    [
        (SOUND, True),
        (replace(SOUND, submitted=995.0), True),
        (replace(SOUND, accepted=980.0), False),
        (replace(SOUND, submitted=980.0), False),
        (replace(SOUND, called_back=980.0), False),
        (replace(SOUND, called_back=0.0, with_receipts=False), True),
        (replace(SOUND, drain_s=1.5), False),
        (replace(SOUND, refused_requests=1), False),
        (replace(SOUND, broken_requests=1), False),
    ],
)
def test_a_rate_holds_if_everything_keeps_up_with_it(run: Run, held: bool) -> None:
    assert holds(run) is held


def test_each_message_is_followed() -> None:
    refused = Request(sent=1, answered=2, status=503, expected=False)
    unanswered = Request(sent=1, answered=0, status=0, expected=False)
    lost = Journey(0, 0, 0, 0, 0)
    requests = [ACCEPTED, ACCEPTED, ACCEPTED, refused, unanswered]
    journeys = [WHOLE, lost, Journey(3, 4, 5, 2, 3), WHOLE, WHOLE]
    counts = count(requests, journeys, 1, numbered=True)
    assert counts == Counts(
        accepted=3,
        never_submitted=1,
        never_called_back=1,
        submitted_twice=1,
        called_back_twice=1,
        submitted_unaccepted=1,
    )


def test_a_request_may_be_about_several_messages() -> None:
    journeys = journeys_of([ACCEPTED, ACCEPTED], [WHOLE, WHOLE, WHOLE], 2)
    counts = count([ACCEPTED, ACCEPTED], journeys, 2, numbered=False)
    assert (counts.accepted, counts.never_submitted, counts.never_called_back) == (4, 1, 0)


def test_an_answer_with_the_wrong_body_accepts_nothing() -> None:
    assert not Request(sent=1, answered=2, status=200, expected=False).accepted


def test_rates_leave_out_the_start_of_the_load() -> None:
    window = Window(0, 3 * NS)
    early, late, after = (int(seconds * NS) for seconds in (0.5, 1.5, 3.5))
    requests = [Request(1, at, 200, expected=True) for at in (early, late, late, after)]
    journeys = [Journey(at, at, at, 1, 1) for at in (early, late, after, after)]
    assert rates(requests, journeys, 1, window) == (1.0, 0.5, 0.5)
    assert rates(requests, journeys, 1000, window)[0] == 1000.0


def test_latencies_are_told_in_milliseconds() -> None:
    requests = [Request(0, 1, 200, expected=True)] * 2
    journeys = [Journey(2_000_000, 3_000_000, 7_000_000, 1, 1), Journey(0, 0, 0, 0, 0)]
    assert latencies(requests, journeys, 1) == ((2.0, 2.0), (4.0, 4.0))


def test_percentiles() -> None:
    assert percentiles([]) is None
    assert percentiles(range(0, 100_000_000, 1_000_000)) == (50.0, 99.0)


def test_records_are_read_as_the_programs_write_them() -> None:
    request = array("Q", [10, 20, 200 | 1 << 32, 30, 0, 0]).tobytes()
    assert read_requests(request) == [Request(10, 20, 200, expected=True), Request(30, 0, 0, expected=False)]
    journey = array("Q", [1, 2, 3, 4 | 5 << 32 | 6 << 48]).tobytes()
    assert read_journeys(journey) == [Journey(1, 2, 3, submits=4, callbacks=6)]


def test_the_middle_of_runs_is_taken_figure_by_figure() -> None:
    runs = [
        replace(SOUND, accepted=1.0, drain_s=3.0, to_submit=(1.0, 9.0), cpu_us={"loop": 50.0}, refused_requests=2),
        replace(SOUND, accepted=2.0, drain_s=2.0, to_submit=(2.0, 8.0), cpu_us={"loop": 70.0}),
        replace(SOUND, accepted=9.0, drain_s=1.0, to_submit=None, cpu_us={"loop": 60.0}),
    ]
    found = middle(runs)
    assert (found.accepted, found.drain_s, found.to_submit, found.cpu) == (2.0, 2.0, (1.5, 8.5), 60.0)
    assert found.refused_requests == 2, "the worst, since none is allowed"


def test_ratio() -> None:
    assert ratio(6.0, 2.0) == 3.0
    assert ratio(6.0, 0.0) is None


def test_only_runs_that_commit_in_the_same_way_are_alike() -> None:
    by_loop = Run("heliograph", cpu_us={"loop": 46.0, "store": 4.0, "callbacks": 10.0})
    busier = Run("heliograph", cpu_us={"loop": 47.0, "store": 6.0, "callbacks": 10.0})
    by_thread = Run("heliograph", cpu_us={"loop": 37.0, "store": 18.0, "callbacks": 10.0})
    for_a_while = Run("heliograph", cpu_us={"loop": 50.0, "store": 9.0, "callbacks": 10.0})
    assert alike(by_loop, busier)
    assert alike(by_thread, by_thread)
    assert not alike(by_loop, by_thread)
    assert not alike(for_a_while, by_loop)
    assert not alike(by_thread, for_a_while)
    assert alike(Run("kannel", cpu_us={"bearerbox": 9.0}), Run("kannel"))


def test_a_search_closes_in_on_the_highest_rate_that_holds() -> None:
    low, high, rate = 0.0, 0.0, 100.0
    for _ in range(30):
        low, high = (rate, high) if rate <= 777 else (low, rate)
        following = next_rate(low, high, 0.05)
        if following is None:
            break
        rate = following
    assert low <= 777 < high <= low * 1.05


def test_a_table_is_in_line() -> None:
    assert table(("a", "bb"), [("1", "2"), ("333", "4")]).splitlines() == [
        "| a   | bb |",
        "|-----|----|",
        "| 1   | 2  |",
        "| 333 | 4  |",
    ]
