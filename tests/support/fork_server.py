"""Starts the program without imports: a process that has imported all of it forks itself for each start.

Imports take most of a command's time, and tests start thousands of processes. A forked process has the same arguments,
environment, folder, files and group as from the shell. At its end it waits for threads, runs exit handlers and flushes
its output, as the interpreter does. It lacks the start of the interpreter, the imports, and the release of all modules
at the end: tests of these start the program itself.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]

_MESSAGE_OCTETS = 1 << 17
"""Octets of a request at most: an environment and arguments."""

_END_S = 60.0
"""Seconds that it has to end."""

_BESIDES = ("asyncpg", "rich.table", "sqlite3", "uvloop")
"""Modules of others that functions of the program import when they are called."""


class ForkServer:
    """The process that forks. It ends once its parent is gone."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            # -P: modules of this folder have names of the standard library's
            self._process = subprocess.Popen(
                [sys.executable, "-P", __file__, str(theirs.fileno())],
                cwd=ROOT, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip

    def close(self) -> None:
        """Ends it. Forked processes go on."""
        self._control.close()
        self._process.wait(_END_S)

    def start(self, command: Sequence[str], cwd: Path, environment: Mapping[str, str], out: int, err: int) -> "Forked":
        """Starts the program in a group of its own, with its output in these file descriptors and nothing to read.
        Safe to be called by several threads."""
        status, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, Path(os.devnull).open("rb") as nothing:
            request = json.dumps({"command": list(command), "cwd": str(cwd), "environment": dict(environment)})
            descriptors = [nothing.fileno(), out, err, theirs.fileno()]
            socket.send_fds(self._control, [request.encode()], descriptors)
        return Forked(command, status)


class Forked:
    """A forked process of the program. Has the methods of `subprocess.Popen` that tests use, with the same meaning."""

    def __init__(self, command: Sequence[str], status: socket.socket) -> None:
        self._command = command
        self._status = status
        self.returncode: int | None = None
        said = status.recv(32)
        assert said, "the process that forks has ended"
        self.pid = int(said)

    def poll(self) -> int | None:
        """Returns the exit code once there is one; -N after signal N."""
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.returncode = int(self._status.recv(32) or -signal.SIGKILL)
            self._status.close()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Raises `subprocess.TimeoutExpired` after `timeout` seconds."""
        if self.returncode is None:
            select.select([self._status], [], [], timeout)
        if (code := self.poll()) is None:
            raise subprocess.TimeoutExpired(self._command, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


_lock = threading.Lock()
_servers: list[ForkServer] = []


def fork_server() -> ForkServer:
    """Returns the fork server of this test process."""
    with _lock:
        if not _servers:
            _servers.append(server := ForkServer())
            atexit.register(server.close)
        return _servers[0]


def _import_all() -> None:
    import heliograph

    for module in pkgutil.walk_packages(heliograph.__path__, "heliograph."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in _BESIDES:
        importlib.import_module(name)


def _fork_as_asked(control: socket.socket) -> list[str] | None:
    """Returns the command in each forked process; None in this process, once no more requests come."""
    children: dict[int, socket.socket] = {}
    awake, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([control, awake], [], [])
        if awake in ready:
            awake.recv(4096)
            _tell_ends(children)
        if control in ready:
            message, descriptors, _, _ = socket.recv_fds(control, _MESSAGE_OCTETS, 4)
            if not message:
                return None
            if (pid := os.fork()) == 0:
                signal.set_wakeup_fd(-1)
                return _become(json.loads(message), descriptors)
            for descriptor in descriptors[:3]:
                os.close(descriptor)
            children[pid] = socket.socket(fileno=descriptors[3])


def _tell_ends(children: dict[int, socket.socket]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        # no caller may wait for it any more
        with children.pop(pid) as asked, contextlib.suppress(OSError):
            asked.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(request: dict[str, object], descriptors: list[int]) -> list[str]:
    """Makes this process like a child of `subprocess.Popen`, and reports it. Returns its command."""
    os.setsid()
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    status = descriptors[3]
    os.write(status, str(os.getpid()).encode())
    for target, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, target)
    os.closerange(3, max(descriptors) + 100)
    os.chdir(str(request["cwd"]))
    environment, command = request["environment"], request["command"]
    assert isinstance(environment, dict)
    assert isinstance(command, list)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    sys.path.insert(0, str(Path(command[0]).parent))
    sys.argv = command
    # the inherited streams belong to other files, and may have buffered data
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
    return command


def _run_program() -> None:
    """Runs the program, as the installed script does."""
    from heliograph.cli.main import main

    global _exit_code
    try:
        sys.exit(main())  # type: ignore[func-returns-value] # as the installed script says it
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            _exit_code = end.code or 0
        raise


_exit_code: int | None = None
"""The exit code of a forked process that ends by itself, without an error."""


def _skip_release() -> None:
    """Ends a forked process where the interpreter would begin to release all modules: that takes 30 ms, half of a
    command's time. This is the last exit handler, as it was registered first."""
    if _exit_code is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_exit_code)


if __name__ == "__main__":
    atexit.register(_skip_release)
    _import_all()
    gc.collect()
    gc.freeze()
    if _fork_as_asked(socket.socket(fileno=int(sys.argv[1]))) is not None:
        _run_program()
