"""Days and their limits: no day has more than its limit, and what may go is never refused."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.calendar import day_of
from heliograph.domain.error import Reason
from heliograph.domain.limits.allowance import Allowance

ZONES = ("UTC", "Europe/Berlin", "America/Santiago", "Asia/Kathmandu", "Pacific/Apia", "Africa/Cairo")
HOUR = 3_600_000
TIMES = st.integers(0, 4_000_000_000_000)


@given(at=TIMES, zone=st.sampled_from(ZONES))
def test_a_time_lies_in_its_day_which_is_about_as_long_as_others(at: int, zone: str) -> None:
    begins, ends = day_of(at, ZoneInfo(zone))
    assert begins <= at < ends
    assert 22 * HOUR <= ends - begins <= 26 * HOUR
    assert day_of(begins, ZoneInfo(zone)) == (begins, ends)
    assert day_of(ends - 1, ZoneInfo(zone)) == (begins, ends)


@given(at=TIMES, zone=st.sampled_from(ZONES))
def test_the_next_day_begins_where_one_ends(at: int, zone: str) -> None:
    _, ends = day_of(at, ZoneInfo(zone))
    assert day_of(ends, ZoneInfo(zone))[0] == ends


def test_a_day_is_that_of_the_calendar() -> None:
    at = int(datetime(2026, 11, 24, 23, 30, tzinfo=UTC).timestamp()) * 1000
    assert day_of(at, ZoneInfo("Europe/Berlin"))[1] == at + 23 * HOUR + HOUR // 2


@given(
    limits=st.tuples(*[st.integers(0, 20)] * 3),
    requests=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 6), st.integers(0, 6), st.booleans())),
)
def test_no_day_has_more_than_its_limit_and_nothing_is_refused_that_fits(
    limits: tuple[int, ...], requests: list[tuple[int, int, int, bool]]
) -> None:
    allowance = Allowance(*limits)
    days: dict[int, list[int]] = {}
    waiting = 0
    for day, messages, spend, is_queued in requests:
        allowance.turn(day)
        assert allowance.day_ends >= day
        used = days.setdefault(allowance.day_ends, [0, 0])
        queued = messages if is_queued else 0
        fits = (
            not 0 < allowance.daily_messages < used[0] + messages,
            not 0 < allowance.daily_spend < used[1] + spend,
            not (queued and 0 < allowance.max_waiting < waiting + queued),
        )
        overrun = allowance.overrun(messages, spend, queued)
        assert (overrun is None) == all(fits)
        if overrun is None:
            allowance.use(messages, spend, queued)
            used[0] += messages
            used[1] += spend
            waiting += queued
        else:
            assert not fits[(Reason.DAILY_MESSAGES, Reason.DAILY_SPEND, Reason.WAITING).index(overrun)]
