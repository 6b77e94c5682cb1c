"""The webhook sender inside the process that uses it."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence

from heliograph.adapters.webhook.callback import has_reply, read_reply, request
from heliograph.app.webhook_job import TryResult, WebhookJob
from heliograph.domain.limits.defaults import CALLBACK_TIMEOUT_S
from heliograph.http_client.client import HttpClient
from heliograph.http_client.requester import AnswerBody
from heliograph.http_client.resolver import NameLookup, system_lookup
from heliograph.http_client.settings import ClientLimits, ClientSettings


class WebhookLimits(ClientLimits, frozen=True, forbid_unknown_fields=True):
    """The limits of the webhook sender: those of its client, and its own."""

    outstanding: int = 20_000
    """The most jobs without a result in the sender's own process."""
    try_seconds: float = float(CALLBACK_TIMEOUT_S)
    drain_seconds: float = 5.0
    """The time for which `close` lets the jobs go on."""


class WebhookSettings(ClientSettings, frozen=True, forbid_unknown_fields=True):
    """All settings of the webhook sender. They travel to its process as they are."""

    limits: WebhookLimits = WebhookLimits()


class LocalSender:
    """Posts callbacks from this event loop: the requester of an `HttpClient`. Implements the port `WebhookSender`; must
    be made while the loop runs."""

    def __init__(self, settings: WebhookSettings, lookup: NameLookup = system_lookup) -> None:
        self._limits = settings.limits
        self._loop = asyncio.get_running_loop()
        self._client = HttpClient(settings, self, lookup)
        self._results: list[TryResult] = []
        self._listener: Callable[[list[TryResult]], None] | None = None
        self._outstanding = 0
        self._closing = False
        self._drained = asyncio.Event()

    def on_sent(self, listener: Callable[[list[TryResult]], None]) -> None:
        self._listener = listener

    def on_lost(self, listener: Callable[[], None]) -> None:
        """Ignores the listener, because this sender ends together with its process."""

    def post(self, jobs: Sequence[WebhookJob]) -> None:
        self._outstanding += len(jobs)
        if self._closing:
            for job in jobs:
                self.put_off(job, "the gateway is stopping", 0.0)
        else:
            self._client.send(jobs)

    async def close(self) -> None:
        """Lets the jobs go on for a while; the rest then come back as busy or failed."""
        self._closing = True
        if self._outstanding:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._limits.drain_seconds):
                    await self._drained.wait()
        await self._client.close()
        if self._results:
            self._flush()

    # --- from the client

    def octets(self, job: WebhookJob, path: str, standing: str) -> bytes:
        return request(job, path, standing, int(time.time()))

    def wants_body(self, job: WebhookJob, code: int, answer: AnswerBody) -> bool:  # noqa: ARG002 - the protocol's signature
        return has_reply(code, answer)

    def answered(self, job: WebhookJob, code: int, answer: AnswerBody | None) -> None:
        if not 200 <= code < 300:
            self._deliver(TryResult(job.key, code, f"HTTP {code}"))
        elif answer is None:
            self._deliver(TryResult(job.key, code))
        else:
            reply, problem = read_reply(answer, self._limits.reply_octets)
            self._deliver(TryResult(job.key, code, problem, reply=reply))

    def failed(self, job: WebhookJob, problem: str) -> None:
        self._deliver(TryResult(job.key, 0, problem))

    def put_off(self, job: WebhookJob, problem: str, room: float) -> None:
        self._deliver(TryResult(job.key, 0, problem, busy=True, room=room))

    # --- results

    def _deliver(self, result: TryResult) -> None:
        if not self._results:
            self._loop.call_soon(self._flush)
        self._results.append(result)

    def _flush(self) -> None:
        results, self._results = self._results, []
        if not results:
            return
        self._outstanding -= len(results)
        if self._listener is not None:
            self._listener(results)
        if self._closing and not self._outstanding:
            self._drained.set()
