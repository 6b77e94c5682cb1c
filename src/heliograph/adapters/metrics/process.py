"""Figures of this process from the operating system. Figures that the system does not provide are left out."""

import gc
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from heliograph.adapters.metrics.exposition import Sample

_STAT = Path("/proc/self/stat")
_MEMORY = Path("/proc/self/statm")
_FILES = Path("/proc/self/fd")

_START_FIELD = 19
"""Index of the field of /proc/self/stat, counted after the name in brackets, that holds the process's start in ticks
since boot."""


def samples() -> Iterator[Sample]:
    yield Sample("process_cpu_seconds_total", (), round(time.process_time(), 6))
    try:
        pages = int(_MEMORY.read_text().split()[1])
        yield Sample("process_resident_memory_bytes", (), pages * os.sysconf("SC_PAGE_SIZE"))
        yield Sample("process_open_fds", (), sum(1 for _ in _FILES.iterdir()))
        yield Sample("process_start_time_seconds", (), _started())
    except (OSError, ValueError, AttributeError):
        pass  # no /proc here
    yield Sample("process_max_fds", (), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    for generation, stats in enumerate(gc.get_stats()):
        yield Sample("python_gc_collections_total", (str(generation),), stats["collections"])


def _started() -> float:
    ticks = int(_STAT.read_text().rpartition(")")[2].split()[_START_FIELD])
    up = time.clock_gettime(time.CLOCK_BOOTTIME)
    return round(time.time() - up + ticks / os.sysconf("SC_CLK_TCK"), 2)
