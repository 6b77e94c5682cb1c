"""The seam of notices: ways and subjects beyond today's need no change of the notifier."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from heliograph.app.configuration import Account
from heliograph.app.facts import CallbackEnd
from heliograph.app.notice import Notice, ReachedState, Way, owes_receipt
from heliograph.app.notices.notifier import BUSY_PAUSE_MS, Notifier
from heliograph.app.notices.webhook import WebhookDeliverer
from heliograph.app.webhook_job import TryResult, WebhookJob
from heliograph.domain.message.receipt import Delivery
from tests.support.store import START
from tests.support.use_case_fakes import Messages, NotedGathering, NotedSender, SetClock


def another_way(value: int) -> Way:
    """Returns a member of `Way` beside those it has: compiled code takes no bare number for one."""
    way = int.__new__(Way, value)
    way._name_, way._value_ = f"WAY_{value}", value
    return way


BIND = another_way(1)


class KnownAccounts:
    """`notice.KnownAccounts` with one account."""

    def known(self, account: int) -> tuple[Account, ZoneInfo] | None:
        return (Account(1, "acme", "", b"s" * 32), ZoneInfo("UTC")) if account == 1 else None

    async def learn(self, account: int) -> None:
        """There is no other."""


class NotedDeliverer:
    """`notice.Deliverer` that keeps what it is given; the code 0 delivers."""

    def __init__(self) -> None:
        self.notices: list[Notice] = []
        self.tried: Callable[[list[TryResult]], None] = lambda _: None
        self.lost: Callable[[], None] = lambda: None

    def deliver(self, notices: Sequence[Notice]) -> list[Notice]:
        self.notices += notices
        return []

    def end_of(self, code: int) -> CallbackEnd | None:
        return CallbackEnd.DELIVERED if code == 0 else None

    def on_tried(self, listener: Callable[[list[TryResult]], None]) -> None:
        self.tried = listener

    def on_lost(self, listener: Callable[[], None]) -> None:
        self.lost = listener


class TwoWays:
    def __init__(self) -> None:
        self.gathering, self.clock = NotedGathering(), SetClock()
        self.message = Messages(self.clock)
        self.webhook, self.bind = NotedDeliverer(), NotedDeliverer()
        ways = {Way.WEBHOOK: self.webhook, BIND: self.bind}
        self.notifier = Notifier(self.gathering, self.clock, ways, KnownAccounts(), lambda: 0.0)

    def notice(self, way: Way) -> Notice:
        message = self.message()
        return Notice(1, message.key, ReachedState(message, Delivery.DELIVRD, "000", START), START, way=way)

    def commit(self, *notices: Notice) -> None:
        for notice in notices:
            self.notifier.owe(notice)
        self.notifier.prepare()
        self.notifier.committed()


def test_each_way_delivers_its_own_notices() -> None:
    ways = TwoWays()
    posted, bound = ways.notice(Way.WEBHOOK), ways.notice(BIND)
    ways.commit(posted, bound)
    assert (ways.webhook.notices, ways.bind.notices) == ([posted], [bound])


def test_the_way_says_what_a_code_means() -> None:
    ways = TwoWays()
    taken, put_off = ways.notice(BIND), ways.notice(BIND)
    ways.commit(taken, put_off)
    ways.bind.tried([TryResult(taken.key, 0), TryResult(put_off.key, 0x64, "RX_T_APPN")])
    facts = ways.gathering.take()
    assert [(done.key, done.end) for done in facts.callbacks] == [(taken.key, CallbackEnd.DELIVERED)]
    assert [(retry.key, retry.problem) for retry in facts.callback_retries] == [(put_off.key, "RX_T_APPN")]


def test_a_way_that_is_lost_loses_nothing_of_another() -> None:
    ways = TwoWays()
    posted, bound = ways.notice(Way.WEBHOOK), ways.notice(BIND)
    ways.commit(posted, bound)
    ways.bind.lost()
    (retry,) = ways.gathering.take().callback_retries
    assert (retry.key, retry.due, retry.attempts) == (bound.key, START + BUSY_PAUSE_MS[0], 0)
    ways.webhook.tried([TryResult(posted.key, 0)])
    assert [done.key for done in ways.gathering.take().callbacks] == [posted.key]


@dataclass
class Inbound:
    """A subject that the notifier has never heard of."""

    text: str


class InboundForm:
    def job(self, notice: Notice, account: Account, zone: ZoneInfo) -> WebhookJob:
        subject: Any = notice.subject
        notice.body = subject.text.encode()
        return WebhookJob(notice.key, "in_1", "http://example.com/in", notice.body, "text/plain", ())


def test_the_type_of_the_subject_chooses_the_form() -> None:
    sender = NotedSender()
    webhooks = WebhookDeliverer(sender, KnownAccounts(), {Inbound: InboundForm()})
    mine, stranger = (Notice(account, 7, Inbound("Hello"), START) for account in (1, 2))
    assert webhooks.deliver([mine, stranger]) == [stranger]
    assert [(job.webhook_id, job.body) for job in sender.jobs] == [("in_1", b"Hello")]
    assert mine.body == b"Hello"
    assert webhooks.deliver([]) == []


@pytest.mark.parametrize(("wants", "url", "owed"), [
    (True, "http://example.com/", True), (True, "", False), (False, "http://example.com/", False), (False, "", False),
])  # fmt: skip
def test_a_receipt_is_owed_where_it_was_asked_for_and_has_a_url(wants: bool, url: str, owed: bool) -> None:
    message = Messages(SetClock())(wants_receipt=wants, callback_url=url)
    assert owes_receipt(message) is owed
