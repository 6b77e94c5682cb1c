"""The console's page of reports, and the charts on other pages."""

import asyncio
import csv
import html
import json
import re
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from heliograph.app.configuration import Cost
from heliograph.app.facts import Facts, Submission
from heliograph.app.ports.series import SeriesCell
from heliograph.app.records import Earning
from heliograph.domain.calendar import format_utc
from heliograph.domain.series import Cell, CellKey, Grain
from heliograph.http.asgi import Asgi, Event
from tests.integration.admin.test_refusals import GOOD, write_refusals
from tests.integration.admin.test_reports import count
from tests.support.admin import ADDRESS, AdminHouse, Browser
from tests.support.store import HOUR, START, Given
from tests.support.timeouts import PATIENCE_S


async def test_the_page_has_charts_tables_and_files(house: AdminHouse, ada: Browser) -> None:
    await count(house)
    page = await ada.get("/reports")
    assert page.status == 200
    assert page.text.count("data-chart=") == 4
    assert "UNDELIV &lt;1&gt;" in page.text
    assert "75.0%" in page.text
    assert (await ada.get("/reports", "range=30d&compare=yes&country=DE")).text.count("Accepted before") >= 1
    assert (await ada.get("/reports", "account=nobody")).status == 400
    file = await ada.get("/reports.csv", "by=account&range=7d")
    assert "attachment" in (file.header("content-disposition") or "")
    (row,) = csv.DictReader(file.text.splitlines())
    assert (row["account"], row["accepted"]) == ("acme", "8")
    chart = json.loads((await ada.get("/reports/points", "range=1h")).text)
    assert sum(chart["series"][0]["values"]) == 8
    assert len(chart["x"]) == 60


async def test_figures_are_told_as_a_glance_takes_them(house: AdminHouse, ada: Browser) -> None:
    now = house.gateway.clock.now()
    cell = Cell()
    cell.accepted, cell.delivered, cell.failed, cell.spend = 3_000, 2_999, 1, 248_951_969_116
    cell.to_operator = {5: 3_000}
    refused = Cell()
    refused.refuse("credit", 4)
    await house.gateway.store.series.add(
        [
            SeriesCell(grain, grain.start(now), key, each)
            for grain in Grain
            for key, each in ((CellKey(1, 0, "DE"), cell), (CellKey(1, 0, ""), refused))
        ],
    )
    page = (await ada.get("/reports")).text
    assert "248,951.97" in page
    assert "&gt; 99.9%" in page
    assert "100.0%" in page  # of refused requests, one reason
    assert page.count('<th class="one break"') == 3  # what has no messages is no connector and no country
    assert "There are no figures for this period." not in page
    none = (await ada.get("/reports", "country=FR")).text
    assert none.count("There are no figures for this period.") == 4
    assert "data-chart" not in none
    (row,) = csv.DictReader((await ada.get("/reports.csv", "by=account")).text.splitlines())
    assert row["spend"] == "248951.969116"


async def test_what_is_counted_while_a_report_is_read_breaks_no_page(house: AdminHouse, ada: Browser) -> None:
    now = house.gateway.clock.now()
    cell = Cell()
    cell.fail("UNDELIV 1")
    cell.refuse("credit", 2)
    cells = [SeriesCell(Grain.HOUR, Grain.HOUR.start(now), CellKey(1, 7, "DE"), cell)]  # and not yet in minutes
    await house.gateway.store.series.add(cells)
    page = await ada.get("/reports")
    assert page.status == 200
    assert "UNDELIV 1" in page.text


