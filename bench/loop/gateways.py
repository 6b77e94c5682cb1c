"""The gateways that are measured: how each is set up, started, asked, and looked into."""

import asyncio
import base64
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from tests.support.postgres import Server

from bench.loop.processes import (
    Process,
    cpu_seconds,
    family,
    free_port,
    listens,
    resident_mib,
    share_mib,
    thread_seconds,
    until,
)
from heliograph.adapters.store.postgres import PostgresStore
from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.ports import Store
from heliograph.app.ports.encryption import SWITCH_MS
from heliograph.composition.commands import STORE_FILE

NUMBER = "@" * 8
"""Stands for a message's number in a request."""

TO = f"491{NUMBER}"
SENDER = "Bench"
TEXT = "Your code is 123456. Do not share it."
WINDOW = 500
"""Unanswered submit_sm a bind."""

READ_OCTETS = 1 << 24
"""Read at once."""

NUMBER_OF_PHONES = "4915550003388"
"""Where phones send messages to."""

KANNEL = Path("/usr/sbin/bearerbox")


INTERPRETED = "heliograph-interpreted"
"""Ours without compiled modules, as `make install` has it."""


class Wish(Enum):
    """The content of a request."""

    RECEIPT = "receipt"
    """A message with a receipt that is called back."""
    PLAIN = "plain"
    """A message without a receipt."""
    MANY = "many"
    """Many messages with receipts."""


@dataclass(slots=True)
class Ask:
    """An HTTP request in the form for the load generator. `expect`: a text in the body of accepting answers."""

    method: str
    path: str
    body: str | None = None
    type: str = "application/json"
    headers: list[str] = field(default_factory=list)
    expect: str = ""


class Gateway(ABC):
    """A gateway, with its state in its own folder."""

    name = ""

    def __init__(self, folder: Path, smpp_port: int, sink_port: int) -> None:
        """`smpp_port` is where the operator listens, `sink_port` where callbacks go."""
        self.folder = folder
        self.smpp_port = smpp_port
        self.sink_port = sink_port
        self.http_port = free_port()
        self._processes: list[Process] = []

    def clear(self) -> None:
        """Empties its folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    @abstractmethod
    def prepare(self) -> None:
        """Sets it up on empty state."""

    @abstractmethod
    def take_from_phones(self) -> None:
        """Has messages from phones called back; between `prepare` and `start`."""

    @abstractmethod
    def start(self) -> None:
        """Starts it on the state that is there; returns when it takes requests."""

    @abstractmethod
    def ask(self, wish: Wish, span: int = 1) -> Ask: ...

    @abstractmethod
    def kill(self) -> None:
        """Sends SIGKILL to the process with the messages, and ends the others."""

    def audit(self) -> list[str]:
        """Returns errors of its ledger, while it does not run."""
        return []

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.stop()
        self._processes.clear()

    def ports(self) -> Sequence[int]:
        """Where requests are taken."""
        return [self.http_port]

    def programs(self) -> list[int]:
        """The processes of the gateway's own program."""
        return [pid for process in self._processes for pid in family(process.pid)]

    def pids(self) -> list[int]:
        """All that belong to it."""
        return self.programs()

    @abstractmethod
    def cpu(self) -> dict[str, float]:
        """Seconds so far, by process or thread."""

    def commits(self) -> int | None:
        """Returns the number of transactions of messages so far; None if unknown."""
        return None

    def memory_mib(self) -> float:
        return sum(map(resident_mib, self.pids()))

    def inbound_url(self) -> str:
        return f"http://127.0.0.1:{self.sink_port}/inbound"

    def callback_url(self, numbered: bool = True) -> str:
        return f"http://127.0.0.1:{self.sink_port}/receipt" + (f"?s={NUMBER}" if numbered else "")

    def _spawn(self, name: str, command: list[str], environment: dict[str, str] | None = None) -> Process:
        process = Process(self.folder, name, command, environment)
        self._processes.append(process)
        return process

    def _await_port(self, port: int) -> None:
        process = self._processes[-1]

        def ready() -> bool:
            if not process.running:
                raise RuntimeError(f"{process.name} ended: {process.log.read_text()[-2000:]}")
            return listens(port)

        until(ready, f"{process.name} listens")


