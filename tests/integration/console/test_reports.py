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
