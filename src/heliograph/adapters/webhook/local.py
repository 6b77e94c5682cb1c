"""The webhook sender inside the process that uses it."""

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from heliograph.adapters.webhook.capacity import PART, AccountLoad, SharedCapacity
from heliograph.adapters.webhook.dial import Dialer
from heliograph.adapters.webhook.origin import Origin
from heliograph.adapters.webhook.request import OriginAddress, parse, split_plain
from heliograph.adapters.webhook.resolver import NameLookup, Resolver, system_lookup
from heliograph.adapters.webhook.settings import WebhookSettings
from heliograph.app.webhook_job import TryResult, WebhookJob
from heliograph.net.address_guard import AddressGuard

SWEEP_SECONDS = 0.25
"""The longest delay with which a deadline is noticed."""

LAST_TURNS = 100
"""Turns of the loop at the end, in which connections that were cut say so and the last results go out."""

ALIASES = 1_024
"""The most spellings of an account's origins remembered; beyond that all of its are forgotten."""


class AccountOrigins:
    """The origins of one account, by their address and by how they are spelled."""

    __slots__ = ("aliases", "full_until", "load", "origins")

    def __init__(self, account: int) -> None:
        self.load = AccountLoad(account)
        self.origins: dict[OriginAddress, Origin] = {}
        self.aliases: dict[str, Origin] = {}
        self.full_until = 0.0
        """The time until which none of them is looked for that could be forgotten."""


class LocalSender:
    """Posts callbacks from this event loop. Implements the port `WebhookSender`; must be made while the loop runs."""

    def __init__(self, settings: WebhookSettings, lookup: NameLookup = system_lookup) -> None:
        self._settings = settings
        self._limits = settings.limits
        self._loop = asyncio.get_running_loop()
        self._resolver = Resolver(settings.limits, lookup)
        dialer = Dialer(settings, AddressGuard(settings.allowed, settings.ports), self._resolver)
        self._shared = SharedCapacity(settings.limits, dialer, self._deliver)
        self._accounts: dict[int, AccountOrigins] = {}
        self._remembered = 0
        """Origins of all accounts."""
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
        accounts = self._accounts
        self._outstanding += len(jobs)
        for job in jobs:
            prefix, path = split_plain(job.url)
            account = accounts.get(job.account)
            origin = None if account is None else account.aliases.get(prefix)
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
        for origin in self._origins():
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
        account = self._accounts.get(job.account) or AccountOrigins(job.account)
        origin = account.origins.get(address)
        if origin is None:
            if not self._make_room(account, now):
                self._deliver(TryResult(job.key, 0, "too many receivers at once", busy=True))
                return
            self._accounts[job.account] = account
            origin = account.origins[address] = Origin(address, self._shared, account.load)
            self._remembered += 1
        if len(account.aliases) >= ALIASES:
            account.aliases.clear()
        if "?" not in prefix and "#" not in prefix:
            account.aliases[prefix] = origin
        origin.offer(job, path, now)

    def _origins(self) -> list[Origin]:
        """Returns the origins of all accounts."""
        return [origin for account in self._accounts.values() for origin in account.origins.values()]

    def _make_room(self, account: AccountOrigins, now: float) -> bool:
        """Makes room for one more origin of the account; returns False if there is none to be had."""
        if now < account.full_until:
            return False
        most = self._limits.origins
        if len(account.origins) >= (most - self._remembered + PART - 1) // PART:
            self._forget_unused([account])
        if self._remembered >= most:
            self._forget_unused(list(self._accounts.values()))
        if len(account.origins) < (most - self._remembered + PART - 1) // PART:
            return True
        account.full_until = now + self._sweep_seconds
        return False

    def _forget_unused(self, accounts: list[AccountOrigins]) -> None:
        """Forgets those origins of the accounts that were unused for longest: an eighth of the accounts' origins."""
        unused = [
            (origin.used, account, origin)
            for account in accounts
            for origin in account.origins.values()
            if origin.unused
        ]
        unused.sort(key=lambda one: one[0])
        most = max(1, sum(len(account.origins) for account in accounts) // 8)
        for _, account, origin in unused[:most]:
            del account.origins[origin.address]
            account.aliases.clear()
            self._remembered -= 1
            if not account.origins:
                self._accounts.pop(account.load.account, None)

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
        for origin in self._origins():
            if not origin.unused:
                origin.sweep(now)
        self._shared.feed_starved()
        if self._outstanding or self._shared.connections:
            self._sweeper = self._loop.call_later(self._sweep_seconds, self._sweep)
