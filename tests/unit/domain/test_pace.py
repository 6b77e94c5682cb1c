"""The pace follows what an operator takes, whatever it counts by: the figures that operators and we care about."""

from collections.abc import Sequence
from itertools import product
from math import inf

import pytest

from heliograph.domain.pace.congestion import EASE_LEAST
from heliograph.domain.pace.pace import GROWN, LEAST, START, LearntPace, Pace
from heliograph.simulator.limiter import BucketLimiter, CalendarLimiter, SlidingLimiter
from tests.support.paced_link import HARDER_LIMITS, LIMITS, Free, Limit, Moving, PacedLink

LATENCIES_S = (0.0, 0.05, 0.5)

OFTEN = {(0.01, 0.05), (0.05, 0.0), (0.1, 0.5), (0.2, 0.05), (0.3, 0.05)}
"""Pairs of noise and latency that `make test` tries: each noise, and each latency, once at least."""


def noises(*shares: float, latencies_s: Sequence[float] = LATENCIES_S) -> pytest.MarkDecorator:
    """Each share of noise with each latency; those that are not `OFTEN` are extended."""
    pairs = product(shares, latencies_s)
    return pytest.mark.parametrize(
        ("share", "latency_s"),
        [pytest.param(*pair, marks=() if pair in OFTEN else pytest.mark.extended) for pair in pairs],
    )


STORMIER = {
    ("each second, 200", 0.05): 100,
    ("bucket, 50, burst 50", 0.05): 100,
    ("bucket, 50, burst 50", 0.5): 80,
}
"""Parts throttled in the first ten seconds, where these are more than 40: limits that let a second's parts through at
once. They are met once, because the pace is remembered."""

DEARER = {
    ("each second, 5", 0.0): 0.02,
    ("each second, 5", 0.05): 0.025,
    ("each second, 5", 0.5): 0.025,
    ("any second, 5", 0.5): 0.015,
}
"""Share throttled later, where it is more than a hundredth: one part in a hundred of five a second is few."""


@pytest.mark.parametrize("latency_s", LATENCIES_S)
@pytest.mark.parametrize("name", LIMITS)
def test_nearly_all_that_an_operator_takes_is_sent_and_hardly_more(name: str, latency_s: float) -> None:
    limit, takes = LIMITS[name]
    link = PacedLink(limit(), latency_s)
    link.run(120)
    assert link.goodput(10, 119) >= (0.93 if (name, latency_s) == ("each second, 5", 0.5) else 0.95) * takes
    assert link.share_throttled(20, 119) < DEARER.get((name, latency_s), 0.01)
    assert link.throttled(0, 10) < STORMIER.get((name, latency_s), 40)


@pytest.mark.parametrize("latency_s", LATENCIES_S)
@pytest.mark.parametrize("name", HARDER_LIMITS)
def test_so_it_is_with_limits_that_are_harder_to_find(name: str, latency_s: float) -> None:
    limit, takes = HARDER_LIMITS[name]
    settled, end = (120, 360) if "minute" in name else (20, 120)
    link = PacedLink(limit(), latency_s)
    link.run(end + 1)
    if (name, latency_s) == ("bucket, 50, counts what it refuses", 0.5):
        # what is under way when it shuts keeps it shut
        assert link.goodput(settled, end) >= 0.55 * takes
        return
    assert link.goodput(settled, end) >= 0.9 * takes
    assert link.share_throttled(settled, end) < 0.03


@pytest.mark.parametrize("latency_s", [0.0, 0.05])
def test_an_operator_that_minds_how_close_parts_are_is_borne_by_a_machine_that_is_late(latency_s: float) -> None:
    link = PacedLink(BucketLimiter(50, 1), latency_s, jitter_s=0.003)
    link.run(120)
    assert link.goodput(20, 119) >= 0.87 * 50
    assert link.share_throttled(20, 119) < 0.02


@pytest.mark.parametrize("latency_s", LATENCIES_S)
def test_a_limit_that_moves_is_found_again(latency_s: float) -> None:
    moving = Moving((0, SlidingLimiter(50, 1)), (40, SlidingLimiter(10, 1)), (100, SlidingLimiter(100, 1)))
    link = PacedLink(moving, latency_s)
    link.run(170)
    for since, until, takes in ((10, 40, 50), (60, 100, 10), (130, 169, 100)):
        assert link.goodput(since, until) >= 0.9 * takes
        assert link.share_throttled(since, until) < 0.03


