"""Foreign programs that the gateway is tested with. `make peers` installs them.

A test must request a program here before it runs it, and be marked `peer`. On a machine without the program it is then
skipped with a sentence. `HELIOGRAPH_PEERS=hidden` hides the programs of any machine (`make hidden`).
"""

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).parents[2]
BROUGHT = ROOT / ".peers"
NODE_MODULES = BROUGHT / "node_modules"
SCRIPTS = ROOT / "tests" / "peers"
CHROMIUM = Path(
    os.environ.get("CHROMIUM") or shutil.which("chromium-headless-shell", path="/usr/bin") or "/usr/bin/chromium"
)
"""Debian's Chromium without a user interface of its own, or else with one, which takes more CPU time."""

HIDDEN = os.environ.get("HELIOGRAPH_PEERS") == "hidden"
"""True if tests must not find any of the programs."""

PROGRAMS = frozenset(
    {
        "node", "npm", "tsc", "php", "perl", "java", "javac", "go", "openapi-generator-cli", "promtool", "bearerbox",
        "smsbox", "drive_smpp", "openssl", "curl", CHROMIUM.name, "cibuildwheel", "check-jsonschema", "hadolint",
        "zizmor", "mcs", "mono", "kubernetes-validate", "etcd", "patroni", "patronictl", "haproxy", "pgbouncer",
    }
)  # fmt: skip

PYTHON = BROUGHT / "python" / "bin" / "python"
"""The interpreter with the packages of the generated clients, and the linters of release files."""

ESMES = BROUGHT / "esmes" / "bin" / "python"
"""The interpreter that has the SMPP libraries aiosmpplib, rusmppyc and smpp34, and Jasmin."""

QUICK_JAVA = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""The environment of programs in Java that end within seconds: most of these would go into their compiler."""

_FOLDERS = os.pathsep.join(
    [
        os.environ.get("PATH", ""), "/usr/sbin", "/usr/lib/kannel/test",
        str(BROUGHT), str(PYTHON.parent), str(NODE_MODULES / ".bin"),
    ]
)  # fmt: skip

_asked: set[str] = set()


def missing(what: str) -> NoReturn:
    """Leaves the test out and says so; where everything has to be tried, under CI, that is a failure."""
    message = f"LEFT OUT: {what} is not here. `make peers` brings it; nothing was tried against it."
    if not HIDDEN and os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def foreign_program(name: str) -> str:
    """Returns the path of a program. Skips the test without it."""
    found = None if HIDDEN and name in PROGRAMS else shutil.which(name, path=_FOLDERS)
    if found is None:
        missing(name)
    _asked.add(name)
    return found


def foreign_file(path: Path, what: str) -> Path:
    """Returns a file that `make peers` installs. Skips the test without it."""
    if HIDDEN or not path.exists():
        missing(what)
    _asked.add(path.name)
    return path


def node_script(name: str, *packages: str) -> tuple[list[str], dict[str, str]]:
    """The command that runs a script of `tests/peers`, and its environment."""
    node = foreign_program("node")
    for package in packages:
        foreign_file(NODE_MODULES / package, f"npm's {package}")
    return [node, str(SCRIPTS / name)], {"NODE_PATH": str(NODE_MODULES)}


def refuse_unasked() -> None:
    """From now on refuses to start a foreign program in this process that was not requested: such a test would fail on
    a machine without it."""
    sys.addaudithook(_on_event)


def _on_event(event: str, args: tuple[object, ...]) -> None:
    if event != "subprocess.Popen":
        return
    program = Path(os.fsdecode(args[0])) if isinstance(args[0], str | bytes | os.PathLike) else Path()
    if program.name in PROGRAMS - _asked and "playwright" not in program.parts:
        message = f"{program.name} is started, but tests.support.peers was not asked for it"
        raise AssertionError(message)
