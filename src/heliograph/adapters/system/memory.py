"""What the C library does with memory that is no longer used."""

import ctypes
from contextlib import suppress

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""malloc.h of glibc."""

LARGE_OCTETS = 4 << 20
"""Blocks from this size on go back to the system when they are freed; a password's hash takes 19 MiB."""

KEPT_OCTETS = 8 << 20
"""Of what is free at the end of the heap so much may stay, so that it does not grow and shrink all the time."""


def give_back_large_blocks() -> bool:
    """For the rest of this process. Left to itself glibc takes the first large block that is freed for a sign of more,
    and keeps all of its size from then on: 19 MiB for a password that was hashed once. False where the C library is
    another one, which is left as it is."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, LARGE_OCTETS)) and bool(mallopt(_M_TRIM_THRESHOLD, KEPT_OCTETS))


def give_back_what_is_free() -> None:
    """Pages with nothing on them between blocks that stay, as starting leaves many: by itself glibc gives back the end
    of its heap only. Takes some milliseconds, and does nothing where the C library is another one."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
