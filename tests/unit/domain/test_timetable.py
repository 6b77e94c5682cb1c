"""Rates by time of day: how they are written, and what holds when."""

from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from heliograph.domain.pace.timetable import HeldRate, Timetable, parse_spans

UTC = ZoneInfo("UTC")
BERLIN = ZoneInfo("Europe/Berlin")
HOUR = 3_600
DAY = 24 * HOUR


def ms(text: str, zone: ZoneInfo = UTC) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=zone).timestamp() * 1000)


def held(rates: str, text: str, zone: ZoneInfo = UTC, otherwise: float = 50.0) -> HeldRate:
    return Timetable(parse_spans(rates, 1000), zone).held(ms(text, zone), otherwise)


@pytest.mark.parametrize(
    ("rates", "at", "rate", "until"),
    [
        ("08:00-20:00 100, 20:00-08:00 300", "2026-11-23 07:59:59.999", 300, "2026-11-23 08:00"),
        ("08:00-20:00 100, 20:00-08:00 300", "2026-11-23 08:00", 100, "2026-11-23 20:00"),
        ("08:00-20:00 100, 20:00-08:00 300", "2026-11-29 23:30", 300, "2026-11-30 08:00"),
        ("08:00-20:00 100", "2026-11-23 20:00", 50, "2026-11-24 08:00"),
        ("Mon-Fri 8:00-20:00  12.5", "2026-11-27 19:00", 12.5, "2026-11-27 20:00"),
        ("mon-fri 08:00-20:00 100", "2026-11-27 20:00", 50, "2026-11-30 08:00"),
        ("sat-mon off", "2026-11-30 12:00", None, "2026-12-01 00:00"),
        ("sun 22:00-06:00 0", "2026-11-30 05:59", 0, "2026-11-30 06:00"),
        ("wed 12:00:30-12:00:31 1", "2026-11-25 12:00:30", 1, "2026-11-25 12:00:31"),
        ("00:00-24:00 70", "2026-11-25 12:00", 70, None),
        ("08:00-20:00 50", "2026-11-25 12:00", 50, None),
        ("", "2026-11-25 12:00", 50, None),
    ],
)
def test_what_holds_and_until_when(rates: str, at: str, rate: float | None, until: str | None) -> None:
    assert held(rates, at) == HeldRate(rate, None if until is None else ms(until))


def test_the_example_of_the_documents_is_one() -> None:
    page = (Path(__file__).parents[3] / "docs" / "smpp.md").read_text(encoding="utf-8")
    example = page.split("\n## Rates by time of day\n")[1].split('rates="')[1].split('"')[0]
    assert held(example, "2026-11-28 07:00", BERLIN) == HeldRate(300, ms("2026-11-28 08:00", BERLIN))
    assert held(example, "2026-11-28 23:00", BERLIN) == HeldRate(None, ms("2026-11-29 00:00", BERLIN))
    assert held(example, "2026-11-29 23:00", BERLIN) == HeldRate(0, ms("2026-11-30 00:00", BERLIN))


def test_a_skipped_hour_ends_a_span_and_an_hour_that_comes_twice_repeats_it() -> None:
    skipped = held("01:00-02:30 5", "2026-03-29 01:30", BERLIN)
    assert skipped == HeldRate(5, ms("2026-03-29 03:00", BERLIN)) == HeldRate(5, ms("2026-03-29 01:00"))
    twice = "01:00-02:30 5"
    assert held(twice, "2026-10-25 02:29:59", BERLIN) == HeldRate(5, ms("2026-10-25 00:30"))
    timetable = Timetable(parse_spans(twice, 1000), BERLIN)
    assert timetable.held(ms("2026-10-25 00:30"), 50) == HeldRate(50, ms("2026-10-25 01:00"))
    assert timetable.held(ms("2026-10-25 01:00"), 50) == HeldRate(5, ms("2026-10-25 01:30"))
    assert timetable.held(ms("2026-10-25 01:30"), 50) == HeldRate(50, ms("2026-10-26 00:00"))


def test_a_night_is_an_hour_shorter_or_longer_when_the_clocks_change() -> None:
    for date, following, hours in (("2026-03-28", "2026-03-29", 11), ("2026-10-24", "2026-10-25", 13)):
        begin, end = ms(f"{date} 20:00", BERLIN), ms(f"{following} 08:00", BERLIN)
        assert end - begin == hours * HOUR * 1000
        assert held("20:00-08:00 300", f"{date} 20:00", BERLIN) == HeldRate(300, end)


def test_a_span_that_a_change_of_clocks_skips_comes_the_week_after() -> None:
    after = held("sun 02:15-02:45 5", "2026-03-29 01:00", BERLIN)
    assert after == HeldRate(50, ms("2026-04-05 02:15", BERLIN))


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ("08:00-20:00 100, mon 19:00-21:00 5", "`08:00-20:00 100` and `mon 19:00-21:00 5` overlap on mon 19:00"),
        ("mon 06:00-07:00 5, sun 20:00-08:00 1", "`sun 20:00-08:00 1` and `mon 06:00-07:00 5` overlap on mon 06:00"),
        ("tue 10, 00:00:30-00:01 1", "`tue 10` and `00:00:30-00:01 1` overlap on tue 00:00:30"),
        ("08:00-20:00", "`08:00-20:00` does not end with parts a second"),
        ("08:00-20:00 100/s", "does not end with parts a second, from 0 (no limit) to 1000, or `off`"),
        ("08:00-20:00 1001", "from 0 (no limit) to 1000"),
        ("100", "`100` cannot be read; write `08:00-20:00 100`"),
        ("08:00-20:00 mon 100", "cannot be read"),
        ("8-20 100", "cannot be read"),
        ("mon-fri 08:00 - 20:00 100", "cannot be read"),
        ("08:00-08:00 1", "`08:00-08:00 1` has no length; a whole day is 00:00-24:00"),
        ("24:00-08:00 1", "has no length"),
        ("08:00-24:01 1", "24:01 is no time of day; take 00:00 to 24:00"),
        ("08:60-10:00 1", "08:60 is no time of day"),
        ("mon-wen 5", "`mon-wen 5`: wen is no day; there are mon, tue"),
    ],
)
def test_what_is_wrong_is_said(rates: str, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_spans(rates, 1000)
    assert words in str(caught.value)
