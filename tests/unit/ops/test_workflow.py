"""The workflow of a release, checked by reading: nothing here can run it."""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from heliograph import __version__

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
JOBS: dict[str, Any] = yaml.safe_load(TEXT)["jobs"]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def steps(job: str) -> list[dict[str, Any]]:
    return list(JOBS[job]["steps"])


def test_one_version_has_one_entry_in_the_change_log() -> None:
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## ([0-9.]+)", log, re.MULTILINE).count(__version__) == 1
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/heliograph/__init__.py"


def test_nothing_is_made_of_a_tag_that_is_not_the_version() -> None:
    [check] = [each["run"] for each in steps("test") if "TAG" in each.get("run", "")]
    found = re.search(r"sed -n '(.*?)'", check)
    assert found is not None
    expression = found[1].removeprefix("s/").removesuffix("/\\1/p").replace("\\(", "(").replace("\\)", ")")
    source = (ROOT / "src/heliograph/__init__.py").read_text(encoding="utf-8")
    assert re.findall(expression, source, re.MULTILINE) == [__version__]
    for job in set(JOBS) - {"test", "publish"}:
        assert JOBS[job]["needs"] == "test"
    assert set(JOBS["publish"]["needs"]) == set(JOBS) - {"test", "publish"}


def test_tasks_that_it_runs_are_there() -> None:
    tasks = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"make ([a-z-]+)", TEXT)) - {"install"} <= tasks


def test_wheels_are_made_for_every_python_that_is_named() -> None:
    wanted = PROJECT["tool"]["cibuildwheel"]["build"]
    named = re.findall(r"Python :: 3\.(\d+)", " ".join(PROJECT["project"]["classifiers"]))
    assert wanted == [f"cp3{minor}-*" for minor in named]
    assert len(JOBS["wheels"]["strategy"]["matrix"]["os"]) == 4


def test_what_publishes_has_no_secret_and_what_needs_no_rights_has_none() -> None:
    assert "secrets." not in TEXT.replace("secrets.GITHUB_TOKEN", "")
    assert yaml.safe_load(TEXT)["permissions"] == {"contents": "read"}
    assert [job for job in JOBS if "write" in str(JOBS[job].get("permissions", ""))] == ["image", "publish"]
