"""Resources of the process: free memory that goes back to the system, and the limit of open files."""

import asyncio
import ctypes
import resource
from contextlib import suppress

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
"""malloc.h of glibc."""

LARGE_OCTETS = 4 << 20
"""The size from which blocks go back to the system when they are freed; a password's hash takes 19 MiB."""

KEPT_OCTETS = 8 << 20
"""The free memory that may stay at the end of the heap, so that it does not grow and shrink all the time."""

GIVE_BACK_S = 600.0
"""Seconds between two returns of free memory. A return takes 0.3 ms in a usual heap, and up to 0.3 s in one of 700 MB
that is free in a hundred thousand places; all else waits meanwhile."""

RESERVED = 512
"""Files for other things than customers' connections: the store, operators, receivers of callbacks."""


def keep_little_memory() -> bool:
    """Makes the allocator return freed memory to the system, for the rest of this process. Must be called before other
    threads start.

    By default glibc keeps the memory of the first large block: for example 19 MiB after a single password hash. It also
    gives each thread a heap of its own. With KEPT_OCTETS it would keep the free end of each, which
    `give_back_what_is_free` does not return: all threads share a heap. Returns False on other C libraries and leaves
    them unchanged.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    options = {_M_MMAP_THRESHOLD: LARGE_OCTETS, _M_TRIM_THRESHOLD: KEPT_OCTETS, _M_ARENA_MAX: 1}
    return all(mallopt(option, value) for option, value in options.items())


def give_back_what_is_free() -> None:
    """Returns free pages between used blocks to the system. A start leaves many of them, and glibc itself returns only
    the end of its heap. Takes a few milliseconds; does nothing on other C libraries.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


async def give_back_now_and_then() -> None:
    """Returns free memory every GIVE_BACK_S, until cancelled: a peak, such as a long queue, keeps none for good."""
    while True:
        await asyncio.sleep(GIVE_BACK_S)
        give_back_what_is_free()


def most_connections(wanted: int, others: int = 0) -> int:
    """Raises the process's soft limit of open files for `wanted` connections beside `others`, up to the hard limit.
    Returns how many of the wanted connections are possible: at most half of the files if files are few.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    reserved = RESERVED + others
    needed = wanted + reserved
    if soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(wanted, max(soft - reserved, soft // 2))
