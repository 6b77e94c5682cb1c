from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.calendar import TimeProblem, day_of, day_steps, format_local, parse_time, zone

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = st.sampled_from(
    [
        "UTC",
        "Europe/Berlin",
        "Europe/Dublin",
        "America/New_York",
        "America/St_Johns",
        "America/Sao_Paulo",
        "Australia/Lord_Howe",
        "Asia/Kathmandu",
        "Africa/Casablanca",
        "Pacific/Apia",
        "Pacific/Kiritimati",
        "Antarctica/Troll",
    ]
).map(zone)
CHANGES = (
    "2011-12-30",
    "2018-11-04",
    "2025-02-23",
    "2025-03-09",
    "2025-03-30",
    "2025-04-06",
    "2025-10-05",
    "2025-10-26",
    "2025-11-02",
)
MOMENTS = st.integers(0, 4_102_444_799_999)  # to the end of 2099

# Any time, and often one of a day on which one of the zones changes its clocks. Offsets are whole quarters of an
# hour since 1995.
LOCAL_TIMES = st.one_of(
    st.datetimes(datetime(1996, 1, 1), datetime(2099, 12, 30)),  # noqa: DTZ001
    st.builds(
        datetime.combine,
        st.sampled_from([date.fromisoformat(day) for day in CHANGES]),
        st.times(time(0), time(4)),
    ),
)


@given(MOMENTS, ZONES)
def test_a_shown_time_is_read_back_or_the_earlier_one_of_two(ms: int, where: ZoneInfo) -> None:
    shown = format_local(ms, where)
    read = parse_time(shown, where)
    assert read % 1000 == 0
    assert format_local(read, where) == shown
    assert read <= ms
    assert ms - read < 1000 or where.utcoffset(_at(ms, where)) != where.utcoffset(_at(read, where))


@given(LOCAL_TIMES, ZONES)
def test_a_local_time_is_the_first_moment_that_shows_it_or_skipped(local: datetime, where: ZoneInfo) -> None:
    """By search, over every offset that any zone has, instead of by the rules of folds."""
    text = local.isoformat(" ")[:19]
    base = parse_time(text, zone("UTC"))
    quarters = range(-26 * 4, 26 * 4 + 1)
    matches = [ms for quarter in quarters if format_local(ms := base + quarter * 900_000, where) == text]
    if not matches:
        try:
            parse_time(text, where)
        except TimeProblem as problem:
            assert "skipped" in str(problem)  # noqa: PT017
        else:
            raise AssertionError(f"{text} does not occur in {where}")
    else:
        assert parse_time(text, where) == min(matches)


@given(
    st.one_of(
        st.integers(-2_500_000_000, 4_102_444_799),
        # St. John's changed its clocks a minute after midnight, Monrovia was 44 minutes and 30 seconds behind
        st.integers(954_646_200 - 1_000, 954_646_200 + 1_000),
        st.integers(63_593_070 - 1_000, 63_593_070 + 1_000),
    ),
    st.one_of(ZONES, st.sampled_from(["Africa/Monrovia", "Europe/Amsterdam", "Asia/Kolkata"]).map(zone)),
)
def test_a_second_is_shown_as_the_zone_has_it(seconds: int, where: ZoneInfo) -> None:
    """Whatever the quarter of an hour around it has in common, also where a clock changes within it."""
    there = datetime.fromtimestamp(seconds, where)
    assert format_local(seconds * 1000 + 999, where) == f"{there:%Y-%m-%d %H:%M:%S}"


@given(MOMENTS, st.integers(-23 * 60, 23 * 60), ZONES)
def test_an_offset_wins_over_the_zone(ms: int, minutes: int, where: ZoneInfo) -> None:
    local = EPOCH + timedelta(milliseconds=ms, minutes=minutes)
    sign, ahead = "-" if minutes < 0 else "+", abs(minutes)
    text = f"{local:%Y-%m-%dT%H:%M:%S}.{local.microsecond // 1000:03d}"
    assert parse_time(f"{text}{sign}{ahead // 60:02d}:{ahead % 60:02d}", where) == ms
    utc = EPOCH + timedelta(milliseconds=ms)
    assert parse_time(f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03d}999Z", where) == ms


@given(MOMENTS, st.integers(0, 10**15 - 1), ZONES)
def test_unix_seconds_are_exact_to_the_millisecond_and_cut(ms: int, finer: int, where: ZoneInfo) -> None:
    text = f"{ms // 1000}.{ms % 1000:03d}{finer:015d}"
    assert parse_time(text, where) == parse_time(Decimal(text), where) == ms
    assert parse_time(ms // 1000, where) == parse_time(str(ms // 1000), where) == ms // 1000 * 1000


@given(
    st.one_of(
        st.text(max_size=30),
        st.text("0123456789-: T.Z+", max_size=30),
        st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})?"),
        st.integers(),
        st.decimals(),
    ),
    ZONES,
)
def test_anything_is_read_or_refused_with_a_sentence(value: str | int | Decimal, where: ZoneInfo) -> None:
    try:
        ms = parse_time(value, where)
    except TimeProblem as problem:
        assert str(problem).endswith(".")  # noqa: PT017
    else:
        assert type(ms) is int


def _at(ms: int, where: ZoneInfo) -> datetime:
    return (EPOCH + timedelta(milliseconds=ms)).astimezone(where)


@given(st.integers(820_454_400_000, 4_102_444_799_999), ZONES, st.integers(1, 40), st.sampled_from([1, 4]))
def test_steps_of_days_are_those_of_the_calendar(ms: int, where: ZoneInfo, days: int, parts: int) -> None:
    bounds = day_steps(ms, days, where, parts=parts)
    assert len(bounds) == days * parts + 1
    assert bounds == sorted(bounds)
    assert bounds[-parts - 1] <= ms < bounds[-1]
    assert (bounds[-parts - 1], bounds[-1]) == day_of(ms, where)
    assert day_steps(ms, days, where, parts=parts, back=days)[-1] == bounds[0]
