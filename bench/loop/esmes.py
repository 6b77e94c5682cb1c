"""The SMPP server: customers' clients bind, submit, and take their receipts over the same binds."""

import asyncio
import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Self

from tests.support.esme import Esme

from bench.loop.figures import (
    NOTHING,
    Journey,
    Refused,
    Request,
    Run,
    Window,
    answer_latencies,
    count,
    demand_sound,
    latencies,
    pair,
    rates,
    read_journeys,
    read_requests,
)
from bench.loop.fill import add_parked
from bench.loop.gateways import Heliograph
from bench.loop.processes import cpu_seconds, free_port, listens, until
from bench.loop.run import WARM_UP_FROM, Bench, Load
from heliograph.smpp import pdu as p

BINDS, WINDOW = 4, 16
"""As many submit_sm under way as the HTTP loop has connections."""

CROWD = 40
"""Binds under overload, with the window that accounts have by default: 4,000 submit_sm under way."""

ACCOUNT_WINDOW = 100
CROWD_OF_ONE = 1_000
"""Most binds of an account."""

IDLE_S = 70.0
"""Longer than the 60 s of silence after which a bind is asked whether it is there."""

SETTLE_S = 3.0
ONCE = 10_000
REFERENCE = 0x1402
LOST_AT_ONCE = 500
"""Submissions with answers that were lost with their connection."""

MOST_WINDOW = 1_000


class HeliographSmpp(Heliograph):
    """Ours with the SMPP server."""

    def prepare(self) -> None:
        super().prepare()
        self.bind_port = free_port()
        self._environment["HELIOGRAPH_SMPP_SERVER_LISTEN"] = f"127.0.0.1:{self.bind_port}"
        self._environment["HELIOGRAPH_SMPP_SERVER_CONNECTIONS"] = "5000"
        self.passwords: dict[str, str] = {}
        self.let_bind("bench")

    def let_bind(self, account: str, *settings: str) -> None:
        """Gives an account a password for binds."""
        self.passwords[account] = self.command("account", "smpp-password", account)["smpp_password"]
        self.command("account", "set", account, f"smpp_binds={CROWD_OF_ONE}", *settings)

    def start(self) -> None:
        super().start()
        until(lambda: listens(self.bind_port), "the SMPP server listens")


