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
from tests.support.process import Process
print(Process(Path(sys.argv[1]), "sleeper", ["sleep", "600"]).pid, flush=True)
sys.stdin.read()
"""


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_what_a_killed_process_of_tests_had_started_is_killed_too(tmp_path: Path) -> None:
    command = [sys.executable, "-c", START, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        pid = int(tests.stdout.readline())
        assert is_alive(pid)
        tests.kill()
    eventually(lambda: not is_alive(pid), "the end of what it had started")
