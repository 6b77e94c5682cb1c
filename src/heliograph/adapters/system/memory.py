"""Tuning of the C library's allocator: unused memory goes back to the system."""

import ctypes
from contextlib import suppress

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""malloc.h of glibc."""

LARGE_OCTETS = 4 << 20
"""The size from which blocks go back to the system when they are freed; a password's hash takes 19 MiB."""

KEPT_OCTETS = 8 << 20
"""The free memory that may stay at the end of the heap, so that it does not grow and shrink all the time."""


def give_back_large_blocks() -> bool:
    """Makes the allocator give back large blocks when they are freed, for the rest of this process.

    By default glibc keeps memory of the size of the first large block from then on: 19 MiB for a password that was
    hashed once. Returns False where the C library is another one, which is left as it is.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, LARGE_OCTETS)) and bool(mallopt(_M_TRIM_THRESHOLD, KEPT_OCTETS))


def give_back_what_is_free() -> None:
    """Gives back empty pages between blocks that stay, of which a start leaves many: by itself glibc gives back only
    the end of its heap. Takes some milliseconds; does nothing where the C library is another one."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
