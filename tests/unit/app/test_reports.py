"""Reports: ranges, what they are made of, comparison, parts and tables."""

import random
from datetime import datetime

import pytest

from heliograph.admin_api.drawn import shown
from heliograph.app.ports.series import SeriesCell
from heliograph.app.resources.desk import Desk, Invalid, NoSuch
from heliograph.app.resources.report_series import ReportQuery, ViewReports
from heliograph.app.resources.report_steps import DAY_MS, RANGES
from heliograph.app.resources.reports import BY, REPORTS, csv_of, table
from heliograph.app.resources.reports import row as row_of
from heliograph.domain.calendar import format_offset
from heliograph.domain.series import Cell, CellKey, Grain
from tests.support.connectors import smpp_connector
from tests.support.memory_store import MemoryStore
from tests.support.store import CREDIT, Given
from tests.support.virtual_time import VirtualClock


class Rig:
    def __init__(self) -> None:
        self.store, self.clock = MemoryStore(), VirtualClock()
        self.now = self.clock.now()
        self.view = ViewReports(Desk(self.store, self.clock, past={99: "elsewhere"}))

    async def begin(self) -> None:
        given = Given(self.store)
        self.acme = (await given.account("acme")).id
        self.berlin = (await self.store.network.add_connector(smpp_connector(0, "berlin", "", 0, "", ""))).id

    async def happen(self, at: int, cell: Cell, connector: int | None = None, country: str = "DE") -> None:
        key = CellKey(self.acme, self.berlin if connector is None else connector, country)
        cells = [SeriesCell(grain, grain.start(at), key, cell) for grain in Grain]
        await self.store.series.add(cells)


def cell(**counts: object) -> Cell:
    made = Cell()
    for name, value in counts.items():
        setattr(made, name, value)
    return made


@pytest.fixture
async def rig() -> Rig:
    rig = Rig()
    await rig.begin()
    return rig


@pytest.mark.parametrize("name", RANGES)
async def test_a_range_ends_now_and_has_every_step(rig: Rig, name: str) -> None:
    await rig.happen(rig.now, cell(accepted=3))
    report = await rig.view.report(ReportQuery(name))
    assert report.start < rig.now < report.end
    assert report.end - report.start == report.range.length
    times = [at for at, _ in report.points]
    assert times == list(range(report.start, rig.now + 1, report.range.step))
    assert report.total.accepted == 3
    assert report.points[-1][1].accepted == 3
    assert report.before.accepted == 0
    assert {name: part.accepted for name, part in report.connectors.items()} == {"berlin": 3}


@pytest.mark.parametrize("name", RANGES)
async def test_what_was_before_is_told_apart(rig: Rig, name: str) -> None:
    now = await rig.view.report(ReportQuery(name))
    await rig.happen(now.start, cell(accepted=1))
    await rig.happen(now.start - 1, cell(accepted=2))
    await rig.happen(now.start - now.range.length, cell(accepted=4))
    await rig.happen(now.start - now.range.length - 1, cell(accepted=8))
    report = await rig.view.report(ReportQuery(name))
    assert (report.total.accepted, report.before.accepted) == (1, 6)
    assert [point.accepted for _, point in report.points_before if point.accepted] == [4, 2]
    assert sum(part.accepted for part in report.countries.values()) == 1


async def test_a_period_of_days_has_its_own_counts_and_those_of_as_many_days_before(rig: Rig) -> None:
    week = await rig.view.report(ReportQuery("last week"))
    assert week.end <= rig.now
    assert week.end - week.start == week.range.length
    for at, accepted in ((week.start, 1), (week.end - 1, 2), (week.end, 4), (week.start - 1, 8)):
        await rig.happen(at, cell(accepted=accepted))
    found = await rig.view.report(ReportQuery("last week"))
    assert (found.total.accepted, found.before.accepted) == (3, 8)
    assert sum(point.accepted for _, point in found.points) == 3
    assert sum(part.accepted for part in found.connectors.values()) == 3
    assert row_of(found)["title"] == found.range.title


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Kolkata"])
async def test_every_range_adds_up_what_happened_in_it(rig: Rig, zone: str) -> None:
    """However wide the buckets are that its parts come from."""
    chance, happened = random.Random(3), []
    for n in range(300):
        at = rig.now - int(chance.random() ** 3 * 400 * DAY_MS)
        made = cell(accepted=1 + n, failures={f"UNDELIV {n % 50:03}": 1}, to_operator={n % 7: 1}, to_receipt={n: 300})
        happened.append((at, made))
        await rig.happen(at, made, country=("DE", "FR")[n % 2])
    for name in (*RANGES, "last month", "last week"):
        report = await rig.view.report(ReportQuery(name, zone=zone))
        within = [made for at, made in happened if report.start <= at < report.end]
        total = Cell()
        for made in within:
            total.add(made)
        for parts in (report.accounts, report.connectors, report.countries, {"": report.total}):
            found = Cell()
            for part in parts.values():
                found.add(part)
            assert found.counts == total.counts
            assert sum(found.failures.values()) == len(within)
            assert (found.to_operator, found.to_receipt) == (total.to_operator, total.to_receipt)
        assert sum(point.accepted for _, point in report.points) == total.accepted
        times = [*(at for at, _ in report.delays), report.end]
        for (start, step), end in zip(report.delays, times[1:], strict=True):
            expected = Cell()
            for at, made in happened:
                if start <= at < end:
                    expected.add(made)
            assert (step.to_operator, step.to_receipt) == (expected.to_operator, expected.to_receipt), (name, start)


