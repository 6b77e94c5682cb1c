import pytest

from heliograph.smpp.constants import CommandStatus
from heliograph.smpp.link import Backoff


@pytest.mark.parametrize("luck", [0.0, 0.5, 0.999])
def test_pauses_begin_within_a_second_and_double_up_to_half_a_minute(luck: float) -> None:
    backoff = Backoff()

    pauses = [backoff.pause(luck) for _ in range(100)]

    assert 0 < pauses[0] <= 1
    assert pauses[1] == pytest.approx(2 * pauses[0])
    assert pauses == sorted(pauses)
    assert 15 <= pauses[-1] <= 30


def test_luck_spreads_links_that_fell_together() -> None:
    assert Backoff().pause(0.0) < Backoff().pause(0.5) < Backoff().pause(0.999)


def test_a_link_that_stood_starts_the_pauses_again() -> None:
    backoff = Backoff()
    first = backoff.pause(0.5)
    before = backoff.pause(0.5)

    assert backoff.stood(before + 0.1, worked=False)

    assert backoff.pause(0.5) == first


def test_a_link_that_worked_starts_the_pauses_again_however_soon_it_fell() -> None:
    backoff = Backoff()
    first = backoff.pause(0.5)

    pauses = []
    for _ in range(20):
        assert backoff.stood(0.01, worked=True)
        pauses.append(backoff.pause(0.5))

    assert pauses == [first] * 20


def test_a_link_that_falls_as_soon_as_it_is_bound_is_bound_more_and_more_seldom() -> None:
    backoff = Backoff()
    assert backoff.stood(0.01, worked=False), "the first one was not waited for"

    pauses = [backoff.pause(0.5)]
    for _ in range(20):
        assert not backoff.stood(0.01, worked=False)
        pauses.append(backoff.pause(0.5))

    assert pauses == sorted(pauses)
    assert pauses[-1] > 20


@pytest.mark.parametrize("status", [CommandStatus.ESME_RINVPASWD, CommandStatus.ESME_RINVSYSID])
def test_wrong_credentials_do_not_hammer(status: int) -> None:
    assert Backoff().pause_after_refusal(status, 0.0) >= 300


@pytest.mark.parametrize("status", [CommandStatus.ESME_RBINDFAIL, CommandStatus.ESME_RSYSERR, 0x0431])
def test_a_passing_refusal_is_tried_again_soon(status: int) -> None:
    assert Backoff().pause_after_refusal(status, 0.999) <= 1


def test_wrong_credentials_are_a_failure_like_any_other_to_the_pauses_after_them() -> None:
    backoff = Backoff()

    backoff.pause_after_refusal(CommandStatus.ESME_RINVPASWD, 0.5)

    assert backoff.pause(0.5) == pytest.approx(2 * Backoff().pause(0.5))
