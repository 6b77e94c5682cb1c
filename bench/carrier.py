"""Measures cost and rate of the SMPP carrier: `python -m bench.carrier [--seconds S]`.

Two runs on uvloop, each against an SMSC in a process of its own:

- at once: it answers without delay. What counts is the CPU of this process for a submit_sm and its answer.
- 100 ms: it answers after a tenth of a second. One bind with a window of 100 can do 1,000/s at the very most; a place
  is given back `--hold-ms` after the answer, as the commit of an outcome does it.

And binds that have nothing to do, `--idle` of them: what testing them costs, and how much memory they take.
"""

import argparse
import asyncio
import multiprocessing
import resource
import time
from collections import deque
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import uvloop

from heliograph.adapters.smpp.carrier import SmppCarrier, Timings
from heliograph.adapters.system.clock import SystemClock
from heliograph.adapters.system.journal import LogJournal
from heliograph.app.configuration import Connector
from heliograph.app.facts import Message
from heliograph.app.ports import Accepted, Outcome, Part, Report
from heliograph.smpp.codec import HEADER
from heliograph.smpp.framer import Framer

HOUR_MS = 3_600_000


class EchoLink(asyncio.Protocol):
    """Answers everything, as cheaply as Python can."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._framer = Framer()
        self._number = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        at_once, later = [], []
        for frame in self._framer.feed(data):
            _, command, _, sequence = HEADER.unpack_from(frame)
            if command == 4:
                self._number += 1
                body = b"%d\0" % self._number
                later.append(HEADER.pack(16 + len(body), 0x80000004, 0, sequence) + body)
            elif command in (1, 2, 9):
                at_once.append(HEADER.pack(21, command | 0x80000000, 0, sequence) + b"echo\0")
            elif command < 0x80000000:
                at_once.append(HEADER.pack(16, command | 0x80000000, 0, sequence))
        if self._delay and later:
            asyncio.get_running_loop().call_later(self._delay, self._transport.write, b"".join(later))  # type: ignore[attr-defined]
        else:
            at_once += later
        if at_once:
            self._transport.write(b"".join(at_once))  # type: ignore[attr-defined]


def serve(delay: float, pipe: Connection) -> None:
    """The SMSC's process."""

    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(lambda: EchoLink(delay), "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    uvloop.run(main())


class Feeder:
    """Keeps the window full while it is `feeding`, and gives places back in batches, as commits do."""

    def __init__(self, hold: float, wanted: int, *, feeding: bool) -> None:
        """`full` is set once all binds are up, that is at the capacity `wanted`."""
        self.carrier: SmppCarrier | None = None
        self.feeding = feeding
        self.full = asyncio.Event()
        self.done = 0
        self.done_at = 0.0
        self._wanted = wanted
        self._hold = hold
        self._in_flight = 0
        self._gathered = 0
        self._due = False
        now = SystemClock().now()
        messages = [
            Message(1, f"4477009{n:05d}", "Heliograph", 0, "", 1, 1, now, now + HOUR_MS, 1, 1, True, key=n)
            for n in range(2000)
        ]
        text = b"Your code is 123456. It expires in five."
        self._parts = deque(Part(message, 0, 1, 0, text, 0) for message in messages)

    def on_outcome(self, part: Part, outcome: Outcome) -> None:
        assert isinstance(outcome, Accepted)
        self._gathered += 1
        if not self._due:
            self._due = True
            loop = asyncio.get_running_loop()
            if self._hold:
                loop.call_later(self._hold, self._commit)
            else:
                loop.call_soon(self._commit)

    def on_report(self, report: Report, acknowledge: object) -> None:
        raise AssertionError

    def on_unmarked(self, report: Report, acknowledge: object, otherwise: object) -> None:
        raise AssertionError

    def on_inbound(self, incoming: object) -> None:
        raise AssertionError

    def on_late(self, part: Part, outcome: Outcome) -> None:
        raise AssertionError

    def on_congestion(self, percent: int) -> None:
        raise AssertionError

    def on_capacity(self) -> None:
        assert self.carrier is not None
        if self.carrier.capacity == self._wanted:
            self.full.set()
            self.fill()

    def _commit(self) -> None:
        self._due = False
        self.done += self._gathered
        self.done_at = time.perf_counter()
        self._in_flight -= self._gathered
        self._gathered = 0
        self.fill()

    def fill(self) -> None:
        assert self.carrier is not None
        free = self.carrier.capacity - self._in_flight
        if free > 0 and self.feeding:
            parts = [self._parts[n] for n in range(free)]
            self._parts.rotate(-free)
            self._in_flight += free
            self.carrier.submit(parts)


def _settings(port: int) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": port, "system_id": "bench", "password": "bench"}


async def run(port: int, window: int, binds: int, hold: float, seconds: float) -> tuple[float, float, float]:
    """Submissions a second, microseconds of CPU each, and the share of a core that was used."""
    feeder = Feeder(hold, window * binds, feeding=True)
    connector = Connector(1, "bench", settings=_settings(port), binds=binds, window=window)
    carrier = SmppCarrier(connector, feeder, clock=SystemClock(), journal=LogJournal(), timings=Timings())
    feeder.carrier = carrier
    carrier.start()
    await feeder.full.wait()
    await asyncio.sleep(0.5)
    # From commit to commit. Otherwise the measurement would end in the middle of a window of answers.
    done, began, used = feeder.done, feeder.done_at, cpu()
    await asyncio.sleep(seconds)
    done, elapsed, used = feeder.done - done, feeder.done_at - began, cpu() - used
    feeder.feeding = False
    await carrier.drain(asyncio.get_running_loop().time() + 1.0)
    return done / elapsed, used / done * 1e6, used / elapsed


def cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


async def idle(port: int, binds: int, interval: float, seconds: float) -> tuple[float, float]:
    """Returns the share of a core that idle binds use, each tested after this many seconds, and their MiB of memory."""
    before = resident_mib()
    feeder = Feeder(0.0, 10 * binds, feeding=False)
    connector = Connector(1, "bench", settings=_settings(port), binds=binds)
    timings = Timings(enquire_interval_s=interval)
    carrier = SmppCarrier(connector, feeder, clock=SystemClock(), journal=LogJournal(), timings=timings)
    feeder.carrier = carrier
    carrier.start()
    await feeder.full.wait()
    began, used = time.perf_counter(), cpu()
    await asyncio.sleep(seconds)
    share = (cpu() - used) / (time.perf_counter() - began)
    taken = resident_mib() - before
    await carrier.drain(asyncio.get_running_loop().time() + 1.0)
    return share, taken


def main() -> None:
    """Prints a line a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--hold-ms", type=float, default=3.0)
    parser.add_argument("--idle", type=int, default=200)
    given = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    ports = []
    processes = []
    for delay in (0.0, 0.1):
        ours, theirs = context.Pipe()
        process = context.Process(target=serve, args=(delay, theirs), daemon=True)
        process.start()
        processes.append(process)
        ports.append(ours.recv())
    fast, slow = ports
    hold = given.hold_ms / 1000
    # These first: they find memory that nothing has been in yet.
    for interval, seconds in ((Timings().enquire_interval_s, 65.0), (1.0, given.seconds)):
        share, taken = uvloop.run(idle(fast, given.idle, interval, seconds))
        name = f"{given.idle} idle binds, each tested every {interval:g} s"
        print(f"{name:55} {taken:30.1f} MiB {share:6.2%} of a core")
    for name, port, window, binds, kept in (
        ("answers at once, window 100", fast, 100, 1, 0.0),
        ("answers at once, window 1000", fast, 1000, 1, 0.0),
        ("answers at once, 4 binds of 100", fast, 100, 4, 0.0),
        ("answers at once, window 10", fast, 10, 1, 0.0),
        (f"answers in 100 ms, window 100, places held {given.hold_ms:g} ms", slow, 100, 1, hold),
        ("answers in 100 ms, window 100, places held 0 ms", slow, 100, 1, 0.0),
    ):
        rate, cost, share = uvloop.run(run(port, window, binds, kept, given.seconds))
        print(f"{name:55} {rate:9,.0f}/s {cost:7.2f} us CPU each {share:6.1%} of a core")
    for process in processes:
        process.terminate()
        process.join()


if __name__ == "__main__":
    main()
