"""The scenarios: their runs and tables."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TypeVar

from bench.loop import commits, esmes, failover, low, phones, retention, stops
from bench.loop.figures import (
    NOTHING,
    Counts,
    Refused,
    Run,
    alike,
    demand_sound,
    holds,
    middle,
    next_rate,
    pair,
    percentiles,
    problems,
    ratio,
    read_journeys,
    read_requests,
    table,
    times,
)
from bench.loop.fill import add_history, add_queue, known_path
from bench.loop.gateways import (
    INTERPRETED,
    KANNEL,
    Gateway,
    Heliograph,
    HeliographCandidates,
    HeliographEncrypted,
    HeliographLimited,
    HeliographNodes,
    HeliographPostgres,
    HeliographTwoBound,
    Kannel,
    KannelSpool,
    Wish,
)
from bench.loop.phones import Traffic
from bench.loop.processes import cpu_seconds, until
from bench.loop.run import Bench, Load, Operator

Ours = TypeVar("Ours", bound=Heliograph)

RATE_STEP = 0.05
"""Share. The search for a capacity ends when a rate that holds and a rate that does not are this close."""

MANY_SPAN = 1_000
OURS = Heliograph.name
OF_US = (OURS, INTERPRETED, HeliographPostgres.name)
LIGHT_RATE = 50.0
FEW = (1, 4, 16, 32)
"""Connections of a customer who keeps few, and waits on each for its answer."""

CROWD = (128, 256, 512)
"""As above, of many customers: more than a lane sends messages with a commit."""

PHONES_RATE = 1_000.0
SCHEDULED = 10_000
NODES = (1, 2, 4)
NODES_RATE = 6_000.0
IDLE_CONNECTORS = 10
IDLE_BINDS = 2_000
IDLE_S = 10.0
KILL_AFTER_S = 2.0
DOWN_S = 0.5
EMPTY = 1_000
"""Messages in a store that counts as empty: there must be some to ask for."""

FRESH_FROM_SPARE = 100_000
"""Numbers of another account's messages, above those of the backlog."""

SAMPLE_S = 0.1

BACKLOG_QUIET_S = 15.0
"""With a backlog callbacks may be owed although nothing moves for some seconds: they are tried again later."""


@dataclass(slots=True)
class Options:
    """The caller's options."""

    runs: int = 3
    seconds: float = 6.0
    gateways: list[str] = field(default_factory=list)
    commits: str = ""
    """Names of commits, with spaces."""
    rates: list[float] = field(default_factory=list)
    size: int = 1_000_000
    settings: dict[str, str] = field(default_factory=dict)
    program: Path | None = None
    """Ours; None is that of this environment."""
    stored: Path | None = None
    """The folder of stores that took long to fill; None fills them again each time."""


