"""The installed program as processes: gateways, simulated operators, commands; on data directories of the test.

Whatever becomes of the test, or of the process that runs it, nothing that was started here is left behind.
"""

import codecs
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from tests.support.fork_server import Forked, fork_server
from tests.support.processes import processes
from tests.support.timeouts import COMMAND_S, PATIENCE_S, REST

PROGRAM = Path(sys.executable).with_name("heliograph")

_WATCHMAN = 'read -r never; kill -9 "-$0" 2>/dev/null'
"""A shell that ends a process group once its pipe closes, because the owner is gone."""

Found = TypeVar("Found")

_LOOPBACK = {
    "HELIOGRAPH_CALLBACKS_ALLOWED_NETWORKS": "127.0.0.0/8,::1/128",
    "HELIOGRAPH_MESSAGES_GUARD_YOUNG_DAYS": "0",
}
"""The settings by which receipts may be posted to receivers of the test, and by which numbers in a row, which tests
send to from new accounts, are not held."""


def eventually(look: Callable[[], Found | None], what: str, seconds: float = PATIENCE_S, pause: float = 0.02) -> Found:
    """Polls `look` until its result is true, and returns that. Fails the test after `seconds`.

    `pause`: seconds between two looks, or more if a look takes long; 0 if the look itself waits."""
    deadline = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        if found := look():
            return found
        if (now := time.monotonic()) > deadline:
            raise AssertionError(f"after {seconds:g} s still not: {what}")
        time.sleep(max(pause, REST * (now - began)) if pause else 0)


def clean_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment without settings of the program's that the person who runs the tests may have."""
    return {name: value for name, value in os.environ.items() if not name.startswith("HELIOGRAPH_")} | dict(more or {})


def _whole_characters(octets: bytes) -> str:
    """Decodes a file that is still written: it may end in the middle of a character."""
    return codecs.getincrementaldecoder("utf-8")().decode(octets)


def _is_forked(command: Sequence[str], environment: Mapping[str, str] | None) -> bool:
    """Whether it is our program, and the environment says nothing to the interpreter or to the loader before it."""
    return command[0] == str(PROGRAM) and all(name.startswith("HELIOGRAPH_") for name in environment or ())


class Process:
    """A process in a group of its own, with its standard output and error in files of `folder`.

    Our program is forked from a process that has imported it, unless `anew` is set.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        *,
        anew: bool = False,
    ) -> None:
        self.out_path = folder / f"{name}.out"
        self.err_path = folder / f"{name}.err"
        with self.out_path.open("ab") as out, self.err_path.open("ab") as err:
            self._out_from, self._err_from = out.tell(), err.tell()
            self._process: subprocess.Popen[bytes] | Forked
            if _is_forked(command, environment) and not anew:
                self._process = fork_server().start(
                    command, folder, clean_environment(environment), out.fileno(), err.fileno()
                )
            else:
                self._process = subprocess.Popen(
                    command,
                    cwd=folder,
                    env=clean_environment(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
        self._watchman = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHMAN, str(self.pid)], stdin=subprocess.PIPE, start_new_session=True
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def out(self) -> str:
        """Text that the process has written to standard output so far, whole characters; likewise `err`."""
        return _whole_characters(self.out_path.read_bytes()[self._out_from :])

    @property
    def err(self) -> str:
        return _whole_characters(self.err_path.read_bytes()[self._err_from :])

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def until(self, look: Callable[[], Found], what: str, seconds: float = PATIENCE_S) -> Found:
        """Does as `eventually`, but fails at once if the process has ended."""

        def look_alive() -> Found | bool:
            found = look()
            if not found and not self.running:
                raise AssertionError(f"ended with {self._process.returncode} before: {what}\n{self.out}\n{self.err}")
            return found

        try:
            return eventually(look_alive, what, seconds)  # type: ignore[return-value] # ends only with a true one
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.err[-2000:]}") from None

    def first_line(self) -> str:
        """Returns the first line of standard output, once it is there whole."""
        said = self.until(lambda: self.out if "\n" in self.out else "", "a line on standard output", COMMAND_S)
        return said.splitlines()[0]

    def stop(self, seconds: float = PATIENCE_S) -> int:
        """Asks it to end, with SIGTERM; returns its exit code."""
        self._process.terminate()
        return self.wait(seconds)

    def wait(self, seconds: float = PATIENCE_S) -> int:
        return self._process.wait(seconds)

    def kill(self) -> None:
        """Sends SIGKILL to this process only, like a machine that runs out of memory."""
        self._process.kill()
        self._process.wait(PATIENCE_S)

    def family(self) -> list[int]:
        """The processes of its group that are alive, itself among them."""
        return [each.pid for each in processes() if each.group == self.pid and each.state not in "ZX"]

    def resident_kib(self) -> int:
        """Resident memory of the process, in KiB."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
        raise AssertionError("the process is gone")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # the number of an ended process may belong to another process by now, with its own group
        if self.running or not Path(f"/proc/{self.pid}").exists():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        self._process.wait(PATIENCE_S)
        self._watchman.kill()
        self._watchman.wait(PATIENCE_S)
        assert self._watchman.stdin is not None
        self._watchman.stdin.close()


