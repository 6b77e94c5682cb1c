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
from heliograph.adapters.system.resources import give_back_large_blocks
from heliograph.adapters.system.secrets import Argon2Secrets

def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))

secrets = Argon2Secrets()
if sys.argv[1] == "give back" and not give_back_large_blocks():
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