async def test_parts_are_named_and_the_largest_comes_first(rig: Rig) -> None:
    await rig.happen(rig.now, cell(accepted=1, delivered=1, to_receipt={5: 1}), country="FR")
    await rig.happen(rig.now, cell(accepted=5, failed=2, failures={"UNDELIV 001": 2}))
    await rig.happen(rig.now, cell(accepted=2), connector=99)
    await rig.happen(rig.now, cell(accepted=1), connector=12345)
    await rig.happen(rig.now, cell(refused=1, refusals={"credit": 1}), connector=0, country="")
    report = await rig.view.report(ReportQuery("24h"))
    assert list(report.connectors) == ["berlin", "elsewhere", "#12345", ""]
    assert list(report.countries) == ["DE", "FR", ""]
    assert report.countries["FR"].to_receipt == {5: 1}
    assert report.total.failures == {"UNDELIV 001": 2}
    assert report.total.refusals == {"credit": 1}
    assert report.total.accepted == 9
    assert [each.to_receipt for _, each in report.delays if each.to_receipt] == [{5: 1}]


async def test_messages_of_the_simulated_operator_are_its_own_and_refused_requests_nobodys(rig: Rig) -> None:
    view = ViewReports(Desk(rig.store, rig.clock, past={0: "simulator"}))
    await rig.happen(rig.now, cell(accepted=2, delivered=2, to_receipt={5: 2}), connector=0)
    await rig.happen(rig.now, cell(refused=3, refusals={"credit": 3}), connector=0, country="")
    report = await view.report(ReportQuery())
    assert {name: (each.accepted, each.refused) for name, each in report.connectors.items()} == {
        "simulator": (2, 0), "": (0, 3),
    }  # fmt: skip
    assert report.connectors["simulator"].to_receipt == {5: 2}
    assert report.connectors[""].refusals == {"credit": 3}


async def test_a_report_may_be_of_one_account_connector_or_country(rig: Rig) -> None:
    await rig.happen(rig.now, cell(accepted=1), country="FR")
    await rig.happen(rig.now, cell(accepted=2), connector=99)
    assert (await rig.view.report(ReportQuery(account="acme"))).total.accepted == 3
    assert (await rig.view.report(ReportQuery(connector="elsewhere"))).total.accepted == 2
    assert (await rig.view.report(ReportQuery(country="fr"))).total.accepted == 1
    for query, problem in (
        (ReportQuery(account="nobody"), NoSuch), (ReportQuery(connector="none"), NoSuch),
        (ReportQuery(country="Germany"), Invalid), (ReportQuery("2h"), Invalid),
    ):  # fmt: skip
        with pytest.raises(problem):
            await rig.view.report(query)


async def test_tables_have_what_the_report_has(rig: Rig) -> None:
    await rig.happen(
        rig.now,
        cell(
            accepted=4,
            delivered=3,
            failed=1,
            spend=2 * CREDIT + 500_000,
            failures={"=UNDELIV 1": 1},
            to_operator={40: 2},
        ),
    )
    report = shown(REPORTS, REPORTS.operations[0], row_of(await rig.view.report(ReportQuery("1h"))))
    columns, ((name, *row),) = table(report, "connector")
    found = dict(zip(columns[1:], row, strict=True))
    assert name == "berlin"
    assert found["accepted"] == "4"
    assert found["delivery_share"] == "0.7500"
    assert found["spend"] == "2.5"
    assert (found["to_operator_p50_ms"], found["to_receipt_p50_ms"]) == ("48", "")
    columns, rows = table(report, "time")
    assert rows[-1][columns.index("to_operator_p95_ms")] == "48"
    assert sum(int(row[1]) for row in rows) == 4
    assert table(report, "code")[1] == [("=UNDELIV 1", "1")]
    for by in BY:
        assert csv_of(report, by).splitlines()[0].startswith(by)
    # what an operator says is no formula
    assert "'=UNDELIV 1,1" in csv_of(report, "code")


