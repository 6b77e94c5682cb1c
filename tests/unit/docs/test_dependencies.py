"""The program needs each package that it asks for, and docs/dependencies.md says what for."""

import re
import tomllib
from pathlib import Path

import pytest

from tests.support.cases import for_each

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


_IMPORT = re.compile(r"^ *(?:from +([\w.]+) +import |import +([\w.]+))", re.MULTILINE)
"""A line that imports; a single module, as our style has it. Ten times as fast as to parse."""


def imported() -> set[str]:
    """Every module that the source imports, and the packages that these are in."""
    found: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        for names in _IMPORT.findall(path.read_text(encoding="utf-8")):
            parts = "".join(names).split(".")
            found.update(".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return found


def test_what_is_asked_for_is_needed() -> None:
    needed = imported()
    assert [name for name in TO_RUN if name not in UNSEEN and MODULES.get(name, name) not in needed] == []


@for_each("name", sorted({*TO_RUN, *named(EXTRAS["dev"])}))
def test_the_page_names_it(name: str) -> None:
    assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", PAGE)


def rows() -> list[list[str]]:
    """The rows of the table of what is our own, each without its outer bars."""
    (table,) = re.findall(r"^## Our own code$.*?\n\|---.*?\n(.*?)\n\n", PAGE, re.DOTALL | re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def lines_of(what: str) -> int:
    """The lines of Python in the files and folders that the first cell of a row names."""
    named = [ROOT / "src/heliograph" / path for path in re.findall(r"`([a-z_/]+(?:/|\.py))`", what)]
    files = [file for path in named for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]
    assert files, what
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


@pytest.mark.parametrize("row", rows(), ids=lambda row: re.sub("[^a-zA-Z0-9]+", "-", row[0].partition(":")[0]))
def test_what_is_our_own_is_as_long_as_the_page_says(row: list[str]) -> None:
    what, said, library, why = row
    there, named = lines_of(what), int(said.replace(",", ""))
    assert abs(there - named) <= max(10, named / 10), f"{what} has {there} lines: round that, and write it down"
    assert library
    assert why
