"""The systemd unit: what it says, and what systemd itself says of it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from heliograph.config import load
from tests.support.timeouts import COMMAND_S

UNIT = Path(__file__).parents[3] / "ops" / "heliograph.service"
MOST_EXPOSED = 20
"""Tenths of the mark that `systemd-analyze security` gives: 0 is locked away, 100 open to everything."""


def lines(section: str) -> dict[str, list[str]]:
    """The values of a section, by name; a name may stand several times."""
    text = UNIT.read_text(encoding="utf-8").split(f"[{section}]\n", 1)[1].split("\n[", 1)[0]
    found: dict[str, list[str]] = {}
    for name, value in re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE):
        found.setdefault(name, []).append(value)
    return found


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("LEFT OUT: systemd-analyze is not here; the unit was not shown to systemd.")
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=COMMAND_S, check=False)


def on_this_machine(folder: Path) -> Path:
    """The unit, with a program that exists in place of the installed one."""
    unit = folder / UNIT.name
    text = UNIT.read_text(encoding="utf-8")
    unit.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE), encoding="utf-8")
    return unit


def test_systemd_understands_it(tmp_path: Path) -> None:
    verified = analyze("verify", "--man=no", str(on_this_machine(tmp_path)))
    mine = [line for line in verified.stderr.splitlines() if UNIT.name in line]
    assert (verified.returncode, mine) == (0, [])


def test_systemd_finds_it_hardened(tmp_path: Path) -> None:
    unit = on_this_machine(tmp_path)
    judged = analyze("security", "--offline=true", f"--threshold={MOST_EXPOSED}", "--no-pager", str(unit))
    if "unrecognized option" in judged.stderr:
        pytest.skip("LEFT OUT: this systemd-analyze cannot judge a unit that is not loaded.")
    assert judged.returncode == 0, judged.stdout


def test_its_settings_are_settings() -> None:
    service = lines("Service")
    given = dict(part.split("=", 1) for value in service["Environment"] for part in value.split())
    settings = load(environ={name: value for name, value in given.items() if name.startswith("HELIOGRAPH_")})
    (state,) = service["StateDirectory"]
    assert settings.data == Path("/var/lib") / state
    assert service["WorkingDirectory"] == [str(settings.data)]


def test_it_may_do_what_the_gateway_does() -> None:
    service = lines("Service")
    families = service["RestrictAddressFamilies"][0].split()
    assert {"AF_INET", "AF_INET6", "AF_UNIX"} <= set(families)
    # the state directory is what ProtectSystem=strict leaves it to write to
    assert service["ProtectSystem"] == ["strict"]
    assert "ReadWritePaths" not in service


def test_it_stops_in_peace_and_starts_again_after_a_fault(tmp_path: Path) -> None:
    service = lines("Service")
    assert service["Restart"] == ["on-failure"]
    assert service["KillMode"] == ["mixed"]
    drain = load(environ={"HELIOGRAPH_DATA": str(tmp_path)}).shutdown.drain_s
    assert int(service["TimeoutStopSec"][0]) > drain
