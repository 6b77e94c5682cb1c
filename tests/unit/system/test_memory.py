"""Memory that is no longer used goes back to the system."""

import asyncio
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from heliograph.adapters.system import resources

GROWTH_MIB = """
import sys
from heliograph.adapters.system.resources import keep_little_memory
from heliograph.adapters.system.secrets import Argon2Secrets

def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))

secrets = Argon2Secrets()
if sys.argv[1] == "give back" and not keep_little_memory():
    sys.exit("this C library has no mallopt")
before = resident()
for _ in range(3):
    secrets.hash_password("correct horse")
print((resident() - before) // 1024)
"""


def growth_mib(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", GROWTH_MIB, how], capture_output=True, text=True, check=False)
    if "no mallopt" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="resident memory is read from /proc")
def test_the_memory_of_a_password_that_was_hashed_is_given_back() -> None:
    assert growth_mib("give back") < 5
    assert growth_mib("keep") > 15, "there is nothing to give back any more: the module can go"


LEFT_MIB = """
from heliograph.adapters.system.resources import give_back_what_is_free

def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))

before = resident()
blocks = [b"x" * 60_000 for _ in range(500)]
stays = b"x" * 60_000
del blocks
kept = resident() - before
give_back_what_is_free()
print(kept // 1024, (resident() - before) // 1024)
"""


@pytest.mark.skipif(
    not Path("/proc/self/status").exists() or "glibc" not in platform.libc_ver(), reason="it is glibc that keeps them"
)
def test_free_memory_below_what_stays_is_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", LEFT_MIB], capture_output=True, text=True, check=True)
    kept, left = map(int, done.stdout.split())
    assert kept > 20, "there is nothing to give back any more: the function can go"
    assert left < 5


PEAK_OF_A_THREAD_MIB = """
import ctypes, sys, threading
from heliograph.adapters.system.resources import give_back_what_is_free, keep_little_memory

libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]

def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))

def work():
    blocks = [0] * 100
    for n in range(100):
        blocks[n] = libc.malloc(60_000)
        libc.memset(blocks[n], 1, 60_000)
    for block in blocks:
        libc.free(block)
    freed.set()
    measured.wait()

keep_little_memory()
if sys.argv[1] == "heap of its own":
    libc.mallopt(-8, 8)  # M_ARENA_MAX
freed, measured = threading.Event(), threading.Event()
before = resident()
threading.Thread(target=work).start()
freed.wait()
give_back_what_is_free()
print((resident() - before) // 1024)
measured.set()
"""


@pytest.mark.skipif(
    not Path("/proc/self/status").exists() or "glibc" not in platform.libc_ver(), reason="it is glibc that keeps it"
)
def test_a_peak_of_a_thread_is_given_back() -> None:
    def left_mib(how: str) -> int:
        done = subprocess.run(
            [sys.executable, "-c", PEAK_OF_A_THREAD_MIB, how], capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    assert left_mib("shared heap") < 2
    assert left_mib("heap of its own") > 3, "there is nothing to give back any more: the option can go"


async def test_free_memory_is_given_back_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    third, calls = asyncio.Event(), 0

    def count() -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            third.set()

    monkeypatch.setattr(resources, "GIVE_BACK_S", 0.001)
    monkeypatch.setattr(resources, "give_back_what_is_free", count)
    giving_back = asyncio.create_task(resources.give_back_now_and_then())
    await third.wait()
    giving_back.cancel()
    with pytest.raises(asyncio.CancelledError):
        await giving_back