class Esmes:
    """The load generator under way."""

    def __init__(self, bench: Bench, gateway: HeliographSmpp, account: str = "bench", **options: float) -> None:
        self._out, self._receipts = bench.folder / f"{account}.out", bench.folder / f"{account}.receipts"
        self._command = [
            str(bench.programs / "esme"), "--port", str(gateway.bind_port), "--system-id", account,
            "--password", gateway.passwords[account], "--out", str(self._out), "--receipts-out", str(self._receipts),
        ]  # fmt: skip
        for name, value in options.items():
            self._command += [f"--{name}", str(value)]

    def begin(self) -> Self:
        """Returns when all are bound."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            raise Refused("the clients could not bind")
        return self

    def end(self) -> tuple[dict[str, Any], list[Request], list[tuple[int, int]]]:
        """Returns its summary, the fate of each submit_sm, and the first receipt and the number of receipts of each
        message."""
        assert self._process.stdout is not None
        summary: dict[str, Any] = json.loads(self._process.stdout.read())
        if self._process.wait(60):
            raise Refused("a client ended with an error")
        words = memoryview(self._receipts.read_bytes()).cast("Q")
        return summary, read_requests(self._out.read_bytes()), list(zip(words[::2], words[1::2], strict=True))

    @property
    def runs(self) -> bool:
        return self._process.poll() is None


@dataclass(slots=True)
class Shown:
    """A run of the loop over SMPP."""

    run: Run
    latest_s: float
    """The latest ESME_ROK."""
    statuses: dict[int, int]
    """Refusals by command_status."""


def measure(bench: Bench, gateway: HeliographSmpp, load: Load, binds: int = BINDS, window: int = WINDOW) -> Shown:
    """A run of the full loop, ESME to operator to receipt to ESME, on empty state."""
    gateway.prepare()
    try:
        bench.start(gateway, load.delay_ms)
        Esmes(bench, gateway, start=WARM_UP_FROM, duration=2, rate=200).begin().end()
        bench.operator.reset()
        before = gateway.cpu()
        esmes = Esmes(bench, gateway, binds=binds, window=window, duration=load.seconds, rate=load.rate).begin()
        if bench.observer is not None:
            bench.observer.begin(gateway.programs())
            time.sleep(load.seconds)
            bench.observer.end()
        memory = gateway.memory_mib()
        summary, requests, receipts = esmes.end()
        after, drained = gateway.cpu(), bench.operator.stats()
        seen = read_journeys(bench.operator.records())
    finally:
        bench.stop(gateway)
    seen += [NOTHING] * (len(requests) - len(seen))
    journeys = [
        replace(journey, called_back=at, callbacks=times)
        for journey, (at, times) in zip(seen[: len(requests)], receipts[: len(requests)], strict=True)
    ]
    run = _judged(gateway, load, summary, requests, journeys)
    run.memory_mib = memory
    run.cpu_us = {name: 1e6 * (after[name] - before.get(name, 0.0)) / max(1, drained["submits"]) for name in after}
    if bench.observer is not None:
        bench.observer.write(run)
    run.audit = gateway.audit()
    statuses: dict[int, int] = {}
    for request in requests:
        if request.answered and not request.accepted:
            statuses[request.status - 1_000] = statuses.get(request.status - 1_000, 0) + 1
    latest = max((request.answered - request.sent for request in requests if request.accepted), default=0)
    return Shown(demand_sound(run), latest / 1e9, statuses)


def _judged(
    gateway: Heliograph, load: Load, summary: dict[str, Any], requests: list[Request], journeys: list[Journey]
) -> Run:
    window = Window(summary["begun"], summary["ended"])
    accepted, submitted, called_back = rates(requests, journeys, 1, window)
    to_submit, to_callback = latencies(requests, journeys, 1)
    return Run(
        gateway=f"{gateway.name}, SMPP",
        offered=load.rate,
        accepted=accepted,
        submitted=submitted,
        called_back=called_back,
        drain_s=max(0.0, (summary["last_receipt"] - window.ended) / 1e9),
        to_answer=answer_latencies(requests),
        to_submit=to_submit,
        to_callback=to_callback,
        counts=count(requests, journeys, 1, numbered=True),
        refused_requests=summary["other"],
        broken_requests=summary["errors"],
    )


# --- figures

LOOP_HEADS = ("pairs", "HTTP/s", "SMPP/s", "rate, ratio of pairs", "HTTP CPU us/msg", "SMPP CPU us/msg",
              "CPU, ratio of pairs", "SMPP CPU us by process", "load")  # fmt: skip


def loop_row(http: Sequence[Run], smpp: Sequence[Run]) -> Sequence[str]:
    """Compares pairs of runs: the same load by HTTP and by SMPP."""

    def ratios(measure: Callable[[Run], float]) -> str:
        found = sorted(measure(ours) / measure(theirs) for ours, theirs in zip(smpp, http, strict=True))
        return f"{median(found):.3f} ({found[0]:.3f} to {found[-1]:.3f})"

    def middle(runs: Sequence[Run], measure: Callable[[Run], float]) -> float:
        return median(map(measure, runs))

    parts = " + ".join(f"{median(run.cpu_us[name] for run in smpp):.0f} {name}" for name in smpp[0].cpu_us)
    return (
        str(len(smpp)), f"{middle(http, _rate):.0f}", f"{middle(smpp, _rate):.0f}", ratios(_rate),
        f"{middle(http, _cpu):.1f}", f"{middle(smpp, _cpu):.1f}", ratios(_cpu), parts, f"{os.getloadavg()[0]:.1f}",
    )  # fmt: skip


def _rate(run: Run) -> float:
    return run.called_back


def _cpu(run: Run) -> float:
    return run.cpu


OPEN_HEADS = ("load", "binds", "offered/s", "ESME_ROK/s", "receipts/s", "refused", "by status",
              "to submit_sm_resp ms p50/p99", "latest ESME_ROK s", "drain s", "MiB", "load average")  # fmt: skip


def open_row(name: str, binds: int, shown: Shown) -> Sequence[str]:
    run = shown.run
    refused = ", ".join(f"{status:#x}: {number}" for status, number in sorted(shown.statuses.items()))
    return (
        name, str(binds), f"{run.offered:.0f}", f"{run.accepted:.0f}", f"{run.called_back:.0f}",
        str(run.refused_requests), refused or "-", pair(run.to_answer), f"{shown.latest_s:.3f}", f"{run.drain_s:.2f}",
        f"{run.memory_mib:.0f}", f"{os.getloadavg()[0]:.1f}",
    )  # fmt: skip


# --- binds with nothing to do

IDLE_HEADS = ("binds", "CPU % of a core", "MiB more", "bound in s")


def idle(bench: Bench, gateway: HeliographSmpp, binds: int) -> Sequence[str]:
    """Binds that do nothing but answer enquire_link."""
    gateway.prepare()
    names = ["bench", *(f"bench{n}" for n in range(1, -(-binds // CROWD_OF_ONE)))]
    for name in names[1:]:
        gateway.add_account(name)
        gateway.let_bind(name)
    try:
        bench.start(gateway, 0)
        time.sleep(SETTLE_S)
        before = gateway.memory_mib()
        own = _idle_share(gateway, 10)
        begun = time.monotonic()
        each = binds // len(names)
        esmes = [
            Esmes(bench, gateway, name, binds=each, count=0, numbers=1, duration=IDLE_S + 2 * SETTLE_S, quiet=0).begin()
            for name in names
        ]
        took = time.monotonic() - begun
        time.sleep(SETTLE_S)
        share = _idle_share(gateway, IDLE_S)
        more = gateway.memory_mib() - before
        for each_of in esmes:
            each_of.end()
    finally:
        bench.stop(gateway)
    return (str(binds), f"{100 * share:.2f} ({100 * own:.2f} without)", f"{more:.0f}", f"{took:.2f}")


def _idle_share(gateway: Heliograph, seconds: float) -> float:
    before, begun = sum(map(cpu_seconds, gateway.pids())), time.monotonic()
    time.sleep(seconds)
    return (sum(map(cpu_seconds, gateway.pids())) - before) / (time.monotonic() - begun)


# --- a customer who was away

AWAY_HEADS = ("receipts kept", "windows", "drained in s", "receipts/s", "CPU us/receipt", "MiB before", "most MiB")


def away(bench: Bench, gateway: HeliographSmpp, size: int, binds: int, window: int) -> Sequence[str]:
    """`size` receipts wait for a customer, who binds and takes them."""
    gateway.prepare()
    gateway.command("account", "set", "bench", f"smpp_window={window}")
    add_parked(gateway, "bench", size, int(time.time() * 1000))
    try:
        bench.start(gateway, 0, warm=False)
        time.sleep(SETTLE_S)
        before, cpu = gateway.memory_mib(), sum(gateway.cpu().values())
        esmes = Esmes(
            bench, gateway, binds=binds, count=0, receipts=size, numbers=size, duration=60 + size / 500, quiet=5
        )
        begun = time.monotonic_ns()
        esmes.begin()
        most = before
        while esmes.runs:
            most = max(most, gateway.memory_mib())
            time.sleep(0.2)
        summary, _, receipts = esmes.end()
        used = sum(gateway.cpu().values()) - cpu
    finally:
        bench.stop(gateway)
    faults = {
        "never delivered": sum(not times for _, times in receipts),
        "delivered twice": sum(times > 1 for _, times in receipts),
    }
    told = [f"{number} {what}" for what, number in faults.items() if number] + gateway.audit()
    if told:
        raise Refused(f"{gateway.name}: {'; '.join(told)}")
    seconds = (summary["last_receipt"] - begun) / 1e9
    return (
        str(size), f"{binds} x {window}", f"{seconds:.1f}", f"{size / seconds:.0f}", f"{1e6 * used / size:.1f}",
        f"{before:.0f}", f"{most:.0f}",
    )  # fmt: skip


# --- submissions that come again

ONCE_HEADS = ("by", "submissions", "sent again", "answers with the first id", "second charges")


def once(bench: Bench, gateway: HeliographSmpp) -> list[Sequence[str]]:
    """Submissions that timed out are sent again: by their reference on a standing connection, and after a lost
    connection by equal octets."""
    gateway.prepare()
    gateway.command("account", "set", "bench", f"smpp_reference={REFERENCE:#x}", f"smpp_window={MOST_WINDOW}")
    gateway.add_account("dedupe")
    gateway.let_bind("dedupe", "smpp_dedupe_s=600", f"smpp_window={MOST_WINDOW}")
    try:
        bench.start(gateway, 0)
        credit = {name: _balance(gateway, name) for name in ("bench", "dedupe")}
        by_reference = asyncio.run(_again_by_reference(gateway))
        by_octets = asyncio.run(_again_by_octets(gateway))
        bench.drain(0)
        spent = {name: credit[name] - _balance(gateway, name) for name in credit}
    finally:
        bench.stop(gateway)
    if faults := gateway.audit():
        raise Refused(f"{gateway.name}: {'; '.join(faults)}")
    return [
        (name, str(ONCE), str(again), str(same), str(int(spent[account]) - ONCE))
        for name, account, (again, same) in (
            ("smpp_reference, connection stands", "bench", by_reference),
            ("smpp_dedupe_s, connection lost", "dedupe", by_octets),
        )
    ]


def _balance(gateway: HeliographSmpp, account: str) -> float:
    return float(gateway.command("account", "show", account)["balance"])


def _submit(number: int, **fields: Any) -> p.SubmitSm:
    return p.SubmitSm(
        source_addr_ton=5, source_addr="Bench", dest_addr_ton=1, dest_addr_npi=1,
        destination_addr=f"492{number:08}", short_message=f"Once {number}".encode(), **fields,
    )  # fmt: skip


async def _answered(client: Esme, sequences: Iterable[int]) -> None:
    await client.until(lambda: all(sequence in client.answers for sequence in sequences))


async def _again_by_reference(gateway: HeliographSmpp) -> tuple[int, int]:
    """Returns how many were sent again, and how many of these answers had the first id."""
    client = await Esme.connect(gateway.bind_port)
    await client.bind("bench", gateway.passwords["bench"])
    ids: list[list[str]] = []
    for _ in range(2):
        sequences = []
        for first in range(0, ONCE, LOST_AT_ONCE):
            some = [
                client.begin(_submit(number, tlvs=((REFERENCE, f"ref-{number}\0".encode()),)))
                for number in range(first, first + LOST_AT_ONCE)
            ]
            sequences += some
            await _answered(client, some)
        ids.append([getattr(client.answers[sequence], "message_id", "") for sequence in sequences])
    client.close()
    return ONCE, sum(one == other != "" for one, other in zip(*ids, strict=True))


async def _deaf(port: int) -> Esme:
    """Returns a client with a receive buffer that has no room for the answers to LOST_AT_ONCE submissions."""
    with socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        own.connect(("127.0.0.1", port))
        own.setblocking(False)
        _, client = await asyncio.get_running_loop().create_connection(Esme, sock=own.dup())
    return client


async def _again_by_octets(gateway: HeliographSmpp) -> tuple[int, int]:
    """Each connection ends some ms after its submissions are written, with no answer read; then they come again."""
    ids: dict[int, str] = {}
    for first in range(0, ONCE, LOST_AT_ONCE):
        numbers = range(first, first + LOST_AT_ONCE)
        client = await _deaf(gateway.bind_port)
        await client.bind("dedupe", gateway.passwords["dedupe"])
        client.stop_reading()
        for number in numbers:
            client.begin(_submit(number))
        await asyncio.sleep(0.01 * (first // LOST_AT_ONCE))
        client.close()
        again = await Esme.connect(gateway.bind_port)
        await again.bind("dedupe", gateway.passwords["dedupe"])
        sequences = {number: again.begin(_submit(number)) for number in numbers}
        await _answered(again, sequences.values())
        ids |= {number: getattr(again.answers[sequence], "message_id", "") for number, sequence in sequences.items()}
        again.close()
    return ONCE, len({one for one in ids.values() if one})