class GatewayProcess(Process):
    """`heliograph serve`, ready. `data` may be of an earlier run."""

    def __init__(
        self,
        data: Path,
        *,
        dev: bool = False,
        host: str = "127.0.0.1",
        port: int = 0,
        settings: Mapping[str, str] | None = None,
        name: str = "gateway",
        anew: bool = False,
    ) -> None:
        self.data = data
        command = [str(PROGRAM), "serve", "--data", str(data), "--listen", f"{host}:{port}", "--json"]
        command += ["--dev"] if dev else []
        super().__init__(data.parent, name, command, _LOOPBACK | dict(settings or {}), anew=anew)
        try:
            ready = json.loads(self.first_line())
            self.url: str = ready["url"]
            self.smpp: str = ready.get("smpp", "")
            self.smpp_tls: str = ready.get("smpp_tls", "")
        except BaseException:
            self.__exit__(None, None, None)
            raise

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def log(self) -> list[dict[str, Any]]:
        """The lines of its log that are there whole; each is an object."""
        return [json.loads(line) for line in self.err.rpartition("\n")[0].splitlines()]

    def bound(self, connector: str) -> bool:
        return any(line["event"] == "smpp.bound" and line["connector"] == connector for line in self.log())


def _option(name: str, value: object) -> list[str]:
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    return [f"--{name}", str(value)]