def test_an_operator_that_minds_nothing_is_soon_not_held_back() -> None:
    link = PacedLink(Free(), 0.002, window=1_000)
    link.run_until_free(2)
    assert link.pace.rate == inf
    assert link.pace.is_free
    assert link.pace.take(link.now, 10_000) == 10_000
    assert link.pace.ready_at(link.now) == link.now


def test_nothing_is_held_back_where_there_is_less_to_send_than_a_pace_that_has_grown() -> None:
    link = PacedLink(Free(), 0.002, window=100, offered=8_000)
    link.run(2)
    assert link.pace.is_free


def test_limits_beyond_those_that_growth_looks_for_are_learnt() -> None:
    link = PacedLink(SlidingLimiter(8_000, 1), 0.002, window=100)
    link.run(20)
    assert link.goodput(10, 20) >= 0.95 * 8_000
    assert link.share_throttled(10, 20) < 0.01


def test_a_pace_that_is_free_stays_so_when_its_configuration_is_read_again() -> None:
    link = PacedLink(Free(), 0.002, window=1_000)
    link.run_until_free(2)
    link.pace.limit(link.now, 0)
    assert link.pace.is_free


def test_a_pace_that_is_free_hears_of_a_limit() -> None:
    link = PacedLink(Moving((0, Free()), (3, SlidingLimiter(50, 1))), 0.01, window=200)
    link.run(60)
    assert link.goodput(15, 60) >= 47
    assert link.share_throttled(15, 60) < 0.01
    # what was under way, and what nobody can have known of
    assert link.throttled(3, 15) < 2.5 * link.window


def test_a_limit_that_is_taken_away_is_forgotten() -> None:
    link = PacedLink(Moving((0, SlidingLimiter(20, 1)), (30, Free())), 0.01, window=2_000)
    link.run_until_free(54)
    assert link.pace.rate == inf


@pytest.mark.parametrize("lifted_s", [150, 160, 170])
def test_a_limit_of_a_part_a_second_that_is_lifted_is_soon_noticed(lifted_s: int) -> None:
    """The last raise before it was throttled: 120 parts would be two minutes."""
    link = PacedLink(Moving((0, SlidingLimiter(1, 1)), (lifted_s, Free())), 0.05)
    link.run(lifted_s)
    assert link.pace.rate < 1.1
    link.run(40)
    assert link.pace.rate > 2


def test_the_first_batch_at_a_fresh_operator_takes_half_as_long_again_as_it_must() -> None:
    """A window of 50 and answers after 100 ms allow a thousand parts in 2 s."""
    link = PacedLink(Free(), 0.1, window=50)
    assert link.batch(1_000) < 3.3
    link.now += 60
    assert link.batch(1_000) < 2.2


# --- a restart


def restarted(link: PacedLink, limit: Limit, configured: float = 0.0) -> PacedLink:
    again = PacedLink(limit, link.latency_s, window=link.window, configured=configured)
    learnt = link.pace.learnt()
    if learnt is not None:
        again.pace.resume(0.0, learnt)
    return again


def test_a_restart_forgets_no_pace_that_was_never_throttled() -> None:
    link = PacedLink(Free(), 0.1, window=50)
    link.batch(1_000)
    link = restarted(link, Free())
    assert link.batch(1_000) < 2.3


@pytest.mark.parametrize("configured", [0.0, 500.0])
@pytest.mark.parametrize("latency_s", LATENCIES_S)
def test_a_limit_is_met_once_and_not_after_each_restart(latency_s: float, configured: float) -> None:
    link = PacedLink(SlidingLimiter(100, 1), latency_s, configured=configured)
    link.run(30)
    link = restarted(link, SlidingLimiter(100, 1), configured)
    assert 80 <= link.pace.rate <= 95
    link.run(30)
    assert link.throttled(0, 10) <= (8 if latency_s < 0.5 else 16)
    assert link.goodput(0.0, 5.0) >= 80
    assert link.goodput(10, 29) >= 95


