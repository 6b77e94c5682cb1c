"""Counts the instructions of a message, which are independent of other load on the machine.

Linux' `perf` counts them in each process during the load. Two runs differ by less than 1 % under any other load, so a
pair of runs shows the effect of a change.
"""

import shutil
import signal
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.loop.figures import Refused, Run

EVENTS = "instructions:u,instructions:k"
"""In user space, and in the kernel on a process's behalf."""

Count = tuple[int, int]


class Instructions:
    """An `Observer`. Raises Refused without `perf`, or if the processor's counters cannot be read."""

    def __init__(self) -> None:
        if shutil.which("perf") is None:
            raise Refused("instructions are counted by perf, which is not here: install it (Debian: linux-perf)")
        self._perfs: list[tuple[str, subprocess.Popen[str]]] = []
        self._found: list[tuple[str, Count]] = []

    def begin(self, pids: Sequence[int]) -> None:
        self._perfs = [(_name(pid), self._count(pid)) for pid in pids]

    @staticmethod
    def _count(pid: int) -> subprocess.Popen[str]:
        command = ["perf", "stat", "--field-separator", ",", "--event", EVENTS, "--pid", str(pid)]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def end(self) -> None:
        self._found = []
        for name, perf in self._perfs:
            perf.send_signal(signal.SIGINT)
            self._found.append((name, read_count(perf.communicate()[1])))

    def write(self, run: Run) -> None:
        print(told(run.gateway, self._found, run.counts.accepted), flush=True)


def read_count(text: str) -> Count:
    """Reads the output of `perf stat` for a process, separated by commas. Raises Refused if it did not count."""
    found = {}
    for line in text.splitlines():
        number, _, event, *_ = [*line.split(","), "", "", ""]
        if number.isdigit():
            found[event] = int(number)
    try:
        user, kernel = (found[event] for event in EVENTS.split(","))
    except KeyError:
        raise Refused(f"perf counted no instructions: {text.strip()}") from None
    return user, kernel


def told(gateway: str, counts: Iterable[tuple[str, Count]], messages: int) -> str:
    """A line for people: thousands of instructions a message, by process."""
    thousands = 1_000 * max(1, messages)
    parts = [f"{name} {user / thousands:.1f} + {kernel / thousands:.1f}" for name, (user, kernel) in counts]
    return f"{gateway}: thousand instructions a message, ours + the kernel's: {'; '.join(parts)}"


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()
