"""BackgroundThrottling is the share that reductions of the pace leave as it was; a limit is not."""

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


def test_reductions_that_leave_the_share_as_it_was_have_no_effect_and_are_taken_back() -> None:
    background = BackgroundThrottling()
    assert background.reduce(100.0, answers(90, 10)) is None
    for n in range(1, TRIALS):
        assert background.reduction_had_no_effect(answers(90, 10))
        assert background.reduce(100.0 - 10 * n, answers(90, 10)) is None
    assert background.reduce(60.0, answers(90, 10)) == 100.0
    assert background.share == pytest.approx(0.1)


def test_a_limit_is_no_background_throttling() -> None:
    background = BackgroundThrottling()
    background.reduce(100.0, answers(50, 50))
    assert not background.reduction_had_no_effect(answers(100, 0))
    background.stood(answers(100, 0), raised=False)
    assert not background.reductions
    assert not background.share


def test_an_operator_that_takes_less_than_half_means_the_pace() -> None:
    background = BackgroundThrottling()
    for n in range(6):
        assert background.reduce(100.0 - 10 * n, answers(10, 30)) is None


def test_the_pace_waits_while_a_reduction_has_too_few_answers() -> None:
    background = BackgroundThrottling()
    assert not background.is_trying(answers(0, 0))
    background.reduce(100.0, answers(90, 10))
    assert background.is_trying(answers(FEWEST - 1, 0))
    assert background.is_trying(answers(40, 0)), "four of forty would have been throttled: it may be luck"
    assert not background.is_trying(answers(60, 0))
    assert not background.is_trying(answers(24, 6)), "so many decide it at any time"


def test_a_suspected_raise_may_cost_what_a_try_can_afford_at_its_pace() -> None:
    background = BackgroundThrottling()
    assert background.is_exceeded(answers(100, 1), background.spare(50.0, 0.03)), "nothing is suspected"
    background.stood(answers(200, 2), raised=False)
    assert not background.is_exceeded(answers(100, 2), background.spare(50.0, 0.03))
    assert background.is_exceeded(answers(100, 3), background.spare(50.0, 0.03))
    assert background.is_exceeded(answers(10, 1), background.spare(5.0, 0.03)), "at five a second one is much"
    background.stood(answers(CLEAN, 0), raised=False)
    assert background.is_exceeded(answers(100, 1), background.spare(50.0, 0.03))


def found() -> BackgroundThrottling:
    background = BackgroundThrottling()
    for n in range(TRIALS + 1):
        background.reduce(100.0 - 10 * n, answers(90, 10))
    assert background.share
    return background


def test_no_more_than_the_background_is_news() -> None:
    background = found()
    assert not background.is_exceeded(answers(900, 100), 0.0)
    assert background.is_exceeded(answers(700, 300), 0.0)


def test_what_a_raised_pace_is_throttled_is_no_background_throttling() -> None:
    background = found()
    background.stood(answers(800, 200), raised=True)
    assert background.share == pytest.approx(0.1)
    background.stood(answers(880, 120), raised=False)
    assert 0.1 < background.share < 0.12


def test_the_background_is_forgotten_when_parts_enough_are_taken_without_any() -> None:
    few, enough = found(), found()
    few.stood(answers(39, 0), raised=False)
    assert few.share
    enough.stood(answers(41, 0), raised=False)
    assert not enough.share
