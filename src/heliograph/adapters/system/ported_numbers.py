"""A file of ported numbers, sorted, which is read by binary search.

    491701234567,26202        a line for each number: digits with the country code, and the MCCMNC of its network
    491701234571,26203

Memory has the first number of each block of BLOCK octets. A lookup reads a single
block from the page cache of the system. The file is not mapped into memory, because a program that shortens a mapped
file ends the process.
"""

import asyncio
import os
import stat
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from heliograph.app.ports import Journal

BLOCK: Final = 2_048
"""Octets between two entries of the index: 100 numbers. With 2 KiB ten million numbers take 9 MB and a lookup 6 µs of
CPU, with 8 KiB 2 MB and 10 µs."""

LONGEST_LINE: Final = 64
"""Octets. A number has 15 digits, an MCCMNC 6."""

LOOK_S: Final = 5
"""Seconds between two looks at the file. It must be unchanged for as long before it is read: it may still be copied."""

AGAIN_S: Final = 60
"""Seconds until an unusable file is read again although it did not change: perhaps its permissions did."""

Stamp = tuple[int, int, int]


class UnusablePorted(Exception):
    """The file cannot be used. The text says why."""


@dataclass(frozen=True, slots=True)
class _Index:
    """An open file with its index. `starts` has the first octet of each block, and the end of the file."""

    file: int
    keys: list[bytes]
    starts: list[int]
    stamp: Stamp

    def find(self, number: str) -> str:
        key = b"%b," % number.encode()
        block = bisect_right(self.keys, key + b"~") - 1  # ~ is above all digits, so that the line itself counts
        if block < 0:
            return ""
        start = self.starts[block]
        lines = os.pread(self.file, self.starts[block + 1] - start, start)
        at = 0 if lines.startswith(key) else lines.find(b"\n" + key) + 1
        if at == 0 and not lines.startswith(key):
            return ""
        network = lines[at + len(key) : at + len(key) + 8].partition(b"\n")[0].strip()
        return network.decode() if network.isdigit() else ""


class PortedFile:
    """Implements `app.ports.PortedNumbers`. A changed file is read within two looks; if it is unusable, the last file
    stays in use."""

    def __init__(self, path: Path, journal: Journal) -> None:
        """Raises UnusablePorted."""
        self._path = path
        self._journal = journal
        self._index = _read(path)
        self._seen = self._index.stamp
        self._unusable: Stamp | None = None
        """The stamp of the last file that could not be used."""
        self._rounds = 0

    def find(self, number: str) -> str:
        return self._index.find(number)

    def source(self, number: str) -> str:  # noqa: ARG002 - the protocol's signature
        return "the file of ported numbers"

    def unknown(self, numbers: Sequence[str]) -> Sequence[str]:  # noqa: ARG002 - the protocol's signature
        return ()

    async def ask(self, numbers: Sequence[str]) -> None:
        """Asks no server."""

    async def close(self) -> None:
        os.close(self._index.file)

    async def refresh(self) -> None:
        self._rounds += 1
        if self._rounds % LOOK_S:
            return
        try:
            stamp = _stamp(self._path.stat())
        except OSError:
            return  # it is being replaced, or gone: the open file stays
        if stamp == self._index.stamp or (stamp == self._unusable and self._rounds < 0):
            return
        if stamp != self._seen:
            self._seen = stamp
            return
        try:
            index = await asyncio.to_thread(_read, self._path)
        except UnusablePorted as problem:
            self._journal.log("error", "ported.unusable", file=str(self._path), problem=str(problem))
            self._unusable, self._rounds = stamp, -AGAIN_S
            return
        os.close(self._index.file)
        self._index = index
        self._journal.log("info", "ported.read", file=str(self._path), octets=index.starts[-1])


def _stamp(found: os.stat_result) -> Stamp:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _read(path: Path) -> _Index:
    """Opens the file and makes its index. Raises UnusablePorted."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as problem:
        raise UnusablePorted(problem.strerror or str(problem)) from None
    try:
        return _indexed(file, path)
    except BaseException:
        os.close(file)
        raise


def _indexed(file: int, path: Path) -> _Index:
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        raise UnusablePorted("it is no regular file")
    size = found.st_size
    keys: list[bytes] = []
    starts: list[int] = []
    at = 0
    head = os.pread(file, LONGEST_LINE, 0)
    if head and not head[:1].isdigit():  # a line of names
        at = head.find(b"\n") + 1 or size
    while at < size:
        line = os.pread(file, LONGEST_LINE, at).partition(b"\n")[0]
        number, comma, network = line.strip().partition(b",")
        if not (comma and number.isdigit() and network.isdigit()):
            raise UnusablePorted(f"octet {at} does not begin a line such as 491701234567,26202")
        if keys and number + b"," <= keys[-1]:
            raise UnusablePorted(f"it is not sorted at octet {at}: LC_ALL=C sort {path.name} -o {path.name}")
        keys.append(number + b",")
        starts.append(at)
        behind = os.pread(file, LONGEST_LINE, at + BLOCK)
        at = at + BLOCK + behind.find(b"\n") + 1 if b"\n" in behind else size
    return _Index(file, keys, [*starts, size], _stamp(found))
