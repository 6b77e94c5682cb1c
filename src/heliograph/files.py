"""The reader of files that settings name: certificates, keys, secrets, the settings themselves.

A typing error in a name may lead to a FIFO without a writer, to an endless device, or to a disk image. None of them may
block a start, a reload or a bind.
"""

import errno
import os
import stat
from pathlib import Path
from typing import Final

MOST_OCTETS: Final = 4 << 20
"""Octets. A larger file is certainly a mistake: a bundle of all public authorities has 256 KiB."""

_KINDS: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class UnusableFile(OSError):
    """A file is unreadable, or no regular file. `filename`: its path. `strerror`: the reason."""


def read(path: Path) -> bytes:
    """Returns the octets of a regular file; waits only for the disk. Raises UnusableFile, also for more than
    MOST_OCTETS."""
    try:
        _check_kind(path, path.stat().st_mode)
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except UnusableFile:
        raise
    except OSError as problem:
        raise UnusableFile(problem.errno, problem.strerror, str(path)) from None
    except ValueError:  # a NUL, for example
        raise UnusableFile(errno.EINVAL, "no file can have this name", str(path)) from None
    with os.fdopen(number, "rb") as file:
        _check_kind(path, os.fstat(number).st_mode)  # the file may have been replaced since the check
        octets = file.read(MOST_OCTETS + 1)
    if len(octets) > MOST_OCTETS:
        raise UnusableFile(errno.EFBIG, f"it has more than {MOST_OCTETS >> 20} MiB", str(path))
    return octets


def usable(path: Path) -> Path:
    """Returns the path of a file that `read` takes, for a library that reads it by itself. Raises UnusableFile."""
    read(path)
    return path


def _check_kind(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "something else")
        raise UnusableFile(errno.EINVAL, f"it is {kind}, and no regular file", str(path))
