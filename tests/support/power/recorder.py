"""The library that records programs' calls to the disk, compiled on demand, and its log."""

import atexit
import fcntl
import os
import shlex
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path

_SOURCE = Path(__file__).with_name("recorder.c")
_HEAD = struct.Struct("<IIQQQII")
_MAGIC = 0x52575031

LIES = ("wal", "rest", "folders", "all")
"""The syncs that may be skipped although they report success: of SQLite's log, other files, directories, or all."""


class Kind(IntEnum):
    OPEN = 1
    WRITE = 2
    TRUNCATE = 3
    SYNC = 4
    SYNCED = 5
    UNLINK = 6
    RENAME = 7
    MKDIR = 8
    UNKNOWN = 9


@dataclass(frozen=True, slots=True)
class Entry:
    """`at`: ns since the Unix epoch. recorder.c describes the other fields."""

    kind: Kind
    at: int
    inode: int
    argument: int
    path: str
    data: bytes


@cache
def library() -> Path:
    """The compiled library; it lasts as long as this process."""
    folder = Path(tempfile.mkdtemp(prefix="recorder-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = folder / "recorder.so"
    options = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-pthread"]
    subprocess.run([*shlex.split(os.environ.get("CC", "cc")), *options, "-o", str(target), str(_SOURCE)], check=True)
    return target


@dataclass(frozen=True)
class Recorder:
    """Records the calls of programs with these `settings` in their environment, below `root`, in `log`.

    The log must not lie below the root, which need not be there yet. `lies` is one of LIES, or none; `sync_us`:
    duration of a sync in microseconds; 0 for the real duration.
    """

    root: Path
    log: Path
    lies: str = ""
    sync_us: int = 0

    @property
    def settings(self) -> Mapping[str, str]:
        more = {"POWER_LIES": self.lies} if self.lies else {}
        return more | {
            "LD_PRELOAD": str(library()),
            "POWER_LOG": str(self.log),
            "POWER_ROOT": str(self.root.parent.resolve() / self.root.name),
            "POWER_SYNC_US": str(self.sync_us),
        }

    @contextmanager
    def between_entries(self) -> Iterator[None]:
        """All calls so far are in the log. A process that is killed now leaves no further changes."""
        with self.log.open("ab") as log:
            fcntl.lockf(log, fcntl.LOCK_EX)  # recorder.c has this lock while something is done and logged
            yield

    def entries(self) -> list[Entry]:
        """Entries in the order of their calls. A last entry that was cut off with its process is left out."""
        return list(_read(self.log.read_bytes())) if self.log.exists() else []


def _read(log: bytes) -> Iterator[Entry]:
    at = 0
    while at + _HEAD.size <= len(log):
        magic, kind, moment, inode, argument, path_octets, data_octets = _HEAD.unpack_from(log, at)
        if magic != _MAGIC:
            raise AssertionError(f"the log is broken at {at}")
        path_at = at + _HEAD.size
        data_at = path_at + path_octets
        at = data_at + data_octets
        if at > len(log):
            return
        path = os.fsdecode(log[path_at:data_at])
        yield Entry(Kind(kind), moment, inode, argument, path, log[data_at:at])
