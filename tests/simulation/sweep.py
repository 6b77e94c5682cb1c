"""Tries many seeds on every core, at the lowest priority: `make sim SEEDS=1000`.

    python -m tests.simulation.sweep [--seeds 100] [--first 0] [--plan NAME ...] [--minutes M] [--workers N]

Each seed goes through every plan, or through the given ones. A failure is printed with the command that replays it.
"""

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context

from tests.simulation.plans import PLANS, live

TELL_S = 10.0
"""Seconds between two lines about how far it has come."""

AHEAD = 60
"""Worlds for each process that are given out at once."""

SHOWN = 5
"""Printed findings of a world."""


@dataclass(frozen=True)
class World:
    """The result of a world. `wrong`: its findings."""

    plan: str
    seed: int
    messages: int
    submits: int
    wrong: tuple[str, ...]


def try_one(plan_and_seed: tuple[str, int]) -> World:
    plan, seed = plan_and_seed
    simulation = live(PLANS[plan], seed)
    submits = sum(operator.submits.total() for operator in simulation.operators.values())
    return World(plan, seed, len(simulation.rows.messages), submits, tuple(simulation.wrong))


def _polite() -> None:
    os.nice(19)


def _sweep(worlds: Iterator[tuple[str, int]], workers: int) -> Iterator[World]:
    if workers == 1:
        yield from map(try_one, worlds)
        return
    with get_context("spawn").Pool(workers, _polite) as pool:
        while some := list(islice(worlds, AHEAD * workers)):  # a pool takes all that it can get at once
            yield from pool.imap_unordered(try_one, some)


def main() -> None:
    options = argparse.ArgumentParser(prog="make sim", description=__doc__)
    options.add_argument("--seeds", type=int, default=100)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--plan", choices=PLANS, nargs="+")
    options.add_argument("--minutes", type=float, default=float("inf"), help="ends by then, seeds left or not")
    options.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = options.parse_args()
    plans = given.plan or list(PLANS)
    seeds = range(given.first, given.first + given.seeds)
    most = len(seeds) * len(plans)
    worlds = ((plan, seed) for seed in seeds for plan in plans)
    start = told = time.monotonic()
    done: Counter[str] = Counter()
    failed: list[World] = []
    for world in _sweep(worlds, min(given.workers, most)):
        done.update(worlds=1, messages=world.messages, submits=world.submits)
        now = time.monotonic()
        if world.wrong:
            failed.append(world)
            print(f"seed {world.seed} of the plan {world.plan}: {len(world.wrong)} findings")
            for sentence in world.wrong[:SHOWN]:
                print(f"    {sentence}")
            print(f"  again: make sim PLAN={world.plan} FIRST={world.seed} SEEDS=1", flush=True)
        if now - told >= TELL_S:
            told = now
            print(f"{done['worlds']} of {most} worlds, {len(failed)} failed", flush=True)
        if now - start > 60 * given.minutes:
            break
    minutes = (time.monotonic() - start) / 60
    print(
        f"{done['worlds']} worlds (seeds from {given.first} on, {len(plans)} plans) in {minutes:.1f} minutes: "
        f"{done['worlds'] / len(plans) / minutes:.0f} seeds/minute, {done['worlds'] / minutes:.0f} worlds/minute; "
        f"{done['messages']} messages, {done['submits']} submits; {len(failed)} worlds failed"
    )
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