@dataclass(slots=True)
class Report:
    """A table with its explanation."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    def text(self) -> str:
        return f"### {self.title}\n\n{table(self.heads, self.rows)}\n"


FIGURES = (
    "gateway", "load", "offered/s", "accepted/s", "submit_sm/s", "callbacks/s", "drain s", "CPU us/msg",
    "CPU us by process", "to submit_sm ms p50/p99", "to callback ms p50/p99", "MiB", "not 2xx", "ours/theirs",
)  # fmt: skip


class Stand:
    """The scenarios on a bench."""

    def __init__(self, bench: Bench, options: Options) -> None:
        self._bench = bench
        self._options = options

    # --- the full loop, with or without receipts

    def loop(self) -> Report:
        closed = self._equal(Load(seconds=self._options.seconds))
        rows = self._rows("closed, 64 connections", closed)
        if self._options.rates:
            for rate in self._options.rates:
                runs = self._equal(Load(seconds=self._options.seconds, rate=rate))
                rows += self._rows(_verdict("open", runs), runs)
        else:
            capacity = {name: self._capacity(name, middle(runs).called_back) for name, runs in closed.items()}
            # where no rate held, or there was no closed loop, something small shows so
            runs = self._take_turns(
                lambda name: Load(seconds=self._options.seconds, rate=capacity.get(name) or LIGHT_RATE)
            )
            rows += self._rows(_verdict("open, capacity", runs), runs)
        return Report("Full loop", FIGURES, rows)

    def accept(self) -> Report:
        load = Load(Wish.PLAIN, seconds=self._options.seconds)
        return Report("Accept only", FIGURES, self._rows("closed, 64 connections", self._equal(load)))

    def newconn(self) -> Report:
        rows = []
        for wish, receipts in ((Wish.PLAIN, "no receipts"), (Wish.RECEIPT, "full loop")):
            load = Load(wish, seconds=self._options.seconds, close=True)
            rows += self._rows(f"closed, 64 at once, {receipts}", self._equal(load))
        return Report("A new connection for each request", FIGURES, rows)

    def few(self) -> Report:
        return self._with_connections("Full loop with few connections", FEW)

    def crowd(self) -> Report:
        return self._with_connections("Full loop with many connections", CROWD)

    def _with_connections(self, title: str, numbers: Sequence[int]) -> Report:
        rows = []
        for connections in numbers:
            load = Load(seconds=self._options.seconds, connections=connections)
            rows += self._rows(f"closed, connections: {connections}", self._equal(load))
        return Report(title, FIGURES, rows)

    def many(self) -> Report:
        load = Load(Wish.MANY, seconds=self._options.seconds, connections=4, span=MANY_SPAN)
        runs = {OURS: self._series(OURS, load)}
        return Report("1,000 destinations a request", FIGURES, self._rows("closed, 4 connections", runs))

    def latency(self) -> Report:
        seconds = self._options.seconds
        light = self._take_turns(lambda _: Load(seconds=seconds, rate=LIGHT_RATE))
        rows = self._rows("open, 50/s", light)
        if self._options.rates:
            half = dict.fromkeys(light, self._options.rates[0])
        else:
            closed = self._equal(Load(seconds=seconds), runs=1)
            half = {name: middle(runs).called_back / 2 for name, runs in closed.items()}
        runs = self._take_turns(lambda name: Load(seconds=seconds, rate=half.get(name, LIGHT_RATE)))
        rows += self._rows("open, half of the closed loop", runs)
        return Report("Latency", FIGURES, rows)

    def kill(self) -> Report:
        """SIGKILL in the middle of an open loop; the customers go on all the time."""
        rate = self._options.rates[0] if self._options.rates else 1_000.0
        rows = []
        for _ in range(self._options.runs):
            gateway = self._gateway(OURS)
            gateway.prepare()
            load = Load(seconds=self._options.seconds, rate=rate)
            try:
                self._bench.start(gateway, load.delay_ms)
                customers = self._bench.customers(gateway, gateway.ask(load.wish), load).begin()
                time.sleep(KILL_AFTER_S)
                gateway.kill()
                time.sleep(DOWN_S)
                begun = time.monotonic()
                gateway.start()
                ready = time.monotonic() - begun
                summary, requests = customers.end()
                drained = self._bench.drain(summary["good"])
                run = self._bench.judge(gateway, load, summary, requests, drained)
            finally:
                self._bench.stop(gateway)
            run.killed, run.audit = True, gateway.audit()
            counts = demand_sound(run).counts
            rows.append(
                (f"{rate:.0f}", str(counts.accepted), str(counts.never_submitted), str(counts.never_called_back),
                 str(counts.submitted_twice), str(counts.called_back_twice), f"{ready:.2f}", f"{run.drain_s:.2f}")
            )  # fmt: skip
        heads = ("offered/s", "accepted", "not submitted", "not called back", "submitted again", "called back again",
                 "restart to ready s", "drain s")  # fmt: skip
        return Report("SIGKILL and restart", heads, rows)

    # --- the cost of safety

    def safety(self) -> Report:
        """The full loop of an account without limits, of an account with all limits, and in an encrypted store."""
        return self._pairs("What safety costs", (Heliograph, HeliographLimited, HeliographEncrypted))

    def candidates(self) -> Report:
        """The full loop with two operators, of which one or both have a route of the numbers."""
        folder = self._bench.folder / "second"
        folder.mkdir(exist_ok=True)
        second = Operator(self._bench.programs, folder)
        second.start(100)
        HeliographTwoBound.second_port = second.smpp_port
        try:
            return self._pairs(
                "What a second candidate costs", (HeliographTwoBound, HeliographCandidates), connectors=2
            )
        finally:
            second.stop()

    def _pairs(self, title: str, kinds: Sequence[type[Heliograph]], connectors: int = 1) -> Report:
        """The full loop of each kind, in pairs with the first. Pairs with different ways of committing are left out."""
        load = Load(seconds=self._options.seconds, scattered=True)
        found: dict[str, list[Run]] = {}
        for _ in range(self._options.runs):
            for kind in kinds:
                gateway = self._ours(kind, kind.name, connectors=connectors)
                found.setdefault(kind.name, []).append(self._measured(gateway, load))
        rows = []
        for name, runs in found.items():
            against = [(run, plain) for run, plain in zip(runs, found[kinds[0].name], strict=True) if alike(run, plain)]
            if not against:
                raise Refused(f"no pair of {kinds[0].name} and {name} committed in the same way; make more RUNS")
            rates = sorted(run.called_back / plain.called_back for run, plain in against)
            costs = sorted(run.cpu / plain.cpu for run, plain in against)
            run = middle([run for run, _ in against])
            rows.append(
                (name, str(len(against)), f"{run.called_back:.0f}", f"{run.cpu:.1f}", *map(_spread, (rates, costs)),
                 pair(run.to_submit))
            )  # fmt: skip
        heads = ("gateway", "pairs", "callbacks/s", "CPU us/msg", "rate, ratio of pairs", "CPU, ratio of pairs",
                 "to submit_sm ms p50/p99")  # fmt: skip
        return Report(f"{title}: full loop, closed, 64 connections", heads, rows)

    # --- several commits

    def commits(self) -> Report:
        """The full loop of several commits in turns: interpreted, or compiled if GATEWAYS is `heliograph`."""
        names = commits.read_commits(self._options.commits)
        compiled = self._options.gateways == [OURS]
        trees = {name: commits.Tree(name, self._bench.programs / "trees", compiled=compiled) for name in names}
        for tree in trees.values():
            tree.build()
        found: dict[str, list[Run]] = {name: [] for name in names}
        for turn in commits.in_turns(names, self._options.runs):
            for name in turn:
                gateway = self._ours(commits.HeliographAt, name).at(trees[name])
                found[name].append(self._measured(gateway, Load(seconds=self._options.seconds)))
        kind = "compiled" if compiled else "interpreted"
        title = f"Commits, full loop, closed, 64 connections, {kind}, {self._options.runs} rounds"
        return Report(title, commits.HEADS, commits.rows_of(found))

    # --- several nodes

    def nodes(self) -> Report:
        """One, two and four nodes that share a PostgreSQL server: CPU of a message. The loads: the same total for all,
        the same for each node (a quarter of that total), and a closed loop with the same connections for each node."""
        rate = self._options.rates[0] if self._options.rates else NODES_RATE
        shared: dict[str, list[Run]] = {}
        each: dict[str, list[Run]] = {}
        full: dict[str, list[Run]] = {}
        for _ in range(self._options.runs):
            for count in NODES:
                own = rate * count / max(NODES)
                closed = Load(seconds=self._options.seconds)
                closed.connections *= count
                cases = [(shared, Load(seconds=self._options.seconds, rate=rate)), (full, closed)]
                if own != rate:
                    cases.append((each, Load(seconds=self._options.seconds, rate=own)))
                for found, load in cases:
                    gateway = self._ours(HeliographNodes, f"{count} nodes").share(count)
                    found.setdefault(gateway.name, []).append(self._measured(gateway, load))
        last = f"{max(NODES)} nodes"
        each[last] = shared[last]
        rows = [
            *self._rows(_verdict("open", shared), shared),
            *self._rows(_verdict("open, as much for each node", each), each),
            *self._rows("closed, 64 connections a node", full),
        ]
        return Report("Nodes", FIGURES, rows)

    # --- with little to do

    def low(self) -> Report:
        rate = self._options.rates[0] if self._options.rates else low.RATE
        seconds = max(self._options.seconds, low.LEAST_S)
        found: dict[str, list[low.Quiet]] = {}
        for _ in range(self._options.runs):
            for name in self._names():
                try:
                    quiet = low.measure(self._bench, self._any(name), rate, seconds)
                except Refused as refusal:
                    if name in OF_US:
                        raise
                    _say(f"left out: {refusal}")
                else:
                    found.setdefault(name, []).append(quiet)
                    _say(f"{name}: CPU {quiet.run.cpu / 1000:.2f} ms, wake-ups {quiet.wake_ups:.1f}")
        return Report(f"Low load, {rate:.0f}/s", low.HEADS, low.rows(found))

    # --- at rest

    def idle(self) -> Report:
        rows = []
        for _ in range(self._options.runs):
            gateway = self._gateway(OURS, connectors=IDLE_CONNECTORS)
            gateway.prepare()
            try:
                ready = self._bench.start(gateway, 0, binds=IDLE_CONNECTORS, warm=False)
                time.sleep(2.0)
                before = sum(map(cpu_seconds, gateway.pids()))
                time.sleep(IDLE_S)
                share = (sum(map(cpu_seconds, gateway.pids())) - before) / IDLE_S
                rows.append((f"{100 * share:.1f}", f"{gateway.memory_mib():.0f}", f"{ready:.2f}"))
            finally:
                self._bench.stop(gateway)
        return Report(f"Idle, {IDLE_CONNECTORS} connectors bound", ("CPU % of a core", "MiB", "start to ready s"), rows)

    # --- with many messages stored

    def fill(self) -> None:
        """Prepares the stores of `growth`. Takes long, and tolerates other work beside it."""
        if self._options.stored is None:
            raise Refused("fill needs a folder for what it makes: STORED=/var/tmp/stored")
        self._filled()

    def _filled(self) -> dict[int, tuple[Heliograph, int]]:
        """By size: a gateway on a store of this many messages, and the start time of their ids."""
        place = self._options.stored or self._bench.folder
        found = {}
        for size in (EMPTY, self._options.size):
            gateway = self._gateway(OURS, folder=str(place.absolute() / f"growth{size}"))
            done = gateway.folder / "filled"
            if done.exists():
                gateway.reopen()
                found[size] = gateway, int(done.read_text())
                continue
            gateway.prepare()
            begun, now = time.monotonic(), int(time.time() * 1000)
            add_history(gateway, "bench", size, now)
            done.write_text(str(now))
            _say(f"{size} messages stored in {time.monotonic() - begun:.0f} s")
            found[size] = gateway, now
        return found

    def growth(self) -> Report:
        sizes = (EMPTY, self._options.size)
        stands = self._filled()
        seconds = self._options.seconds
        cases: dict[str, Callable[[Heliograph], float]] = {
            "full loop, closed /s": lambda g: self._kept(g, Load(seconds=seconds)).called_back,
            "accept only, closed /s": lambda g: self._kept(g, Load(Wish.PLAIN, seconds=seconds)).accepted,
        }
        rates: dict[tuple[str, int], list[float]] = {}
        for _ in range(self._options.runs):
            for size, (gateway, now) in stands.items():
                for case, measure in cases.items():
                    gateway.read_through()
                    rates.setdefault((case, size), []).append(measure(gateway))
                gateway.read_through()
                for case, rate in self._reading(gateway, size, now).items():
                    rates.setdefault((case, size), []).append(rate)
        for gateway, _ in stands.values():  # once: it reads all rows
            if faults := gateway.audit():
                raise Refused(f"the books: {faults}")
        rows = []
        for case in dict.fromkeys(case for case, _ in rates):
            small, large = (sorted(rates[case, size])[len(rates[case, size]) // 2] for size in sizes)
            rows.append((case, f"{small:.0f}", f"{large:.0f}", times(ratio(large, small))))
        return Report("Growth", ("", f"{EMPTY} stored", f"{self._options.size} stored", "large/small"), rows)

    def _kept(self, gateway: Gateway, load: Load) -> Run:
        return demand_sound(self._bench.measure(gateway, load, keep=True, audit=False))

    def _reading(self, gateway: Heliograph, size: int, now: int) -> dict[str, float]:
        """Reading requests a second: single messages all over the store, and lists of the newest and the oldest."""
        load = Load(seconds=self._options.seconds / 2, connections=16)
        asks = {
            "get, random /s": known_path(now),
            "list, newest 100 /s": "/api/v1/messages?limit=100&order=desc",
            "list, oldest 100 /s": "/api/v1/messages?limit=100",
        }
        found = {}
        self._bench.start(gateway, 0)
        try:
            for case, path in asks.items():
                customers = self._bench.customers(gateway, gateway.get(path), load).order(7_919, size).begin()
                summary, _ = customers.end()
                if summary["other"] or summary["unexpected"] or summary["errors"]:
                    raise Refused(f"{case}: {summary}")
                found[case] = summary["good"] / load.seconds
        finally:
            self._bench.stop(gateway)
        return found

    # --- from phones to the customer

    def phones(self) -> Report:
        seconds = self._options.seconds
        rows: list[Sequence[str]] = []
        for load, rate in [("closed", 0.0), *(("open", rate) for rate in self._options.rates or [PHONES_RATE])]:
            found: dict[str, list[Traffic]] = {}
            for _ in range(self._options.runs):
                for name in self._names():
                    found.setdefault(name, []).append(phones.measure(self._bench, self._any(name), rate, seconds))
            rows += phones.rows(load, found, OF_US)
        return Report("Messages from phones", phones.HEADS, rows)

    # --- customers' SMPP clients

    def smpp(self) -> Report:
        """The full loop over SMPP beside the same over HTTP, in pairs; then the answers at 80 and at 300 %."""
        seconds, name = self._options.seconds, self._options.gateways[0] if self._options.gateways else OURS
        http: list[Run] = []
        over_smpp: list[Run] = []
        for _ in range(self._options.runs):
            http.append(self._one(name, Load(seconds=seconds)))
            over_smpp.append(self._esmes(name, Load(seconds=seconds)).run)
        _say(table(esmes.LOOP_HEADS, [esmes.loop_row(http, over_smpp)]))
        capacity = min(run.called_back for run in over_smpp)
        rows = []
        for title, share, binds, window in (
            ("80 %", 0.8, esmes.BINDS, esmes.ACCOUNT_WINDOW),
            ("300 %", 3.0, esmes.CROWD, esmes.ACCOUNT_WINDOW),
        ):
            shown = self._esmes(name, Load(seconds=seconds, rate=share * capacity), binds, window)
            rows.append(esmes.open_row(title, binds, shown))
        return Report("Over SMPP: answers", esmes.OPEN_HEADS, rows)

    def _esmes(self, name: str, load: Load, binds: int = esmes.BINDS, window: int = esmes.WINDOW) -> esmes.Shown:
        shown = esmes.measure(self._bench, self._ours(esmes.HeliographSmpp, name), load, binds, window)
        run = shown.run
        _say(
            f"{run.gateway}: offered {run.offered:.0f}, accepted {run.accepted:.0f}/s, "
            f"receipts {run.called_back:.0f}/s, drain {run.drain_s:.2f} s, CPU {run.cpu:.1f} us, "
            f"latest {shown.latest_s:.3f} s"
        )
        return shown

    def binds(self) -> Report:
        rows = [esmes.idle(self._bench, self._ours(esmes.HeliographSmpp, OURS), IDLE_BINDS)]
        return Report("Idle SMPP binds", esmes.IDLE_HEADS, rows)

    def away(self) -> Report:
        rows = [
            esmes.away(self._bench, self._ours(esmes.HeliographSmpp, OURS), self._options.size, binds, window)
            for binds, window in ((1, esmes.ACCOUNT_WINDOW), (4, esmes.ACCOUNT_WINDOW))
        ]
        return Report("Receipts for a client that was away", esmes.AWAY_HEADS, rows)

    def once(self) -> Report:
        rows = esmes.once(self._bench, self._ours(esmes.HeliographSmpp, OURS))
        return Report("Submissions that come again", esmes.ONCE_HEADS, rows)

    def stops(self) -> Report:
        ours = [name for name in self._names() if name in OF_US]
        rows = [
            stops.measure(self._bench, self._gateway(name), SCHEDULED)
            for _ in range(self._options.runs)
            for name in ours
        ]
        return Report("A phone opts out", stops.HEADS, rows)

    # --- an operator that dies

    def failover(self) -> Report:
        rate = self._options.rates[0] if self._options.rates else failover.RATE
        ours = [name for name in self._options.gateways if name in OF_US] or [OURS]
        rows = [
            failover.measure(self._bench, self._ours(failover.HeliographTwo, name, connectors=2), rate / parts, parts)
            for _ in range(self._options.runs)
            for name in ours
            for parts in (1, 2)
        ]
        return Report("An operator dies", failover.HEADS, rows)

    # --- while old messages are dropped

    def retention(self) -> Report:
        ours = [name for name in self._options.gateways if name in OF_US] or [OURS, HeliographPostgres.name]
        rate = self._options.rates[0] if self._options.rates else retention.RATE
        rows = [
            retention.measure(self._bench, self._gateway(name), self._options.size, rate, self._options.seconds)
            for name in ours
        ]
        return Report("Retention", retention.HEADS, rows)

    # --- with many messages to be sent

    def backlog(self) -> Report:
        ours = [name for name in self._options.gateways if name in OF_US] or [OURS]
        rows = [row for name in ours for due in (False, True) for row in self._backlog(name, due=due)]
        heads = ("gateway", "backlog", "messages", "first after s", "sent in s", "submit_sm/s", "callbacks/s",
                 "most MiB", "before MiB", "other account to submit_sm ms p50/p99")  # fmt: skip
        return Report("Backlog", heads, rows)

    def _backlog(self, name: str, *, due: bool) -> list[Sequence[str]]:
        size = self._options.size
        gateway = self._gateway(name)
        gateway.prepare()
        gateway.add_account("other")
        now = int(time.time() * 1000)
        at = now + 20_000 + size // 15 if due else None
        add_queue(gateway, "bench", size, now, at)
        try:
            before = 0.0
            if due:
                self._bench.start(gateway, 100, warm=False)
                assert at is not None
                left = at / 1000 - time.time()
                if left < 2:
                    raise Refused("the messages were due before the gateway was ready")
                time.sleep(left - 1)
                before = gateway.memory_mib()
            else:
                at = int(time.time() * 1000)
                self._bench.start(gateway, 100, warm=False)
            return [self._drain_backlog(gateway, size, at, before, "due at once" if due else "queued")]
        finally:
            self._bench.stop(gateway)

    def _drain_backlog(self, gateway: Heliograph, size: int, at: int, before: float, name: str) -> Sequence[str]:
        """Another account's messages are sent while the backlog goes out. `at` (ms) is when it could first go."""
        bench = self._bench
        load = Load(seconds=min(60.0, size / 20_000 + 5), rate=LIGHT_RATE, connections=16)
        start_ns = time.monotonic_ns() - int((time.time() * 1000 - at) * 1e6)
        fresh_from = size + FRESH_FROM_SPARE
        customers = bench.customers(gateway, gateway.ask_as("other"), load, fresh_from).begin()
        most = 0.0

        def gone() -> bool:
            nonlocal most
            most = max(most, gateway.memory_mib())
            time.sleep(SAMPLE_S)
            return bool(bench.operator.stats()["submits"] >= size)

        until(gone, "the backlog is sent", 60 + size / 1_000)
        summary, data = customers.end()
        bench.drain(size + summary["good"], most_s=60 + size / 1_000, quiet_s=BACKLOG_QUIET_S)
        most = max(most, gateway.memory_mib())
        requests, journeys = read_requests(data), read_journeys(bench.operator.records())
        old = journeys[:size]
        fresh = [*journeys[fresh_from:], *[NOTHING] * len(requests)][: len(requests)]
        gateway.stop()
        both = [*old, *(journey for journey, request in zip(fresh, requests, strict=True) if request.accepted)]
        run = Run(gateway.name, audit=gateway.audit(), counts=Counts(
            accepted=len(both),
            never_submitted=sum(not journey.submits for journey in both),
            never_called_back=sum(not journey.callbacks for journey in both),
            submitted_twice=sum(journey.submits > 1 for journey in both),
            called_back_twice=sum(journey.callbacks > 1 for journey in both),
        ))  # fmt: skip
        demand_sound(run)
        first, last = min(journey.submitted for journey in old), max(journey.submitted for journey in old)
        told = max(journey.called_back for journey in old)
        waits = percentiles(
            journey.submitted - request.sent
            for journey, request in zip(fresh, requests, strict=True)
            if journey.submits and request.sent < last
        )
        return (
            gateway.name, name, str(size), f"{(first - start_ns) / 1e9:.2f}", f"{(last - first) / 1e9:.1f}",
            f"{size / ((last - first) / 1e9):.0f}", f"{size / ((told - first) / 1e9):.0f}", f"{most:.0f}",
            f"{before:.0f}", pair(waits),
        )  # fmt: skip

    # --- the parts, each by itself

    def parts(self) -> None:
        """Runs the benchmarks of single parts, which print for themselves."""
        for script in sorted(Path(__file__).parents[1].glob("*.py")):
            if script.stem != "__init__":
                print(f"### {script.stem}\n", flush=True)
                subprocess.run([sys.executable, str(script)], check=True)

    # --- inside

    def _gateway(self, name: str, *, folder: str = "", connectors: int = 1) -> Heliograph:
        gateway = self._any(name, folder=folder, connectors=connectors)
        assert isinstance(gateway, Heliograph)
        return gateway

    def _any(self, name: str, *, folder: str = "", connectors: int = 1) -> Gateway:
        operator = self._bench.operator
        place = self._bench.folder / (folder or name)
        if name in OF_US:
            kind_of_ours = HeliographPostgres if name == HeliographPostgres.name else Heliograph
            return self._ours(kind_of_ours, name, folder=folder, connectors=connectors)
        kind = {"kannel": Kannel, "kannel-spool": KannelSpool}[name]
        return kind(place, operator.smpp_port, operator.http_port)

    def _ours(self, kind: type[Ours], name: str, *, folder: str = "", connectors: int = 1) -> Ours:
        operator = self._bench.operator
        place = self._bench.folder / (folder or name)
        ours = kind(place, operator.smpp_port, operator.http_port, self._options.settings, connectors)
        if name != INTERPRETED and self._options.program is not None:
            ours.program = self._options.program
        ours.name = name
        return ours

    def _names(self) -> list[str]:
        if self._options.gateways:
            return self._options.gateways
        return [OURS, "kannel"] if KANNEL.exists() else [OURS]

    def _one(self, name: str, load: Load) -> Run:
        return self._measured(self._any(name), load)

    def _measured(self, gateway: Gateway, load: Load) -> Run:
        run = self._bench.measure(gateway, load)
        _say(
            f"{gateway.name}: offered {run.offered:.0f}, accepted {run.accepted:.0f}/s, "
            f"submit_sm {run.submitted:.0f}/s, callbacks {run.called_back:.0f}/s, "
            f"drain {run.drain_s:.2f} s, CPU {run.cpu:.1f} us"
        )
        return demand_sound(run)

    def _foreign(self, name: str, load: Load) -> list[Run]:
        """Returns a run of a foreign gateway, or nothing if it is refused, because we cannot fix it."""
        try:
            return [self._one(name, load)]
        except Refused as refusal:
            _say(f"left out: {refusal}")
            return []

    def _take_turns(self, load: Callable[[str], Load], runs: int = 0) -> dict[str, list[Run]]:
        """Runs the gateways in turn, so that other load on the machine affects all of them."""
        found: dict[str, list[Run]] = {}
        for _ in range(runs or self._options.runs):
            for name in self._names():
                runs_of = [self._one(name, load(name))] if name in OF_US else self._foreign(name, load(name))
                found.setdefault(name, []).extend(runs_of)
        return {name: runs_there for name, runs_there in found.items() if runs_there}

    def _equal(self, load: Load, runs: int = 0) -> dict[str, list[Run]]:
        """The same load for all gateways."""
        return self._take_turns(lambda _: load, runs)

    def _series(self, name: str, load: Load) -> list[Run]:
        return [self._one(name, load) for _ in range(self._options.runs)]

    def _capacity(self, name: str, guess: float) -> float:
        """The highest rate found that holds, by bisection from the closed loop's on; 0 if none does."""
        low, high, rate = 0.0, 0.0, guess * 0.8
        while rate >= guess * 0.1:
            if self._keeps_up(name, rate):
                low = rate
            else:
                high = rate
            _say(f"{name}: {rate:.0f}/s {'holds' if low == rate else 'does not hold'}")
            following = next_rate(low, high, RATE_STEP) if low else rate * 0.75
            if following is None:
                return low
            rate = following
        return low

    def _keeps_up(self, name: str, rate: float) -> bool:
        """Beyond its capacity a gateway may not drain in time. Missing messages are then no loss."""
        run = self._bench.measure(self._any(name), Load(seconds=self._options.seconds, rate=rate))
        held = holds(run)
        if not held:
            run.counts.never_submitted = run.counts.never_called_back = 0
        if name in OF_US:
            demand_sound(run)
        return held and not problems(run)

    def _rows(self, load: str, found: dict[str, list[Run]]) -> list[Sequence[str]]:
        middles = {name: middle(runs) for name, runs in found.items()}
        rows: list[Sequence[str]] = []
        for name, run in middles.items():
            theirs = next((other for other_name, other in middles.items() if other_name not in OF_US), None)
            ours = name in OF_US and theirs is not None
            compared = times(ratio(_measure(run), _measure(theirs))) if ours and theirs is not None else "-"
            parts = " + ".join(f"{us:.0f} {part}" for part, us in run.cpu_us.items())
            rows.append(
                (name, load, f"{run.offered:.0f}" if run.offered else "-", f"{run.accepted:.0f}",
                 f"{run.submitted:.0f}", f"{run.called_back:.0f}", f"{run.drain_s:.2f}", f"{run.cpu:.1f}", parts,
                 pair(run.to_submit), pair(run.to_callback), f"{run.memory_mib:.0f}", str(run.refused_requests),
                 compared)
            )  # fmt: skip
        return rows


