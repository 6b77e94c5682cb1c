"""Checking and hashing passwords without stopping the event loop."""

import asyncio
import contextlib
import os
import sys
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor

from heliograph.app.ports import Secrets

NICENESS = 5
"""Niceness of the thread that checks: many wrong passwords must not take the processor from messages."""

Asked = tuple[str, str]
"""Hash and password."""

Lines = dict[bytes, deque[Asked]]
"""Waiting checks by queue, in round-robin order: the queue with the next turn comes first."""


class PasswordVerifier:
    """Implements `app.sending.password_queue.Verify`. Checks a single password at a time: each check takes 19 MiB,
    which a thread keeps.

    A client that opens many connections at once sends the same password on each. It is then checked once.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._thread = ThreadPoolExecutor(1, "verify-password", _step_back)
        self._asked: dict[Asked, asyncio.Future[bool]] = {}
        self._first: Lines = {}
        self._others: Lines = {}
        self._checking = False

    async def __call__(self, hashed: str, password: str, line: bytes = b"", *, first: bool = False) -> bool:
        """Runs `Secrets.verify_password` in a thread."""
        asked = (hashed, password)
        answer = self._asked.get(asked)
        if answer is None:
            answer = self._asked[asked] = asyncio.get_running_loop().create_future()
            (self._first if first else self._others).setdefault(line, deque()).append(asked)
            self._go_on()
        return await asyncio.shield(answer)

    async def hash(self, password: str) -> str:
        """Runs `Secrets.hash_password` in the same thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._secrets.hash_password, password)

    def _go_on(self) -> None:
        lines = self._first or self._others
        if self._checking or not lines:
            return
        name = next(iter(lines))
        line = lines.pop(name)
        asked = line.popleft()
        if line:
            lines[name] = line
        self._checking = True
        loop = asyncio.get_running_loop()
        check = loop.run_in_executor(self._thread, self._secrets.verify_password, *asked)
        check.add_done_callback(lambda done: self._settle(asked, done))

    def _settle(self, asked: Asked, check: asyncio.Future[bool]) -> None:
        self._checking = False
        answer = self._asked.pop(asked, None)
        if answer is None:
            return  # closed while the check ran
        error = check.exception()
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(check.result())
        self._go_on()

    def close(self) -> None:
        """Cancels all checks that wait."""
        self._first.clear()
        self._others.clear()
        for answer in self._asked.values():
            answer.cancel()
        self._asked.clear()
        self._thread.shutdown(wait=False, cancel_futures=True)


def _step_back() -> None:
    """Lowers the priority of the thread, on systems with priorities of threads."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
