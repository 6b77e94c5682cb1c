"""Runs command lines in the process of the tests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from heliograph.cli.main import heliograph


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs a command line on the test's data directory."""
    monkeypatch.setenv("HELIOGRAPH_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, **options: Any) -> Result:
        return CliRunner().invoke(heliograph, arguments, prog_name="heliograph", **options)

    return invoke
