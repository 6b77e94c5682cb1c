"""Runs the installed program under an even load, and looks for what grows: `make soak MINUTES=120 RATE=2000`,
`STORE=postgres` for the same on PostgreSQL.

Customers send at once and for later, phones write and opt out, a twentieth of the callbacks fails, and old messages are
dropped. The first quarter of the time warms up and is not judged.
"""

import argparse
import asyncio
import contextlib
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression, median, quantiles

from heliograph.adapters.system.resources import GIVE_BACK_S
from tests.support.background_sink import BackgroundSink
from tests.support.load import Load
from tests.support.process import Admin, GatewayProcess, SimulatorProcess
from tests.support.sink import Answer, Received
from tests.support.stores import STORES, store_settings

NUMBER = "3388"
CREDIT = 100_000_000
CONNECTIONS = 16
SAMPLE_S = 10.0

RETAIN_DAYS = "0.005"
"""Seven minutes: rows are dropped from early on."""

FAILING_SHARE = 0.05
LATER_SHARE = 0.05
LATER_S = 60.0
PHONES_SHARE = 0.1
"""Messages from phones, as a share of those to phones. One of fifty says STOP."""

MOST_GROWTH_MIB = 1.0
"""Of memory, in an hour."""

SPAN_S = GIVE_BACK_S
"""Free memory is given back once in a span. What a table that was rebuilt or a long commit leaves until then, a MiB or
two, is no growth, and hides as much of it."""

AUDIT_S = 1800.0
"""The audit at the end adds up the ledger of millions of messages."""

MOST_LOG_MIB = 256.0
"""Of the write-ahead log: SQLite takes it back at checkpoints."""

MOST_DRIFT = 2.0
"""The p99 of the last quarter, as a multiple of the second's."""


@dataclass(frozen=True, slots=True)
class Sample:
    """`at`: seconds since the load began. `p99_ms` of the answers since the last sample."""

    at: float
    resident_mib: float
    log_mib: float
    accepted: int
    p99_ms: float


def growth(samples: Sequence[Sample]) -> float:
    """MiB of memory an hour after the first quarter: a straight line through the lowest sample of each SPAN_S."""
    lowest: dict[float, Sample] = {}
    for each in _after(samples, 0.25):
        span = each.at // SPAN_S
        if span not in lowest or each.resident_mib < lowest[span].resident_mib:
            lowest[span] = each
    judged = list(lowest.values()) if len(lowest) > 2 else _after(samples, 0.25)
    return linear_regression([each.at for each in judged], [each.resident_mib for each in judged]).slope * 3600


def drift(samples: Sequence[Sample]) -> float:
    """The median of the last quarter's p99s by that of the second quarter's."""
    second = [each.p99_ms for each in _after(samples, 0.25) if each.at <= samples[-1].at / 2]
    return median([each.p99_ms for each in _after(samples, 0.75)]) / median(second)


def faults(samples: Sequence[Sample], problems: Sequence[str]) -> list[str]:
    """What was missed; nothing if all is well. `problems`: the findings of `heliograph audit`."""
    log = max(each.log_mib for each in samples)
    return [
        *([f"memory grows by {growth(samples):.2f} MiB an hour"] if growth(samples) > MOST_GROWTH_MIB else []),
        *([f"the write-ahead log grew to {log:.0f} MiB"] if log > MOST_LOG_MIB else []),
        *([f"p99 of the answers is {drift(samples):.1f} times the first"] if drift(samples) > MOST_DRIFT else []),
        *problems,
    ]


def _after(samples: Sequence[Sample], share: float) -> list[Sample]:
    return [each for each in samples if each.at >= samples[-1].at * share]


