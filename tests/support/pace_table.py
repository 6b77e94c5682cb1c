"""The pace against every kind of limit in virtual time, as a table: `python -m tests.support.pace_table`.

It shows the figures behind the unit tests' assertions, at several seeds and phases of the operator's clock. Each row
has the mean and the worst of the seeds.
"""

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from math import inf
from random import Random

from heliograph.simulator.limiter import BucketLimiter, SlidingLimiter
from tests.support.paced_link import HARDER_LIMITS, LIMITS, Free, Limit, Moving, PacedLink

LATENCIES_S = (0.0, 0.05, 0.5)
SHARES = (0.01, 0.05, 0.1, 0.3)


@dataclass(frozen=True)
class Case:
    """`takes`: parts that it lets through a second, of the `offered` parts. `at_random`: share that it also throttles
    at any pace."""

    limit: Callable[[], Limit]
    takes: float
    goodput: float = 0.95
    throttled: float = 0.01
    first: int = 40
    since: int = 10
    seconds: int = 120
    at_random: float = 0.0
    offered: float = inf


def _moving() -> Limit:
    return Moving((0, SlidingLimiter(50, 1)), (40, SlidingLimiter(10, 1)), (100, SlidingLimiter(100, 1)))


def cases() -> dict[str, Case]:
    found = {name: Case(limit, takes) for name, (limit, takes) in LIMITS.items()}
    for name, (limit, takes) in HARDER_LIMITS.items():
        settled, seconds = (120, 360) if "minute" in name else (20, 120)
        found[name] = Case(limit, takes, 0.9, 0.03, 10**6, settled, seconds)
    found["moves, 50"] = Case(_moving, 50, 0.9, 0.03, 10**6, 10, 40)
    found["moves, 10"] = Case(_moving, 10, 0.9, 0.03, 10**6, 60, 100)
    found["moves, 100"] = Case(_moving, 100, 0.9, 0.03, 10**6, 120, 170)
    for share in SHARES:
        found[f"free, 100 offered, {share:.0%} at random"] = Case(
            Free, 100, 0.9, inf, 10**6, 10, at_random=share, offered=100
        )
        found[f"any second, 200, {share:.0%} at random"] = Case(
            lambda: SlidingLimiter(200, 1), 200, 0.9, 1.3 * share + 0.03, 10**6, 20, at_random=share
        )
        found[f"bucket, 400, {share:.0%} at random"] = Case(
            lambda: BucketLimiter(400, 400), 200, 0.9, inf, 10**6, 20, at_random=share, offered=200
        )
    return found


@dataclass(frozen=True)
class Measured:
    goodput: float
    throttled: float
    first: int
    settled: int
    rate: float


def measure(name: str, latency_s: float, seed: int) -> Measured:
    case = cases()[name]
    begins = 0.0 if name.startswith("moves") or not seed else Random(seed).random()
    link = PacedLink(
        case.limit(), latency_s, seed=seed, now=begins, at_random=case.at_random,
        offered=case.offered, window=100 + int(800 * latency_s) if case.offered < inf else 0,
    )  # fmt: skip
    link.run(case.seconds + 1)
    since, until = begins + case.since, begins + case.seconds
    span = 10 if case.seconds <= 170 else 60
    starts = range(case.seconds - span)
    bad = [at for at in starts if link.goodput(begins + at, begins + at + span) < case.goodput * case.takes * 0.95]
    return Measured(
        link.goodput(since, until) / case.takes, link.share_throttled(since, until),
        link.throttled(begins, begins + 10), bad[-1] + 1 if bad else 0, link.pace.rate,
    )  # fmt: skip


def _measure(job: tuple[str, float, int]) -> tuple[str, float, Measured]:
    return job[0], job[1], measure(*job)


def rows(chosen: list[str], latencies: list[float], seeds: int, workers: int) -> Iterator[tuple[bool, str]]:
    jobs = [(name, latency, seed) for name in chosen for latency in latencies for seed in range(seeds)]
    found: dict[tuple[str, float], list[Measured]] = {}
    with ProcessPoolExecutor(workers) as pool:
        for name, latency, measured in pool.map(_measure, jobs, chunksize=2):
            of = found.setdefault((name, latency), [])
            of.append(measured)
            if len(of) == seeds:
                yield _row(name, latency, of)


def _row(name: str, latency: float, of: list[Measured]) -> tuple[bool, str]:
    case = cases()[name]
    goodput = [each.goodput for each in of]
    throttled = [each.throttled for each in of]
    first = [each.first for each in of]
    settled = [each.settled for each in of]
    mean = sum(goodput) / len(of), sum(throttled) / len(of), sum(first) / len(of)
    misses = [
        "g" * (mean[0] < case.goodput), "t" * (mean[1] >= case.throttled), "f" * (mean[2] >= case.first),
    ]  # fmt: skip
    worst = [
        "G" * (min(goodput) < case.goodput), "T" * (max(throttled) >= case.throttled),
        "F" * (max(first) >= case.first),
    ]  # fmt: skip
    mark = "".join(misses) + "".join(w for m, w in zip(misses, worst, strict=True) if not m)
    return bool(mark), (
        f"{name:40} {latency * 1000:4.0f} ms  {mean[0]:6.1%} ({min(goodput):6.1%})  {mean[1]:6.2%}"
        f" ({max(throttled):6.2%})  {mean[2]:5.1f} ({max(first):3})"
        f"  {sum(settled) / len(of):5.1f} ({max(settled):3})  {mark}"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default="", help="cases with this in their name")
    options.add_argument("--latencies", default="0,50,500", help="milliseconds")
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--workers", type=int, default=2)
    given = options.parse_args()
    chosen = [name for name in cases() if given.only in name]
    latencies = [float(each) / 1000 for each in given.latencies.split(",")]
    missed = 0
    for misses, row in rows(chosen, latencies, given.seeds, given.workers):
        missed += misses
        print(row, flush=True)
    print(f"{missed} rows miss a bar")


if __name__ == "__main__":
    main()
