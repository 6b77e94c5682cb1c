"""The modules that take values from rows of a store, compiled: compiled code refuses a value of another type than is
annotated, such as an int for a bool, and the interpreter does not.

`make compiled` runs it, and CI does. The tests of test_native.py try all compiled modules, and take minutes: `make
test-all` only.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from hatch_build import with_initialisers

from tests.support.peers import foreign_file, foreign_program

ROOT = Path(__file__).parents[3]

PART = ("adapters/store/", "app/configuration", "app/facts", "app/routing/", "app/sending/directory", "domain/pace/")
"""Rows of both stores, the classes that are made from rows, and the code that reads these classes first. The pace has
more attributes that may be None than any other code."""

TESTS = (
    *(f"tests/contracts/test_{name}.py" for name in ("administering", "planning", "table_changes")),
    "tests/unit/domain/test_pace.py::test_a_pace_that_is_free_hears_of_a_limit",
    "tests/unit/domain/test_pace.py::test_nothing_is_held_back_where_there_is_less_to_send_than_a_pace_that_has_grown",
)

pytestmark = [pytest.mark.slow, pytest.mark.minutes, pytest.mark.peer, pytest.mark.extended]


def compiled_part(folder: Path) -> list[str]:
    """Compiles the part in a copy of the package, without optimisation. Returns the names of its modules."""
    foreign_program("cc")
    foreign_file(Path(sysconfig.get_path("include"), "Python.h"), "the header of Python")
    shutil.copytree(ROOT / "src", folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    libraries = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["libraries"]
    modules = [module for module in libraries["heliograph_engine"] if module.startswith(PART)]
    files = [f"heliograph/{module}.py" for module in modules]
    for file in files:
        path = folder / file
        path.write_text(with_initialisers(path.read_text(encoding="utf-8")), encoding="utf-8")
    run(
        folder, str(ROOT / "hatch_build.py"), json.dumps({"heliograph_part": files}),
        MYPYPATH=str(folder), MYPYC_OPT_LEVEL="0",
    )  # fmt: skip
    return [f"heliograph.{module.replace('/', '.')}" for module in modules]


def run(folder: Path, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        check=False, cwd=folder, env=os.environ | environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def test_compiled_modules_take_what_is_in_rows(tmp_path: Path) -> None:
    modules = compiled_part(tmp_path)
    question = f"from importlib import import_module as i; print(*(i(m).__file__ for m in {modules}))"
    used = run(ROOT, "-c", question, PYTHONPATH=str(tmp_path)).split()
    assert {Path(name).suffix for name in used} == {".so"}
    assert all(name.startswith(str(tmp_path)) for name in used)
    run(
        ROOT, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:schemathesis", "-m", "not extended",
        "-k", "test_pace or sqlite or postgres", *TESTS,
        PYTHONPATH=str(tmp_path),
    )  # fmt: skip
