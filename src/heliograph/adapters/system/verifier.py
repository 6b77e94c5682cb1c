"""Checking and hashing passwords without stopping the event loop."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from heliograph.app.ports import Secrets


class Verifier:
    """One at a time: each takes 19 MiB for a while, and a thread keeps what it once had.

    A client that opens many connections at once sends the same password on each: it is checked once.
    """

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._thread = ThreadPoolExecutor(1, "verify-password")
        self._under_way: dict[tuple[str, str], asyncio.Future[bool]] = {}

    async def __call__(self, hashed: str, password: str) -> bool:
        """`Secrets.verify_password` in a thread."""
        asked = (hashed, password)
        check = self._under_way.get(asked)
        if check is None:
            loop = asyncio.get_running_loop()
            check = loop.run_in_executor(self._thread, self._secrets.verify_password, hashed, password)
            self._under_way[asked] = check
            check.add_done_callback(lambda _: self._under_way.pop(asked))
        return await asyncio.shield(check)

    async def hash(self, password: str) -> str:
        """`Secrets.hash_password` in the same thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._secrets.hash_password, password)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
