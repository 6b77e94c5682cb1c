"""Reports: ranges, what they are made of, comparison, parts and tables."""

import pytest

from heliograph.admin_api.report_tables import csv_of, table
from heliograph.admin_api.reports import report as answer_of
from heliograph.app.admin.fields import Invalid
from heliograph.app.admin.manage import NoSuch
from heliograph.app.admin.report_figures import BY
from heliograph.app.admin.reports import RANGES, ReportQuery, ViewReports
from heliograph.app.ports.series import CountedCommits, SeriesCell
from heliograph.domain.series import Cell, CellKey, Grain
from tests.support.connectors import smpp_connector
from tests.support.memory_store import MemoryStore
from tests.support.store import CREDIT, Given
from tests.support.virtual_time import VirtualClock


class Rig:
    def __init__(self) -> None:
        self.store, self.clock = MemoryStore(), VirtualClock()
        self.now = self.clock.now()
        self.view = ViewReports(self.store, self.clock, {99: "elsewhere"})

    async def begin(self) -> None:
        given = Given(self.store)
        self.acme = (await given.account("acme")).id
        self.berlin = (await self.store.network.add_connector(smpp_connector(0, "berlin", "", 0, "", ""))).id

    async def happen(self, at: int, cell: Cell, connector: int | None = None, country: str = "DE") -> None:
        key = CellKey(self.acme, self.berlin if connector is None else connector, country)
        cells = [SeriesCell(grain, grain.start(at), key, cell) for grain in Grain]
        await self.store.series.add(cells, CountedCommits(0, 0))


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
    report = answer_of(await rig.view.report(ReportQuery("1h")))
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
