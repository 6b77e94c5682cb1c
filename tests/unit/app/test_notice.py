"""The seam of notices: ways and subjects beyond today's need no change of the notifier."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from heliograph.app.configuration import Account
from heliograph.app.facts import CallbackEnd
from heliograph.app.notice import Notice, ReachedState, TriedNotice
from heliograph.app.notices.notifier import BUSY_PAUSE_MS, UNTRIED_MS, Notifier
from heliograph.app.notices.webhook import WebhookDeliverer
from heliograph.app.webhook_job import WebhookJob
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.way import Way
from tests.support.store import START
from tests.support.use_case_fakes import Messages, NotedGathering, NotedSender, SetClock


class KnownAccounts:
    """`notice.KnownAccounts` with one account."""

    def known(self, account: int) -> tuple[Account, ZoneInfo] | None:
        return (Account(1, "acme", "", b"s" * 32), ZoneInfo("UTC")) if account == 1 else None

    async def learn(self, account: int) -> None:
        """There is no other."""


class NotedDeliverer:
    """`notice.Deliverer` that keeps what it is given."""

    retry_ms = 3_600_000

    def __init__(self) -> None:
        self.room = {1: 100}
        """Notices that accounts may be handed still."""
        self.notices: list[Notice] = []
        self.tried: Callable[[list[TriedNotice]], None] = lambda _: None
        self.lost: Callable[[], None] = lambda: None

    def capacity(self, account: int) -> int:
        return self.room.get(account, 0)

    def reachable(self) -> Sequence[int]:
        return [account for account, room in self.room.items() if room]

    def deliver(self, notices: Sequence[Notice]) -> list[Notice]:
        for notice in notices:
            self.room[notice.account] -= 1
        self.notices += notices
        return []

    def on_tried(self, listener: Callable[[list[TriedNotice]], None]) -> None:
        self.tried = listener

    def on_lost(self, listener: Callable[[], None]) -> None:
        self.lost = listener


class TwoWays:
    def __init__(self) -> None:
        self.gathering, self.clock = NotedGathering(), SetClock()
        self.message = Messages(self.clock)
        self.webhook, self.bind = NotedDeliverer(), NotedDeliverer()
        ways = {Way.WEBHOOK: self.webhook, Way.BIND: self.bind}
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
    posted, bound = ways.notice(Way.WEBHOOK), ways.notice(Way.BIND)
    ways.commit(posted, bound)
    assert (ways.webhook.notices, ways.bind.notices) == ([posted], [bound])


def test_the_way_says_how_a_try_ended() -> None:
    ways = TwoWays()
    taken, put_off = ways.notice(Way.BIND), ways.notice(Way.BIND)
    ways.commit(taken, put_off)
    ways.bind.tried([TriedNotice(taken.key, CallbackEnd.DELIVERED), TriedNotice(put_off.key, None, 0x64, "RX_T_APPN")])
    facts = ways.gathering.take()
    assert [(done.key, done.end) for done in facts.callbacks] == [(taken.key, CallbackEnd.DELIVERED)]
    assert [(retry.key, retry.problem) for retry in facts.callback_retries] == [(put_off.key, "RX_T_APPN")]


def test_a_way_that_is_lost_loses_nothing_of_another() -> None:
    ways = TwoWays()
    posted, bound = ways.notice(Way.WEBHOOK), ways.notice(Way.BIND)
    ways.commit(posted, bound)
    ways.bind.lost()
    (retry,) = ways.gathering.take().callback_retries
    assert (retry.key, retry.due, retry.attempts) == (bound.key, START + BUSY_PAUSE_MS[0], 0)
    ways.webhook.tried([TriedNotice(posted.key, CallbackEnd.DELIVERED)])
    assert [done.key for done in ways.gathering.take().callbacks] == [posted.key]


def test_what_a_way_cannot_reach_is_parked_until_its_time_is_over() -> None:
    ways = TwoWays()
    ways.bind.room = {1: 1}
    near, far = ways.notice(Way.BIND), ways.notice(Way.BIND)
    ways.commit(near, far)
    assert ways.bind.notices == [near]
    (retry,) = ways.gathering.take().callback_retries
    assert (retry.key, retry.due, retry.way, retry.parked) == (far.key, START + 3_600_000, Way.BIND, True)
    ways.clock.ms += 3_600_000
    ways.notifier.resume([far], rowed=True)
    (done,) = ways.gathering.take().callbacks
    assert (done.key, done.end, done.attempts) == (far.key, CallbackEnd.FAILED, 0)


def test_a_notice_of_a_way_that_this_node_lacks_waits_for_another_node() -> None:
    ways = TwoWays()
    notifier = Notifier(ways.gathering, ways.clock, {Way.WEBHOOK: ways.webhook}, KnownAccounts(), lambda: 0.0)
    notice = ways.notice(Way.BIND)
    notifier.resume([notice], rowed=False)
    (retry,) = ways.gathering.take().callback_retries
    assert (retry.key, retry.way, retry.parked) == (notice.key, Way.BIND, True)
    ways.clock.ms += UNTRIED_MS + 1
    notifier.resume([notice], rowed=True)
    facts = ways.gathering.take()
    assert [(done.key, done.end) for done in facts.callbacks] == [(notice.key, CallbackEnd.FAILED)]
    assert facts.callback_retries == []


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
