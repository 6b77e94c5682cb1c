"""What is handed out: the sdist holds the project, the wheel all of the program, and it runs where it is installed."""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

import heliograph
from tests.support.customer import Customer
from tests.support.process import Process, clean_environment
from tests.support.timeouts import COMMAND_S

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "heliograph"

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=COMMAND_S,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


class Built(NamedTuple):
    unpacked: Path
    """What is in the sdist."""
    wheel: Path
    """Made from that, not from the checkout: so the sdist is whole."""


class Installed(NamedTuple):
    python: Path
    """The interpreter beneath the virtual environment, which knows nothing of the checkout."""
    environment: dict[str, str]
    target: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    unpacked = folder / archive.name.removesuffix(".tar.gz")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=unpacked)
    (wheel,) = folder.glob("*.whl")
    return Built(unpacked, wheel)


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    target = tmp_path_factory.mktemp("installed") / "site"
    quiet = ("--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--no-index")
    run(sys.executable, "-m", "pip", "install", *quiet, "--target", target, built.wheel, cwd=target.parent)
    # the dependencies alone: a .pth file, by which the checkout is installed, does not work through PYTHONPATH
    path = os.pathsep.join([str(target), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return Installed(Path(sys.base_prefix) / "bin" / name, clean_environment({"PYTHONPATH": path}), target)


def files(folder: Path) -> set[str]:
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)) for path in found}


def test_the_sdist_holds_the_project(built: Built) -> None:
    for folder in ("src", "ops", "docs", "requirements", "tests", "bench", ".github", ".ci"):
        assert files(built.unpacked / folder) == files(ROOT / folder), folder
    for name in (
        "CHANGELOG.md", "CONTRIBUTING.md", "Dockerfile", ".dockerignore", "LICENSE", "Makefile", "README.md",
        "SECURITY.md", "compose.yaml", "hatch_build.py", "pyproject.toml",
    ):  # fmt: skip
        assert (built.unpacked / name).read_bytes() == (ROOT / name).read_bytes()


class Hook(NamedTuple):
    """The hook that compiles the hot modules, as a build of the sdist finds it."""

    requires: list[str]
    """Requirements that a frontend installs before it, beside build-system.requires."""
    modules: list[str]


@pytest.fixture(scope="module")
def hook(built: Built) -> Hook:
    asked = (
        "import json, hatchling.build as backend; from hatchling.builders.wheel import WheelBuilder; "
        "hook = WheelBuilder('.').config.hook_config['custom']; "
        "print(json.dumps([backend.get_requires_for_build_wheel(), [*sum(hook['libraries'].values(), [])]]))"
    )
    said = run(
        sys.executable, "-c", asked,
        cwd=built.unpacked, environment=clean_environment({"HATCH_BUILD_HOOK_ENABLE_CUSTOM": "true"}),
    )  # fmt: skip
    return Hook(*json.loads(said))


def test_the_modules_to_compile_are_in_the_sdist(built: Built, hook: Hook) -> None:
    assert hook.modules
    missing = [name for name in hook.modules if not (built.unpacked / f"src/heliograph/{name}.py").is_file()]
    assert missing == []


@pytest.mark.extended
def test_what_an_isolated_build_installs_is_enough_to_compile_with(built: Built, hook: Hook, tmp_path: Path) -> None:
    """The compiler checks types first, and refuses what it cannot check: structs of a library it does not see, say."""
    project = tomllib.loads((built.unpacked / "pyproject.toml").read_text(encoding="utf-8"))
    for requirement in [*project["build-system"]["requires"], *hook.requires]:
        found = find_spec(requirement.partition(">")[0])
        assert found is not None
        assert found.submodule_search_locations is not None
        package = Path(found.submodule_search_locations[0])
        if (package / "py.typed").exists():
            (tmp_path / package.name).symlink_to(package)
    run(
        sys.executable, "-m", "mypy", "--config-file=", "--ignore-missing-imports", "--no-site-packages",
        "--cache-dir", tmp_path / "cache", *(f"src/heliograph/{name}.py" for name in hook.modules),
        cwd=built.unpacked, environment=clean_environment({"MYPYPATH": os.pathsep.join(["src", str(tmp_path)])}),
    )  # fmt: skip


def test_the_wheel_holds_every_file_of_the_program(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as opened:
        names = set(opened.namelist())
    package = {name.removeprefix("heliograph/") for name in names if name.startswith("heliograph/")}
    assert package == files(SOURCE)
    kinds = {Path(name).suffix for name in package}
    assert {".sql", ".html", ".css", ".js", ".svg", ".typed"} <= kinds
    shared = {name.partition("/data/share/heliograph/")[2] for name in names if "/data/share/heliograph/" in name}
    assert shared == files(ROOT / "ops")


def test_the_command_runs_where_it_is_installed(installed: Installed, tmp_path: Path) -> None:
    def heliograph_says(*arguments: str) -> str:
        return run(installed.python, "-m", "heliograph", *arguments, cwd=tmp_path, environment=installed.environment)

    where = run(
        installed.python,
        "-c",
        "import heliograph; print(heliograph.__file__)",
        cwd=tmp_path,
        environment=installed.environment,
    )
    assert Path(where.strip()).is_relative_to(installed.target)
    assert heliograph.__version__ in heliograph_says("--version")
    account = json.loads(heliograph_says("account", "create", "acme", "--credit", "5", "--data", "data", "--json"))
    assert account["api_key"]
    assert json.loads(heliograph_says("account", "show", "acme", "--data", "data", "--json"))["balance"] == "5"


def test_a_gateway_runs_where_it_is_installed(installed: Installed, tmp_path: Path) -> None:
    serve = [
        "-m",
        "heliograph",
        "serve",
        "--dev",
        "--listen",
        "127.0.0.1:0",
        "--data",
        str(tmp_path / "data"),
        "--json",
    ]
    with Process(tmp_path, "gateway", [str(installed.python), *serve], installed.environment) as gateway:
        url = json.loads(gateway.first_line())["url"]
        with Customer(url, "demo", "demo-api-key") as customer:
            sent = customer.send(1, to="491701234567", content="From afar", dlr="yes")
            gateway.until(lambda: "Final" in customer.events(sent["Id"]), "a delivery")
            for page in ("/openapi.json", "/docs", "/console", "/console/assets/console.css", "/metrics"):
                assert customer.get(page).status in (200, 303), page
        assert gateway.stop() == 0
