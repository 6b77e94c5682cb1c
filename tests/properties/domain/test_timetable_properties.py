"""Every moment has exactly one rate, and it holds until the moment that is told."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.pace.timetable import DAYS, Timetable, parse_spans

OTHERWISE = 7777.0
DAY = 1440

MOMENTS = st.integers(946_684_800_000, 2_145_916_800_000)
ZONES = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"]
).map(ZoneInfo)


@st.composite
def entries(draw: st.DrawFn) -> tuple[int | None, int | None, int, int, float | None]:
    """First and last day or None, begin and end in minutes, a rate."""
    first = draw(st.none() | st.integers(0, 6))
    last = None if first is None else draw(st.integers(0, 6))
    begin = draw(st.integers(0, DAY - 1))
    end = draw(st.integers(0, DAY).filter(lambda end: end != begin))
    return first, last, begin, end, draw(st.none() | st.integers(0, 1000).map(float))


def written(entry: tuple[int | None, int | None, int, int, float | None]) -> str:
    first, last, begin, end, rate = entry
    days = "" if first is None or last is None else f"{DAYS[first]}-{DAYS[last]} "
    times = f"{begin // 60:02}:{begin % 60:02}-{end // 60:02}:{end % 60:02}"
    return f"{days}{times} {'off' if rate is None else f'{rate:g}'}"


def covers(entry: tuple[int | None, int | None, int, int, float | None], day: int, minute: int) -> bool:
    """Whether the entry holds at a minute of a day, said in another way than the code says it."""
    first, last, begin, end, _ = entry
    days = range(7) if first is None or last is None else [(first + n) % 7 for n in range((last - first) % 7 + 1)]
    if begin < end:
        return day in days and begin <= minute < end
    return (day in days and minute >= begin) or ((day - 1) % 7 in days and minute < end)


@pytest.mark.slow
@given(st.lists(entries(), max_size=4), ZONES, MOMENTS)
def test_every_moment_has_one_rate_or_the_entries_overlap(
    found: list[tuple[int | None, int | None, int, int, float | None]], zone: ZoneInfo, now: int
) -> None:
    text = ", ".join(map(written, found))
    week = [sum(covers(entry, day, minute) for entry in found) for day in range(7) for minute in range(DAY)]
    if max(week) > 1:
        with pytest.raises(ValueError, match="overlap"):
            parse_spans(text, 1000)
        return
    timetable = Timetable(parse_spans(text, 1000), zone)
    local = datetime.fromtimestamp(now // 1000, zone)
    minute = local.hour * 60 + local.minute
    [*holding] = [entry[4] for entry in found if covers(entry, local.weekday(), minute)] or [OTHERWISE]
    assert [timetable.held(now, OTHERWISE).rate] == holding


@given(st.lists(entries(), max_size=3), ZONES, MOMENTS, st.floats(0, 1, exclude_max=True))
def test_a_rate_holds_until_the_moment_that_is_told_and_no_longer(
    found: list[tuple[int | None, int | None, int, int, float | None]], zone: ZoneInfo, now: int, share: float
) -> None:
    try:
        timetable = Timetable(parse_spans(", ".join(map(written, found)), 1000), zone)
    except ValueError:
        return
    held = timetable.held(now, OTHERWISE)
    until = held.until
    if until is None:
        until = now + 8 * DAY * 60_000
    else:
        assert until > now
        assert until % 1000 == 0
        assert timetable.held(until, OTHERWISE).rate != held.rate
        assert timetable.held(until - 1, OTHERWISE) == held
    between = now + int((until - now) * share)
    assert timetable.held(between, OTHERWISE).rate == held.rate


@given(st.integers(2020, 2036), st.integers(-48, 48))
def test_around_a_change_of_clocks_it_is_what_the_clock_shows(year: int, quarters: int) -> None:
    zone = ZoneInfo("Europe/Berlin")
    timetable = Timetable(parse_spans("02:00-03:00 5, 20:00-02:00 9", 1000), zone)
    for month in (3, 10):
        last = datetime(year, month, 31, 1, tzinfo=UTC)
        change = last - timedelta(days=(last.weekday() + 1) % 7)
        moment = change + timedelta(minutes=15 * quarters)
        hour = moment.astimezone(zone).hour
        wanted = 5 if hour == 2 else 9 if hour >= 20 or hour < 2 else OTHERWISE
        assert timetable.held(int(moment.timestamp() * 1000), OTHERWISE).rate == wanted
