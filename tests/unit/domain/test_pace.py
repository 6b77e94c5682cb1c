"""The pace follows what an operator takes: the figures that operators and we care about."""

from dataclasses import dataclass, field
from math import inf

import pytest

from heliograph.domain.pace import AGAIN_S, CUT, DEAF_S, FREE_FACTOR, GUESS, QUIET_S, VAIN_CUTS, Pace
from heliograph.domain.throttle import TokenBucket

STEP_S = 0.005


@dataclass
class Operator:
    """Takes so many parts a second, a fifth of a second's worth at once, and answers after `latency` seconds."""

    takes: float
    latency: float = 0.05
    window: int = 20
    accepted: list[float] = field(default_factory=list)
    throttled: list[float] = field(default_factory=list)
    _seen: int = 0
    rates: list[float] = field(default_factory=list)
    refuses_every: int = 0
    """Besides, it puts off every so-manieth part, whatever the pace."""

    def run(self, pace: Pace, seconds: float, offered: float, start: float = 0.0, pause: float = 0.2) -> None:
        bucket = TokenBucket(self.takes, max(1.0, self.takes / 5))
        in_flight: list[tuple[float, bool]] = []
        waiting, paused_until, now = 0.0, start, start
        while now < start + seconds:
            waiting += offered * STEP_S
            while in_flight and in_flight[0][0] <= now:
                if in_flight.pop(0)[1]:
                    self.accepted.append(now)
                    pace.taken(now)
                else:
                    self.throttled.append(now)
                    waiting += 1
                    if pace.throttled(now):
                        paused_until = now + pause
            room = min(self.window - len(in_flight), int(waiting))
            if now >= paused_until and room > 0:
                granted = pace.take(now, room)
                waiting -= granted
                for _ in range(granted):
                    self._seen += 1
                    whim = self.refuses_every > 0 and self._seen % self.refuses_every == 0
                    in_flight.append((now + self.latency, not whim and bucket.take(now) == 1))
            self.rates.append(pace.rate)
            now += STEP_S

    def settled(self, since: float, until: float) -> tuple[float, float]:
        """Parts taken a second, and the share of throttle answers."""
        taken = sum(since <= at < until for at in self.accepted)
        refused = sum(since <= at < until for at in self.throttled)
        return taken / (until - since), refused / max(1, taken + refused)


@pytest.mark.parametrize(("limit", "window", "latency"), [(0, 20, 0.05), (0, 100, 0.1), (100, 20, 0.05), (0, 50, 0.02)])
def test_an_operator_that_takes_fifty_gets_nearly_fifty_and_hardly_a_throttle(
    limit: float, window: int, latency: float
) -> None:
    operator = Operator(50, latency, window)
    operator.run(Pace(limit), 240, offered=200)
    goodput, throttled = operator.settled(60, 240)
    assert goodput >= 48
    assert throttled < 0.01


def test_a_limit_that_the_operator_never_minds_is_kept_exactly() -> None:
    operator = Operator(1000)
    operator.run(Pace(40), 30, offered=200)
    assert operator.throttled == []
    assert operator.settled(5, 30)[0] == pytest.approx(40, rel=0.02)


def test_an_operator_that_minds_nothing_is_not_held_back() -> None:
    pace = Pace()
    assert pace.rate == inf
    assert pace.take(0.0, 10_000) == 10_000
    assert pace.ready_at(1.0) == 1.0


def test_a_pace_that_may_grow_again_does() -> None:
    pace = Pace()
    operator = Operator(50)
    operator.run(pace, 60, offered=500)
    operator.takes = 200
    operator.run(pace, 120, offered=500, start=60)
    goodput, throttled = operator.settled(120, 180)
    assert goodput >= 180
    assert throttled < 0.01


def test_long_silence_frees_a_pace_without_a_limit() -> None:
    pace = Pace()
    pace.taken(0.0, 10)
    pace.throttled(0.5)
    assert pace.rate == pytest.approx(10 / 0.5 * CUT)
    now = 0.5
    for _ in range(30):
        now += QUIET_S
        pace.take(now, 1)
    assert pace.rate == inf
    assert FREE_FACTOR > 1


def test_silence_never_raises_above_the_limit() -> None:
    pace = Pace(30)
    pace.throttled(1.0)
    assert pace.rate == pytest.approx(GUESS * CUT)
    now = 1.0
    for _ in range(60):
        now += QUIET_S
        pace.take(now, 1)
        assert pace.rate <= 30
    assert pace.rate == 30


