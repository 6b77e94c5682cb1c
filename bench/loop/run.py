"""A run: the operator and the gateway are started, customers send, everything drains, the messages are counted."""

import json
import subprocess
import time
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, Protocol

from bench.loop.figures import (
    NOTHING,
    Refused,
    Run,
    Window,
    answer_latencies,
    count,
    journeys_of,
    latencies,
    rates,
    read_journeys,
    read_requests,
)
from bench.loop.gateways import Ask, Gateway, Wish
from bench.loop.processes import Process, free_port, listens, until

WARM_UP_FROM = 3_900_000
"""The first number of the messages before the load, which are not counted."""

WARM_UP_RATE = 200
WARM_UP_S = 2.0

SCATTER = 7_919
"""Distance between two numbers of a scattered load."""

SCATTERED = 400_000
"""The numbers of a scattered load, which has no factor in common with SCATTER. A load may not have more messages."""

QUIET_S = 3.0
"""Seconds without progress after which missing messages count as lost."""

MOST_DRAIN_S = 60.0
LIFE_S = 3600


@dataclass(slots=True)
class Load:
    """The load of customers. `rate`: requests a second, 0 for a closed loop."""

    wish: Wish = Wish.RECEIPT
    seconds: float = 6.0
    connections: int = 64
    rate: float = 0.0
    close: bool = False
    span: int = 1
    delay_ms: int = 100
    """From a submit_sm to its receipt."""
    scattered: bool = False
    """Whether the numbers come in a scattered order."""


class Operator:
    """The operator and the receiver of callbacks."""

    def __init__(self, programs: Path, folder: Path, numbers: int = 4_000_000) -> None:
        self.smpp_port, self.http_port = free_port(), free_port()
        self._command = [
            str(programs / "operator"), "--smpp-port", str(self.smpp_port), "--http-port", str(self.http_port),
            "--life-s", str(LIFE_S), "--numbers", str(numbers),
        ]  # fmt: skip
        self._folder = folder
        self._process: Process | None = None

    def start(self, delay_ms: int) -> None:
        self._process = Process(self._folder, "operator", [*self._command, "--delay-ms", str(delay_ms)])
        until(lambda: listens(self.http_port), "the operator listens")

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop()
            self._process = None

    def stats(self) -> dict[str, Any]:
        return self._control("stats")

    def reset(self) -> None:
        self._control("reset")

    def send_from_phones(self, to: str, count: int, rate: float, text: str) -> None:
        """Begins to send `count` messages, `rate` a second, or as fast as they are acknowledged if it is 0. Ends an
        earlier load. `text`: capital letters."""
        self._control(f"phones?to={to}&count={count}&rate={rate:.0f}&text={text}")

    def die(self) -> bytes:
        """Ends it without a word on its connections, and returns its records of that moment."""
        path = self._folder / "operator.bin"
        with suppress(OSError, HTTPException):
            self._control(f"die?f={path}")
        self.stop()
        return path.read_bytes()

    def records(self) -> bytes:
        """Its records of each message, by number."""
        path = self._folder / "operator.bin"
        self._control(f"dump?f={path}")
        return path.read_bytes()

    def _control(self, path: str) -> dict[str, Any]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.http_port}/ctl/{path}", timeout=30) as answer:
            found: dict[str, Any] = json.load(answer)
            return found


class Customers:
    """A load generator under way."""

    def __init__(
        self, programs: Path, folder: Path, ports: Sequence[int], ask: Ask, load: Load, start: int = 0
    ) -> None:
        self._out = folder / f"customers{start}.bin"
        self._ports = len(ports)
        self._most_s = load.seconds + 60
        command = [
            str(programs / "customer"), "--conns", str(load.connections),
            "--duration", str(load.seconds), "--rate", str(load.rate), "--close", str(int(load.close)),
            "--span", str(load.span), "--start", str(start), "--out", str(self._out),
            "--method", ask.method, "--path", ask.path, "--type", ask.type, "--expect", ask.expect,
        ]  # fmt: skip
        for port in ports:
            command += ["--port", str(port)]
        if ask.body is not None:
            command += ["--body", ask.body]
        for header in ask.headers:
            command += ["--header", header]
        self._command = command
        self._process: subprocess.Popen[str] | None = None

    def order(self, stride: int, modulo: int) -> "Customers":
        """Takes the numbers in another order, round and round."""
        self._command += ["--stride", str(stride), "--modulo", str(modulo)]
        return self

    def begin(self) -> "Customers":
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        return self

    def end(self) -> tuple[dict[str, Any], bytes]:
        """Returns its summary and the fate of each request. Raises Refused if the requests did not go to all ports, as
        with a program that was compiled before it could distribute them."""
        assert self._process is not None
        summary, _ = self._process.communicate(timeout=self._most_s)
        found: dict[str, Any] = json.loads(summary)
        if (asked := found.get("ports", 1)) != self._ports:
            raise Refused(f"customers asked {asked} of {self._ports} ports: the program is older than its source")
        return found, self._out.read_bytes()


class Observer(Protocol):
    """Looks on while a load lasts, and tells of it."""

    def begin(self, pids: Sequence[int]) -> None: ...

    def end(self) -> None: ...

    def write(self, run: Run) -> None: ...