def test_a_limit_that_is_gone_after_a_restart_is_forgotten() -> None:
    link = PacedLink(SlidingLimiter(20, 1), 0.01, window=2_000)
    link.run(30)
    link = restarted(link, Free())
    link.run_until_free(25)
    assert link.pace.rate == inf
    assert link.pace.learnt() == LearntPace(GROWN, is_limit=False)


def test_nothing_is_remembered_of_an_operator_that_was_hardly_asked_or_takes_the_configured_rate() -> None:
    assert Pace().learnt() is None
    link = PacedLink(Free(), 0.05, configured=40)
    link.run(10)
    assert link.pace.learnt() is None
    link.pace.resume(link.now, LearntPace(1_000.0, is_limit=False))
    link.pace.resume(link.now, LearntPace(60.0, is_limit=True))
    assert link.pace.rate == 40


def test_nothing_is_learnt_while_nothing_is_asked() -> None:
    """An operator that takes all of the little that it is sent may take no more than that."""
    link = PacedLink(SlidingLimiter(50, 1), 0.05, offered=20)
    link.run(120)
    assert link.throttled(0, 120) == 0
    assert link.pace.rate <= 2 * START
    link.offered = inf
    link.run(30)
    assert link.goodput(130, 149) >= 47


def test_bursts_after_silence_find_the_pace_that_was_learnt() -> None:
    link = PacedLink(CalendarLimiter(50, 1), 0.05)
    link.run(40)
    learnt = link.pace.rate
    link.now += 3_600
    link.run(20)
    assert link.pace.rate == pytest.approx(learnt, rel=0.1)
    assert link.share_throttled(3_640, 3_660) < 0.01


# --- what is configured


@pytest.mark.parametrize("latency_s", LATENCIES_S)
def test_a_limit_that_the_operator_never_minds_is_kept_exactly(latency_s: float) -> None:
    link = PacedLink(BucketLimiter(1000, 200), latency_s, configured=40)
    link.run(30)
    assert link.throttled(0, 30) == 0
    assert link.goodput(5, 30) == pytest.approx(40, rel=0.03)


@pytest.mark.parametrize("configured", [51, 60, 500])
def test_a_limit_that_is_too_high_does_no_harm(configured: float) -> None:
    link = PacedLink(SlidingLimiter(50, 1), 0.05, configured=configured)
    link.run(60)
    assert link.goodput(10, 60) >= 47
    assert link.share_throttled(20, 60) < 0.01


def test_a_raised_pace_stays_within_the_limit() -> None:
    link = PacedLink(Moving((0, SlidingLimiter(5, 1)), (20, Free())), configured=30)
    rates: list[float] = []
    link.run(90, lambda: rates.append(link.pace.rate))
    assert max(rates) == 30
    assert link.pace.rate == 30
    assert link.pace.learnt_at is None


def test_another_limit_holds_at_once() -> None:
    pace = Pace(100)
    pace.limit(1.0, 10)
    assert pace.rate == 10
    pace.limit(2.0, 0)
    assert pace.rate == START
    pace.limit(3.0, 5)
    assert pace.rate == 5


# --- what is not about the pace


@noises(0.05, 0.2, latencies_s=[0.0, 0.05])
def test_full_queues_of_some_recipients_do_not_starve_the_others(share: float, latency_s: float) -> None:
    found = []
    for seed in range(3):
        link = PacedLink(BucketLimiter(400, 400), latency_s, at_random=share, seed=seed, window=100)
        link.run(60)
        found.append((link.goodput(30, 60), link.pace.background_share))
    goodput, noise = sorted(found)[1]
    assert goodput >= 100, "they sank to three a second"
    assert 0.5 * share < noise < 4 * share


def test_noise_hides_no_limit() -> None:
    link = PacedLink(SlidingLimiter(50, 1), 0.05, at_random=0.1)
    link.run(90)
    assert link.goodput(40, 90) >= 40
    assert link.share_throttled(40, 90) < 0.6


def test_noise_that_is_over_is_forgotten() -> None:
    link = PacedLink(Free(), 0.05, at_random=0.1)
    link.run(30)
    assert link.pace.background_share
    link.at_random = 0.0
    link.run(30)
    assert not link.pace.background_share


