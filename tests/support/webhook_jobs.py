"""Offers jobs for a webhook sender, and `Results`, which waits for their results."""

import asyncio
from collections.abc import Callable

from heliograph.app.ports import WebhookSender
from heliograph.app.webhook_job import TryResult, WebhookJob
from tests.support.timeouts import PATIENCE_S

SECRET = b"s" * 32
FORM = "application/x-www-form-urlencoded"


def make_job(
    key: int, url: str, body: bytes = b"id=1&err=000", secrets: tuple[bytes, ...] = (SECRET,), account: int = 1
) -> WebhookJob:
    return WebhookJob(key, f"dlr_{key}", url, body, FORM, secrets, account=account)


async def until(condition: Callable[[], bool]) -> None:
    """Polls the condition until it is true: for changes that send no event, such as another process's."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


class Results:
    """Listens to a sender. Results are kept by key. A second result for a key fails the test."""

    def __init__(self, sender: WebhookSender) -> None:
        self.by_key: dict[int, TryResult] = {}
        self.order: list[int] = []
        self.losses = 0
        self._changed = asyncio.Event()
        sender.on_sent(self._on_sent)
        sender.on_lost(self._on_lost)

    def _on_sent(self, results: list[TryResult]) -> None:
        for sent in results:
            assert sent.key not in self.by_key, f"two results for {sent.key}"
            self.by_key[sent.key] = sent
            self.order.append(sent.key)
        self._changed.set()

    def _on_lost(self) -> None:
        self.losses += 1
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def of(self, *keys: int) -> list[TryResult]:
        """The results of these keys, once all are there."""
        await self.until(lambda: all(key in self.by_key for key in keys))
        return [self.by_key[key] for key in keys]

    async def code(self, key: int) -> int:
        return (await self.of(key))[0].code

    async def problem(self, key: int) -> str:
        (sent,) = await self.of(key)
        assert sent.code == 0
        return sent.problem