class MixedLoad(Load):
    """Some messages are for later, and answers are timed."""

    def __init__(self, *arguments: str, pause: float, dlr_url: str) -> None:
        super().__init__(*arguments, connections=CONNECTIONS, pause=pause, dlr_url=dlr_url, most=1_000_000_000)
        self._chance = random.Random(1)
        self.count = 0
        """Messages answered 200."""
        self._times_ms: list[float] = []

    def take_times(self) -> list[float]:
        """The latencies of the answers since the last call."""
        times, self._times_ms = self._times_ms, []
        return times

    async def _send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, to: str, more: str = "") -> int:
        if self._chance.random() < LATER_SHARE:
            more = f"&time={time.time() + LATER_S:.3f}"
        start = time.monotonic()
        status = await super()._send(reader, writer, to, more)
        self._times_ms.append(1000 * (time.monotonic() - start))
        self.count += status == 200
        # two hours of them would fill this process's memory
        self.accepted.clear()
        self.answered_at.clear()
        return status


def _log_mib(data: Path) -> float:
    return sum(path.stat().st_size for path in data.rglob("*-wal")) / 2**20


def soak(folder: Path, minutes: float, rate: float, settings: dict[str, str]) -> tuple[list[Sample], list[str]]:
    """Returns the samples and the findings of `heliograph audit`."""
    admin = Admin(folder / "data", settings, AUDIT_S)
    chance = random.Random(2)
    with contextlib.ExitStack() as running:
        sink = running.enter_context(BackgroundSink())

        def answer(_: Received) -> Answer:
            sink.sink.requests.clear()
            return Answer(500 if chance.random() < FAILING_SHARE else 200)

        sink.sink.answering = answer
        account = admin.account(
            "acme", str(CREDIT), "--retain-days", RETAIN_DAYS, "--inbound-url", sink.url("/mo"), "--opt-out", "keywords"
        )
        admin("number", "add", NUMBER, "--account", "acme")
        for name, share, text in (("operator", PHONES_SHARE, "Number {n}"), ("second", PHONES_SHARE / 50, "STOP")):
            simulator = running.enter_context(
                SimulatorProcess(
                    folder, name=name, magic=False, logged=False, receipt_delay_ms=500, latency_ms=20,
                    inbound_rate=max(1, round(rate * share)), inbound_to=NUMBER, inbound_text=text,
                )
            )  # fmt: skip
            admin.operator(simulator.port, name, "", "--window", "100", "--binds", "1")
        gateway = running.enter_context(GatewayProcess(folder / "data", settings=settings, anew=True))
        load = running.enter_context(
            MixedLoad(gateway.url, "acme", account["api_key"], pause=CONNECTIONS / rate, dlr_url=sink.url())
        )
        samples = list(_watch(gateway, load, 60 * minutes))
        load.stop()
        assert gateway.stop() == 0
    return samples, admin("audit")["problems"]


def _watch(gateway: GatewayProcess, load: MixedLoad, seconds: float) -> Iterator[Sample]:
    start = time.monotonic()
    while (at := time.monotonic() - start) < seconds:
        time.sleep(SAMPLE_S)
        assert gateway.running, gateway.err[-2000:]
        p99 = quantiles(load.take_times() or [0.0, 0.0], n=100)[98]
        sample = Sample(at, gateway.resident_kib() / 1024, _log_mib(gateway.data), load.count, p99)
        print(
            f"{at / 60:6.1f} min  {sample.resident_mib:8.2f} MiB  log {sample.log_mib:6.1f} MiB  "
            f"p99 {p99:6.1f} ms  {sample.accepted:>9} accepted",
            flush=True,
        )
        yield sample


def main() -> None:
    options = argparse.ArgumentParser(prog="make soak", description=__doc__)
    options.add_argument("--minutes", type=float, default=120)
    options.add_argument("--rate", type=float, default=500, help="messages a second")
    options.add_argument("--store", choices=STORES, default="sqlite")
    given = options.parse_args()
    with store_settings(given.store) as settings, tempfile.TemporaryDirectory(prefix="soak-") as folder:
        samples, problems = soak(Path(folder), given.minutes, given.rate, settings)
    print(f"memory: {growth(samples):+.2f} MiB an hour; p99: {drift(samples):.2f} times the first")
    missed = faults(samples, problems)
    for fault in missed:
        print(f"MISSED: {fault}")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
