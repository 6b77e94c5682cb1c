from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from heliograph.domain.calendar import DAY_MS, TimeProblem, check_future, format_local, parse_time, with_seconds, zone
from tests.support.cases import for_each

UTC = zone("UTC")
BERLIN = zone("Europe/Berlin")
NEW_YORK = zone("America/New_York")
LORD_HOWE = zone("Australia/Lord_Howe")  # half an hour of summer time
APIA = zone("Pacific/Apia")  # skipped 30 December 2011
DUBLIN = zone("Europe/Dublin")  # winter time is the exception
KATHMANDU = zone("Asia/Kathmandu")  # +05:45
ST_JOHNS = zone("America/St_Johns")  # changed its clocks at 00:01 once
MONROVIA = zone("Africa/Monrovia")  # 44 minutes and 30 seconds behind, until 1972


# The milliseconds are those of `date -u -d ... +%s`.
@for_each(
    ("value", "where", "ms"),
    [
        ("2025-01-01 00:00:00", UTC, 1735689600_000),
        ("2025-01-01 00:00:00", BERLIN, 1735686000_000),
        ("2025-07-01 00:00:00", BERLIN, 1751320800_000),
        ("2025-01-01 00:00:00", KATHMANDU, 1735668900_000),
        ("2024-02-29 12:00:00", UTC, 1709208000_000),
        ("2025-01-01T00:00:00", BERLIN, 1735686000_000),
        ("2025-01-01T00:00", UTC, 1735689600_000),
        ("2025-01-01t00:00:00z", BERLIN, 1735689600_000),
        ("2025-01-01T00:00:00Z", BERLIN, 1735689600_000),
        ("2025-01-01T00:00:00+01:00", UTC, 1735686000_000),
        ("2025-01-01T00:00:00+0100", UTC, 1735686000_000),
        ("2025-01-01T00:00:00+01", UTC, 1735686000_000),
        ("2025-01-01T00:00:00-05:30", BERLIN, 1735709400_000),
        ("2025-01-01T00:00:00.5", UTC, 1735689600_500),
        ("2025-01-01T00:00:00,25Z", UTC, 1735689600_250),
        ("2025-01-01T00:00:00.999999999Z", UTC, 1735689600_999),
        # An offset wins over the zone, also where the zone skips that time.
        ("2025-03-30T02:30:00Z", BERLIN, 1743301800_000),
        ("1735689600", BERLIN, 1735689600_000),
        ("1735689600.1", UTC, 1735689600_100),
        ("1735689600.9999", UTC, 1735689600_999),
        ("0", UTC, 0),
        (1735689600, BERLIN, 1735689600_000),
        (-1, UTC, -1000),
        (Decimal("1735689600.001"), UTC, 1735689600_001),
        (Decimal("1735689600.00099999999999999999999999999999999"), UTC, 1735689600_000),
        (Decimal("1.735689600E9"), UTC, 1735689600_000),
        (Decimal("17E8"), UTC, 1700000000_000),
        (Decimal("1E-400"), UTC, 0),
        (Decimal("-0"), UTC, 0),
        # Twice: the earlier one.
        ("2025-10-26 02:30:00", BERLIN, 1761438600_000),
        ("2025-11-02 01:30:00", NEW_YORK, 1762061400_000),
        ("2025-04-06 01:45:00", LORD_HOWE, 1743864300_000),
        ("2025-10-26 01:30:00", DUBLIN, 1761438600_000),
        # Right before and after what is skipped.
        ("2025-03-30 01:59:59", BERLIN, 1743296399_000),
        ("2025-03-30 03:00:00", BERLIN, 1743296400_000),
    ],
)
def test_times(value: str | int | Decimal, where: ZoneInfo, ms: int) -> None:
    assert parse_time(value, where) == ms


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ("2025-03-30 02:00:00", BERLIN),
        ("2025-03-30 02:59:59", BERLIN),
        ("2025-03-30T02:30:00.5", BERLIN),
        ("2025-03-09 02:30:00", NEW_YORK),
        ("2025-10-05 02:15:00", LORD_HOWE),
        ("2011-12-30 12:00:00", APIA),
        ("2025-03-30 01:30:00", DUBLIN),
    ],
)
def test_a_skipped_time_is_refused(value: str, where: ZoneInfo) -> None:
    with pytest.raises(TimeProblem, match=f"skipped by a clock change in {where.key}"):
        parse_time(value, where)


