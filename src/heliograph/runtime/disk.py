"""Makes files and directories survive a loss of power under their names; a store does so for what it writes itself."""

import os
from contextlib import suppress
from pathlib import Path


def sync(path: Path) -> None:
    """Returns when a file's octets are on disk; of a directory, the names in it. Raises OSError."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


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
