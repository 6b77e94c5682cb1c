"""Makes files and directories survive a loss of power under their names; a store does so for what it writes itself."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final


def sync(path: Path) -> None:
    """Returns when a file's octets are on disk; of a directory, the names in it. Raises OSError."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


OTHERS: Final = stat.S_IRWXO
"""Rights of those who are neither the owner nor of the group."""


def keep_from_others(path: Path) -> tuple[int, int] | None:
    """Takes away what those who are neither the owner nor of the group may do with a directory or file.

    Returns its mode before and after, which are the same where the file system or another owner does not let it be
    changed; None if they could do nothing, or it is not there."""
    try:
        before = stat.S_IMODE(path.stat().st_mode)
        if not before & OTHERS:
            return None
        with suppress(PermissionError, NotImplementedError):
            path.chmod(before & ~OTHERS)
        return before, stat.S_IMODE(path.stat().st_mode)
    except OSError:
        return None


def make_folder(path: Path) -> None:
    """Makes a directory and those above it that are missing, for their owner alone, and returns when they are on disk.
    Harmless if it is there. Raises OSError where it cannot be made."""
    new = [each for each in path.parents if not each.exists()]
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    # its own name also where it was there: whoever made it may have ended before this
    for each in (path, *new):
        # a directory that may not be read, or a file system that cannot sync one, is no reason not to start
        with suppress(OSError):
            sync(each.parent)
