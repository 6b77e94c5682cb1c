"""Put on PYTHONPATH of a process that is to be sampled: Python imports this file by its name at every start.

SIGUSR1 begins, SIGUSR2 ends and writes what was found to the file named by BENCH_SAMPLES, with the process id behind
it: a line a stack, outermost frame first, then how often it was met. Samples are taken after so much CPU time of the
main thread, not of the clock on the wall: a thread that waits is not met, and what the kernel does on its behalf is.
A handler runs between two bytecodes. So time in C counts for the Python function that called it; time of the event
loop itself shows as a function of ours that has not yet begun, and is told apart by that.
"""

import ctypes
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from types import FrameType

INTERVAL_NS = 4_000_000
"""CPU time between two samples; the kernel's own clock does not tick faster on most machines."""

CLOCK_THREAD_CPUTIME_ID = 3
SIGEV_THREAD_ID = 4
LOOP = "event loop and system calls"


class _Event(ctypes.Structure):
    """struct sigevent (man 7 sigevent)."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signo", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("thread", ctypes.c_int),
        ("padding", ctypes.c_char * 44),
    )


_libc = ctypes.CDLL(None, use_errno=True)
_found: Counter[tuple[str, ...]] = Counter()
_timer = ctypes.c_void_p()
_names: dict[object, str] = {}


def _name(frame: FrameType) -> str:
    code = frame.f_code
    name = _names.get(code)
    if name is None:
        place = code.co_filename
        for root in ("/src/", "/site-packages/", "/python3."):
            place = place.rpartition(root)[2]
        name = _names[code] = f"{code.co_qualname} ({place})"
    return name


def _sample(_number: int, frame: FrameType | None) -> None:
    begun = frame is not None and frame.f_lasti > 2 * len(frame.f_code.co_cellvars + frame.f_code.co_freevars) + 2
    stack: list[str] = []
    while frame is not None:
        stack.append(_name(frame))
        frame = frame.f_back
    stack.reverse()
    if not begun and len(stack) > 1 and stack[-2].startswith("Runner.run ("):
        stack[-1] = LOOP
    _found[tuple(stack)] += 1


def _set(nanoseconds: int) -> None:
    value = (ctypes.c_long * 4)(0, nanoseconds, 0, nanoseconds)
    if _libc.timer_settime(_timer, 0, value, None):
        raise OSError(ctypes.get_errno(), "timer_settime")


def _begin(_number: int, _frame: FrameType | None) -> None:
    event = _Event(None, signal.SIGPROF, SIGEV_THREAD_ID, os.getpid())
    if _libc.timer_create(CLOCK_THREAD_CPUTIME_ID, ctypes.byref(event), ctypes.byref(_timer)):
        raise OSError(ctypes.get_errno(), "timer_create")
    _set(INTERVAL_NS)


def _end(_number: int, _frame: FrameType | None) -> None:
    _set(0)
    path = Path(f"{os.environ['BENCH_SAMPLES']}.{os.getpid()}")
    part = path.with_name(f"{path.name}.part")
    part.write_text("".join(f"{';'.join(stack)} {number}\n" for stack, number in _found.items()), "utf-8")
    part.rename(path)


if "BENCH_SAMPLES" in os.environ and sys.platform == "linux":
    signal.signal(signal.SIGPROF, _sample)
    signal.signal(signal.SIGUSR1, _begin)
    signal.signal(signal.SIGUSR2, _end)
