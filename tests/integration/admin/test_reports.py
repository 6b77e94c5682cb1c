"""Reports, by the admin API."""

import pytest

from heliograph.app.ports.series import SeriesCell
from heliograph.domain.series import Cell, CellKey, Grain
from tests.integration.admin.test_admin_api import fault
from tests.support.admin import AdminHouse, open_house


async def count(house: AdminHouse) -> None:
    """Counts something of the current minute."""
    now = house.gateway.clock.now()
    cell = Cell()
    cell.accepted, cell.delivered, cell.failed, cell.spend, cell.refused = 8, 6, 2, 3_000_000, 4
    cell.failures, cell.refusals = {"UNDELIV <1>": 2}, {"credit": 4}
    cell.to_operator, cell.to_receipt = {7: 8}, {40: 6}
    cells = [SeriesCell(grain, grain.start(now), CellKey(1, 77, "DE"), cell) for grain in Grain]
    await house.gateway.store.series.add(cells)


@pytest.fixture
async def house() -> AdminHouse:
    house = await open_house()
    await count(house)
    return house


async def test_the_admin_api_has_the_report(house: AdminHouse) -> None:
    token = await house.token("reports:read")
    found = (await house.ask(token, "GET", "/reports", query="range=1h")).json
    assert (found["range"], found["step_s"], len(found["points"])) == ("1h", 60, 60)
    assert found["total"] == {
        "accepted": 8, "segments": 0, "submitted": 0, "delivered": 6, "failed": 2, "cancelled": 0, "inbound": 0,
        "refused": 4, "spend": "3", "delivery_share": 0.75,
    }  # fmt: skip
    assert found["before"]["accepted"] == 0
    assert [each["name"] for each in found["connectors"]] == ["#77"]
    assert found["countries"][0]["to_receipt"]["p50"] == 48
    assert found["refusals"] == [{"code": "credit", "count": 4}]
    none = (await house.ask(token, "GET", "/reports", query="country=FR")).json
    assert (none["total"]["accepted"], none["to_receipt"]["p50"]) == (0, None)
    there = (await house.ask(token, "GET", "/reports", query="range=30d&zone=Africa/Lagos")).json
    assert (there["zone"], there["note"], there["total"]["accepted"]) == ("Africa/Lagos", "", 8)
    assert there["start"].endswith("T00:00:00.000+01:00")
    for query, problem in (
        ("zone=Europe/Nowhere", (400, "03")),
        ("account=nobody", (404, "07")),
        ("range=2h", (400, "03")),
        ("country=Germany", (400, "03")),
    ):
        assert fault(await house.ask(token, "GET", "/reports", query=query))[:2] == problem
