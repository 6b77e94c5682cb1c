"""Foreign programs that the gateway is tried against. `make peers` brings them."""

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).parents[2]
NODE_MODULES = ROOT / ".peers" / "node_modules"
SCRIPTS = ROOT / "tests" / "peers"

_FOLDERS = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/lib/kannel/test"])


def missing(what: str) -> NoReturn:
    """Leaves the test out and says so; where everything has to be tried, under CI, that is a failure."""
    message = f"LEFT OUT: {what} is not here. `make peers` brings it; nothing was tried against it."
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def foreign_program(name: str) -> str:
    found = shutil.which(name, path=_FOLDERS)
    if found is None:
        missing(name)
    return found


def node_script(name: str, *packages: str) -> tuple[list[str], dict[str, str]]:
    """The command that runs a script of `tests/peers`, and its environment."""
    node = foreign_program("node")
    for package in packages:
        if not (NODE_MODULES / package).is_dir():
            missing(f"npm's {package}")
    return [node, str(SCRIPTS / name)], {"NODE_PATH": str(NODE_MODULES)}