class SimulatorProcess(Process):
    """`heliograph simulator`, listening. Knobs by their options: `receipt_delay_ms=50, magic=False`. `logged`: it
    writes its log."""

    def __init__(
        self,
        folder: Path,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        name: str = "simulator",
        logged: bool = True,
        **knobs: object,
    ) -> None:
        self.seen_path = folder / f"{name}.jsonl"
        self._destinations: list[str] = []
        self._destinations_to = 0
        options = [part for knob, value in knobs.items() for part in _option(knob.replace("_", "-"), value)]
        if logged:
            options += ["--log", str(self.seen_path)]
        super().__init__(folder, name, [str(PROGRAM), "simulator", "--listen", f"{host}:{port}", *options])
        try:
            self.where = self.first_line().rpartition(" ")[2]
            self.port = int(self.where.rpartition(":")[2])
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def seen(self) -> list[dict[str, Any]]:
        """Reads the simulator's record of all messages and receipts, whole lines only."""
        return self._seen_from(0)[0]

    def _seen_from(self, start: int) -> tuple[list[dict[str, Any]], int]:
        """Reads the record from that octet on; returns the lines, and the octet after the last of them."""
        if not self.seen_path.exists():
            return [], start
        with self.seen_path.open("rb") as record:
            record.seek(start)
            whole, end, _ = record.read().rpartition(b"\n")
        return [json.loads(line) for line in whole.splitlines()], start + len(whole) + len(end)

    def submits(self) -> list[dict[str, Any]]:
        """The submit_sm that came, as PDUs with the names of the specification."""
        return _submits(self.seen())

    def acknowledged(self) -> dict[str, float]:
        """The texts of messages from phones that were acknowledged, and when: in seconds since the Unix epoch, not
        before it was so."""
        sent: dict[tuple[int, int], str] = {}
        found: dict[str, float] = {}
        for line in self.seen():
            pdu = line.get("pdu", {})
            if line["event"] == "from_phone":
                sent[line["link"], line["sequence"]] = line["text"]
            elif line["event"] == "answer" and pdu["command"] == "deliver_sm_resp" and pdu["status"] == "ESME_ROK":
                text = sent.get((line["link"], pdu["sequence"]), "")
                # the log has whole milliseconds
                found.setdefault(text, datetime.fromisoformat(line["at"]).timestamp() + 0.001)
        found.pop("", None)  # receipts
        return found

    def links(self) -> set[int]:
        """The numbers of open links, by its log so far."""
        lines = self.seen()
        opened, closed = (
            {line["link"] for line in lines if line["event"] == event} for event in ("connected", "disconnected")
        )
        return opened - closed

    def until_left(self) -> None:
        """Waits until all links are closed by its log. It has then logged everything that came over them."""
        eventually(lambda: not self.links(), "all links are closed")

    def destinations(self) -> list[str]:
        """The numbers that messages came for, each line of the record read once: there may be a hundred thousand."""
        lines, self._destinations_to = self._seen_from(self._destinations_to)
        self._destinations += [pdu["destination_addr"] for pdu in _submits(lines)]
        return list(self._destinations)


def _submits(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    requests = [line["pdu"] for line in lines if line["event"] == "request"]
    return [pdu for pdu in requests if pdu["command"] == "submit_sm"]


class Admin:
    """The program's commands on a data directory. Each must end within `seconds`."""

    def __init__(self, data: Path, settings: Mapping[str, str] | None = None, seconds: float = COMMAND_S) -> None:
        self.data = data
        self.settings = settings
        self._seconds = seconds

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs a command, whether or not it succeeds; forked as a `Process` is."""
        command = [str(PROGRAM), *arguments, "--data", str(self.data)]
        environment = clean_environment(_LOOPBACK | dict(self.settings or {}))
        if not _is_forked(command, self.settings):
            return subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=self._seconds, check=False
            )
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = fork_server().start(command, Path.cwd(), environment, out.fileno(), err.fileno())
            try:
                code = process.wait(self._seconds)
            except BaseException:
                process.kill()
                raise
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(command, code, out.read().decode(), err.read().decode())

    def __call__(self, *arguments: str) -> dict[str, Any]:
        """Runs a command that must succeed, and returns its JSON answer."""
        result = self.run(*arguments, "--json")
        assert result.returncode == 0, f"heliograph {' '.join(arguments)}: {result.stdout}{result.stderr}"
        answer: dict[str, Any] = json.loads(result.stdout)
        return answer

    def account(self, name: str = "acme", credit: str = "1000", *more: str) -> dict[str, Any]:
        return self("account", "create", name, "--credit", credit, *more)

    def operator(self, port: int, name: str = "operator", prefix: str = "", *more: str) -> None:
        """A connector to a port on loopback, with a route to it."""
        self("connector", "add", name, "--host", "127.0.0.1", "--port", str(port), "--system-id", "esme",
             "--password", "secret", *more)  # fmt: skip
        self("route", "add", "--prefix", prefix, "--connector", name)

    def balance(self, name: str = "acme") -> str:
        balance: str = self("account", "show", name)["balance"]
        return balance

    def assert_books_right(self) -> None:
        """Each balance is the sum of its ledger, each message charged once and refunded at most once."""
        audit = self("audit")
        assert audit == {"clean": True, "problems": []}