@pytest.mark.parametrize(
    "value",
    [
        "2025-02-29 00:00:00",
        "2025-13-01 00:00:00",
        "2025-00-01 00:00:00",
        "2025-04-31 00:00:00",
        "2025-01-01 24:00:00",
        "2025-01-01 00:60:00",
        "2025-01-01 00:00:60",
        "0000-01-01 00:00:00",
        "2025-01-01T00:00:00+24:00",
        "2025-01-01T00:00:00+01:60",
    ],
)
def test_a_date_that_is_none(value: str) -> None:
    with pytest.raises(TimeProblem, match="does not exist"):
        parse_time(value, UTC)


@for_each(
    "value",
    [
        "",
        "tomorrow",
        "2025-01-01",
        "2025-1-1 00:00:00",
        "01-01-2025 00:00:00",
        "2025-01-01 00:00",
        "2025-01-01  00:00:00",
        "2025-01-01 00:00:00 ",
        "2025-01-01 00:00:00\n",
        "2025-01-01 00:00:00.5",
        "2025-01-01 00:00:00Z",
        "2025-01-01T00:00:00.",
        "2025-01-01T00:00:00 Z",
        "20250101T000000Z",
        "2025-W01-1T00:00:00",
        "-1",
        "+1",
        "1e9",
        "0x10",
        "NaN",
        "٢٠٢٥-٠١-٠١ ٠٠:٠٠:٠٠",
        "١٧٣٥٦٨٩٦٠٠",
        "9" * 20,
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("Infinity"),
        Decimal("1E999999"),
        Decimal("1E21"),
        True,
    ],
)
def test_what_is_no_time(value: str | int | Decimal) -> None:
    with pytest.raises(TimeProblem, match="YYYY-MM-DD HH:MM:SS"):
        parse_time(value, UTC)


@pytest.mark.parametrize("text", ["2026-03-01 08:30", "2026-03-01 08:30:00"])
def test_people_may_leave_out_the_seconds(text: str) -> None:
    assert with_seconds(text) == "2026-03-01 08:30:00"
    assert with_seconds("2026-03-01 8:30") == "2026-03-01 8:30"


@pytest.mark.parametrize(
    "value",
    ["1735689600000", 1735689600000, Decimal(1735689600000), "20250101000000", 10**400, -(10**400), "9" * 19],
)
def test_milliseconds_are_no_seconds(value: str | int | Decimal) -> None:
    with pytest.raises(TimeProblem, match="out of range"):
        parse_time(value, UTC)


def test_a_plus_that_became_a_space_is_explained() -> None:
    with pytest.raises(TimeProblem, match="%2B"):
        parse_time("2025-01-01T00:00:00 01:00", UTC)


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+3"])
def test_zones(name: str) -> None:
    assert zone(name).key == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Mars/Olympus",
        "Europe",
        "Europe/",
        "../etc/passwd",
        "/etc/passwd",
        "localtime",
        "right/UTC",
        "UTC\0",
        "+01:00",
        "zone.tab",
    ],
)
def test_what_is_no_zone(name: str) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        zone(name)


@pytest.mark.parametrize(
    ("ms", "where", "text"),
    [
        (0, UTC, "1970-01-01 00:00:00"),
        (1735689599_999, UTC, "2024-12-31 23:59:59"),
        (1735689599_999, BERLIN, "2025-01-01 00:59:59"),
        (1735689600_000, KATHMANDU, "2025-01-01 05:45:00"),
        (-1, UTC, "1969-12-31 23:59:59"),
        # Clocks that changed within a quarter of an hour.
        (954646259_000, ST_JOHNS, "2000-04-02 00:00:59"),
        (954646260_000, ST_JOHNS, "2000-04-02 01:01:00"),
        (63593069_000, MONROVIA, "1972-01-06 23:59:59"),
        (63593070_000, MONROVIA, "1972-01-07 00:44:30"),
    ],
)
def test_times_are_written_in_the_zone_and_cut(ms: int, where: ZoneInfo, text: str) -> None:
    assert format_local(ms, where) == text


def test_the_future_ends_at_the_horizon() -> None:
    now = 1735689600_000
    check_future(now + 1, now, 366)
    check_future(now + 366 * DAY_MS, now, 366)
    for ms in (now, now - 1):
        with pytest.raises(TimeProblem, match="passed"):
            check_future(ms, now, 366)
    with pytest.raises(TimeProblem, match="366 days"):
        check_future(now + 366 * DAY_MS + 1, now, 366)
