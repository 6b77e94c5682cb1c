"""Long polls: requests that wait for the next inbound message of their account.

A waiting request costs its connection and an event: no thread and no query. Commits of this process wake it, through a
watcher. For commits of other nodes, a single query a second asks about all waiting accounts.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from heliograph.app.facts import Facts
from heliograph.app.ports import Pulls, Unavailable

MOST_WAITING = 1_000
"""The most requests that wait at once: a quarter of the connections that a server has."""

MOST_OF_ACCOUNT = 20
"""Most requests of an account that wait at once."""

LOOK_S = 1.0
"""Seconds between two queries for commits of other nodes."""

Found = TypeVar("Found")


class TooManyWait(Exception):
    """Too many requests wait; nothing was read."""


class LongPolls:
    """Implements `app.ports.Watcher`."""

    def __init__(self, pulls: Pulls) -> None:
        self._pulls = pulls
        self._waiting: dict[int, set[asyncio.Event]] = {}
        """Events of the waiting requests, by account."""
        self._count = 0
        self._newest: dict[int, int] = {}
        """Numbers of `Pulls.newest` at the last look."""
        self._looking: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def count(self) -> int:
        """The number of requests that wait."""
        return self._count

    def committed(self, facts: Facts, now: int, seconds: float) -> None:  # noqa: ARG002 - a watcher's
        """See `app.ports.Watcher`."""
        if self._waiting:
            for message in facts.inbound:
                self._wake(message.account)

    async def first(
        self,
        account: int,
        seconds: float,
        read: Callable[[], Awaitable[Sequence[Found]]],
        gone: Coroutine[Any, Any, None],
    ) -> Sequence[Found]:
        """Returns the messages that `read` finds for an account, as soon as there are any. Returns nothing after
        `seconds`, when `gone` has ended, or after `close`. Raises TooManyWait, and exceptions of `read`.
        """
        news = asyncio.Event()
        leaving = asyncio.ensure_future(gone)
        leaving.add_done_callback(lambda _: news.set())
        try:
            self._enter(account, news)
            return await self._first(news, seconds, read, leaving)
        finally:
            self._leave(account, news)
            leaving.cancel()

    async def close(self) -> None:
        """Answers every request now, and later requests without waiting."""
        self._closed = True
        for account in self._waiting:
            self._wake(account)
        if self._looking is not None:
            self._looking.cancel()
            with suppress(asyncio.CancelledError):
                await self._looking

    async def _first(
        self,
        news: asyncio.Event,
        seconds: float,
        read: Callable[[], Awaitable[Sequence[Found]]],
        leaving: "asyncio.Future[None]",
    ) -> Sequence[Found]:
        try:
            async with asyncio.timeout(seconds):
                while True:
                    # commits from here on are read now, or wake this request
                    news.clear()
                    found = await read()
                    if found or self._closed or leaving.done():
                        return found
                    await news.wait()
        except TimeoutError:
            return ()

    def _enter(self, account: int, news: asyncio.Event) -> None:
        waiting = self._waiting.get(account, set())
        if self._count >= MOST_WAITING or len(waiting) >= MOST_OF_ACCOUNT:
            raise TooManyWait
        waiting.add(news)
        self._waiting[account] = waiting
        self._count += 1
        if not self._closed and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look(), name="long-polls")

    def _leave(self, account: int, news: asyncio.Event) -> None:
        waiting = self._waiting.get(account)
        if waiting is None or news not in waiting:
            return
        self._count -= 1
        waiting.remove(news)
        if not waiting:
            del self._waiting[account]

    def _wake(self, account: int) -> None:
        for news in self._waiting.get(account, ()):
            news.set()

    async def _look(self) -> None:
        """Queries until no request waits."""
        while self._waiting:
            await asyncio.sleep(LOOK_S)
            if not self._waiting:
                return
            try:
                newest = await self._pulls.newest(list(self._waiting))
            except Unavailable:
                continue
            for account, number in newest.items():
                if self._newest.get(account) != number:
                    self._wake(account)
            self._newest = newest
