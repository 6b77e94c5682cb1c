"""Nowhere on a terminal or a page is a number followed by a noun that is always in the plural."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3] / "src/heliograph"
NOUNS = (
    "accounts|callbacks|characters|contacts|credits|days|faults|files|hours|keys|lines|messages|minutes|nodes|numbers|"
    "octets|parts|people|receipts|requests|routes|rows|seconds|segments|times|tries"
)
IN_PYTHON = re.compile(rf"\{{([^{{}}]+)\}} (?:{NOUNS})\b")
IN_TEMPLATES = re.compile(rf"\|\s*(?:count|credits|rate)\s*\}}\}}(?:</\w+>)? (?:{NOUNS})\b")
CONSTANT = re.compile(r"(?:[a-z]+\.)?[A-Z][A-Z0-9_]*(?::,)?")
"""A limit of ours, which is more than one."""
NEVER_ONE = {"len(fitting)", "len(sheet.rows):,"}
"""The other branch of a choice, and what is more than such a limit."""


def test_one_thing_is_never_called_several() -> None:
    found = []
    for folder in ("cli", "console"):
        for path in (ROOT / folder).rglob("*.py"):
            found += [
                f"{path.name}: {said[0]}"
                for said in IN_PYTHON.finditer(path.read_text(encoding="utf-8"))
                if not CONSTANT.fullmatch(said[1]) and said[1] not in NEVER_ONE
            ]
    for path in (ROOT / "console/templates").glob("*.html"):
        found += [f"{path.name}: {said[0]}" for said in IN_TEMPLATES.finditer(path.read_text(encoding="utf-8"))]
    assert found == []
