"""What the tests start ends with them, whatever ends them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.process import eventually

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

START = """
import sys
from pathlib import Path
from tests.support.process import GatewayProcess, Process
folder = Path(sys.argv[1])
what = Process(folder, "sleeper", ["sleep", "600"]) if sys.argv[2] == "sleeper" else GatewayProcess(folder / "data")
print(what.pid, Path(f"/proc/{what.pid}/stat").read_text().rpartition(")")[2].split()[1], flush=True)
sys.stdin.read()
"""
"""Says which process it started, and its parent: that is the one that forks, or itself."""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("what", ["sleeper", "gateway"])
def test_what_a_killed_process_of_tests_had_started_is_killed_too(what: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", START, str(tmp_path), what]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        pids = [int(pid) for pid in tests.stdout.readline().split()]
        assert all(is_alive(pid) for pid in pids)
        tests.kill()
    eventually(lambda: not any(is_alive(pid) for pid in pids), "the end of what it had started")
