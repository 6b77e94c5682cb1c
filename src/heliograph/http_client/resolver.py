"""The resolver: host names to addresses, in its own threads, with limited concurrency and a short cache.

The loop's own `getaddrinfo` shares a few threads with all other work (four of them in libuv): a few names with silent
servers would block every other lookup. These threads are daemons, because a lookup cannot be cancelled, and must not
delay the end of the process.
"""

import asyncio
import socket
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from ipaddress import ip_address

from heliograph.http_client.settings import ClientLimits
from heliograph.net.address_guard import IPAddress, literal_address

NameLookup = Callable[[str], Awaitable[list[IPAddress]]]
"""A function that looks a name up. Raises OSError for a name without addresses."""

REMEMBERED = 4_096
"""Most names in the cache; at the limit the oldest is dropped."""


async def system_lookup(name: str) -> list[IPAddress]:
    """Asks the system's resolver, in a thread. A caller that gives up leaves the thread to end by itself."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[IPAddress]] = loop.create_future()

    def settle(addresses: list[IPAddress] | None, error: OSError | None) -> None:
        if answer.cancelled():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(addresses or [])

    def ask() -> None:
        addresses: list[IPAddress] = []
        problem: OSError | None = None
        try:
            for *_, where in socket.getaddrinfo(name, None, type=socket.SOCK_STREAM):
                addresses.append(ip_address(where[0]))
        except OSError as error:
            problem = error
        except ValueError as error:  # a name that cannot be encoded
            problem = OSError(str(error))
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, addresses, problem)

    threading.Thread(target=ask, name="name-lookup", daemon=True).start()
    return await answer


PART = 4
"""Divisor: an account may have a quarter of the free slots."""


class LookupTurns:
    """Slots for lookups, shared out by account: each gets at most a quarter of the free slots, and waiting accounts
    take turns. So a silent name server only uses slots of the accounts that ask for its names.
    """

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._held: dict[int, int] = {}
        self._waiting: dict[int, deque[asyncio.Future[None]]] = {}
        """Turns to come, by account; the account that is next comes first."""

    async def enter(self, account: int) -> None:
        """Waits for a slot."""
        if account not in self._waiting and self._has_room(account):
            self._take(account)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(account, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.leave(account)
            raise

    def leave(self, account: int) -> None:
        """Returns a slot to the next account."""
        self._free += 1
        left = self._held[account] - 1
        if left:
            self._held[account] = left
        else:
            del self._held[account]
        for _ in range(len(self._waiting)):
            account = next(iter(self._waiting))
            line = self._waiting.pop(account)
            while line and self._has_room(account):
                turn = line.popleft()
                if not turn.done():
                    self._take(account)
                    turn.set_result(None)
                    break
            if line:
                self._waiting[account] = line

    def _has_room(self, account: int) -> bool:
        return self._held.get(account, 0) < (self._free + PART - 1) // PART

    def _take(self, account: int) -> None:
        self._free -= 1
        self._held[account] = self._held.get(account, 0) + 1


class Resolver:
    """Resolves names: a single lookup for a name at a time for each account, shared by all its requests."""

    def __init__(self, limits: ClientLimits, lookup: NameLookup = system_lookup) -> None:
        self._limits = limits
        self._lookup = lookup
        self._turns = LookupTurns(limits.lookups)
        self._known: dict[str, tuple[float, list[IPAddress] | OSError]] = {}
        self._running: dict[tuple[int, str], asyncio.Task[list[IPAddress]]] = {}

    async def addresses(self, name: str, account: int) -> list[IPAddress]:
        """Returns the addresses in the system's order of preference, at least one. Raises OSError. The lookup counts
        for the account.
        """
        literal = literal_address(name)
        if literal is not None:
            return [literal]
        until, answer = self._known.get(name, (0.0, []))
        if until > asyncio.get_running_loop().time():
            if isinstance(answer, OSError):
                raise answer
            return answer
        asked = (account, name)
        task = self._running.get(asked)
        if task is None:
            task = self._running[asked] = asyncio.ensure_future(self._find(name, account))
            task.add_done_callback(lambda done: self._over(asked, done))
        return await asyncio.shield(task)

    async def _find(self, name: str, account: int) -> list[IPAddress]:
        await self._turns.enter(account)
        try:
            found = list(dict.fromkeys(await self._lookup(name)))
        finally:
            self._turns.leave(account)
        if not found:
            raise OSError("it has no address")
        return found

    def _over(self, asked: tuple[int, str], task: asyncio.Task[list[IPAddress]]) -> None:
        del self._running[asked]
        if task.cancelled():
            return
        _, name = asked
        now = asyncio.get_running_loop().time()
        if len(self._known) >= REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known.pop(name, None)
        error = task.exception()
        if error is None:
            self._known[name] = (now + self._limits.name_seconds, task.result())
        elif isinstance(error, OSError):
            self._known[name] = (now + self._limits.failed_name_seconds, error)

    def close(self) -> None:
        for task in self._running.values():
            task.cancel()