POORER = {(0.01, 0.0): 0.75, (0.01, 0.05): 0.75, (0.01, 0.5): 0.15, (0.05, 0.5): 0.6, (0.1, 0.5): 0.5, (0.3, 0.5): 0.6}
"""Shares of what an operator takes that it gets at least, by noise and latency, where they are less than eight tenths:
one part in a hundred is long in doubt, the more so where answers are late."""


@noises(0.01, 0.05, 0.1, 0.3)
def test_an_operator_that_throttles_at_random_besides_its_limit_gets_most_of_it(share: float, latency_s: float) -> None:
    link = PacedLink(SlidingLimiter(200, 1), latency_s, at_random=share)
    link.run(120)
    assert link.goodput(20, 119) >= POORER.get((share, latency_s), 0.8) * 200
    assert link.share_throttled(20, 119) < 1.4 * share + 0.05


@noises(0.05, 0.1, 0.3)
def test_an_operator_that_throttles_at_random_and_has_no_limit_gets_all_there_is(
    share: float, latency_s: float
) -> None:
    link = PacedLink(Free(), latency_s, at_random=share, offered=100, window=100 + int(800 * latency_s))
    link.run(100)
    assert link.goodput(50, 99) >= 90


# --- an operator that takes nothing


def test_an_operator_that_takes_nothing_for_a_while_is_not_stormed() -> None:
    link = PacedLink(Moving((0, SlidingLimiter(100, 1)), (20, BucketLimiter(0.001, 1, 20)), (140, Free())), 0.02)
    link.run(200)
    # pauses double up to two seconds
    assert link.throttled(20, 140) < 90
    assert link.goodput(160, 200) >= 90, "the door that opened is no reason to go slow"


def test_one_throttle_answer_to_a_lonely_part_does_not_stop_a_campaign() -> None:
    pace = Pace()
    assert pace.take(0.0, 1) == 1
    pace.throttled(0.0, 0.05)
    assert LEAST < pace.rate < START
    link = PacedLink(Free(), 0.01, window=1_000)
    link.pace = pace
    link.now = 1.0
    link.run(3)
    assert pace.rate > 1_000


def test_a_probe_that_is_lost_with_its_link_is_sent_again() -> None:
    pace = Pace()
    assert pace.take(0.0, 1) == 1
    pace.throttled(0.0, 0.1)
    at = pace.ready_at(0.1)
    assert pace.take(at, 10) == 1, "one part asks"
    assert pace.take(at + 1, 10) == 0
    again = pace.ready_at(at + 1)
    assert at + 1 < again < at + 20
    assert pace.take(again, 10) == 1


# --- congestion


def congest(pace: Pace, percent: int, seconds: float, start: float, per_s: int = 100) -> float:
    """The operator takes so many parts a second, and says with each how loaded it is; returns the time then."""
    for n in range(int(seconds * per_s)):
        now = start + n / per_s
        pace.take(now, 1)
        pace.taken(now - 0.01, now)
        pace.congested(now, percent)
    return start + seconds


def test_an_operator_near_congestion_is_not_sent_more_and_a_congested_one_gently_less() -> None:
    pace = Pace(100.0)
    now = congest(pace, 79, 10, 0)
    assert pace.rate == 100.0
    now = congest(pace, 99, 4, now)
    assert 92.0 <= pace.rate < 98.5, "about two percent a second"
    eased = pace.rate
    now = congest(pace, 85, 30, now)
    assert pace.rate == eased, "not raised while it nears congestion"
    congest(pace, 0, 60, now)
    assert pace.rate == 100.0


def test_congestion_that_others_cause_does_not_starve_us() -> None:
    pace = Pace(100.0)
    congest(pace, 99, 300, 0)
    assert 45.0 <= pace.rate <= 51.0
    idle = Pace(100.0)
    congest(idle, 99, 100, 0, per_s=2)
    assert idle.rate >= EASE_LEAST, "who sends little congests nobody"


def test_a_pace_that_grows_stops_when_the_operator_is_congested() -> None:
    pace = Pace()
    congest(pace, 95, 5, 0)
    assert EASE_LEAST <= pace.rate <= START
