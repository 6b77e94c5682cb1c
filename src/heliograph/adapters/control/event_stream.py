"""Event streams: look up the account of each event, mask private fields, and skip events for slow listeners."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from heliograph.adapters.control.server import Answer, Send
from heliograph.app.facts import InboundMessage, Message
from heliograph.app.observing.events import EventFeed, MessageEvent
from heliograph.app.ports import Store, Unavailable
from heliograph.domain.calendar import format_utc
from heliograph.domain.display import did_you_mean
from heliograph.domain.message import ids
from heliograph.domain.money.amounts import format_credits
from heliograph.domain.numbers.phone import mask

WAITING = 10_000
"""Most events that wait for a slow listener. Further events are skipped, and the listener is told how many."""

LISTENERS = 16
"""The most listeners at once."""

_MONEY = ("price", "refund")

ConnectorName = Callable[[int], str]


@dataclass(slots=True)
class EventFilter:
    """The events that a listener wants. A field that is None or empty matches all events."""

    account: str
    key: int | None
    connector: str
    numbers: bool
    """Whether numbers are shown whole. Otherwise they are masked, for example `491*******67`."""

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> "EventFilter":
        """Reads a listener's request. Raises ValueError."""
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


class EventStreams:
    """Streams the events of the feed to listeners."""

    def __init__(self, feed: EventFeed, store: Store, connector_name: ConnectorName) -> None:
        self._feed = feed
        self._store = store
        self._connector_name = connector_name
        self._open = 0

    async def listen(self, request: Mapping[str, Any], send: Send) -> None:
        """Writes events until the listener leaves. The first line says that the stream has begun.

        Raises ValueError, also for an unknown account or connector: their events would never come.
        """
        wanted = EventFilter.of(request)
        await self._check_names(wanted)
        if self._open >= LISTENERS:
            raise ValueError(f"{LISTENERS} listen already")
        stream = _EventStream(self._feed, self._store, self._connector_name, wanted)
        self._open += 1
        self._feed.subscribe(stream.hear)
        try:
            await send({"event": "listening"})
            await stream.write(send)
        finally:
            self._open -= 1
            self._feed.unsubscribe(stream.hear)

    async def _check_names(self, wanted: EventFilter) -> None:
        with suppress(Unavailable):
            if wanted.account and await self._store.accounts.find(wanted.account) is None:
                raise ValueError(f"there is no account {wanted.account}")
            if wanted.connector:
                known = [each.name for each in (await self._store.network.tables(large=False)).connectors]
                if wanted.connector not in known:
                    hint = did_you_mean(wanted.connector, known)
                    raise ValueError(f"there is no connector {wanted.connector}{hint}")


class _EventStream:
    def __init__(self, feed: EventFeed, store: Store, connector_name: ConnectorName, wanted: EventFilter) -> None:
        self._feed = feed
        self._store = store
        self._connector_name = connector_name
        self._wanted = wanted
        self._waiting: deque[MessageEvent] = deque()
        self._skipped = 0
        self._wake = asyncio.Event()
        self._accounts: dict[int, str] = {}

    def hear(self, events: list[MessageEvent]) -> None:
        key = self._wanted.key
        for event in events:
            if key is not None and event.key != key:
                continue
            if len(self._waiting) >= WAITING:
                self._skipped += 1
            else:
                self._waiting.append(event)
        self._wake.set()

    async def write(self, send: Send) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                line = await self._line(self._waiting.popleft())
                if line is not None:
                    await send(line)
            if self._skipped:
                skipped, self._skipped = self._skipped, 0
                await send({"event": "skipped", "count": skipped})

    async def _line(self, event: MessageEvent) -> Answer | None:
        """Returns the line for an event, or None if the listener does not want it."""
        wanted = self._wanted
        connector = None if event.connector is None else self._connector_name(event.connector)
        message = await self._message(event)
        account = None if message is None or not message.account else await self._account(message.account)
        if wanted.account and account != wanted.account:
            return None
        if wanted.connector:
            chosen = "" if message is None else self._connector_name(message.connector)
            if wanted.connector != (connector or chosen):
                return None
        line: Answer = {"time": format_utc(event.at), "event": event.event}
        if isinstance(message, InboundMessage):
            phone = message.sender if wanted.numbers else mask(message.sender)
            line |= _named(message) | {"account": account, "from": phone, "to": message.recipient}
        elif message is not None:
            to = message.destination if wanted.numbers else mask(message.destination)
            line |= _named(message) | {"account": account, "to": to}
        for name, value in (("connector", connector), ("segment", event.segment)):
            if value is not None:
                line[name] = value
        return line | shown_details(event)

    async def _message(self, event: MessageEvent) -> Message | InboundMessage | None:
        """Returns the message of the event, from the feed or from the rows."""
        if event.message is not None or event.key == 0:
            return event.message
        with suppress(Unavailable):
            trace = await self._store.messages.trace(event.key)
            if trace is not None:
                self._feed.remember(trace.message)
                return trace.message
        return None

    async def _account(self, number: int) -> str:
        name = self._accounts.get(number)
        if name is None:
            with suppress(Unavailable):
                found = await self._store.accounts.by_id(number)
                name = self._accounts[number] = found.name if found is not None else ""
        return name or ""


def _named(message: Message | InboundMessage) -> Answer:
    return {"id": ids.to_hex(message.key, message.tail)}


def shown_details(event: MessageEvent) -> dict[str, Any]:
    """Returns the details of the event, amounts as exact decimal text."""
    return {name: format_credits(value) if name in _MONEY else value for name, value in event.details.items()}
