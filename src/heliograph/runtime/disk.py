"""Makes files and directories survive a power loss under their names. A store does so for its own files."""

import errno
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

_CANNOT_SYNC: Final = (errno.EINVAL, errno.ENOTSUP)


def sync(path: Path) -> None:
    """Returns when a file's octets are on disk; of a directory, the names in it, if its file system can sync them: SMB
    cannot. Raises OSError."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError as problem:
        if problem.errno not in _CANNOT_SYNC or not stat.S_ISDIR(os.fstat(number).st_mode):
            raise
    finally:
        os.close(number)


def replace_file(file: Path, octets: bytes, *, alone: bool = False) -> None:
    """Replaces a file, all or nothing, and returns when octets and name are on disk. Its mode is 0600. Raises
    OSError. `alone`: no other process replaces it at the same time; kills then leave at most one half-written file."""
    if alone:
        new = file.with_suffix(".part")
        number = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    else:
        number, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
        new = Path(name)
    try:
        with os.fdopen(number, "wb") as out:
            out.write(octets)
            out.flush()
            os.fsync(number)
        new.replace(file)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    sync(file.parent)


OTHERS: Final = stat.S_IRWXO
"""Rights of users other than the owner and the group."""


def keep_from_others(path: Path) -> tuple[int, int] | None:
    """Removes the rights of users other than owner and group on a directory or file.

    Returns its mode before and after; they are equal if the file system or another owner prevents the change. Returns
    None if there were no such rights, or no file.
    """
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
    """Creates a directory with its missing parents, accessible only for the owner, and returns when they are on disk.
    Does nothing if it exists. Raises OSError if it cannot be created.
    """
    new = [each for each in path.parents if not each.exists()]
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    # also if it existed: the process that created it may have crashed before the sync
    for each in (path, *new):
        # an unreadable directory, or a file system without directory sync, must not prevent a start
        with suppress(OSError):
            sync(each.parent)
