"""Processes: started, watched and ended."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
STOP_S = 15.0

_WATCHMAN = 'read -r never; kill -9 -- "-$0" 2>/dev/null'
"""A shell that ends a process group once its pipe closes, because the owner is gone."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(look: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    """Waits until `look` is true. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not look():
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {seconds:g} s still not: {what}")
        time.sleep(0.02)


def listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


class Process:
    """A process in its own group, with its output in a file. It ends with this process."""

    def __init__(
        self, folder: Path, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=dict(os.environ if environment is None else environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._watchman = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHMAN, str(self.pid)], stdin=subprocess.PIPE, start_new_session=True
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """Sends SIGKILL to this process only, not to its children."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """SIGTERM, then SIGKILL to all of the group."""
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        assert self._watchman.stdin is not None
        self._watchman.stdin.close()
        self._watchman.wait()


def family(pid: int) -> list[int]:
    """The process and all that descend from it, parents first."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                children.setdefault(int(_stat(folder)[1]), []).append(int(folder.name))
    found, left = [], [pid]
    while left:
        one = left.pop(0)
        found.append(one)
        left += sorted(children.get(one, []))
    return found


def cpu_seconds(pid: int) -> float:
    """User and system time so far; 0 if it is gone."""
    with contextlib.suppress(OSError):
        fields = _stat(Path(f"/proc/{pid}"))
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S
    return 0.0


def thread_seconds(pid: int) -> tuple[float, float]:
    """User and system time so far of the main thread, and of all others that live."""
    main = others = 0.0
    with contextlib.suppress(OSError):
        for folder in Path(f"/proc/{pid}/task").iterdir():
            fields = _stat(folder)
            spent = (int(fields[11]) + int(fields[12])) / TICKS_PER_S
            if int(folder.name) == pid:
                main = spent
            else:
                others += spent
    return main, others


def wake_ups(pid: int) -> int:
    """Returns how often the living threads of a process have gone to sleep so far; each is a wake-up later. 0 if the
    process is gone."""
    found = 0
    with contextlib.suppress(OSError):
        for folder in Path(f"/proc/{pid}/task").iterdir():
            for line in (folder / "status").read_text().splitlines():
                if line.startswith("voluntary_ctxt_switches:"):
                    found += int(line.split()[1])
    return found


def resident_mib(pid: int) -> float:
    """Resident memory; 0 if it is gone."""
    return _mib(pid, "status", "VmRSS:")


def share_mib(pid: int) -> float:
    """The same, of pages that several processes share an equal part each."""
    return _mib(pid, "smaps_rollup", "Pss:")


def _mib(pid: int, file: str, field: str) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1024
    return 0.0


def _stat(folder: Path) -> list[str]:
    """The fields of /proc/.../stat from the state on (man 5 proc)."""
    text = (folder / "stat").read_text()
    return text[text.rindex(")") + 2 :].split()
