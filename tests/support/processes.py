"""Offers `processes`: all of the machine, as Linux lists them in `/proc`."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ProcessEntry:
    """`worked` is the processor time that the process took so far, in ticks of the kernel; `state` is the letter that
    the kernel has for it (proc_pid_stat(5))."""

    pid: int
    parent: int
    group: int
    state: str
    worked: int


def processes() -> Iterator[ProcessEntry]:
    """Yields running processes. Processes that end meanwhile may be missing."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # the fields after the name in brackets
            state, parent, group, *rest = entry.read_text().rpartition(")")[2].split()
            worked = int(rest[8]) + int(rest[9])
            yield ProcessEntry(int(entry.parent.name), int(parent), int(group), state, worked)
