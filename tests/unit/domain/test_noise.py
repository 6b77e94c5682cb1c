"""BackgroundThrottling is what cuts of the pace leave as it was; a limit is not."""

import pytest

from heliograph.domain.pace.background_throttling import CLEAN, FEWEST, TRIALS, BackgroundThrottling
from heliograph.domain.pace.goodput import Goodput


def answers(took: int, refused: int) -> Goodput:
    goodput = Goodput()
    for n in range(took):
        goodput.take(n / 100)
    for n in range(refused):
        goodput.refuse(n / 100)
    return goodput


def test_cuts_that_leave_the_share_as_it_was_are_in_vain_and_taken_back() -> None:
    noise = BackgroundThrottling()
    assert noise.cut(100.0, answers(90, 10)) is None
    for n in range(1, TRIALS):
        assert noise.cut_had_no_effect(answers(90, 10))
        assert noise.cut(100.0 - 10 * n, answers(90, 10)) is None
    assert noise.cut(60.0, answers(90, 10)) == 100.0
    assert noise.share == pytest.approx(0.1)


def test_a_limit_is_no_noise() -> None:
    noise = BackgroundThrottling()
    noise.cut(100.0, answers(50, 50))
    assert not noise.cut_had_no_effect(answers(100, 0))
    noise.stood(answers(100, 0), raised=False)
    assert not noise.cuts
    assert not noise.share


def test_an_operator_that_takes_less_than_half_means_the_pace() -> None:
    noise = BackgroundThrottling()
    for n in range(6):
        assert noise.cut(100.0 - 10 * n, answers(10, 30)) is None


def test_the_pace_waits_while_a_cut_has_too_few_answers() -> None:
    noise = BackgroundThrottling()
    assert not noise.is_trying(answers(0, 0))
    noise.cut(100.0, answers(90, 10))
    assert noise.is_trying(answers(FEWEST - 1, 0))
    assert noise.is_trying(answers(40, 0)), "four of forty would have been throttled: it may be luck"
    assert not noise.is_trying(answers(60, 0))
    assert not noise.is_trying(answers(24, 6)), "so many decide it at any time"


def test_a_suspected_raise_may_cost_what_a_try_can_afford_at_its_pace() -> None:
    noise = BackgroundThrottling()
    assert noise.is_exceeded(answers(100, 1), noise.spare(50.0, 0.03)), "nothing is suspected"
    noise.stood(answers(200, 2), raised=False)
    assert not noise.is_exceeded(answers(100, 2), noise.spare(50.0, 0.03))
    assert noise.is_exceeded(answers(100, 3), noise.spare(50.0, 0.03))
    assert noise.is_exceeded(answers(10, 1), noise.spare(5.0, 0.03)), "at five a second one is much"
    noise.stood(answers(CLEAN, 0), raised=False)
    assert noise.is_exceeded(answers(100, 1), noise.spare(50.0, 0.03))


def found() -> BackgroundThrottling:
    noise = BackgroundThrottling()
    for n in range(TRIALS + 1):
        noise.cut(100.0 - 10 * n, answers(90, 10))
    assert noise.share
    return noise


def test_no_more_than_the_noise_is_news() -> None:
    noise = found()
    assert not noise.is_exceeded(answers(900, 100), 0.0)
    assert noise.is_exceeded(answers(700, 300), 0.0)


def test_what_a_raised_pace_is_throttled_is_no_noise() -> None:
    noise = found()
    noise.stood(answers(800, 200), raised=True)
    assert noise.share == pytest.approx(0.1)
    noise.stood(answers(880, 120), raised=False)
    assert 0.1 < noise.share < 0.12


def test_noise_is_forgotten_when_parts_enough_are_taken_without_any() -> None:
    few, enough = found(), found()
    few.stood(answers(39, 0), raised=False)
    assert few.share
    enough.stood(answers(41, 0), raised=False)
    assert not enough.share