def _measure(run: Run) -> float:
    """The figure for comparing two gateways: the rate of whole loops, or of submitted messages without receipts.

    Messages that are accepted faster than they are sent are a backlog, not a rate.
    """
    return run.called_back if run.with_receipts and run.called_back else run.submitted


def _verdict(name: str, found: dict[str, list[Run]]) -> str:
    fails = [gateway for gateway, runs in found.items() if not holds(middle(runs))]
    return f"{name}; does not hold: {', '.join(fails)}" if fails else f"{name}; holds"


def _spread(ratios: Sequence[float]) -> str:
    """The median of sorted ratios, with the least and the most."""
    return f"{median(ratios):.3f} ({ratios[0]:.3f} to {ratios[-1]:.3f})"


def _say(text: str) -> None:
    print(text, flush=True)


SCENARIOS: dict[str, Callable[[Stand], Report | None]] = {
    "loop": Stand.loop,
    "accept": Stand.accept,
    "newconn": Stand.newconn,
    "few": Stand.few,
    "crowd": Stand.crowd,
    "many": Stand.many,
    "latency": Stand.latency,
    "low": Stand.low,
    "nodes": Stand.nodes,
    "idle": Stand.idle,
    "fill": Stand.fill,
    "growth": Stand.growth,
    "phones": Stand.phones,
    "stops": Stand.stops,
    "failover": Stand.failover,
    "smpp": Stand.smpp,
    "binds": Stand.binds,
    "away": Stand.away,
    "once": Stand.once,
    "backlog": Stand.backlog,
    "retention": Stand.retention,
    "safety": Stand.safety,
    "candidates": Stand.candidates,
    "kill": Stand.kill,
    "parts": Stand.parts,
    "commits": Stand.commits,
}
