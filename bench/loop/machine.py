"""Describes the machine of a measurement."""

import os
import platform
import sqlite3
from pathlib import Path


def describe() -> str:
    """Returns a paragraph: cores, CPU, memory, kernel, Python, SQLite, and the load of the machine."""
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{os.cpu_count()} cores ({_line('/proc/cpuinfo', 'model name')}), {_memory_gib():.0f} GiB; "
        f"Linux {platform.release()}, {platform.python_implementation()} {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}; load average at the start {load}"
    )


def _line(path: str, name: str) -> str:
    for line in Path(path).read_text().splitlines():
        if line.startswith(name):
            return line.partition(":")[2].strip()
    return "unknown"


def _memory_gib() -> float:
    return int(_line("/proc/meminfo", "MemTotal").split()[0]) / 1024**2
