"""A trial: two gateways on the cluster, customers at the balancer, an operator, a receiver of callbacks, the books."""

import asyncio
import contextlib
import re
import threading
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.ha.cluster import DATABASES, Cluster, is_ready, read_variables
from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.load import Load
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.switchable_relay import SwitchableRelay
from tests.support.timeouts import COMMAND_S, PATIENCE_S

WINDOW = 20
CREDIT = 1_000_000
TRY_S = 15.0
"""Seconds after which a customer gives a try up: the time-out that docs/high-availability.md names."""

NO_ANSWER = {0, 502, 504}
"""Statuses of a try that no gateway has answered."""

RESTART_S = 2.0
"""Seconds after which a gateway that ended is started again, as `RestartSec` of ops/heliograph.service says."""


@dataclass(frozen=True, slots=True)
class Try:
    begun: float
    ended: float
    status: int
    """0 without an answer: the connection broke, or `TRY_S` were over. The balancer says 502 or 504 then."""

    @property
    def took(self) -> float:
        return self.ended - self.begun


class Customers(Load):
    """Each message has a reference, and is tried again until it has a 200."""

    def __init__(self, url: str, user: str, secret: str, dlr_url: str) -> None:
        super().__init__(url, user, secret, connections=16, dlr_url=dlr_url, pause=0.15)
        self.tries: list[Try] = []
        self._left = False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """After a failure they leave without their answers."""
        self._left = error is not None
        super().__exit__(kind, error, trace)

    async def _connection(self) -> None:
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        while self._goes_on():
            to = str(next(self._numbers))
            while to not in self.accepted and not self._left:
                begun, status = time.time(), 0
                with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                    async with asyncio.timeout(TRY_S):
                        streams = streams or await asyncio.open_connection(*next(self._addresses))
                        status = await self._send(*streams, to, f"&reference={to}")
                self.tries.append(Try(begun, time.time(), status))
                if status != 200:
                    if streams is not None:
                        streams[1].transport.abort()
                    streams = None
                    await asyncio.sleep(0.25)
            await asyncio.sleep(self._pause)
        if streams is not None:
            streams[1].transport.abort()


class Supervised:
    """A gateway that is started again whenever it ends, as by systemd."""

    def __init__(self, folder: Path, name: str, settings: dict[str, str]) -> None:
        self.ends = 0
        """Times that it ended by itself or could not start."""
        self._folder, self._name, self._settings = folder, name, settings
        self._host, _, port = settings["HELIOGRAPH_HTTP_LISTEN"].partition(":")
        self._port = int(port)
        self._stopping = threading.Event()
        self._killed = False
        self._process: GatewayProcess | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self._port}"

    def _tend(self) -> None:
        while not self._stopping.is_set():
            with contextlib.suppress(AssertionError), self._start() as self._process:
                self._process.wait(COMMAND_S * 10)
            if not self._stopping.is_set() and not self._killed:
                self.ends += 1
            self._killed = False
            self._stopping.wait(RESTART_S)

    def _start(self) -> GatewayProcess:
        return GatewayProcess(
            self._folder / self._name, host=self._host, port=self._port, settings=self._settings, name=self._name,
            anew=True,
        )  # fmt: skip

    def kill(self) -> None:
        assert self._process is not None
        self._killed = True
        self._process.kill()

    def start(self) -> None:
        self._stopping.clear()
        self._thread = threading.Thread(target=self._tend, daemon=True)
        self._thread.start()

    def restart(self) -> None:
        """Stops it, and returns when its successor is ready."""
        self.stop()
        self.start()
        try:
            eventually(lambda: is_ready(self.url), f"{self._name} is ready", COMMAND_S)
        except AssertionError as error:
            raise AssertionError(f"{error}. Its log:\n{self._log()}") from error

    def stop(self) -> None:
        self._stopping.set()
        if self._process is not None and self._process.running:
            assert self._process.stop() == 0
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def admin(self) -> Admin:
        """Commands on its data directory."""
        return Admin(self._folder / self._name, self._settings)

    def refuses_the_past(self) -> bool:
        """Whether its log says that the database lost confirmed commits."""
        return "past.lost" in self._log()

    def _log(self) -> str:
        return (self._folder / f"{self._name}.err").read_text()


@dataclass(slots=True)
class Row:
    """Results of a trial. Times are in seconds."""

    trial: str
    accepted: int = 0
    lost: int = 0
    doubled: int = 0
    leader: float | None = None
    """From the fault to Patroni's new leader, if there was another leader."""
    commits: float | None = None
    """From the fault to a commit that a standby of the new leader confirmed."""
    pause: float = 0.0
    """The longest time without a 200."""
    again: float | None = None
    """From that commit to the next 200."""
    refused: int = 0
    """Tries that got 503."""
    longest_refusal: float = 0.0
    known_refusal: float = 0.0
    """The longest wait for a 503, of tries that began a second after the first 503."""
    unanswered: int = 0
    """Tries without an answer: the connection broke, or the time-out was over."""
    ends: int = 0
    """Times that a gateway ended by itself."""

    def __str__(self) -> str:
        leader, commits, again = (
            "" if each is None else f"{each:.1f}" for each in (self.leader, self.commits, self.again)
        )
        cells = [
            self.trial, self.accepted, self.lost, self.doubled, leader, commits, f"{self.pause:.1f}", again,
            self.refused, f"{self.longest_refusal:.1f}", f"{self.known_refusal:.1f}", self.unanswered, self.ends,
        ]  # fmt: skip
        return f"| {' | '.join(map(str, cells))} |"


