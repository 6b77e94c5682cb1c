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
    """Makes the allocator return large freed blocks to the system, for the rest of this process.

    By default glibc keeps the memory of the first large block: for example 19 MiB after a single password hash. Returns
    False on other C libraries and leaves them unchanged.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, LARGE_OCTETS)) and bool(mallopt(_M_TRIM_THRESHOLD, KEPT_OCTETS))


def give_back_what_is_free() -> None:
    """Returns free pages between used blocks to the system. A start leaves many of them, and glibc itself returns only
    the end of its heap. Takes a few milliseconds; does nothing on other C libraries.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
