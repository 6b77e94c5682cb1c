"""The installed program, as a process."""

import ast
import json
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.process import Admin
from tests.support.timeouts import COMMAND_S, PATIENCE_S

PROGRAM = Path(sys.executable).with_name("heliograph")


def run(
    folder: Path, *arguments: str, program: tuple[str, ...] = (str(PROGRAM),), completing: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs the program. `completing`: the words that a shell completes."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("HELIOGRAPH_")}
    if completing:
        last = len(completing.split()) - 1
        environ |= {"_HELIOGRAPH_COMPLETE": "bash_complete", "COMP_WORDS": completing, "COMP_CWORD": str(last)}
    command = [*program, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=COMMAND_S, check=False
    )


def test_the_first_command_makes_a_private_store_where_it_is_expected(tmp_path: Path) -> None:
    made = run(tmp_path, "account", "create", "acme", "--credit", "100", "--json")
    assert made.returncode == 0, made.stderr
    data = tmp_path / "heliograph-data"
    assert made.stderr == f"A new store is made in {data}; for another directory, use --data or HELIOGRAPH_DATA.\n"
    assert made.stdout.count("\n") == 1
    assert json.loads(made.stdout)["username"] == "acme"
    assert stat.S_IMODE(data.stat().st_mode) == 0o700
    again = run(tmp_path, "--data", str(data), "account", "create", "acme", "--credit", "100", "--json")
    assert again.returncode == 1
    assert again.stdout == ""
    assert "exists already" in again.stderr
    listed = run(tmp_path, "account", "list", "--json", program=(sys.executable, "-m", "heliograph"))
    assert [each["balance"] for each in json.loads(listed.stdout)["accounts"]] == ["100"]


def test_output_off_a_terminal_has_no_colours(tmp_path: Path) -> None:
    admin = Admin(tmp_path / "data")
    admin.account()
    for arguments in (["account", "list"], ["account", "show", "nobody"], ["doctor", "--no-binds"], ["settings"]):
        result = admin.run(*arguments)
        assert result.stdout or result.stderr
        assert "\x1b" not in result.stdout + result.stderr


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["nonsense"]])
def test_no_command_is_imported_to_list_them(tmp_path: Path, words: list[str]) -> None:
    probe = (
        "import sys; from heliograph.cli.main import heliograph\n"
        f"try: heliograph({words})\n"
        "except SystemExit: pass\n"
        "print(sorted(each for each in sys.modules if each.startswith('heliograph.')))\n"
        "print(sorted({'rich', 'asyncio', 'sqlite3', 'msgspec', 'argon2', 'uvloop', 'ssl'} & set(sys.modules)))"
    )
    result = run(tmp_path, "-c", probe, program=(sys.executable,))
    ours, heavy = result.stdout.splitlines()[-2:]
    assert heavy == "[]", result.stderr
    assert set(ast.literal_eval(ours)) == {
        "heliograph.cli", "heliograph.cli.command", "heliograph.cli.failure", "heliograph.cli.main",
        "heliograph.cli.remote", "heliograph.cli.remote.contexts", "heliograph.domain", "heliograph.domain.display",
    }  # fmt: skip


def test_a_shell_completes_commands_without_importing_them(tmp_path: Path) -> None:
    result = run(tmp_path, "-X", "importtime", str(PROGRAM), program=(sys.executable,), completing="heliograph acc")
    assert result.stdout == "plain,account\n"
    assert "heliograph.cli.command" in result.stderr
    assert "heliograph.app" not in result.stderr


def test_the_simulator_listens_until_it_is_told_to_stop(tmp_path: Path) -> None:
    command = [str(PROGRAM), "simulator", "--listen", "127.0.0.1:0", "--latency-ms", "5", "--no-magic"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        title = process.stdout.readline()
        port = int(title.rpartition(":")[2])
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S).close()
        process.terminate()
        assert process.wait(timeout=PATIENCE_S) == 0, process.stderr and process.stderr.read()
