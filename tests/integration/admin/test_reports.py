"""Reports, by the admin API."""

import pytest

from heliograph.app.configuration import Cost, MobileNetwork
from heliograph.app.facts import Facts, MessageEnd, Submission
from heliograph.app.ports.series import SeriesCell
from heliograph.domain.calendar import format_utc
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.series import Cell, CellKey, Grain
from tests.integration.admin.test_admin_api import fault
from tests.support.admin import AdminHouse, open_house
from tests.support.connectors import smpp_connector
from tests.support.store import HOUR, START, Given

DAY = 24 * HOUR


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


async def test_the_margin_is_exact_over_changes_of_price_and_cost_at_noon(house: AdminHouse) -> None:
    token, store = await house.token("prices:read"), house.gateway.store
    given = Given(store, START)
    day, noon = START - START % DAY, START - START % DAY + DAY // 2
    network = store.network
    other = (await network.add_connector(smpp_connector(0, "other", "h", 1, "id", "pw"))).id
    await store.mobile_networks.put([MobileNetwork("4917", "26201", "Telekom")])
    await store.costs.put(
        [Cost(1, "49", "", 30_001, 5_000), Cost(1, "49", "", 40_003, 7_000, noon), Cost(other, "", "26201", 20_000)]
    )

    async def sent(at: int, price: int, connector: int, number: str, *, delivered: bool = True) -> None:
        given.now = at
        message = await given.sent(1, price=price, destination=number)
        taken = Submission(1, message.key, 0, connector, "id", 0, at + 5)
        state = Delivery.DELIVRD if delivered else Delivery.UNDELIV
        final = MessageEnd(1, message.key, state, "000", at + 9, owed=False)
        await store.commits.record(Facts(submissions=[taken], finals=[final]))

    await sent(noon - 1_000, 50_000, 1, "491701234567")
    await sent(noon - 3, 50_000, 1, "491701234568", delivered=False)
    await sent(noon, 60_000, 1, "493012345678")
    await sent(noon + 1, 60_000, other, "491701234567")
    await sent(noon + 2, 60_000, other, "33612345678")
    await given.sent(1, price=77_000)

    def asked(by: str) -> str:
        return f"by={by}&from={format_utc(day)}&to={format_utc(day + DAY)}".replace("+", "%2B")

    found = (await house.ask(token, "GET", "/reports/margin", query=asked("connector,country"))).json
    assert found["from"] == format_utc(day)
    assert [tuple(row.values()) for row in found["rows"]] == [
        ("operator", "DE", None, None, 3, 3, 2, "0.16", "0.122007", "0.037993", 0),
        ("other", "DE", None, None, 1, 1, 1, "0.06", "0.02", "0.04", 0),
        ("other", "FR", None, None, 1, 1, 1, "0.06", "0", "0.06", 1),
    ]
    assert found["total"] == {
        "messages": 5, "segments": 5, "delivered": 4, "revenue": "0.28", "cost": "0.142007", "margin": "0.137993",
        "unknown": 1,
    }  # fmt: skip
    by_rest = (await house.ask(token, "GET", "/reports/margin", query=asked("plan,network"))).json
    assert [(row["network"], row["plan"], row["revenue"]) for row in by_rest["rows"]] == [
        ("26201", "default", "0.16"),
        ("", "default", "0.12"),
    ]
    too_long = (
        "from=2027-01-01&to=9999-12-30"  # without a limit its points take gigabytes, and the gateway stands still
    )
    for query in ("by=colour", "by=plan,plan", "from=2027-01-02&to=2027-01-01", too_long):
        assert fault(await house.ask(token, "GET", "/reports/margin", query=query))[0] == 400
    early = await house.ask(token, "GET", "/reports/margin", query="from=1970-01-01")
    assert fault(early)[::2] == (400, "from"), "else it would be the last day"
    poor = await house.token("reports:read")
    assert fault(await house.ask(poor, "GET", "/reports/margin"))[0] == 403