class FixedClock:
    def __init__(self, text: str) -> None:
        self._now = at(text)

    def now(self) -> int:
        return self._now

    def monotonic(self) -> float:
        return 0.0


def at(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


async def test_days_of_23_and_25_hours_have_all_that_happened_in_them(rig: Rig) -> None:
    view = ViewReports(Desk(rig.store, FixedClock("2026-11-25T12:00:00Z")))
    # clocks are set back on 25 October: the day in Berlin is from 22:00 on the 24th until 23:00
    for hour in range(-2, 26):
        await rig.happen(at("2026-10-25T00:00:00Z") + hour * 3_600_000, cell(accepted=1, to_operator={5: 1}))
    report = await view.report(ReportQuery("90d", zone="Europe/Berlin"))
    days = {format_offset(when, report.zone)[:10]: each for when, each in report.points if each.accepted}
    assert {day: each.accepted for day, each in days.items()} == {"2026-10-25": 25, "2026-10-26": 3}
    delays = [each.to_operator for _, each in report.delays if each.to_operator]
    assert delays == [{5: 25}, {5: 3}]
    steps = await view.report(ReportQuery("30d", zone="Europe/Berlin"))
    assert (steps.start, steps.zone.key, steps.note) == (at("2026-10-26T23:00:00Z"), "Europe/Berlin", "")
    # and they are set forward on 29 March
    spring = ViewReports(Desk(rig.store, FixedClock("2026-04-02T12:00:00Z")))
    for hour in range(-1, 23):
        await rig.happen(at("2026-03-29T00:00:00Z") + hour * 3_600_000, cell(accepted=1))
    report = await spring.report(ReportQuery("30d", zone="Europe/Berlin"))
    counted = [(format_offset(when, report.zone)[:16], each.accepted) for when, each in report.points if each.accepted]
    assert counted == [
        ("2026-03-29T00:00", 5), ("2026-03-29T06:00", 6), ("2026-03-29T12:00", 6), ("2026-03-29T18:00", 6),
        ("2026-03-30T00:00", 1),
    ]  # fmt: skip


async def test_where_days_cannot_be_those_of_the_zone_the_report_says_so(rig: Rig) -> None:
    for span, zone, zones, said in (
        ("30d", "Asia/Kolkata", "UTC", "Days are in UTC: days in Asia/Kolkata do not begin with an hour of UTC"),
        (
            "1y",
            "Europe/Berlin",
            "UTC",
            "Days are in UTC: days in Europe/Berlin need counts by the hour, which are kept",
        ),
        ("90d", "Africa/Lagos", "Africa/Lagos", "The 90 days before are in UTC: days in Africa/Lagos need counts"),
        ("7d", "Asia/Kolkata", "Asia/Kolkata", ""),
        ("1y", "Africa/Abidjan", "Africa/Abidjan", ""),
    ):
        report = await rig.view.report(ReportQuery(span, zone=zone))
        assert (report.zone.key, report.note[: len(said)]) == (zones, said)
        assert bool(report.note) == bool(said)
    short = ViewReports(Desk(rig.store, rig.clock, hours_days=10))
    assert "kept for 10 days." in (await short.report(ReportQuery("30d", zone="Africa/Lagos"))).note
    with pytest.raises(Invalid):
        await rig.view.report(ReportQuery(zone="Europe/Nowhere"))


async def test_times_of_tables_have_the_zone(rig: Rig) -> None:
    await rig.happen(rig.now, cell(accepted=4, to_operator={40: 2}))
    report = shown(
        REPORTS, REPORTS.operations[0], row_of(await rig.view.report(ReportQuery("90d", zone="Africa/Lagos")))
    )
    columns, rows = table(report, "time")
    assert rows[-1][0].endswith("T00:00:00.000+01:00")
    assert (rows[-1][1], rows[-1][columns.index("to_operator_p50_ms")]) == ("4", "48")