class Heliograph(Gateway):
    """Ours, with its defaults; callbacks to loopback have to be allowed."""

    name = "heliograph"
    binds = 1
    """Of each connector."""

    def __init__(
        self,
        folder: Path,
        smpp_port: int,
        sink_port: int,
        settings: Mapping[str, str] = MappingProxyType({}),
        connectors: int = 1,
    ) -> None:
        """`settings` are environment variables. The first of the connectors takes all messages."""
        super().__init__(folder, smpp_port, sink_port)
        self.program = Path(sys.executable).with_name("heliograph")
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("HELIOGRAPH_")}
        self._environment["HELIOGRAPH_CALLBACKS_ALLOWED_NETWORKS"] = "127.0.0.0/8"
        self._environment["HELIOGRAPH_MESSAGES_GUARD_YOUNG_DAYS"] = "0"  # its numbers in a row would be held
        self._environment.update(settings)
        self._connectors = connectors
        self._secrets: dict[str, dict[str, str]] = {}

    @property
    def data(self) -> Path:
        return self.folder / "state"

    def command(self, *arguments: str) -> Any:
        """Returns the JSON answer of a command of the program."""
        done = subprocess.run(
            [str(self.program), *arguments, "--json", "--data", str(self.data)],
            check=True, capture_output=True, text=True, env=self._environment,
        )  # fmt: skip
        return json.loads(done.stdout)

    def add_account(self, name: str) -> None:
        self._secrets[name] = self.command("account", "create", name, "--credit", "1000000000", "--list-interval", "0")
        (self.folder / "secrets.json").write_text(json.dumps(self._secrets))

    def prepare(self) -> None:
        self.clear()
        self.add_account("bench")
        for number in range(self._connectors):
            self.command(
                "connector", "add", f"operator{number}", "--host", "127.0.0.1", "--port", str(self.smpp_port),
                "--system-id", "bench", "--password", "bench", "--window", str(WINDOW), "--binds", str(self.binds),
            )  # fmt: skip
        self.command("route", "add", "--prefix", "", "--connector", "operator0")

    def take_from_phones(self) -> None:
        self.command("account", "set", "bench", f"inbound_url={self.inbound_url()}")
        self.command("number", "add", NUMBER_OF_PHONES, "--account", "bench")

    def reopen(self) -> None:
        """Takes over the state that another run has prepared."""
        self._secrets = json.loads((self.folder / "secrets.json").read_text())
        for number in range(self._connectors):
            self.command("connector", "set", f"operator{number}", f"port={self.smpp_port}")

    async def open_store(self) -> Store:
        """Opens its store, while it does not run."""
        return await SqliteStore.open(self.data / STORE_FILE)

    def read_through(self) -> None:
        """Loads the stored state into the system's memory. Some systems drop pages that were not read for a minute;
        then the disk would be measured."""
        with (self.data / STORE_FILE).open("rb", buffering=0) as file:
            while file.read(READ_OCTETS):
                pass

    def start(self) -> None:
        self._serve("gateway", self.http_port, self.data)

    def _serve(self, name: str, port: int, data: Path) -> None:
        command = [str(self.program), "serve", "--listen", f"127.0.0.1:{port}", "--data", str(data)]
        self._spawn(name, command, self._environment)
        self._await_port(port)

    def kill(self) -> None:
        self._processes[0].kill()
        self.stop()

    def ask(self, wish: Wish, span: int = 1) -> Ask:
        if wish is Wish.RECEIPT:
            return self._send(to=TO, dlr="yes", dlr_url=self.callback_url())
        if wish is Wish.PLAIN:
            return self._send(to=TO)
        # a request has a single callback URL; the receiver distinguishes its messages by the webhook-id
        return self._send(to=[TO] * span, dlr="yes", dlr_url=self.callback_url(numbered=False))

    def ask_as(self, account: str) -> Ask:
        """The usual request of another account."""
        return self._send(account, to=TO, dlr="yes", dlr_url=self.callback_url())

    def get(self, path: str, account: str = "bench") -> Ask:
        return Ask("GET", path, headers=[self._authorization(account, "api_key")], expect="Status")

    def _send(self, account: str = "bench", **fields: str | list[str]) -> Ask:
        body = {"from": SENDER, "content": TEXT} | {name.replace("_", "-"): value for name, value in fields.items()}
        return Ask(
            "POST",
            "/api/v2/messages",
            json.dumps(body, separators=(",", ":")),
            headers=[self._authorization(account, "password")],
            expect='"Status":"00"',
        )

    def _authorization(self, account: str, secret: str) -> str:
        login = f"{account}:{self._secrets[account][secret]}".encode()
        return f"Authorization: Basic {base64.b64encode(login).decode()}"

    def audit(self) -> list[str]:
        done = subprocess.run(
            [str(self.program), "audit", "--data", str(self.data)],
            check=False, capture_output=True, text=True, env=self._environment,
        )  # fmt: skip
        return [] if done.returncode == 0 else (done.stdout + done.stderr).splitlines() or ["it failed"]

    def cpu(self) -> dict[str, float]:
        """The engine's event loop, its other threads (the store's), and the callback process."""
        engine, *others = self.pids()
        main, threads = thread_seconds(engine)
        return {"loop": main, "store": threads, "callbacks": sum(sum(thread_seconds(pid)) for pid in others)}

    def commits(self) -> int | None:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/metrics", timeout=10) as answer:
            return read_commits(answer.read().decode())


