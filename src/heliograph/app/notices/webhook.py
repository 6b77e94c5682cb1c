"""Webhooks: notices as HTTP POSTs to a URL of the customer (callbacks)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from heliograph.app.configuration import Account
from heliograph.app.facts import CallbackEnd
from heliograph.app.notice import KnownAccounts, Notice, TriedNotice
from heliograph.app.ports import WebhookSender
from heliograph.app.webhook_job import TryResult, WebhookJob
from heliograph.domain.limits.defaults import CALLBACK_RETRY_HOURS

HTTP_GONE: Final = 410

HOUR_MS: Final = 3_600_000

_DELIVERED: Final = CallbackEnd.DELIVERED
_GONE: Final = CallbackEnd.GONE

UNLIMITED: Final = 1 << 30
"""Most notices handed to the sender at once for an account. In practice the limits of the sender and the notifier are
lower."""


class SubjectRenderer(Protocol):
    """Renders a type of subject for webhooks."""

    def job(self, notice: Notice, account: Account, zone: ZoneInfo) -> WebhookJob:
        """Returns the next try of the notice; sets `notice.body` at the first one."""


class ReplyTaker(Protocol):
    """Handles replies in receivers' answers."""

    def take(self, notice: Notice, account: Account, result: TryResult, then: Callable[[TryResult], None]) -> None:
        """Sends the reply of a result, or notes why there is none. Calls `then` once: with the result when the reply is
        durable or refused, or with a failure if the notice must be retried.
        """


class WebhookDeliverer:
    """Implements `notice.Deliverer`: has each notice rendered and posts it through a `WebhookSender`. If the account
    has replies sent, a notice is delivered only when its reply is durable or refused."""

    def __init__(
        self,
        sender: WebhookSender,
        accounts: KnownAccounts,
        renderers: Mapping[type, SubjectRenderer],
        replies: ReplyTaker | None = None,
        retry_hours: float = CALLBACK_RETRY_HOURS,
    ) -> None:
        """`renderers` are by the type of the subject that they render. Without `replies` answers have none."""
        self._retry_ms = int(retry_hours * HOUR_MS)
        self._sender = sender
        self._accounts = accounts
        self._renderers = dict(renderers)
        self._replies = replies
        self._asked: dict[int, tuple[Notice, Account]] = {}
        """Notices in flight with a possible reply, by key."""

    @property
    def retry_ms(self) -> int:
        """See `notice.Deliverer`."""
        return self._retry_ms

    def capacity(self, account: int) -> int:  # noqa: ARG002 - as `notice.Deliverer` has it
        """See `notice.Deliverer`: any account can be reached at any time."""
        return UNLIMITED

    def reachable(self) -> Sequence[int]:
        """See `notice.Deliverer`."""
        return ()

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
                job = self._renderers[type(notice.subject)].job(notice, account, zone)
                jobs.append(job)
                if job.wants_reply and self._replies is not None:
                    self._asked[job.key] = (notice, account)
        if jobs:
            self._sender.post(jobs)
        return left

    def on_tried(self, listener: Callable[[list[TriedNotice]], None]) -> None:
        def tried(results: list[TryResult]) -> None:
            self._tried(results, listener)

        self._sender.on_sent(tried)

    def on_lost(self, listener: Callable[[], None]) -> None:
        def lost() -> None:
            self._asked.clear()
            listener()

        self._sender.on_lost(lost)

    def _tried(self, results: list[TryResult], listener: Callable[[list[TriedNotice]], None]) -> None:
        """Passes results on. A result with a reply waits until the reply is accepted or refused."""
        replies = self._replies
        if not self._asked or replies is None:
            listener([_outcome_of(result) for result in results])
            return

        def over(result: TryResult) -> None:
            listener([_outcome_of(result)])

        others: list[TryResult] = []
        for result in results:
            asked = self._asked.pop(result.key, None)
            if asked is not None and 200 <= result.code < 300 and (result.reply or result.problem):
                replies.take(asked[0], asked[1], result, over)
            else:
                others.append(result)
        if others:
            listener([_outcome_of(result) for result in others])


def _outcome_of(result: TryResult) -> TriedNotice:
    """Reads the HTTP status: any 2xx has delivered the notice, and 410 ends it."""
    code = result.code
    end = _DELIVERED if 200 <= code < 300 else _GONE if code == HTTP_GONE else None
    return TriedNotice(result.key, end, code, result.problem, result.busy, result.room)
