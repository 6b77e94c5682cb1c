"""Runs tests while their processes stand still at random: `python -m tests.support.strain PYTEST-ARGUMENTS`.

A test that checks once for the effect of another process passes on most machines on most days. Here each process below
pytest (its workers, gateways, operators, databases, browsers) is stopped repeatedly for up to `LONGEST_S`, at random
moments, as on a busy machine. A race then fails within minutes instead of in 1 % of the runs. Linux only: processes are
found in `/proc`.

A process that a test has stopped itself stays stopped. But if it was stopped here already, it is resumed, and the test
fails without an error of its own.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from random import Random

from tests.support.processes import ProcessEntry, processes

LONGEST_S = 0.4
SHORTEST_S = 0.01
PAUSES_A_SECOND = 25.0
PERIOD_S = 0.01
AT_WORK_SHARE = 0.8
"""The share of the pauses that meet a process which has just used its processor."""


STOPPED = "T"
"""The kernel's letter for a process that stands still."""


class Strain:
    """Stops processes below the process `root`, which itself goes on."""

    def __init__(self, root: int, random: Random) -> None:
        self.pauses = 0
        self._known = {root}
        self._root = root
        self._random = random
        self._worked: dict[int, int] = {}
        self._stopped: dict[int, float] = {}

    def look(self) -> None:
        """Resumes processes after their time, and may stop another: rather a working process than one of the many
        waiting processes."""
        now = time.monotonic()
        for pid in [pid for pid, until in self._stopped.items() if until <= now]:
            self._go_on(pid)
        if self._random.random() < PAUSES_A_SECOND * PERIOD_S:
            below = self._below()
            at_work = [process.pid for process in below if process.worked != self._worked.get(process.pid)]
            self._worked = {process.pid: process.worked for process in below}
            candidates = at_work if at_work and self._random.random() < AT_WORK_SHARE else [one.pid for one in below]
            if candidates:
                self._stop(self._random.choice(candidates), now)

    def end(self) -> None:
        for pid in list(self._stopped):
            self._go_on(pid)

    def _below(self) -> list[ProcessEntry]:
        """Lists the processes that may be stopped. A process that has lost its parent since, as a server of databases
        does, is remembered from before."""
        found = list(processes())
        self._known &= {one.pid for one in found}
        while new := {one.pid for one in found if one.parent in self._known} - self._known:
            self._known |= new
        candidates = self._known - {self._root, *self._stopped}
        return [one for one in found if one.pid in candidates and one.state != STOPPED]

    def _stop(self, pid: int, now: float) -> None:
        length = SHORTEST_S * (LONGEST_S / SHORTEST_S) ** self._random.random()
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            self._stopped[pid] = now + length
            self.pauses += 1

    def _go_on(self, pid: int) -> None:
        del self._stopped[pid]
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0] + ".")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10_000, help="for the moments of the pauses")
    options, arguments = parser.parse_known_args()
    print(f"Pauses by seed {options.seed}.", flush=True)
    with subprocess.Popen([sys.executable, "-m", "pytest", *arguments]) as tests:
        strain = Strain(tests.pid, Random(options.seed))
        try:
            while tests.poll() is None:
                strain.look()
                time.sleep(PERIOD_S)
        finally:
            strain.end()
    print(f"{strain.pauses} pauses by seed {options.seed}.")
    return tests.returncode


if __name__ == "__main__":
    sys.exit(main())
