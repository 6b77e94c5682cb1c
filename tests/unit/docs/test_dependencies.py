"""The program needs each package that it asks for, and docs/dependencies.md says what for."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGE = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")

MODULES = {
    "argon2-cffi": "argon2",
    "opentelemetry-sdk": "opentelemetry.sdk",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry.exporter",
}
"""Where they are not called as the package is."""

UNSEEN = {"tzdata"}
"""What Python itself imports."""


def named(requirements: list[str]) -> list[str]:
    names = [re.split(r"[\[<>=]", requirement)[0] for requirement in requirements]
    return [name for name in names if name != PROJECT["name"]]


EXTRAS = PROJECT["optional-dependencies"]
TO_RUN = named(PROJECT["dependencies"] + EXTRAS["postgres"] + EXTRAS["otel"])


def imported() -> set[str]:
    """Every module that the source imports, and the packages that these are in."""
    found: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            else:
                continue
            for name in names:
                parts = name.split(".")
                found.update(".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return found


def test_what_is_asked_for_is_needed() -> None:
    needed = imported()
    assert [name for name in TO_RUN if name not in UNSEEN and MODULES.get(name, name) not in needed] == []


@pytest.mark.parametrize("name", sorted({*TO_RUN, *named(EXTRAS["dev"])}))
def test_the_page_names_it(name: str) -> None:
    assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", PAGE)