def read_commits(metrics: str) -> int:
    """The number of commits that a page of our metrics tells. Raises ValueError if it does not."""
    for line in metrics.splitlines():
        name, _, value = line.partition(" ")
        if name == "heliograph_store_commit_seconds_count":
            return int(float(value))
    raise ValueError("the metrics do not tell the number of commits")


WAL_FILES = 40
"""More than a run writes."""


class HeliographLimited(Heliograph):
    """Ours with an account that has every limit, each wider than the load, and is watched by the pumping guard."""

    name = "heliograph-limited"

    def prepare(self) -> None:
        super().prepare()
        self.command(
            "account", "set", "bench", "daily_messages=100000000", "daily_spend=100000000", "max_waiting=1000000",
            "request_rate=1000000", "request_burst=1000000", "rate=1000000", "prefixes=49,44,1", "networks=127.0.0.0/8",
            "guard=on",
        )  # fmt: skip
        self.command("sender", "add", SENDER, "--account", "bench", "--state", "approved")


class HeliographTwoBound(Heliograph):
    """Ours with a second operator, which gets no messages."""

    name = "heliograph-two-bound"
    second_port = 0
    """The SMPP port of that operator."""

    def prepare(self) -> None:
        super().prepare()
        self.command("connector", "set", "operator1", f"port={self.second_port}")


class HeliographCandidates(HeliographTwoBound):
    """The same with a route to the second operator, for all messages while the first cannot send."""

    name = "heliograph-candidates"

    def prepare(self) -> None:
        super().prepare()
        self.command("route", "add", "--prefix", "", "--connector", "operator1", "--priority", "-1")


class HeliographEncrypted(Heliograph):
    """Ours with an encrypted store."""

    name = "heliograph-encrypted"

    def prepare(self) -> None:
        self._environment["HELIOGRAPH_ENCRYPTION_KEY"] = "a master key for measurements alone"
        super().prepare()
        self.command("encryption", "on")
        time.sleep(SWITCH_MS / 1000)


class HeliographPostgres(Heliograph):
    """Ours on a PostgreSQL server of its own, which counts as a part of it. The server's commits are synced."""

    name = "heliograph-postgres"

    def prepare(self) -> None:
        # the settings that docs/operating.md advises
        self._server = Server(
            fsync="on", full_page_writes="on", shared_buffers="256MB", max_wal_size="4GB", min_wal_size="1GB"
        )
        self._server.start()
        asyncio.run(self._use_wal())
        self._environment["HELIOGRAPH_DATABASE_URL"] = self._server.url()
        super().prepare()

    @property
    def url(self) -> str:
        """URL of its database."""
        return self._server.url()

    async def open_store(self) -> Store:
        return await PostgresStore.open(self.url)

    async def _use_wal(self) -> None:
        """A server that has run for a while reuses the files of its log. A new server creates each file first, which
        doubles the writes: 16 MiB of zeros, while a commit waits."""
        for _ in range(WAL_FILES):
            await self._server.execute("SELECT pg_logical_emit_message(false, 'bench', repeat(' ', 16 << 20))")
        await self._server.execute("CHECKPOINT")

    def pids(self) -> list[int]:
        return self.programs() + family(self._server.pid)

    def memory_mib(self) -> float:
        """All of the server's processes have its buffers, once."""
        return sum(map(resident_mib, super().pids())) + sum(map(share_mib, family(self._server.pid)))

    def cpu(self) -> dict[str, float]:
        """As the other has it; all processes of the server together."""
        engine, *others = self.programs()
        return {
            "loop": sum(thread_seconds(engine)),
            "callbacks": sum(map(cpu_seconds, others)),
            "postgres": sum(map(cpu_seconds, family(self._server.pid))),
        }

    def audit(self) -> list[str]:
        try:
            return super().audit()
        finally:
            self._server.remove()


