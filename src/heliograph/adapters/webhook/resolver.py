"""The resolver: host names to addresses, in threads of its own, a bounded number at once, with a short memory.

The loop's own `getaddrinfo` shares a few threads with everything else (four of them in libuv): a handful of names
whose servers do not answer would hold up every other lookup. Threads here are daemons, since a lookup cannot be
cancelled and must not hold up the end of the process either.
"""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable
from ipaddress import ip_address

from heliograph.adapters.webhook.guard import IPAddress, literal_address
from heliograph.adapters.webhook.settings import WebhookLimits

NameLookup = Callable[[str], Awaitable[list[IPAddress]]]
"""A function that looks a name up. Raises OSError for a name without addresses."""

REMEMBERED = 4_096
"""The most names remembered; beyond that all are forgotten."""


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

    threading.Thread(target=ask, name="webhook-lookup", daemon=True).start()
    return await answer


class Resolver:
    """Resolves names: one look-up a name at a time, shared by all who ask."""

    def __init__(self, limits: WebhookLimits, lookup: NameLookup = system_lookup) -> None:
        self._limits = limits
        self._lookup = lookup
        self._room = asyncio.Semaphore(limits.lookups)
        self._known: dict[str, tuple[float, list[IPAddress] | OSError]] = {}
        self._running: dict[str, asyncio.Task[list[IPAddress]]] = {}

    async def addresses(self, name: str) -> list[IPAddress]:
        """Returns the addresses in the system's order of preference, at least one. Raises OSError."""
        literal = literal_address(name)
        if literal is not None:
            return [literal]
        until, answer = self._known.get(name, (0.0, []))
        if until > asyncio.get_running_loop().time():
            if isinstance(answer, OSError):
                raise answer
            return answer
        task = self._running.get(name)
        if task is None:
            task = self._running[name] = asyncio.ensure_future(self._find(name))
            task.add_done_callback(lambda done: self._over(name, done))
        return await asyncio.shield(task)

    async def _find(self, name: str) -> list[IPAddress]:
        async with self._room:
            found = list(dict.fromkeys(await self._lookup(name)))
        if not found:
            raise OSError("it has no address")
        return found

    def _over(self, name: str, task: asyncio.Task[list[IPAddress]]) -> None:
        del self._running[name]
        if task.cancelled():
            return
        now = asyncio.get_running_loop().time()
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        error = task.exception()
        if error is None:
            self._known[name] = (now + self._limits.name_seconds, task.result())
        elif isinstance(error, OSError):
            self._known[name] = (now + self._limits.failed_name_seconds, error)

    def close(self) -> None:
        for task in self._running.values():
            task.cancel()
