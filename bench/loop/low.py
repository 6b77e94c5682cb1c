"""A gateway with little to do: the cost of a lone message, and of waiting for the next."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from bench.loop.figures import Run, demand_sound, middle, pair
from bench.loop.gateways import Gateway
from bench.loop.processes import cpu_seconds, wake_ups
from bench.loop.run import Bench, Load

HEADS = ("gateway", "messages/s", "CPU ms/msg", "CPU us/msg by process", "wake-ups/msg", "commits/msg",
         "idle: CPU % of a core", "idle: wake-ups/s", "to 200 ms p50/p99", "to submit_sm ms p50/p99",
         "to callback ms p50/p99", "MiB")  # fmt: skip

RATE = 50.0
SETTLE_S = 2.0
"""From the end of the warm-up until the gateway counts as idle."""

IDLE_S = 10.0

LEAST_S = 20.0
"""Of load: the system counts CPU in hundredths of a second, and a thousand messages take some hundred of them."""


@dataclass(slots=True)
class Quiet:
    """A run."""

    run: Run
    wake_ups: float
    """Number of times a message that a thread of the gateway went to sleep."""
    commits: float | None
    """A message; None where the gateway does not say."""
    idle_cpu: float
    """Share of a core, with nothing to do."""
    idle_wake_ups: float
    """A second."""


def measure(bench: Bench, gateway: Gateway, rate: float, seconds: float) -> Quiet:
    """A run on empty state: first no load, then `rate` messages a second. CPU and wake-ups are those of all processes
    that belong to the gateway, from the first request until the last callback. Raises Refused as any scenario does."""
    gateway.prepare()
    load = Load(seconds=seconds, rate=rate)
    try:
        bench.start(gateway, load.delay_ms)
        time.sleep(SETTLE_S)
        begun, woken, used = time.monotonic(), _woken(gateway), _used(gateway)
        time.sleep(IDLE_S)
        span = time.monotonic() - begun
        idle_wake_ups, idle_cpu = (_woken(gateway) - woken) / span, (_used(gateway) - used) / span
        commits = gateway.commits()
        woken = _woken(gateway)
        run = bench.load(gateway, load)
        woken = _woken(gateway) - woken
        more = gateway.commits()
    finally:
        bench.stop(gateway)
    run.audit = gateway.audit()
    messages = demand_sound(run).counts.accepted
    made = None if commits is None or more is None else (more - commits) / messages
    return Quiet(run, woken / messages, made, idle_cpu, idle_wake_ups)


def rows(found: dict[str, list[Quiet]]) -> list[Sequence[str]]:
    """A line a gateway, with the medians of its runs, figure by figure."""
    return [_row(name, runs) for name, runs in found.items() if runs]


def _row(name: str, runs: Sequence[Quiet]) -> Sequence[str]:
    run = middle([each.run for each in runs])
    made = [each.commits for each in runs if each.commits is not None]
    return (
        name, f"{run.called_back:.0f}", f"{run.cpu / 1000:.2f}",
        " + ".join(f"{us:.0f} {part}" for part, us in run.cpu_us.items()),
        f"{median(each.wake_ups for each in runs):.1f}", f"{median(made):.2f}" if made else "-",
        f"{100 * median(each.idle_cpu for each in runs):.2f}", f"{median(each.idle_wake_ups for each in runs):.0f}",
        pair(run.to_answer), pair(run.to_submit), pair(run.to_callback), f"{run.memory_mib:.0f}",
    )  # fmt: skip


def _woken(gateway: Gateway) -> int:
    return sum(map(wake_ups, gateway.pids()))


def _used(gateway: Gateway) -> float:
    return sum(map(cpu_seconds, gateway.pids()))
