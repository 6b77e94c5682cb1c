"""Webhooks: notices as HTTP POSTs to a URL of the customer (callbacks)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol
from zoneinfo import ZoneInfo

from heliograph.app.configuration import Account
from heliograph.app.facts import CallbackEnd
from heliograph.app.notice import KnownAccounts, Notice
from heliograph.app.ports import WebhookSender
from heliograph.app.webhook_job import TryResult, WebhookJob

HTTP_GONE = 410


class SubjectRenderer(Protocol):
    """Renders one type of subject for webhooks."""

    def job(self, notice: Notice, account: Account, zone: ZoneInfo) -> WebhookJob:
        """Returns the next try of the notice; sets `notice.body` at the first one."""


class WebhookDeliverer:
    """Implements `notice.Deliverer`: has each notice rendered and posts it through a `WebhookSender`."""

    def __init__(
        self, sender: WebhookSender, accounts: KnownAccounts, renderers: Mapping[type, SubjectRenderer]
    ) -> None:
        """`renderers` are by the type of the subject that they render."""
        self._sender = sender
        self._accounts = accounts
        self._renderers = dict(renderers)

    def deliver(self, notices: Sequence[Notice]) -> list[Notice]:
        """See `notice.Deliverer`."""
        jobs: list[WebhookJob] = []
        left: list[Notice] = []
        for notice in notices:
            known = self._accounts.known(notice.account)
            if known is None:
                left.append(notice)
            else:
                account, zone = known
                jobs.append(self._renderers[type(notice.subject)].job(notice, account, zone))
        if jobs:
            self._sender.post(jobs)
        return left

    def end_of(self, code: int) -> CallbackEnd | None:
        """`code` is the HTTP status: any 2xx has delivered the notice, and 410 ends it."""
        if 200 <= code < 300:
            return CallbackEnd.DELIVERED
        return CallbackEnd.GONE if code == HTTP_GONE else None

    def on_tried(self, listener: Callable[[list[TryResult]], None]) -> None:
        self._sender.on_sent(listener)

    def on_lost(self, listener: Callable[[], None]) -> None:
        self._sender.on_lost(listener)
