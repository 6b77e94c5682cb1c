"""The console's page of reports, and the charts on other pages."""

import csv
import json

from tests.integration.admin.test_reports import count
from tests.support.admin import AdminHouse, Browser


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


async def test_other_pages_have_charts_too(house: AdminHouse, ada: Browser) -> None:
    await count(house)
    assert (await ada.get("/")).text.count("data-chart=") == 1
    assert (await ada.get("/accounts/acme")).text.count("data-chart=") == 2


async def test_the_page_is_in_the_zone_of_whoever_looks(house: AdminHouse, ada: Browser) -> None:
    await count(house)
    assert "Times are in UTC." in (await ada.get("/reports")).text
    ada.cookies["heliograph_zone"] = "Africa/Lagos"
    page = (await ada.get("/reports", "range=90d")).text
    assert "Times are in Africa/Lagos. The 90 days before are those of UTC" in page
    assert (
        "Times are in UTC. Days are those of UTC: those of Africa/Lagos" in (await ada.get("/reports", "range=1y")).text
    )
    rows = list(csv.DictReader((await ada.get("/reports.csv", "range=24h")).text.splitlines()))
    assert all(row["time"].endswith("+01:00") for row in rows)
    chart = json.loads((await ada.get("/reports/points", "range=1h")).text)
    assert chart["zone"] == "Africa/Lagos"
    ada.cookies["heliograph_zone"] = "../../etc/passwd"
    assert "Times are in UTC." in (await ada.get("/reports")).text
