"""The client: finds the origin of each job's URL, keeps recently used origins, and watches their deadlines."""

import asyncio
from collections.abc import Sequence

from heliograph.http_client.capacity import PART, AccountLoad, SharedCapacity
from heliograph.http_client.dial import Dialer
from heliograph.http_client.origin import Origin
from heliograph.http_client.request import OriginAddress, parse, split_plain
from heliograph.http_client.requester import Job, Requester
from heliograph.http_client.resolver import NameLookup, Resolver, system_lookup
from heliograph.http_client.settings import ClientSettings
from heliograph.net.address_guard import AddressGuard

SWEEP_SECONDS = 0.25
"""Seconds. The longest delay with which a deadline is noticed."""

LAST_TURNS = 100
"""Turns of the loop at the end, in which cut connections report their end."""

ALIASES = 1_024
"""The most spellings of an account's origins in memory. Beyond that all spellings of the account are forgotten."""


class AccountOrigins:
    """The origins of an account, by their address and by their spelling."""

    __slots__ = ("aliases", "full_until", "load", "origins")

    def __init__(self, account: int) -> None:
        self.load = AccountLoad(account)
        self.origins: dict[OriginAddress, Origin] = {}
        self.aliases: dict[str, Origin] = {}
        self.full_until = 0.0
        """Until this time there is no point in searching for an origin to forget."""


class HttpClient:
    """Makes requests from this event loop, for a requester. Must be made while the loop runs.

    Each job has one result, for the requester (see `Requester`). Nothing is retried, unless the origin closed a kept
    connection before it read the request.
    """

    def __init__(self, settings: ClientSettings, requester: Requester, lookup: NameLookup = system_lookup) -> None:
        self._limits = settings.limits
        self._requester = requester
        self._loop = asyncio.get_running_loop()
        self._resolver = Resolver(settings.limits, lookup)
        dialer = Dialer(settings, AddressGuard(settings.allowed, settings.ports), self._resolver)
        self._shared = SharedCapacity(settings.limits, dialer, requester)
        self._accounts: dict[int, AccountOrigins] = {}
        self._remembered = 0
        """Origins of all accounts."""
        self._sweeper: asyncio.TimerHandle | None = None

    def send(self, jobs: Sequence[Job]) -> None:
        """Writes the request of each job to an idle connection, or queues the job."""
        now = self._loop.time()
        accounts = self._accounts
        for job in jobs:
            prefix, path = split_plain(job.url)
            account = accounts.get(job.account)
            origin = None if account is None else account.aliases.get(prefix)
            if origin is not None and path:
                origin.offer(job, path, now)
            else:
                self._send_slowly(job, prefix, now)
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(self._sweep_seconds, self._sweep)

    async def close(self) -> None:
        """Gives back all jobs, as put off or failed, and closes all connections."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        for origin in self._origins():
            origin.stop()
        for task in list(self._shared.tasks):
            task.cancel()
        self._resolver.close()
        await asyncio.gather(*self._shared.tasks, return_exceptions=True)
        for _ in range(LAST_TURNS):
            if not self._shared.connections:
                break
            await asyncio.sleep(0)

    # --- inside

    @property
    def _sweep_seconds(self) -> float:
        return min(SWEEP_SECONDS, self._limits.try_seconds / 4)

    def _send_slowly(self, job: Job, prefix: str, now: float) -> None:
        """Sends the first job to an origin, or a job with an unusual URL."""
        try:
            address, path = parse(job.url)
        except ValueError as error:
            self._requester.failed(job, str(error))
            return
        account = self._accounts.get(job.account) or AccountOrigins(job.account)
        origin = account.origins.get(address)
        if origin is None:
            if not self._make_room(account, now):
                self._requester.put_off(job, "too many receivers at once", 0.0)
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
        """Makes room for another origin of the account; returns False if there is none."""
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
        """Forgets the least recently used origins of the accounts: an eighth of them."""
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

    def _sweep(self) -> None:
        self._sweeper = None
        now = self._loop.time()
        busy = False
        for origin in self._origins():
            if not origin.unused:
                origin.sweep(now)
                busy = True
        self._shared.open_for_waiting()
        if busy:
            self._sweeper = self._loop.call_later(self._sweep_seconds, self._sweep)
