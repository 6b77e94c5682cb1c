"""The wheel with compiled modules does what the interpreted program does: the core's own tests, and a run of it."""

import fcntl
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

INTERPRETED = ("template", "timetable")
"""Modules of `domain` that are not compiled, and whose tests take long: they show nothing here that they do not show
anyway."""
CORE = (
    *("tests/unit/app", "tests/unit/domain", "tests/unit/smpp", "tests/vectors", "tests/properties"),
    *(f"--ignore=tests/properties/domain/test_{module}_properties.py" for module in INTERPRETED),
)
EACH_DATABASE_ONCE = "(sqlite or postgres) and not on-loop and not encrypted and not test_the_books_after_anything"
"""The store in memory keeps no rows, and SQLite on the loop writes them with the modules that its thread does."""
SEALED = "encrypt and (test_accepting or test_encryption or test_inbound)"
"""Messages of both directions, sealed on their way in and opened on their way out."""
STORES = ("tests/contracts", "-k", f"({EACH_DATABASE_ONCE}) or ({SEALED})")
WHOLE = ("tests/e2e/test_main_job.py", *(f"tests/integration/{door}" for door in ("api", "carrier", "smpp_server")))
PATCHED = (
    "tests/integration/api/test_server.py::test_an_answer_that_cannot_be_made_is_a_fault_of_ours_and_not_a_silence",
    "tests/integration/api/test_server.py::test_those_that_have_said_nothing_for_the_longest_make_room",
    "tests/integration/carrier/test_receipts.py::test_more_receipts_than_can_wait_are_put_off",
    "tests/integration/smpp_server/test_binds.py::test_pdus_without_sense_are_told_once_and_end_at_some_point",
    "tests/integration/smpp_server/test_binds.py::test_submit_multi_with_a_slow_text_leaves_others_their_time",
    "tests/integration/smpp_server/test_binds.py::test_submit_multi_with_much_nonsense_costs_little",
)
"""Tests that patch a constant, a function or a method. Compiled modules do not let them."""

pytestmark = [pytest.mark.slow, pytest.mark.minutes, pytest.mark.timeout(3600), pytest.mark.extended]


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as the wheel has it; compiled in a hurry, since only what it does is looked at. Workers
    share it: the first one compiles, and another that takes one of these tests over waits for it."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "native"
    folder.mkdir(exist_ok=True)
    package = folder / "package"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not package.exists():
            _build(folder).rename(package)
    return package


def _build(folder: Path) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        check=True, cwd=ROOT, env=os.environ | {"HATCH_BUILD_HOOK_ENABLE_CUSTOM": "true", "MYPYC_OPT_LEVEL": "0"},
    )  # fmt: skip
    (wheel,) = folder.glob("*.whl")
    assert "none-any" not in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def must_pass(native: Path, *arguments: str) -> None:
    """Runs tests in processes of their own, in which the compiled modules come before the checkout's."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "-p", "no:cacheprovider", *arguments],
        check=False, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(native)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"


def test_the_modules_are_the_compiled_ones(native: Path) -> None:
    question = "import heliograph.app.dispatch.lane as a, heliograph.smpp.session as b; print(a.__file__, b.__file__)"
    said = subprocess.run(
        [sys.executable, "-c", question],
        check=True, env=os.environ | {"PYTHONPATH": str(native)}, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert [Path(name).suffix for name in said.split()] == [".so", ".so"]
    assert str(native) in said


def test_what_is_left_out_is_not_compiled() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    libraries = project["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["libraries"]
    assert not {module for modules in libraries.values() for module in modules} & {
        f"domain/{name}" for name in INTERPRETED
    }


def test_the_core_does_the_same_when_it_is_compiled(native: Path) -> None:
    must_pass(native, *CORE)


def test_both_stores_give_what_compiled_values_take_sealed_and_open(native: Path) -> None:
    must_pass(native, *STORES)


def test_the_program_does_the_same_when_it_is_compiled(native: Path) -> None:
    must_pass(native, *WHOLE, *(f"--deselect={test}" for test in PATCHED))
