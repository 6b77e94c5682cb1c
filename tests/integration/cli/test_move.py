"""`heliograph move`, as the person at the terminal sees it."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from heliograph.runtime.data_directory import only_engine
from tests.support.postgres import server

Run = Callable[..., Result]


@pytest.fixture
def store(run: Run) -> None:
    assert run("account", "create", "acme", "--credit", "100", "--json").exit_code == 0


@pytest.mark.usefixtures("store")
def test_a_store_moves_and_says_what_to_do_next(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    url = asyncio.run(server().empty())
    moved = run("move", "--to", url)
    assert moved.exit_code == 0, moved.stderr
    assert "the ledgers are right" in moved.stdout.replace("\n", " ")
    assert "HELIOGRAPH_DATABASE_URL" in moved.stdout
    refused = run("account", "list")
    assert refused.exit_code == 1
    assert "its rows were moved to PostgreSQL" in refused.stderr
    monkeypatch.setenv("HELIOGRAPH_DATABASE_URL", url)
    listed = json.loads(run("account", "list", "--json").stdout)
    assert [(each["name"], each["balance"]) for each in listed["accounts"]] == [("acme", "100")]
    entries = json.loads(run("admin", "log", "--json").stdout)["entries"]
    assert [entry["action"] for entry in entries if entry["action"] == "store.move"] == ["store.move"]
    assert run("audit").exit_code == 0


@pytest.mark.usefixtures("store")
def test_a_move_without_a_database_or_beside_a_gateway_is_refused(run: Run, tmp_path: Path) -> None:
    assert "the move needs a database" in run("move").stderr
    assert "no move of it was begun" in run("move", "--abandon").stderr
    with only_engine(tmp_path / "data"):
        refused = run("move", "--to", "postgresql://127.0.0.1:1/none")
    assert refused.exit_code == 1
    assert "another gateway runs on" in refused.stderr
    unreachable = run("move", "--to", "postgresql://127.0.0.1:1/none")
    assert "the store was not moved" in unreachable.stderr
    assert run("account", "list").exit_code == 0


def test_a_directory_without_a_store_is_named(run: Run, tmp_path: Path) -> None:
    refused = run("move", "--to", "postgresql://127.0.0.1:1/none")
    assert refused.exit_code == 1
    assert f"there is no store at {tmp_path / 'data' / 'heliograph.db'}" in refused.stderr
