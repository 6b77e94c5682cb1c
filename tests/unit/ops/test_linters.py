"""What makes a release, read by the programs that are to run it, or by their linters: nothing here can run it whole."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.support.peers import foreign_program
from tests.support.timeouts import COMMAND_S

ROOT = Path(__file__).parents[3]
WORKFLOW = ".github/workflows/release.yml"

pytestmark = pytest.mark.peer


def says(name: str, *arguments: str) -> str:
    """What a program prints about the project; it must be content."""
    done = subprocess.run(
        [foreign_program(name), *arguments], check=False, cwd=ROOT, capture_output=True, text=True, timeout=COMMAND_S
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize(
    ("system", "tag", "kinds"),
    [("linux", "manylinux", ["x86_64", "aarch64"]), ("macos", "macosx", ["x86_64", "arm64"])],
    ids=["linux", "macos"],
)
def test_a_machine_of_each_kind_makes_a_wheel_for_each_python(system: str, tag: str, kinds: list[str]) -> None:
    named = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    minors = re.findall(r"Python :: 3\.(\d+)", " ".join(named))
    assert minors
    made = says("cibuildwheel", "--platform", system, "--archs", ",".join(kinds), "--print-build-identifiers").split()
    assert sorted(made) == sorted(f"cp3{minor}-{tag}_{kind}" for minor in minors for kind in kinds)


def test_the_workflow_is_of_the_form_that_its_schema_asks_for() -> None:
    says("check-jsonschema", "--builtin-schema", "vendor.github-workflows", WORKFLOW)


def test_nobody_gets_into_the_workflow() -> None:
    says("zizmor", "--offline", "--no-progress", ".github")


def test_the_dockerfile_is_as_its_linter_wants_it() -> None:
    says("hadolint", "Dockerfile")