async def test_bars_are_in_the_zone_of_whoever_looks(house: AdminHouse, ada: Browser) -> None:
    now = house.gateway.clock.now()
    await house.gateway.send({**GOOD, "to": "no number"})
    await write_refusals(house)
    hour = datetime.fromtimestamp(now / 1000, ZoneInfo("Asia/Tokyo")).strftime("%H:00")
    ada.cookies["heliograph_zone"] = "Asia/Tokyo"
    for path in ("/accounts/acme", "/refusals"):
        titles = re.findall(r"<title>(\d\d:\d\d): ", (await ada.get(path)).text)
        assert titles[-1] == hour, path
    assert "Usage, last 30 days of UTC" in (await ada.get("/accounts/acme", "days=30")).text
    days = re.findall(r"<title>(\d\d \w+): ", (await ada.get("/refusals", "hours=168")).text)
    assert days[-1] == datetime.fromtimestamp(now / 1000, ZoneInfo("Asia/Tokyo")).strftime("%d %b")
    assert len(days) == len(set(days)) == 8


async def test_other_pages_have_charts_too(house: AdminHouse, ada: Browser) -> None:
    await count(house)
    assert (await ada.get("/")).text.count("data-chart=") == 1
    assert (await ada.get("/accounts/acme")).text.count("data-chart=") == 2


async def test_the_page_is_in_the_zone_of_whoever_looks(house: AdminHouse, ada: Browser) -> None:
    await count(house)
    assert "Times are in UTC." in (await ada.get("/reports")).text
    ada.cookies["heliograph_zone"] = "Africa/Lagos"
    page = (await ada.get("/reports", "range=90d")).text
    assert "Times are in Africa/Lagos. The 90 days before are in UTC" in page
    assert "Times are in UTC. Days are in UTC: days in Africa/Lagos" in (await ada.get("/reports", "range=1y")).text
    rows = list(csv.DictReader((await ada.get("/reports.csv", "range=24h")).text.splitlines()))
    assert all(row["time"].endswith("+01:00") for row in rows)
    chart = json.loads((await ada.get("/reports/points", "range=1h")).text)
    assert chart["zone"] == "Africa/Lagos"
    ada.cookies["heliograph_zone"] = "../../etc/passwd"
    assert "Times are in UTC." in (await ada.get("/reports")).text


async def test_the_margin_has_a_chart_a_table_and_a_file(house: AdminHouse, ada: Browser) -> None:
    store = house.gateway.store
    given = Given(store, START)
    message = await given.sent(1, price=50_000, destination="491701234567")
    await store.commits.record(Facts(submissions=[Submission(1, message.key, 0, 1, "id", 0, START + 5)]))
    await store.costs.put([Cost(1, "49", "", 60_000)])
    house.gateway.clock.ms = START + HOUR
    page = await ada.get("/margin")
    assert " required" not in page.text.partition('role="search"')[2].partition("</form>")[0]
    last_day = await _figures(ada, page)
    assert (last_day.count("data-chart="), "-0.01" in last_day) == (1, True)
    day, next_day = format_utc(START)[:10], format_utc(START + 24 * HOUR)[:10]
    figures = await _figures(ada, await ada.get("/margin", f"from={day}&to={next_day}&connector=yes&country=yes"))
    assert figures.count("data-chart=") == 1
    assert "By connector and country" in figures
    assert "-0.01" in figures
    assert ">1 message<" in figures
    (row,) = csv.DictReader((await ada.get("/margin.csv", f"from={day}&to={next_day}&by=plan")).text.splitlines())
    assert (row["plan"], row["revenue"], row["cost"], row["margin"]) == ("default", "0.05", "0.06", "-0.01")
    wrong = await ada.get("/margin", "from=yesterday")
    assert (wrong.status, "data-load" in wrong.text) == (400, False)
    assert "is not a date" in wrong.text
    assert "before the end" in (await ada.get("/margin", f"from={next_day}&to={day}")).text


async def _figures(browser: Browser, page: Any) -> str:
    """Returns the piece that the page's script fetches after it."""
    path, _, query = html.unescape(page.text.partition('data-load="/console')[2].partition('"')[0]).partition("?")
    piece = await browser.get(path, query)
    assert (page.status, piece.status) == (200, 200)
    return piece.text


