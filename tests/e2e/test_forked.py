"""A program that was forked is what it would be if it had been started: what all other tests here rely on."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.fork_server import fork_server
from tests.support.process import PROGRAM, Admin, Process, SimulatorProcess, clean_environment
from tests.support.timeouts import COMMAND_S, PATIENCE_S

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (0, ["settings", "--data", "here"]),
        (1, ["account", "show", "nobody", "--data", "here"]),
        (2, ["account", "nothing"]),
        (0, ["--version"]),
    ],
)
def test_it_says_the_same_and_ends_with_the_same_code(code: int, arguments: list[str], tmp_path: Path) -> None:
    command = [str(PROGRAM), *arguments]
    settings = {"HELIOGRAPH_SHUTDOWN_DRAIN_S": "7", "HELIOGRAPH_LOG_LEVEL": "debug"}
    Admin(tmp_path / "here").account()
    said = []
    for anew in (True, False):
        with Process(tmp_path, f"anew-{anew}", command, settings, anew=anew) as process:
            ended = process.wait(COMMAND_S)
            said.append((ended, process.out, process.err))
    assert said[0] == said[1]
    assert said[1][0] == code


def test_it_has_its_folder_and_a_group_of_its_own_and_no_files_of_others(tmp_path: Path) -> None:
    with SimulatorProcess(tmp_path) as simulator:
        proc = Path(f"/proc/{simulator.pid}")
        assert (proc / "cwd").resolve() == tmp_path.resolve()
        assert simulator.family() == [simulator.pid]
        assert os.getsid(simulator.pid) == simulator.pid
        opened = set()
        for descriptor in (proc / "fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                opened.add(str(descriptor.readlink()))
        files = {name for name in opened if name.startswith("/")}
        assert files == {
            os.devnull,
            *(str(path) for path in (simulator.out_path, simulator.err_path, simulator.seen_path)),
        }


def test_it_ends_by_signals(tmp_path: Path) -> None:
    with SimulatorProcess(tmp_path, name="asked") as asked, SimulatorProcess(tmp_path, name="killed") as killed:
        assert asked.stop() == 0
        killed.kill()
        assert killed.wait() == -signal.SIGKILL
        assert not killed.running


def test_whoever_has_the_number_of_one_that_ended_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SimulatorProcess(tmp_path, name="other") as other:
        with Process(tmp_path, "ended", [str(PROGRAM), "--version"]) as ended:
            assert ended.wait(COMMAND_S) == 0
            monkeypatch.setattr(ended._process, "pid", other.pid)
        assert other.running
        assert other.stop() == 0


def test_one_that_does_not_end_is_waited_for_no_longer_than_was_said(tmp_path: Path) -> None:
    with SimulatorProcess(tmp_path) as simulator:
        with pytest.raises(subprocess.TimeoutExpired):
            simulator.wait(0.1)
        assert simulator.running


def test_each_has_dice_of_its_own(tmp_path: Path) -> None:
    """Modules imported before the fork must not make all processes draw the same ids."""
    keys = set()
    for name in ("one", "two"):
        with (tmp_path / name).open("wb") as out:
            command = [
                str(PROGRAM),
                "account",
                "create",
                name,
                "--credit",
                "1",
                "--json",
                "--data",
                str(tmp_path / "d"),
            ]
            made = fork_server().start(command, tmp_path, clean_environment(), out.fileno(), out.fileno())
            assert made.wait(PATIENCE_S) == 0
        keys.add((tmp_path / name).read_text().partition("api_key")[2].partition(",")[0])
    assert len(keys) == 2
