"""`heliograph report`, in this process."""

import asyncio
import csv
import json
import time
from pathlib import Path
from typing import Any

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.configuration import Cost
from heliograph.app.facts import Facts, Submission
from heliograph.app.ports.series import SeriesCell
from heliograph.composition.dev import SIMULATOR
from heliograph.domain.series import Cell, CellKey, Grain
from tests.support.store import Given


async def count(data: Path) -> None:
    now = time.time_ns() // 1_000_000
    cell = Cell()
    cell.accepted, cell.delivered, cell.failed, cell.spend = 2_000, 1_500, 500, 12_500_000
    cell.failures, cell.to_receipt = {"UNDELIV 027": 500}, {40: 1_500}
    store = await SqliteStore.open(data / "heliograph.db")
    key = CellKey(1, 7, "DE")
    await store.series.add([SeriesCell(grain, grain.start(now), key, cell) for grain in Grain])
    await store.close()


def test_a_report_is_told_to_people_programs_and_spreadsheets(run: Any, tmp_path: Path) -> None:
    assert run("account", "create", "acme", "--credit", "1").exit_code == 0
    assert "There are no figures." in run("report").stdout
    asyncio.run(count(tmp_path / "data"))
    told = run("report", "--range", "7d", "--by", "account", "--compare").stdout
    assert "Delivery share        75.0%  (- before)" in told
    (line,) = (line.split() for line in told.splitlines() if line.strip().startswith("acme"))
    assert line == ["acme", "2,000", "1,500", "500", "75.0%", "0", "0", "12.5"]
    found = json.loads(run("report", "--account", "acme", "--country", "DE", "--json").stdout)
    assert found["total"]["accepted"] == 2_000
    assert found["to_receipt"]["p95"] == 48
    assert found["failures"] == [{"code": "UNDELIV 027", "count": 500}]
    (row,) = csv.DictReader(run("report", "--by", "country", "--csv").stdout.splitlines())
    assert (row["country"], row["delivery_share"], row["spend"]) == ("DE", "0.7500", "12.5")
    rows = csv.DictReader(
        run("report", "--by", "time", "--range", "90d", "--zone", "Africa/Lagos", "--csv").stdout.splitlines()
    )
    assert all(row["time"].endswith("T00:00:00.000+01:00") for row in rows)
    told = run("report", "--range", "1y", "--zone", "Africa/Lagos").stdout
    assert told.startswith("Last year. Days are in UTC: days in Africa/Lagos need counts by the hour")
    assert "Times are in Africa/Lagos." in run("report", "--zone", "Africa/Lagos").stdout
    (row,) = csv.DictReader(run("report", "--by", "code", "--csv").stdout.splitlines())
    assert row == {"code": "UNDELIV 027", "failed": "500"}


async def send(data: Path, connector: int = 1) -> None:
    store = await SqliteStore.open(data / "heliograph.db")
    given = Given(store, time.time_ns() // 1_000_000 - 5_000)
    await store.costs.put([Cost(1, "49", "", 400_000)])
    for number in ("491701234567", "33612345678"):
        message = await given.sent(1, destination=number, price=1_500_000)
        taken = Submission(1, message.key, 0, connector, number, 0, given.now)
        await store.commits.record(Facts(submissions=[taken]))
    await store.close()


def test_the_margin_is_told_to_people_programs_and_spreadsheets(run: Any, tmp_path: Path) -> None:
    assert run("account", "create", "acme", "--credit", "9").exit_code == 0
    bind = ("--host", "127.0.0.1", "--port", "2775", "--system-id", "acme", "--password", "secret")
    assert run("connector", "add", "op1", *bind).exit_code == 0
    assert "There are no figures." in run("report", "margin").stdout
    asyncio.run(send(tmp_path / "data"))
    told = run("report", "margin", "--by", "country").stdout.splitlines()
    assert told[2:6] == [
        "Revenue               3", "Cost                  0.4", "Margin                2.6",
        "The cost of 1 segment is not known.",
    ]  # fmt: skip
    assert [line.split() for line in told[9:]] == [
        ["DE", "1", "1", "0", "1.5", "0.4", "1.1", "0"],
        ["FR", "1", "1", "0", "1.5", "0", "1.5", "1"],
    ]
    assert json.loads(run("report", "margin", "--json").stdout)["rows"][0]["connector"] == "op1"
    (row,) = csv.DictReader(run("report", "margin", "--by", "plan,connector", "--csv").stdout.splitlines())
    assert (row["connector"], row["plan"], row["margin"]) == ("op1", "default", "2.6")
    assert run("report", "margin", "--by", "colour").exit_code == 1
    assert "cannot be combined" in run("report", "margin", "--csv", "--json").stderr


def test_the_margin_of_a_development_run_has_no_costs_of_other_operators(run: Any, tmp_path: Path) -> None:
    assert run("account", "create", "acme", "--credit", "9").exit_code == 0
    bind = ("--host", "127.0.0.1", "--port", "2775", "--system-id", "acme", "--password", "secret")
    assert run("connector", "add", "op1", *bind).exit_code == 0
    asyncio.run(send(tmp_path / "data", SIMULATOR))
    told = json.loads(run("report", "margin", "--json").stdout)["total"]
    assert (told["cost"], told["unknown"]) == ("0", 2)


def test_what_cannot_be_reported_is_told(run: Any) -> None:
    run("account", "create", "acme", "--credit", "1")
    assert run("report", "--account", "nobody").exit_code == 1
    assert "cannot be combined" in run("report", "--csv", "--json").stderr
    assert "is not a period; there are 1h" in run("report", "--range", "2h").stderr
    assert "Europe/Nowhere" in run("report", "--zone", "Europe/Nowhere").stderr
