"""Limits that change at times of day, on a virtual clock."""

import asyncio
from math import inf

import pytest

from heliograph.app.dispatch.lane import Lane
from heliograph.domain.calendar import zone
from heliograph.domain.pace.timetable import HeldRate, Timetable, parse_spans
from heliograph.runtime.lane_limits import LaneLimits, Limit
from tests.support.store import SECOND, START
from tests.support.virtual_time import VirtualClock, run

TIMETABLE = Timetable(parse_spans("22:14-22:15 100, 22:15-22:20 off", 1000.0), zone("UTC"))
"""START is 22:13:20 in UTC."""


@pytest.mark.parametrize(
    ("timetable", "second", "held"),
    [
        (None, 0, HeldRate(15.0)),
        (TIMETABLE, 0, HeldRate(15.0, START + 40 * SECOND)),
        (TIMETABLE, 40, HeldRate(25.0, START + 100 * SECOND)),
        (TIMETABLE, 100, HeldRate(None, START + 400 * SECOND)),
    ],
)
def test_a_node_has_its_share_of_each_rate(timetable: Timetable | None, second: int, held: HeldRate) -> None:
    assert Limit(timetable, 60.0, 0.25).held(START + second * SECOND) == held


def test_lanes_change_at_their_times_and_the_commit_is_woken() -> None:
    async def play() -> None:
        woken: list[float] = []
        clock = VirtualClock()
        limits, lane, other = LaneLimits(clock, lambda: woken.append(clock.monotonic())), Lane(1), Lane(2)
        limits.set(lane, Limit(TIMETABLE, 60.0, 1.0))
        limits.set(other, Limit(None, 7.0, 1.0))
        limits.watch({1, 2})
        seen: list[tuple[float, bool]] = []
        for second in (39.9, 40.1, 99.9, 100.1, 399.9, 400.1):
            await asyncio.sleep(second - clock.monotonic())
            seen.append((lane.window.pace.rate, lane.window.off))
        assert seen == [(60.0, False), (100.0, False), (100.0, False), (100.0, True), (100.0, True), (60.0, False)]
        assert {40.0, 100.0, 400.0} <= {round(at, 2) for at in woken}
        assert (other.window.pace.rate, limits.held(2, 9.0), limits.held(3, 9.0)) == (7.0, HeldRate(7.0), HeldRate(9.0))
        limits.watch({2})
        assert limits.held(1, 9.0) == HeldRate(9.0)

    run(play())


def test_a_timetable_that_is_taken_away_lets_the_lane_send_at_once() -> None:
    async def play() -> None:
        clock = VirtualClock()
        clock.ahead = 200 * SECOND
        woken: list[float] = []
        limits, lane = LaneLimits(clock, lambda: woken.append(clock.monotonic())), Lane(1)
        limits.set(lane, Limit(TIMETABLE, 0.0, 1.0))
        assert lane.window.off
        limits.set(lane, Limit(None, 0.0, 1.0))
        assert (lane.window.off, lane.window.pace.rate < inf, len(woken)) == (False, True, 1)

    run(play())


def test_a_clock_that_is_set_is_noticed_within_a_minute() -> None:
    async def play() -> None:
        clock = VirtualClock()
        limits, lane = LaneLimits(clock, lambda: None), Lane(1)
        limits.set(lane, Limit(Timetable(parse_spans("12:00-13:00 5", 1000.0), zone("UTC")), 60.0, 1.0))
        limits.watch({1})
        clock.ahead = 14 * 3600 * SECOND
        await asyncio.sleep(60.1)
        assert lane.window.pace.rate == 5.0
        limits.close()

    run(play())
