"""`heliograph refusals`, in this process."""

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.records import RefusalCount, RefusedRequest
from heliograph.domain.error import Reason

HOUR = 3_600_000


async def refuse(data: Path, account: int) -> None:
    now = time.time_ns() // 1_000_000
    store = await SqliteStore.open(data / "heliograph.db")
    request = RefusedRequest(
        account, Reason.CREDIT, now, 402, "POST", "/api/v1/messages", "", "The credit is too low.", "192.0.2.7", "r-1"
    )
    await store.refused_requests.add(
        [RefusalCount(account, Reason.CREDIT, now // HOUR * HOUR, 681, now)], [request], 20
    )
    await store.close()


def test_what_was_refused_is_told_to_people_and_programs(run: Any, tmp_path: Path) -> None:
    assert run("account", "create", "acme", "--credit", "1").exit_code == 0
    assert "No request was refused in the last 24 hours." in run("refusals").stdout
    asyncio.run(refuse(tmp_path / "data", 1))
    told = run("refusals", "--account", "acme").stdout
    assert "Total in the last 24 hours: 681 requests." in told
    (line,) = (line.split() for line in told.splitlines() if "192.0.2.7" in line)
    assert line[1:6] == ["acme", "credit", "402", "POST", "/api/v1/messages"]
    found = json.loads(run("refusals", "--reason", "credit", "--json").stdout)
    assert (found["requests"], found["totals"][0]["account"]) == (681, "acme")
    assert found["latest"][0]["request_id"] == "r-1"
    assert json.loads(run("refusals", "--reason", "rate", "--json").stdout)["requests"] == 0


def test_an_unknown_account_is_told(run: Any) -> None:
    run("account", "create", "acme", "--credit", "1")
    refused = run("refusals", "--account", "nobody")
    assert refused.exit_code == 1
    assert "heliograph account list" in refused.stderr
