"""The OpenAPI documents, as foreign linters judge them: all documents at once, by the rules in `tests/peers`."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from heliograph.admin_api.openapi import document as admin_document
from heliograph.admin_api.operations import operations
from heliograph.api.fields import Terms
from heliograph.api.narrow import narrowed
from heliograph.api.openapi import document
from heliograph.composition.connectors import KINDS
from tests.support.peers import NODE_MODULES, SCRIPTS, foreign_file, foreign_program
from tests.support.timeouts import COMMAND_S

pytestmark = [pytest.mark.peer, pytest.mark.slow]


@pytest.fixture
def documents(tmp_path: Path) -> list[str]:
    """Files with the documents that a gateway serves."""
    whole = document(Terms())
    made = {"openapi.json": whole, "openapi-3.0.json": narrowed(whole), "admin.json": admin_document(operations(KINDS))}
    for name, content in made.items():
        (tmp_path / name).write_bytes(msgspec.json.encode(content))
    return [str(tmp_path / name) for name in made]


def lint(program: str, package: str, arguments: list[str], folder: Path) -> str:
    """Returns the findings, or "" if there are none."""
    foreign_file(NODE_MODULES / package, f"npm's {package}")
    environment = os.environ | {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    ran = subprocess.run(
        [foreign_program("node"), str(NODE_MODULES / ".bin" / program), "lint", *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=COMMAND_S, check=False,
    )  # fmt: skip
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr


def test_redocly_finds_no_fault(documents: list[str], tmp_path: Path) -> None:
    rules = str(SCRIPTS / "redocly.yaml")
    assert lint("redocly", "@redocly/cli", ["--config", rules, *documents], tmp_path) == ""


@pytest.mark.extended
def test_spectral_finds_no_fault(documents: list[str], tmp_path: Path) -> None:
    rules = ["--ruleset", str(SCRIPTS / "spectral.yaml"), "--fail-severity", "hint"]
    assert lint("spectral", "@stoplight/spectral-cli", [*rules, *documents], tmp_path) == ""


def patterns(value: Any) -> Iterator[str]:
    """Every `pattern` of a document."""
    if isinstance(value, dict):
        if isinstance(value.get("pattern"), str):
            yield value["pattern"]
        for each in value.values():
            yield from patterns(each)
    elif isinstance(value, list):
        for each in value:
            yield from patterns(each)


def test_every_pattern_is_a_regular_expression_of_javascript(documents: list[str]) -> None:
    found = sorted({each for path in documents for each in patterns(json.loads(Path(path).read_bytes()))})
    script = "for (const each of JSON.parse(require('fs').readFileSync(0))) new RegExp(each, 'u')"
    command = [foreign_program("node"), "-e", script]
    ran = subprocess.run(
        command, input=json.dumps(found), capture_output=True, text=True, timeout=COMMAND_S, check=False
    )
    assert len(found) > 10
    assert ran.returncode == 0, ran.stderr