async def test_the_page_of_margins_adds_up_nothing_itself(house: AdminHouse, ada: Browser) -> None:
    house.gateway.store.messages.earnings = None  # type: ignore[method-assign, assignment]
    assert (await ada.get("/margin", "country=yes")).status == 200


async def test_a_period_may_be_a_week_a_month_or_days_of_ones_own(house: AdminHouse, ada: Browser) -> None:
    week = await ada.get("/reports", "range=last+week")
    assert '<option value="last week" selected>Last week</option>' in week.text
    assert 'aria-label="4 January 2027 to 10 January 2027"' in week.text
    assert 'value="January 2027" selected' in (await ada.get("/reports", "range=January+2027")).text
    days = await ada.get("/reports", "range=24h&from=2027-01-02&to=2027-01-03")
    assert "<strong>2 January 2027 to 3 January 2027.</strong>" in days.text
    assert "selected>Own dates</option>" in days.text
    assert 'name="from" type="date" value="2027-01-02"' in days.text
    assert "range=2027-01-02..2027-01-03" in days.text  # of the links to files
    assert "2 January 2027 to 15 January 2027" in (await ada.get("/reports", "from=2027-01-02")).text
    assert "3 January 2027" in (await ada.get("/reports", "to=2027-01-03")).text
    file = await ada.get("/reports.csv", "range=2027-01-02..2027-01-03&by=time")
    assert file.header("content-disposition") == 'attachment; filename="report-2027-01-02-to-2027-01-03-by-time.csv"'
    wrong = await ada.get("/reports", "from=2027-01-03&to=2027-01-02")
    assert (wrong.status, "ends before it begins" in wrong.text) == (400, True)


async def test_a_margin_report_counts_as_an_export_and_ends_with_its_client(house: AdminHouse, ada: Browser) -> None:
    begun, ended = asyncio.Semaphore(0), asyncio.Semaphore(0)

    async def earnings(*_: int) -> list[Earning]:
        begun.release()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.release()
        return []

    async def many(semaphore: asyncio.Semaphore) -> None:
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(4):
                await semaphore.acquire()

    house.gateway.store.messages.earnings = earnings  # type: ignore[method-assign, assignment]
    token = await house.token("prices:read")
    leave = asyncio.Event()
    running = [asyncio.create_task(_until(house.console, "/console/margin/figures", ada, leave)) for _ in range(3)]
    running.append(asyncio.create_task(_until(house.api, "/admin/v1/reports/margin", token, leave)))
    await many(begun)
    for path in ("/margin/figures", "/margin.csv", "/prices.csv", "/routing.csv", "/coverage.csv"):
        assert (await ada.get(path)).status == 503, path
    refused = await house.ask(token, "GET", "/reports/margin")
    assert (refused.status, refused.header("retry-after")) == (503, "10")
    leave.set()
    await many(ended)
    await asyncio.gather(*running)
    assert house.admin.exports.running == 0


async def _until(app: Asgi, path: str, who: Browser | str, leave: asyncio.Event) -> None:
    """Makes a request of a client that closes its connection after a while."""
    name, value = (
        ("authorization", f"Bearer {who}")
        if isinstance(who, str)
        else ("cookie", "; ".join(f"{name}={value}" for name, value in who.cookies.items()))
    )
    scope = {
        "type": "http", "http_version": "1.1", "method": "GET", "scheme": "http", "path": path, "query_string": b"",
        "headers": [(name.encode(), value.encode())], "client": (ADDRESS, 50_000),
    }  # fmt: skip
    events: list[Event] = [{"type": "http.request", "body": b""}]

    async def receive() -> Event:
        if not events:
            await leave.wait()
        return events.pop() if events else {"type": "http.disconnect"}

    async def send(_: Event) -> None:
        raise AssertionError("no client is there to answer")

    await app(scope, receive, send)
