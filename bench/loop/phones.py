"""Messages from phones: an operator sends them, the gateway acknowledges them and calls the customer back."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.loop.figures import SETTLE_S, Journey, Refused, pair, percentiles, ratio, read_journeys, times
from bench.loop.gateways import NUMBER_OF_PHONES, Gateway
from bench.loop.run import Bench

MOST = 3_000_000
"""Messages of a run."""

HEADS = ("gateway", "load", "offered/s", "deliver_sm_resp/s", "callbacks/s", "drain s", "CPU us/msg",
         "CPU us by process", "to response ms p50/p99", "to callback ms p50/p99", "MiB", "ours/theirs")  # fmt: skip

NS = 1_000_000_000
QUIET_S = 5.0
TEXT = "YESPLEASEDELIVERITONFRIDAY"


@dataclass(slots=True)
class Traffic:
    """A run. Rates are messages a second, latencies (p50, p99) ms."""

    gateway: str
    offered: float
    """0 in a closed loop: the operator's window is always full."""
    acknowledged: float
    called_back: float
    drain_s: float
    to_response: tuple[float, float] | None
    to_callback: tuple[float, float] | None
    cpu_us: dict[str, float]
    memory_mib: float


def measure(bench: Bench, gateway: Gateway, rate: float, seconds: float) -> Traffic:
    """A run on empty state. Raises Refused if a message was not acknowledged, or called back never or twice."""
    gateway.prepare()
    gateway.take_from_phones()
    try:
        bench.start(gateway, 100)
        before, begun = gateway.cpu(), time.monotonic_ns()
        # A closed loop ends when its time is over, wherever it stands then.
        bench.operator.send_from_phones(NUMBER_OF_PHONES, int(rate * seconds) if rate else MOST, rate, TEXT)
        time.sleep(seconds)
        if not rate:
            bench.operator.send_from_phones(NUMBER_OF_PHONES, 0, rate, TEXT)
        ended, memory = time.monotonic_ns(), gateway.memory_mib()
        journeys = _settled(bench)
        after = gateway.cpu()
    finally:
        bench.stop(gateway)
    faults = _faults(journeys) + gateway.audit()
    if faults:
        raise Refused(f"{gateway.name}: {'; '.join(faults)}")
    used = {name: 1e6 * (after[name] - before.get(name, 0.0)) / len(journeys) for name in after}
    return _traffic(gateway.name, rate, journeys, (begun, ended), used, memory)


def _settled(bench: Bench) -> list[Journey]:
    """Returns the records of the operator, once they have not changed for a while."""
    last, since = -1, time.monotonic()
    while time.monotonic() - since < QUIET_S:
        if (now := bench.operator.stats()["callbacks"]) != last:
            last, since = now, time.monotonic()
        time.sleep(0.1)
    return read_journeys(bench.operator.records())


def _faults(journeys: Sequence[Journey]) -> list[str]:
    found = {
        "messages never sent": sum(not journey.submits for journey in journeys),
        "never acknowledged": sum(not journey.receipt for journey in journeys),
        "never called back": sum(not journey.callbacks for journey in journeys),
        "called back twice": sum(journey.callbacks > 1 for journey in journeys),
    }
    told = [f"{number} {what}" for what, number in found.items() if number]
    return told if journeys else ["no message was sent"]


def _traffic(
    name: str, rate: float, journeys: Sequence[Journey], window: tuple[int, int], used: dict[str, float], memory: float
) -> Traffic:
    begun, ended = window
    settled = begun + int(SETTLE_S * NS)

    def in_window(when: Callable[[Journey], int]) -> float:
        return sum(settled <= when(journey) < ended for journey in journeys) / ((ended - settled) / NS)

    last = max(journey.called_back for journey in journeys)
    return Traffic(
        gateway=name,
        offered=rate,
        acknowledged=in_window(lambda journey: journey.receipt),
        called_back=in_window(lambda journey: journey.called_back),
        drain_s=max(0.0, (last - ended) / NS),
        to_response=percentiles(journey.receipt - journey.submitted for journey in journeys),
        to_callback=percentiles(journey.called_back - journey.submitted for journey in journeys),
        cpu_us=used,
        memory_mib=memory,
    )


def rows(load: str, found: dict[str, list[Traffic]], ours: Sequence[str]) -> list[Sequence[str]]:
    """A line a gateway, with the medians of its runs."""
    middles = {name: _middle(runs) for name, runs in found.items()}
    theirs = next((run for name, run in middles.items() if name not in ours), None)
    told: list[Sequence[str]] = []
    for name, run in middles.items():
        compared = ratio(run.called_back, theirs.called_back) if theirs is not None and name in ours else None
        told.append(
            (name, load, f"{run.offered:.0f}" if run.offered else "-", f"{run.acknowledged:.0f}",
             f"{run.called_back:.0f}", f"{run.drain_s:.2f}", f"{sum(run.cpu_us.values()):.1f}",
             " + ".join(f"{us:.0f} {part}" for part, us in run.cpu_us.items()), pair(run.to_response),
             pair(run.to_callback), f"{run.memory_mib:.0f}", times(compared))
        )  # fmt: skip
    return told


def _middle(runs: Sequence[Traffic]) -> Traffic:
    """Returns the run with the median rate of callbacks, or the run below it."""
    return sorted(runs, key=lambda run: run.called_back)[(len(runs) - 1) // 2] if len(runs) > 1 else runs[0]