class Bench:
    """The common part of a scenario's runs."""

    def __init__(self, programs: Path, folder: Path, observer: Observer | None, numbers: int = 4_000_000) -> None:
        self.programs = programs
        self.folder = folder
        self.observer = observer
        self.operator = Operator(programs, folder, numbers)

    def start(
        self, gateway: Gateway, delay_ms: int, *, binds: int = 1, warm: bool = True, scattered: bool = False
    ) -> float:
        """Starts the operator and the gateway; returns the seconds until the gateway took requests."""
        self.operator.start(delay_ms)
        begun = time.monotonic()
        gateway.start()
        ready = time.monotonic() - begun
        until(lambda: self.operator.stats()["receiving"] >= binds, "the gateway has bound")
        if warm:
            load = Load(seconds=WARM_UP_S, rate=WARM_UP_RATE, connections=8, scattered=scattered)
            self.customers(gateway, gateway.ask(Wish.RECEIPT), load, WARM_UP_FROM).begin().end()
            self.drain(int(WARM_UP_RATE * WARM_UP_S) - 1)
            self.operator.reset()
        return ready

    def stop(self, gateway: Gateway) -> None:
        try:
            gateway.stop()
        finally:
            self.operator.stop()

    def customers(self, gateway: Gateway, ask: Ask, load: Load, start: int = 0) -> Customers:
        customers = Customers(self.programs, self.folder, gateway.ports(), ask, load, start)
        return customers.order(SCATTER, SCATTERED) if load.scattered else customers

    def drain(
        self,
        callbacks: int | None,
        submits: int | None = None,
        *,
        most_s: float = MOST_DRAIN_S,
        quiet_s: float = QUIET_S,
    ) -> dict[str, Any]:
        """Waits until this many have come back, or without progress for `quiet_s`, for at most `most_s`."""
        end = time.monotonic() + most_s
        last, since = None, time.monotonic()
        while time.monotonic() < end:
            stats = self.operator.stats()
            moved = (stats["submits"], stats["receipts"], stats["callbacks"])
            if moved != last:
                last, since = moved, time.monotonic()
            enough = stats["callbacks"] >= (callbacks or 0) and stats["submits"] >= (submits or callbacks or 0)
            # a little longer, to see duplicates
            if time.monotonic() - since > (0.3 if enough else quiet_s):
                break
            time.sleep(0.05)
        return self.operator.stats()

    def measure(self, gateway: Gateway, load: Load, *, keep: bool = False, audit: bool = True) -> Run:
        """A run with all counts, on empty state unless `keep`."""
        if not keep:
            gateway.prepare()
        try:
            self.start(gateway, load.delay_ms, scattered=load.scattered)
            run = self.load(gateway, load)
        finally:
            self.stop(gateway)
        if audit:
            run.audit = gateway.audit()
        return run

    def load(self, gateway: Gateway, load: Load) -> Run:
        """Puts the load on a gateway that was started, and follows it to the last callback."""
        before = gateway.cpu()
        customers = self.customers(gateway, gateway.ask(load.wish, load.span), load).begin()
        if self.observer is not None:
            self.observer.begin(gateway.programs())
        summary, requests = customers.end()
        if self.observer is not None:
            self.observer.end()
        memory = gateway.memory_mib()
        sent = summary["good"] * load.span
        drained = self.drain(0 if load.wish is Wish.PLAIN else sent, sent)
        after = gateway.cpu()
        run = self.judge(gateway, load, summary, requests, drained)
        run.memory_mib = memory
        done = max(1, drained["submits"])
        run.cpu_us = {name: 1e6 * (after[name] - before.get(name, 0.0)) / done for name in after}
        if self.observer is not None:
            self.observer.write(run)
        return run

    def judge(
        self, gateway: Gateway, load: Load, summary: dict[str, Any], requests_data: bytes, drained: dict[str, Any]
    ) -> Run:
        """Follows every message of the load from the records of both sides."""
        requests = read_requests(requests_data)
        records = read_journeys(self.operator.records())
        if load.scattered:
            records += [NOTHING] * (SCATTERED - len(records))
            records = [records[n * SCATTER % SCATTERED] for n in range(len(requests))]
        journeys = journeys_of(requests, records, load.span)
        window = Window(summary["begun"], summary["ended"])
        numbered = load.wish is Wish.RECEIPT
        counts = count(requests, journeys, load.span, numbered=numbered)
        accepted, submitted, called_back = rates(requests, journeys, load.span, window)
        if load.wish is Wish.MANY:
            counts.called_back_twice = drained["repeated_callbacks"]
            counts.never_called_back = max(0, counts.accepted - drained["callbacks"] + drained["repeated_callbacks"])
            # nothing tells when which of them came: the rate is that of the whole, drain included
            called_back = drained["callbacks"] * 1e9 / max(1, drained["last_callback"] - window.begun)
        to_submit, to_callback = latencies(requests, journeys, load.span)
        last = max(drained["last_submit"], drained["last_callback"])
        return Run(
            gateway=gateway.name,
            offered=load.rate * load.span,
            accepted=accepted,
            submitted=submitted,
            called_back=called_back,
            drain_s=max(0.0, (last - window.ended) / 1e9),
            to_answer=answer_latencies(requests),
            to_submit=to_submit,
            to_callback=to_callback,
            counts=counts,
            refused_requests=summary["other"] + summary["unexpected"],
            broken_requests=summary["errors"],
            with_receipts=load.wish is not Wish.PLAIN,
        )
