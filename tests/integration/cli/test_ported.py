"""The setting of the file of ported numbers, in commands."""

import json
from pathlib import Path
from typing import Any

import pytest


def test_a_ported_number_is_explained_by_its_network(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ported.csv"
    file.write_text("491701234567,26202\n", encoding="ascii")
    monkeypatch.setenv("HELIOGRAPH_ROUTING_PORTED_FILE", str(file))
    assert run("network", "set", "4917", "--mccmnc", "26201").exit_code == 0
    networks = [
        json.loads(run("route", "explain", number, "--json").stdout)["network"]
        for number in ("491701234567", "491701234568")
    ]
    assert networks == ["26202", "26201"]
    file.write_text("nonsense\nnonsense\n", encoding="ascii")
    refused = run("route", "explain", "491701234567")
    assert (refused.exit_code, "routing.ported_file" in refused.stderr) == (1, True)