def test_however_long_the_silence_a_raise_is_a_doubling_at_most() -> None:
    pace = Pace(1_000_000)
    pace.throttled(1.0)
    now = 1.0
    while pace.rate < 1_000_000:
        now += QUIET_S
        before = pace.rate
        pace.take(now, 1)
        assert before < pace.rate <= 2 * before


def test_answers_to_what_was_sent_before_the_cut_cut_once() -> None:
    pace = Pace(100)
    pace.taken(0.0, 100)
    for at in (1.0, 1.1, 1.2, 1.3):
        pace.throttled(at)
    assert pace.rate == pytest.approx(97)
    assert pace.throttles == 4


def test_another_limit_holds_at_once() -> None:
    pace = Pace(100)
    pace.limit(1.0, 10)
    assert pace.rate == 10
    pace.limit(2.0, 0)
    assert pace.rate == inf
    pace.limit(3.0, 5)
    assert pace.rate == 5
    assert pace.take(3.0, 100) == 0, "what has just been sent without a limit counts"


@pytest.mark.parametrize("every", [20, 100])
def test_an_operator_that_puts_off_some_whatever_the_pace_is_not_starved(every: int) -> None:
    operator = Operator(10_000, refuses_every=every)
    operator.run(Pace(), 120, offered=100)
    assert operator.settled(30, 120)[0] >= 90


def test_an_operator_that_put_off_some_whatever_the_pace_and_then_most_is_heard_again() -> None:
    pace = Pace(100)
    minded = []
    for second in range(VAIN_CUTS + 1):
        pace.taken(second, 100)
        minded.append(pace.throttled(second))
    assert minded == [True] * VAIN_CUTS + [False], "these few are not about the pace"

    at = VAIN_CUTS + 1.0
    assert [pace.throttled(at) for _ in range(100)][-1], "so many are"

    at += AGAIN_S
    assert at < DEAF_S
    pace.taken(at, 100)
    assert pace.throttled(at), "and from then on few may be again"


def test_an_operator_that_takes_nothing_for_a_while_is_not_stormed() -> None:
    pace = Pace()
    operator = Operator(100)
    operator.run(pace, 20, offered=80)
    operator.takes = 1
    operator.run(pace, 40, offered=80, start=20)
    assert len([at for at in operator.throttled if at > 20]) < 40 * 20


# --- congestion


def congest(pace: Pace, percent: int, seconds: float, start: float, per_s: int = 100) -> float:
    """The operator takes so many parts a second, and says with each how loaded it is; returns the time then."""
    for n in range(int(seconds * per_s)):
        now = start + n / per_s
        pace.taken(now)
        pace.congested(now, percent)
    return start + seconds


def test_an_operator_near_congestion_is_not_sent_more_and_a_congested_one_gently_less() -> None:
    pace = Pace(100.0)
    now = congest(pace, 79, 10, 0)
    assert pace.rate == 100.0
    now = congest(pace, 99, 3, now)
    assert 93.0 <= pace.rate < 98.5, "about two percent a second"
    eased = pace.rate
    now = congest(pace, 85, 10, now)
    pace.take(now, 1)
    assert pace.rate == eased, "not raised while it nears congestion"
    for n in range(60):
        pace.take(now + n, 1)
    assert pace.rate == 100.0


def test_congestion_that_others_cause_does_not_starve_us() -> None:
    pace = Pace()
    congest(pace, 99, 300, 0)
    assert 45.0 <= pace.rate <= 51.0
    idle = Pace()
    congest(idle, 99, 100, 0, per_s=1)
    assert idle.rate >= 10.0, "who sends little congests nobody"


def test_without_a_limit_congestion_sets_one_at_what_is_taken() -> None:
    pace = Pace()
    congest(pace, 95, 2.5, 0)
    assert 90 <= pace.rate <= 100


def test_the_first_throttle_answer_finds_the_pace_at_once() -> None:
    pace = Pace()
    operator = Operator(takes=50.0)
    operator.run(pace, 3, offered=200)
    goodput, _ = operator.settled(1.5, 3)
    assert goodput >= 46, "what it let through at once says what it takes"


def test_one_throttle_answer_to_a_lonely_part_does_not_stop_a_campaign() -> None:
    pace = Pace()
    pace.throttled(0.0)
    assert pace.rate == pytest.approx(GUESS * CUT)