class HeliographNodes(HeliographPostgres):
    """Several nodes on a PostgreSQL server, each with a bind of the same connector; requests go to all of them."""

    def share(self, nodes: int) -> "HeliographNodes":
        """Must be called before `prepare`."""
        self.binds = nodes
        self._http_ports = [self.http_port, *(free_port() for _ in range(nodes - 1))]
        self._environment["HELIOGRAPH_NODE_MOST_BINDS"] = "1"
        return self

    def ports(self) -> Sequence[int]:
        return self._http_ports

    def start(self) -> None:
        for number, port in enumerate(self._http_ports):
            self._serve(f"node{number}", port, self.folder / f"state{number}")

    def cpu(self) -> dict[str, float]:
        """The engines together, and so on."""
        families = [family(process.pid) for process in self._processes]
        return {
            "loop": sum(sum(thread_seconds(engine)) for engine, *_ in families),
            "callbacks": sum(cpu_seconds(pid) for _, *others in families for pid in others),
            "postgres": sum(map(cpu_seconds, family(self._server.pid))),
        }


class Kannel(Gateway):
    """bearerbox and smsbox of the distribution, nothing stored: messages and receipts live in memory."""

    name = "kannel"
    store = ""

    def __init__(self, folder: Path, smpp_port: int, sink_port: int) -> None:
        super().__init__(folder, smpp_port, sink_port)
        self._admin_port, self._box_port = free_port(), free_port()

    def prepare(self) -> None:
        self.clear()
        (self.folder / "spool").mkdir()
        (self.folder / "kannel.conf").write_text(self._configuration())

    def take_from_phones(self) -> None:
        """Its only service calls back already."""

    def _configuration(self) -> str:
        return f"""
group = core
admin-port = {self._admin_port}
admin-password = bench
admin-allow-ip = "127.0.0.1"
smsbox-port = {self._box_port}
smsbox-interface = 127.0.0.1
smsbox-max-pending = 1000
box-allow-ip = "127.0.0.1"
log-level = 4
dlr-storage = internal
{self.store.format(folder=self.folder / "spool")}
group = smsc
smsc = smpp
smsc-id = operator
host = 127.0.0.1
port = {self.smpp_port}
transceiver-mode = true
smsc-username = bench
smsc-password = bench
system-type = ""
max-pending-submits = {WINDOW}
enquire-link-interval = 30
reconnect-delay = 1
log-level = 4

group = smsbox
bearerbox-host = 127.0.0.1
sendsms-port = {self.http_port}
sendsms-interface = 127.0.0.1
max-pending-requests = 512
http-request-retry = 3
http-queue-delay = 1
log-level = 4

group = sendsms-user
username = bench
password = bench
concatenation = true
max-messages = 3

group = sms-service
keyword = default
get-url = "{self.inbound_url()}?from=%p&to=%P&content=%a"
omit-empty = true
max-messages = 0
"""

    def start(self) -> None:
        configuration = str(self.folder / "kannel.conf")
        self._spawn("bearerbox", [str(KANNEL), "-v", "4", configuration])
        self._await_port(self._box_port)
        self._spawn("smsbox", [str(KANNEL.with_name("smsbox")), "-v", "4", configuration])
        self._await_port(self.http_port)

    def kill(self) -> None:
        """Only bearerbox holds messages; smsbox is ended with it."""
        self._processes[0].kill()
        self.stop()

    def ask(self, wish: Wish, span: int = 1) -> Ask:
        if wish is Wish.MANY:
            raise NotImplementedError("Kannel's receipts of one request all go to the same URL")
        path = f"/cgi-bin/sendsms?username=bench&password=bench&from=12345&to={TO}&text={quote(TEXT)}"
        if wish is Wish.RECEIPT:
            path += f"&dlr-mask=3&dlr-url={quote(self.callback_url() + '&st=%d', safe='@')}"
        return Ask("GET", path, expect="0: Accepted for delivery")

    def cpu(self) -> dict[str, float]:
        return {process.name: sum(thread_seconds(process.pid)) for process in self._processes}


class KannelSpool(Kannel):
    """The same with every message in a file of its spool, which is not synced."""

    name = "kannel-spool"
    store = "store-type = spool\nstore-location = {folder}\nstore-dump-freq = 10\n"
