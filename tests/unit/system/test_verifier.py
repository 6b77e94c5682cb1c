"""Passwords are checked beside the loop, one at a time, and the same one once."""

import asyncio
import threading

import pytest

from heliograph.adapters.system.verifier import PasswordVerifier
from tests.support.timeouts import PATIENCE_S


class SlowSecrets:
    """Checks take until they are let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.checks: list[str] = []
        self.together = 0
        self.most_together = 0

    def hash_password(self, password: str) -> str:
        return f"hash of {password}"

    def is_outdated(self, hashed: str) -> bool:
        return False

    def verify_password(self, hashed: str, password: str) -> bool:
        self.checks.append(password)
        self.together += 1
        self.most_together = max(self.most_together, self.together)
        assert self.go.wait(PATIENCE_S)
        self.together -= 1
        return hashed == self.hash_password(password)

    def token(self, octets: int) -> str:
        return "t" * octets

    def octets(self, count: int) -> bytes:
        return bytes(count)


async def test_the_same_password_is_checked_once_for_all_who_ask_meanwhile() -> None:
    secrets = SlowSecrets()
    verifier = PasswordVerifier(secrets)
    asked = [asyncio.ensure_future(verifier("hash of a", "a")) for _ in range(20)]
    other = asyncio.ensure_future(verifier("hash of a", "b"))
    await asyncio.sleep(0)
    secrets.go.set()
    assert await asyncio.gather(*asked) == [True] * 20
    assert await other is False
    assert secrets.checks == ["a", "b"]
    assert secrets.most_together == 1
    assert await verifier("hash of a", "a")
    assert secrets.checks == ["a", "b", "a"]
    verifier.close()


async def test_lines_take_turns_and_those_that_are_first_go_before_them() -> None:
    secrets = SlowSecrets()
    verifier = PasswordVerifier(secrets)
    asked = [asyncio.ensure_future(verifier("hash", f"flood {n}", b"one")) for n in range(4)]
    asked += [asyncio.ensure_future(verifier("hash", f"guest {n}", b"two")) for n in range(2)]
    asked += [asyncio.ensure_future(verifier("hash", "friend", b"three", first=True))]
    await asyncio.sleep(0)
    secrets.go.set()
    await asyncio.gather(*asked)
    assert secrets.checks == ["flood 0", "friend", "flood 1", "guest 0", "flood 2", "guest 1", "flood 3"]
    verifier.close()


async def test_who_waits_at_its_end_is_told() -> None:
    secrets = SlowSecrets()
    verifier = PasswordVerifier(secrets)
    asked = [asyncio.ensure_future(verifier("hash", str(n))) for n in range(3)]
    await asyncio.sleep(0)
    verifier.close()
    secrets.go.set()
    async with asyncio.timeout(PATIENCE_S):
        answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(answer) for answer in answers] == [asyncio.CancelledError] * 3


async def test_one_who_gives_up_takes_the_answer_from_nobody_else() -> None:
    secrets = SlowSecrets()
    verifier = PasswordVerifier(secrets)
    first = asyncio.ensure_future(verifier("hash of a", "a"))
    second = asyncio.ensure_future(verifier("hash of a", "a"))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    secrets.go.set()
    assert await second
    verifier.close()
