"""Happenings for one who listens: whose they are, what of them may be shown, and no more than he can read."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from heliograph.adapters.control.server import Answer, Say
from heliograph.app.facts import Message
from heliograph.app.observing.events import Happening, Narrator
from heliograph.app.ports import Store, Unavailable
from heliograph.domain import ids
from heliograph.domain.money import format_credits
from heliograph.domain.phone import mask

WAITING = 10_000
"""Happenings that wait for a slow listener; what comes beyond is left out, and he is told how many."""

LISTENERS = 16
"""Listeners at once."""

_MONEY = ("price", "refund")

ConnectorName = Callable[[int], str]


@dataclass(slots=True)
class Wanted:
    """What a listener asked for; what is None or empty does not matter."""

    account: str
    key: int | None
    connector: str
    numbers: bool
    """Whole numbers, not masked ones."""

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> "Wanted":
        """Raises ValueError."""
        given = str(request.get("message") or "")
        parsed = ids.parse(given) if given else None
        if given and parsed is None:
            raise ValueError(f"{given} is no message id")
        return cls(
            str(request.get("account") or ""),
            None if parsed is None else parsed[0],
            str(request.get("connector") or ""),
            bool(request.get("numbers")),
        )


class Streams:
    """Lets listeners hear the narrator."""

    def __init__(self, narrator: Narrator, store: Store, connector_name: ConnectorName) -> None:
        self._narrator = narrator
        self._store = store
        self._connector_name = connector_name
        self._open = 0

    async def listen(self, request: Mapping[str, Any], say: Say) -> None:
        """Tells what happens until the listener leaves. The first line says that he is heard."""
        wanted = Wanted.of(request)
        if self._open >= LISTENERS:
            raise ValueError(f"{LISTENERS} listen already")
        stream = _Stream(self._narrator, self._store, self._connector_name, wanted)
        self._open += 1
        self._narrator.listen(stream.hear)
        try:
            await say({"event": "listening"})
            await stream.tell(say)
        finally:
            self._open -= 1
            self._narrator.leave(stream.hear)


class _Stream:
    def __init__(self, narrator: Narrator, store: Store, connector_name: ConnectorName, wanted: Wanted) -> None:
        self._narrator = narrator
        self._store = store
        self._connector_name = connector_name
        self._wanted = wanted
        self._waiting: deque[Happening] = deque()
        self._skipped = 0
        self._stir = asyncio.Event()
        self._accounts: dict[int, str] = {}

    def hear(self, happenings: list[Happening]) -> None:
        key = self._wanted.key
        for happening in happenings:
            if key is not None and happening.key != key:
                continue
            if len(self._waiting) >= WAITING:
                self._skipped += 1
            else:
                self._waiting.append(happening)
        self._stir.set()

    async def tell(self, say: Say) -> None:
        while True:
            await self._stir.wait()
            self._stir.clear()
            while self._waiting:
                line = await self._line(self._waiting.popleft())
                if line is not None:
                    await say(line)
            if self._skipped:
                skipped, self._skipped = self._skipped, 0
                await say({"event": "skipped", "count": skipped})

    async def _line(self, happening: Happening) -> Answer | None:
        """None for what the listener does not want."""
        wanted = self._wanted
        connector = None if happening.connector is None else self._connector_name(happening.connector)
        message = await self._message(happening)
        account = None if message is None else await self._account(message.account)
        if wanted.account and account != wanted.account:
            return None
        if wanted.connector and wanted.connector != (connector or self._chosen(message)):
            return None
        line: Answer = {"time": format_time(happening.at), "event": happening.event}
        if message is not None:
            to = message.destination if wanted.numbers else mask(message.destination)
            line |= {"id": ids.to_hex(message.key, message.tail), "account": account, "to": to}
        for name, value in (("connector", connector), ("segment", happening.segment)):
            if value is not None:
                line[name] = value
        return line | shown_details(happening)

    def _chosen(self, message: Message | None) -> str:
        """The connector that a message was accepted for."""
        return "" if message is None else self._connector_name(message.connector)

    async def _message(self, happening: Happening) -> Message | None:
        """Whose it is: as the narrator knows, or the rows."""
        if happening.message is not None or happening.key == 0:
            return happening.message
        with suppress(Unavailable):
            trace = await self._store.messages.trace(happening.key)
            if trace is not None:
                self._narrator.remember(trace.message)
                return trace.message
        return None

    async def _account(self, number: int) -> str:
        name = self._accounts.get(number)
        if name is None:
            with suppress(Unavailable):
                found = await self._store.accounts.by_id(number)
                name = self._accounts[number] = found.name if found is not None else ""
        return name or ""


def shown_details(happening: Happening) -> dict[str, Any]:
    """With amounts as exact decimal text."""
    return {name: format_credits(value) if name in _MONEY else value for name, value in happening.details.items()}


def format_time(at: int) -> str:
    """Milliseconds since the epoch as ISO 8601 in UTC, with milliseconds."""
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
