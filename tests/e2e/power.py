"""The long form of `tests/integration/power`: `make power CUTS=1000`; `SEED=7` for other ones.

Most cuts are of the logs of a few lives; after one in twenty the installed program goes on, on what the disk holds.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.support.crash import WINDOW, Toll
from tests.support.power.life import Finding, Life, again, choose, cut_power, first_start, keeping_house, under_load
from tests.support.power.recorder import Kind
from tests.support.power.restarts import lose_power_under_load

CUTS_A_LIFE = 200
CUTS_A_RESTART = 20
SHORT, LONG = 1_500, 9_000
"""Messages in a life under load."""

AGAIN = 4
"""Cuts of a life under load after which the recovery from them is cut too, at `AGAIN_CUTS` moments."""

AGAIN_CUTS = 15
SLOW_US = 3_000
"""What a sync takes in every other life, so that commits are made by the writer's thread."""


@dataclass
class Sum:
    cuts: int = 0
    lives: int = 0
    entries: int = 0
    syncs: int = 0
    octets: int = 0
    messages: int = 0
    """Answered 200, in all lives."""
    findings: list[Finding] = field(default_factory=list)

    def add(self, life: Life, cuts: int, folder: Path, seed: int) -> None:
        chosen = [*choose(life, cuts - 1, seed), len(life.entries)]
        self.lives += 1
        self.cuts += cuts
        self.entries += len(life.entries)
        self.syncs += sum(entry.kind is Kind.SYNCED for entry in life.entries)
        self.octets += sum(len(entry.data) for entry in life.entries)
        self.messages += len(life.told.accepted) if life.before is None else 0
        self.findings += cut_power(life, chosen, folder, seed)


def _lives(cuts: int) -> list[tuple[Callable[..., Life], int]]:
    """What is lived, and how many cuts each is given: a tenth the first start, a fifth keeping house, else load."""
    first, house = max(1, cuts // 10), max(1, cuts // 5)
    lives: list[tuple[Callable[..., Life], int]] = [(first_start, first), (keeping_house, house)]
    for done in range(first + house, cuts, CUTS_A_LIFE):
        # one in four is so long that the gateway itself indexes numbers
        messages = LONG if len(lives) % 4 == 3 else SHORT
        lives.append((partial(under_load, messages=messages, commands=3), min(cuts - done, CUTS_A_LIFE)))
    return lives


def table(sum_: Sum, toll: Toll, seconds: float) -> str:
    rows = {
        "minutes": f"{seconds / 60:.1f}",
        "cuts": sum_.cuts,
        "lives they were made in": sum_.lives,
        "operations recorded": sum_.entries,
        "of them syncs": sum_.syncs,
        "MiB written": sum_.octets >> 20,
        "messages answered 200": sum_.messages,
        "cuts after which something was broken": len(sum_.findings),
        "cuts after which the gateway went on": toll.kills,
        "messages answered 200 there": toll.answered,
        "lost": len(toll.lost),
        f"repeats in all, and most after one cut (window {WINDOW})": f"{sum(toll.repeats)}, {max(toll.repeats)}",
        "receipts lost": len(toll.lost_receipts),
        "messages from phones acknowledged, lost, and with two ids": (
            f"{toll.from_phones}, {len(toll.lost_from_phones)}, {len(toll.doubled_from_phones)}"
        ),
        "wrong charges (credits)": toll.wrong_charges,
        "problems found by the audit": len(toll.problems),
    }
    return "\n".join(f"{what:<60} {count!s:>12}" for what, count in rows.items())


def main() -> None:
    options = argparse.ArgumentParser(prog="make power", description=__doc__)
    options.add_argument("--cuts", type=int, default=1_000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--smpp", action="store_true", help="customers bind by SMPP, where the gateway goes on")
    given = options.parse_args()
    start = time.monotonic()

    def say(what: str) -> None:
        print(f"{what}, {time.monotonic() - start:.0f} s", flush=True)

    sum_ = Sum()
    for number, (live, cuts) in enumerate(_lives(given.cuts)):
        with tempfile.TemporaryDirectory(prefix="power-") as folder:
            life = live(Path(folder), sync_us=SLOW_US * (number % 2))
            seed = given.seed + 1_000_000 * number
            sum_.add(life, cuts, Path(folder), seed)
            if number > 1:
                chance = random.Random(seed)
                for second in range(AGAIN):
                    place = Path(folder) / f"again-{second}"
                    place.mkdir()
                    cut = chance.randrange(len(life.entries) // 2, len(life.entries))
                    sum_.add(again(life, cut, place, seed), AGAIN_CUTS, place, seed)
        say(f"{sum_.cuts} cuts, {sum_.messages} messages answered, {len(sum_.findings)} findings")
    with tempfile.TemporaryDirectory(prefix="power-") as folder:
        restarts = max(1, given.cuts // CUTS_A_RESTART)
        toll = lose_power_under_load(
            Path(folder), restarts, lambda cut, answered: say(f"{cut} restarts, {answered} messages answered"),
            seed=given.seed, smpp=given.smpp,
        )  # fmt: skip
    print(table(sum_, toll, time.monotonic() - start))
    for fault in [*map(str, sum_.findings), *toll.faults()]:
        print(f"BROKEN: {fault}")
    sys.exit(1 if sum_.findings or toll.faults() else 0)


if __name__ == "__main__":
    main()