HEADER = """\
Times are in seconds. Leader, commit: from the fault to a new leader, and to a commit that its standby confirms. Pause:
longest time without a 200. 200: from that commit. Known: longest 503 a second after the first.

| trial | accepted | lost | doubled | leader | commit | pause | 200 | 503 | longest | known | unanswered | ended |
|---|---|---|---|---|---|---|---|---|---|---|---|---|"""


class Scene:
    """Runs from a whole cluster to books that are right."""

    def __init__(self, cluster: Cluster, folder: Path, trial: str, *, relayed: bool = False) -> None:
        """`relayed`: the gateways reach the databases through relays."""
        self.cluster = cluster
        self.relays = [
            SwitchableRelay(5432, cluster.variables[node.upper()]) for node in (DATABASES if relayed else ())
        ]
        self.row = Row(trial)
        self._folder = folder
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._open(stack)
            self._stack = stack.pop_all()
        return self

    def _open(self, stack: ExitStack) -> None:
        self.cluster.sql(f"CREATE DATABASE {self.row.trial} OWNER sms ENCODING UTF8")
        settings = [self._settings(f"gateway{number}") for number in (1, 2)]
        self.admin = Admin(self._folder / "admin", settings[0])
        self._key = self.admin.account("acme", str(CREDIT))["api_key"]
        self.simulator = stack.enter_context(
            SimulatorProcess(self._folder, magic=False, receipt_delay_ms=100, latency_ms=20)
        )
        self.admin.operator(self.simulator.port, "operator", "", "--window", str(WINDOW), "--binds", "2")
        self.sink = stack.enter_context(BackgroundSink())
        if self.relays:
            ports = [stack.enter_context(relay).port for relay in self.relays]
            hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
            for each in settings:
                url = each["HELIOGRAPH_DATABASE_URL"]
                each["HELIOGRAPH_DATABASE_URL"] = re.sub("@.*/", f"@{hosts}/", url)
        self.gateways = [Supervised(self._folder, f"gateway{n}", each) for n, each in enumerate(settings, 1)]
        for gateway in self.gateways:
            stack.callback(gateway.stop)
        eventually(lambda: all(is_ready(gateway.url) for gateway in self.gateways), "both are ready", COMMAND_S)
        balancer = f"http://{self.cluster.balancer}"
        eventually(lambda: is_ready(balancer), "the balancer knows a gateway")
        self.customers = stack.enter_context(Customers(balancer, "acme", self._key, self.sink.url()))
        self.flow(300)
        self.begun = time.time()

    def _settings(self, node: str) -> dict[str, str]:
        settings = read_variables(self.cluster.render("gateway.env", node))
        url = settings["HELIOGRAPH_DATABASE_URL"]
        return settings | {"HELIOGRAPH_DATABASE_URL": f"{url.rpartition('/')[0]}/{self.row.trial}"}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def flow(self, messages: int = 300) -> None:
        """Returns when this many more messages were accepted."""
        self.customers.wait_for(len(self.customers.accepted) + messages)

    def customer(self) -> Customer:
        """A customer at the balancer, with the account of all others."""
        return Customer(f"http://{self.cluster.balancer}", "acme", self._key)

    def stored(self) -> set[str]:
        """The destinations of all stored messages."""
        return {number for (number,) in self.cluster.sql("SELECT destination FROM message", self.row.trial)}

    def wait_for_leader(self, old: str) -> str:
        leader = self.cluster.until(lambda: (now := self.cluster.leader()) != old and now, "another leader")
        self.row.leader = time.time() - self.begun
        self.cluster.until(self.cluster.commits, "a standby confirms a commit")
        self.row.commits = time.time() - self.begun
        return str(leader)

    def close_books(self) -> Row:
        """Compares all sides once nothing is under way, and fills the row."""
        self.customers.stop()
        accepted, row = self.customers.accepted, self.row
        ids = set(accepted.values())
        eventually(lambda: ids <= self.sink.ids(), f"receipts for {len(ids)} messages", COMMAND_S, pause=0.2)
        for gateway in self.gateways:
            gateway.stop()
        self.simulator.until_left()
        submitted = Counter(self.simulator.destinations())
        stored = int(self.cluster.sql("SELECT count(*) FROM message", row.trial)[0][0])
        row.accepted = len(accepted)
        row.lost = len(accepted.keys() - submitted.keys()) + len(ids - self.sink.ids()) + abs(stored - len(accepted))
        row.doubled = submitted.total() - len(submitted)
        row.ends = sum(gateway.ends for gateway in self.gateways)
        self._time()
        assert submitted.keys() == accepted.keys()
        assert self.sink.ids() == ids
        assert stored == len(accepted) == len(ids)
        assert Decimal(self.admin.balance()) == CREDIT - len(accepted)
        self.admin.assert_books_right()
        return row

    def _time(self) -> None:
        row, tries = self.row, [each for each in self.customers.tries if each.ended > self.begun]
        times = sorted(self.customers.answered_at.values())
        row.pause = max(later - earlier for earlier, later in pairwise(times))
        if row.leader is not None and row.commits is not None:
            first = next(at for at in times if at > self.begun + row.leader)
            row.again = max(first - self.begun - row.commits, 0.0)
        refusals = [each for each in tries if each.status == 503]
        row.refused = len(refusals)
        row.longest_refusal = max((each.took for each in refusals), default=0.0)
        known = min((each.ended for each in refusals), default=0.0) + 1.0
        row.known_refusal = max((each.took for each in refusals if each.begun > known), default=0.0)
        row.unanswered = sum(each.status in NO_ANSWER for each in tries)
        assert {each.status for each in tries} <= {200, 503} | NO_ANSWER
