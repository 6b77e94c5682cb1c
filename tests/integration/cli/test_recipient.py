"""`heliograph erase` and `export-recipient`, in this process."""

import asyncio
import json
import stat
import time
from pathlib import Path
from typing import Any

import pytest

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.facts import Facts, Submission
from tests.support.store import Given

PHONE = "4917012345678"
TEXT = "Guten Tag"


@pytest.fixture(autouse=True)
def sent(run: Any, tmp_path: Path) -> None:
    """Messages of an account."""
    run("account", "create", "acme", "--credit", "10")
    asyncio.run(_send(tmp_path / "data"))


async def _send(data: Path) -> None:
    store = await SqliteStore.open(data / "heliograph.db")
    given = Given(store, time.time_ns() // 1_000_000)
    message = await given.sent(1, destination=PHONE)
    await store.commits.record(Facts(submissions=[Submission(1, message.key, 0, 1, "op", 0, given.now)]))
    await store.close()


def test_a_phone_is_exported_then_erased(run: Any, tmp_path: Path) -> None:
    exported = run("export-recipient", PHONE, "out.json")
    assert exported.exit_code == 0, exported.stderr
    assert "out.json has 1 message to it and 0 from it." in exported.stdout
    out = tmp_path / "out.json"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    (message,) = json.loads(out.read_text())["messages"]
    assert (message["to"], message["content"]) == (PHONE, TEXT)
    assert run("export-recipient", PHONE, "out.json").exit_code == 1
    planned = json.loads(run("erase", PHONE, "--dry-run", "--json").stdout)
    assert (planned["dry_run"], planned["lines"][0]["erased"]) == (True, 1)
    done = run("erase", PHONE)
    assert done.exit_code == 0, done.stderr
    assert "Data that stay, and why:" in done.stdout
    assert PHONE not in done.stdout
    again = run("erase", PHONE)
    assert "No data of 491********78 are stored." in again.stdout
    assert json.loads(run("export-recipient", PHONE, "-").stdout)["messages"] == []
    assert run("audit").exit_code == 0


def test_nothing_of_an_erased_phone_is_left_in_the_files(run: Any, tmp_path: Path) -> None:
    assert _with(tmp_path / "data", PHONE) + _with(tmp_path / "data", TEXT)
    assert run("erase", PHONE).exit_code == 0
    assert _with(tmp_path / "data", PHONE) + _with(tmp_path / "data", TEXT) == []


def test_mistakes_are_told(run: Any) -> None:
    assert "digits" in run("erase", "12").stderr
    assert run("erase", PHONE, "--account", "nobody").exit_code == 1


def _with(folder: Path, marker: str) -> list[str]:
    return [each.name for each in folder.rglob("*") if each.is_file() and marker.encode() in each.read_bytes()]
