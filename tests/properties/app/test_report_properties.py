"""Reports in any time zone, against what is counted one by one by the calendar of that zone."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from heliograph.app.ports.series import SeriesCell
from heliograph.app.resources.desk import Desk
from heliograph.app.resources.report_series import ReportQuery, SeriesReport, ViewReports
from heliograph.app.resources.report_steps import RANGES
from heliograph.domain.calendar import zone
from heliograph.domain.series import Cell, CellKey, Grain
from heliograph.domain.sketch import bucket_of
from tests.support.memory_store import MemoryStore

ZONES = (
    "UTC", "Africa/Lagos", "America/Los_Angeles", "America/Havana", "Asia/Tokyo", "Asia/Kolkata", "Asia/Kathmandu",
    "Australia/Lord_Howe", "Africa/Cairo", "Europe/Berlin", "Pacific/Auckland", "Pacific/Kiritimati",
)  # fmt: skip
WHOLE_HOURS = set(ZONES) - {"Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe"}
HOUR_MS = 3_600_000


class FixedClock:
    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        return self._now

    def monotonic(self) -> float:
        return 0.0


def moment(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


NOWS = st.integers(moment("2026-01-01"), moment("2028-12-31")) | st.sampled_from(
    # the days on which clocks of the zones above are changed, and the ones after
    [moment(f"{day}T{hour:02}:{minute}") for day in ("2026-03-29", "2026-10-25", "2026-11-01", "2026-04-24") for hour in
     (0, 1, 5, 22, 23) for minute in ("00", "59")]
)  # fmt: skip


def report_of(events: list[tuple[int, int]], query: ReportQuery, now: int) -> SeriesReport:
    """Returns the report of messages that were delivered at a time (ms) with a delay (ms)."""

    async def made() -> SeriesReport:
        store = MemoryStore()
        for at, delay in events:
            cell = Cell()
            cell.accepted, cell.delivered, cell.spend, cell.to_receipt = 1, 1, 3, {bucket_of(delay): 1}
            key = CellKey(0, 0, "DE")
            cells = [SeriesCell(grain, grain.start(at), key, cell) for grain in Grain]
            await store.series.add(cells)
        return await ViewReports(Desk(store, FixedClock(now))).report(query)

    return asyncio.run(made())


@given(
    NOWS,
    st.sampled_from(ZONES),
    st.sampled_from(["30d", "90d", "1y"]),
    st.lists(st.tuples(st.integers(0, 100 * 24), st.integers(0, 59), st.integers(0, 9)), max_size=30),
)
def test_days_are_those_of_the_zone_where_they_can_be(
    now: int, name: str, span: str, ages: list[tuple[int, int, int]]
) -> None:
    events = [(now - hours * HOUR_MS - minutes * 60_000, 1 << delay) for hours, minutes, delay in ages]
    report = report_of(events, ReportQuery(span, zone=name), now)
    if span != "1y" and name in WHOLE_HOURS:
        # a change of clocks may make 90 days longer than 90 times 24 hours, of which the first one may be gone
        if report.end - report.start <= RANGES[span].length:
            assert report.zone.key == name
            assert not report.note.startswith("Days")
    elif report.zone.key != name:
        assert report.zone.key == "UTC"
        assert name in report.note
    _agrees(report, report.zone, events, now)


def _agrees(report: SeriesReport, where: ZoneInfo, events: list[tuple[int, int]], now: int) -> None:
    days = report.range.length // (24 * HOUR_MS)
    today = datetime.fromtimestamp(now / 1000, where).date()
    wanted, delays = Counter[str](), dict[str, Counter[int]]()
    for at, delay in events:
        day = datetime.fromtimestamp(at / 1000, where).date()
        if today - timedelta(days=days) < day <= today:
            wanted[day.isoformat()] += 1
            delays.setdefault(day.isoformat(), Counter())[bucket_of(delay)] += 1

    def day_of(at: int) -> str:
        return datetime.fromtimestamp(at / 1000, where).date().isoformat()

    counted = Counter[str]()
    for at, cell in report.points:
        counted[day_of(at)] += cell.delivered
    assert +counted == wanted
    assert {day_of(at): Counter(cell.to_receipt) for at, cell in report.delays if cell.to_receipt} == delays
    assert len({day_of(at) for at, _ in report.delays}) == len(report.delays) == days
    total = sum(wanted.values())
    assert (report.total.delivered, sum(report.total.to_receipt.values())) == (total, total)
    assert sum(part.spend for part in report.countries.values()) == 3 * total
    assert len(report.points_before) == days * 24 * HOUR_MS // report.range.step


@given(NOWS, st.sampled_from(ZONES), st.sampled_from(["1h", "6h", "24h", "7d"]))
def test_ranges_of_hours_are_the_same_in_every_zone(now: int, name: str, span: str) -> None:
    there, here = (report_of([(now, 1)], ReportQuery(span, zone=each), now) for each in (name, "UTC"))
    assert there.zone is zone(name)
    assert not there.note
    assert [at for at, _ in there.points] == [at for at, _ in here.points]
    assert (there.start, there.end) == (here.start, here.end)
