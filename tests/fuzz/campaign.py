"""Tries a great many inputs on every target, in one process, by a seed: `make fuzz`, or

    python -m tests.fuzz.campaign --inputs 2000000 --seed 1
    python -m tests.fuzz.campaign --only cookies --seed 7 --inputs 100000

Prints a line a target; ends with 1 where an input was found on which a target raises, or takes longer than HANG_S.
Such an input is printed in hexadecimal digits, and shortened first.
"""

import argparse
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from random import Random
from typing import Final

from tests.fuzz.esme_targets import ESME_TARGETS
from tests.fuzz.mutate import mutated
from tests.fuzz.seeds import SEEDS, WORDS
from tests.fuzz.targets import TARGETS
from tests.fuzz.text_targets import TEXT_TARGETS
from tests.fuzz.web_targets import WEB_TARGETS

Target = Callable[[bytes], None]

ALL: Final[dict[str, Target]] = {
    **{"body_of_pdu" if name == "body" else name: target for name, target in TARGETS.items()},
    **ESME_TARGETS,
    **WEB_TARGETS,
    **TEXT_TARGETS,
}
"""Every target; that of a PDU's body has a name of its own here, beside that of a request's."""

HANG_S: Final = 5.0
"""Seconds of processor time that one input may take: a busy machine is no finding."""

MOST_SHORTENED: Final = 2_000
"""Tries to shorten an input that was found."""


class TookTooLong(Exception):
    """One input kept its target at work for HANG_S."""


@dataclass(slots=True)
class FuzzResult:
    """What came of one target: `finding` is the shortened input and the error, if there is one."""

    name: str
    inputs: int
    seconds: float
    finding: tuple[bytes, BaseException] | None


def fuzz(name: str, target: Target, inputs: int, seed: int, hang_s: float = HANG_S) -> FuzzResult:
    """Tries so many inputs, those made of the seeds of `name`; stops at the first finding. The same seed makes the same
    inputs. One may take `hang_s` seconds, where that is not 0."""
    random = Random(f"{seed} {name}")
    seeds, words = SEEDS[name], WORDS[name]
    begun = time.perf_counter()
    for number in range(inputs):
        octets = mutated(random, seeds, words) if number >= len(seeds) else seeds[number]
        problem = _tried(target, octets, hang_s)
        if problem is not None:
            short = _shortened(target, octets, type(problem), random, hang_s)
            return FuzzResult(name, number + 1, time.perf_counter() - begun, (short, problem))
    return FuzzResult(name, inputs, time.perf_counter() - begun, None)


def _tried(target: Target, octets: bytes, hang_s: float) -> BaseException | None:
    try:
        with _limited(hang_s) if hang_s else nullcontext():
            target(octets)
    except Exception as problem:  # noqa: BLE001 - whatever a target raises is a finding
        return problem
    return None


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _shortened(target: Target, octets: bytes, kind: type[BaseException], random: Random, hang_s: float) -> bytes:
    """Cuts pieces out as long as the same kind of error comes of what is left."""
    if kind is TookTooLong:
        return octets
    for _ in range(MOST_SHORTENED):
        if not octets:
            break
        at = random.randrange(len(octets))
        shorter = octets[:at] + octets[at + random.choice((1, 2, 8, 64)) :]
        if isinstance(_tried(target, shorter, hang_s), kind):
            octets = shorter
    return octets


def _too_long(number: int, frame: object) -> None:
    raise TookTooLong(f"one input took more than {HANG_S:g} s")


def main(words: Sequence[str] | None = None) -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz.campaign", description="Fuzzes what reads foreign octets."
    )
    parser.add_argument("--inputs", type=int, default=2_000_000, help="inputs over all targets [2000000]")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=sorted(ALL), action="append", help="a target; may be given again")
    given = parser.parse_args(words)
    os.nice(10)
    signal.signal(signal.SIGPROF, _too_long)
    chosen = given.only or list(ALL)
    share = -(-given.inputs // len(chosen))
    failed = False
    total = 0
    for name in chosen:
        found = fuzz(name, ALL[name], share, given.seed)
        total += found.inputs
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        rate = found.inputs / max(found.seconds, 1e-9)
        print(f"{name:18} {found.inputs:>9,} inputs {found.seconds:8.1f} s {rate:>9,.0f}/s {memory:>5} MiB", flush=True)
        if found.finding is not None:
            failed = True
            octets, problem = found.finding
            print(f"  FOUND {type(problem).__name__}: {problem}\n  by {octets.hex()}", flush=True)
    print(f"{total:,} inputs of seed {given.seed}: {'FOUND SOMETHING' if failed else 'no findings'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
