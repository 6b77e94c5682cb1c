"""Listening: a developer sees an account's notices as they are made, while its receiver still gets them.

An account has listeners while clients ask, and for a minute after. Its notices committed by this process are rendered
as for a webhook, and kept in memory. The real receiver loses nothing, nothing is stored, and accounts without listeners
cost a lookup in an empty dictionary.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from heliograph.app.facts import Facts, InboundMessage, MessageEnd, PartReceipt, notice_key_of
from heliograph.app.notice import Notice, ReachedState
from heliograph.app.notices.inbound_form import InboundRenderer
from heliograph.app.notices.receipt_form import ReceiptRenderer
from heliograph.app.ports import Clock, Messages, Unavailable
from heliograph.app.sending.directory import AccountView
from heliograph.app.webhook_job import WebhookJob
from heliograph.domain.security.signature import sign

KEPT = 1_000
"""Notices of an account that are kept until they are asked for."""

STAYS_MS = 60_000
"""Milliseconds for which an account has a listener after the last request."""

MOST_ACCOUNTS = 200
"""Most accounts with listeners at once."""

MOST_WAITING = 20
"""Most requests of an account that wait at once."""


class TooManyListen(Exception):
    """Too many clients listen. Nothing was read."""


@dataclass(slots=True)
class CapturedNotice:
    """A notice in the form of a webhook, with the headers of a first try, signed when it was made. `url` is empty if
    the account has no receiver for it."""

    position: int
    kind: str
    """`receipt` or `inbound`."""
    at: int
    url: str
    headers: dict[str, str]
    body: str


@dataclass(slots=True)
class CapturedPage:
    """Notices behind a position, the oldest first. `missed`: number of notices in between that are not kept any
    more."""

    notices: list[CapturedNotice]
    cursor: str
    missed: int


@dataclass(slots=True)
class _Listener:
    """An account with listeners."""

    view: AccountView
    until: int
    given: int = 0
    """The position of the newest notice."""
    captured: deque[CapturedNotice] = field(default_factory=lambda: deque(maxlen=KEPT))
    waiting: set[asyncio.Event] = field(default_factory=set)
    states: deque[MessageEnd | PartReceipt] = field(default_factory=lambda: deque(maxlen=KEPT))
    """Committed states with messages still to be read, the oldest first."""


class NoticeListeners:
    """Implements `app.ports.Watcher`."""

    def __init__(
        self,
        messages: Messages,
        clock: Clock,
        encode_json: Callable[[Mapping[str, str]], bytes],
        run: str,
        user_agent: str,
    ) -> None:
        """`run`: id of this run of the process; cursors of another run are invalid."""
        self._messages = messages
        self._clock = clock
        self._receipts = ReceiptRenderer(encode_json)
        self._inbound = InboundRenderer(encode_json)
        self._run = run
        self._user_agent = user_agent
        self._listeners: dict[int, _Listener] = {}
        self._reading: asyncio.Task[None] | None = None
        self._closed = False

    def committed(self, facts: Facts, now: int, seconds: float) -> None:  # noqa: ARG002 - a watcher's
        """See `app.ports.Watcher`."""
        listeners = self._listeners
        if not listeners:
            return
        for message in facts.inbound:
            listener = listeners.get(message.account)
            if listener is not None:
                self._capture(listener, "inbound", self._inbound.job(*self._notice(listener, message.key, message)))
        states: list[MessageEnd | PartReceipt] = [*facts.finals, *[each for each in facts.progress if each.owed]]
        for state in states:
            listener = listeners.get(state.account)
            if listener is not None:
                listener.states.append(state)
                if self._reading is None or self._reading.done():
                    self._reading = asyncio.create_task(self._read(), name="listening")

    async def page(
        self, view: AccountView, after: str, limit: int, seconds: float, gone: Coroutine[Any, Any, None]
    ) -> CapturedPage:
        """Returns the account's notices after the cursor `after`, such as `7f3a90c1-18`, as soon as there are any.
        Returns none after `seconds`, when `gone` has ended, or after `close`. Without a cursor it returns notices from
        now on; with a cursor of another run, all kept notices. Raises TooManyListen."""
        leaving = asyncio.ensure_future(gone)
        try:
            listener = self._listen(view)
            position = self._position_of(after, listener)
            if listener.given <= position:
                await self._wait(listener, seconds, leaving)
        finally:
            leaving.cancel()
        listener.until = self._clock.now() + STAYS_MS
        found = [each for each in listener.captured if each.position > position][:limit]
        missed = found[0].position - position - 1 if found else 0
        return CapturedPage(found, f"{self._run}-{found[-1].position if found else position}", missed)

    async def close(self) -> None:
        """Answers every request now, and later requests without waiting."""
        self._closed = True
        for listener in self._listeners.values():
            for news in listener.waiting:
                news.set()
        if self._reading is not None:
            self._reading.cancel()
            with suppress(asyncio.CancelledError):
                await self._reading

    # --- inside

    def _listen(self, view: AccountView) -> _Listener:
        now = self._clock.now()
        for account in [
            each for each, listener in self._listeners.items() if listener.until < now and not listener.waiting
        ]:
            del self._listeners[account]
        listener = self._listeners.get(view.account.id)
        if listener is None:
            if len(self._listeners) >= MOST_ACCOUNTS:
                raise TooManyListen
            listener = self._listeners[view.account.id] = _Listener(view, now + STAYS_MS)
        listener.view = view
        return listener

    def _position_of(self, after: str, listener: _Listener) -> int:
        run, _, position = after.rpartition("-")
        if run == self._run and position.isascii() and position.isdigit() and len(position) <= 18:
            return min(int(position), listener.given)
        return listener.given if not after else max(0, listener.given - len(listener.captured))

    async def _wait(self, listener: _Listener, seconds: float, leaving: "asyncio.Future[None]") -> None:
        if self._closed or not seconds:
            return
        if len(listener.waiting) >= MOST_WAITING:
            raise TooManyListen
        news = asyncio.Event()
        leaving.add_done_callback(lambda _: news.set())
        listener.waiting.add(news)
        try:
            async with asyncio.timeout(seconds):
                await news.wait()
        except TimeoutError:
            pass
        finally:
            listener.waiting.discard(news)

    async def _read(self) -> None:
        """Reads the messages of committed states, a state of each account in turn, and passes them to listeners."""
        while waiting := [each for each in self._listeners.values() if each.states]:
            for listener in waiting:
                await self._read_first(listener)

    async def _read_first(self, listener: _Listener) -> None:
        state = listener.states.popleft()
        try:
            record = await self._messages.trace(state.key)
        except Unavailable:
            return
        if record is None or not record.message.wants_receipt:
            return
        key = state.key if isinstance(state, MessageEnd) else notice_key_of(state.key, state.state)
        subject = ReachedState(record.message, state.state, state.err, state.at)
        self._capture(listener, "receipt", self._receipts.job(*self._notice(listener, key, subject)))

    def _notice(self, listener: _Listener, key: int, subject: ReachedState | InboundMessage) -> tuple[Notice, Any, Any]:
        view = listener.view
        return Notice(view.account.id, key, subject, self._clock.now()), view.account, view.zone

    def _capture(self, listener: _Listener, kind: str, job: WebhookJob) -> None:
        now = self._clock.now()
        timestamp = now // 1000
        headers = {
            "Content-Type": job.content_type,
            "User-Agent": self._user_agent,
            "webhook-id": job.webhook_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": " ".join(sign(each, job.webhook_id, timestamp, job.body) for each in job.secrets),
        }
        if job.operator_code:
            headers["heliograph-operator-code"] = job.operator_code
        listener.given += 1
        listener.captured.append(CapturedNotice(listener.given, kind, now, job.url, headers, job.body.decode()))
        for news in listener.waiting:
            news.set()
