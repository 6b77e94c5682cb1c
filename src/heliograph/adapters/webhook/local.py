"""The webhook sender inside the process that uses it."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from heliograph.adapters.webhook.dial import Dialer
from heliograph.adapters.webhook.guard import AddressGuard
from heliograph.adapters.webhook.origin import Origin, SharedCapacity
from heliograph.adapters.webhook.request import OriginAddress, parse, split_plain
from heliograph.adapters.webhook.resolver import NameLookup, Resolver, system_lookup
from heliograph.adapters.webhook.settings import WebhookSettings
from heliograph.app.webhook_job import TryResult, WebhookJob

SWEEP_SECONDS = 0.25
"""The longest delay with which a deadline is noticed."""

LAST_TURNS = 100
"""Turns of the loop at the end, in which connections that were cut say so and the last results go out."""

ALIASES = 8_192
"""The most spellings of origins remembered; beyond that all are forgotten."""


class LocalSender:
    """Posts callbacks from this event loop. Implements the port `WebhookSender`; must be made while the loop runs."""

    def __init__(self, settings: WebhookSettings, lookup: NameLookup = system_lookup) -> None:
        self._settings = settings
        self._limits = settings.limits
        self._loop = asyncio.get_running_loop()
        self._resolver = Resolver(settings.limits, lookup)
        dialer = Dialer(settings, AddressGuard(settings.allowed), self._resolver)
        self._shared = SharedCapacity(settings.limits, dialer, self._deliver)
        self._origins: dict[OriginAddress, Origin] = {}
        self._aliases: dict[str, Origin] = {}
        self._results: list[TryResult] = []
        self._listener: Callable[[list[TryResult]], None] | None = None
        self._outstanding = 0
        self._closing = False
        self._drained = asyncio.Event()
        self._sweeper: asyncio.TimerHandle | None = None

    def on_sent(self, listener: Callable[[list[TryResult]], None]) -> None:
        self._listener = listener

    def on_lost(self, listener: Callable[[], None]) -> None:
        """Ignores the listener: this sender lives and dies with its process."""

    def post(self, jobs: Sequence[WebhookJob]) -> None:
        now = self._loop.time()
        aliases = self._aliases
        self._outstanding += len(jobs)
        for job in jobs:
            prefix, path = split_plain(job.url)
            origin = aliases.get(prefix)
            if self._closing:
                self._deliver(TryResult(job.key, 0, "the gateway is stopping", busy=True))
            elif origin is not None and path:
                origin.offer(job, path, now)
            else:
                self._post_slowly(job, prefix, now)
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(self._sweep_seconds, self._sweep)

    async def close(self) -> None:
        """Lets the jobs go on for a while; the rest then come back as busy or failed."""
        self._closing = True
        if self._outstanding:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._limits.drain_seconds):
                    await self._drained.wait()
        if self._sweeper is not None:
            self._sweeper.cancel()
        for origin in self._origins.values():
            origin.stop()
        for task in list(self._shared.tasks):
            task.cancel()
        self._resolver.close()
        await asyncio.gather(*self._shared.tasks, return_exceptions=True)
        for _ in range(LAST_TURNS):
            if not (self._shared.connections or self._results):
                break
            await asyncio.sleep(0)

    # --- inside

    @property
    def _sweep_seconds(self) -> float:
        return min(SWEEP_SECONDS, self._limits.try_seconds / 4)

    def _post_slowly(self, job: WebhookJob, prefix: str, now: float) -> None:
        """Posts the first job to an origin, or one whose URL is written in an unusual way."""
        try:
            address, path = parse(job.url)
        except ValueError as error:
            self._deliver(TryResult(job.key, 0, str(error)))
            return
        origin = self._origins.get(address)
        if origin is None:
            if len(self._origins) >= self._limits.origins and not self._forget_unused():
                self._deliver(TryResult(job.key, 0, "too many receivers at once", busy=True))
                return
            origin = self._origins[address] = Origin(address, self._shared)
        if len(self._aliases) >= ALIASES:
            self._aliases.clear()
        if "?" not in prefix and "#" not in prefix:
            self._aliases[prefix] = origin
        origin.offer(job, path, now)

    def _forget_unused(self) -> bool:
        """Forgets the eighth of the origins that was unused for longest; returns False if all are in use."""
        unused = sorted((one for one in self._origins.values() if one.unused), key=lambda one: one.used)
        for origin in unused[: max(1, self._limits.origins // 8)]:
            del self._origins[origin.address]
        self._aliases.clear()
        return bool(unused)

    def _deliver(self, sent: TryResult) -> None:
        if not self._results:
            self._loop.call_soon(self._flush)
        self._results.append(sent)

    def _flush(self) -> None:
        results, self._results = self._results, []
        self._outstanding -= len(results)
        if self._listener is not None:
            self._listener(results)
        if self._closing and not self._outstanding:
            self._drained.set()

    def _sweep(self) -> None:
        self._sweeper = None
        now = self._loop.time()
        for origin in self._origins.values():
            if not origin.unused:
                origin.sweep(now)
        self._shared.feed_starved()
        if self._outstanding or self._shared.connections:
            self._sweeper = self._loop.call_later(self._sweep_seconds, self._sweep)
