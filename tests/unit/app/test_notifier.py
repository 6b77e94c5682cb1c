from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs
from zoneinfo import ZoneInfo

import pytest

from heliograph.app.configuration import Account
from heliograph.app.facts import CallbackEnd, Facts, InboundMessage, Message, MessageEnd
from heliograph.app.marks import CALLBACK
from heliograph.app.notice import Notice, ReachedState, notice_of
from heliograph.app.notices import notifier
from heliograph.app.notices.notifier import KEEP_MS, UNREADABLE_PAUSE_MS, UNTRIED_MS, Notifier
from heliograph.app.notices.receipt_form import ReceiptRenderer
from heliograph.app.notices.webhook import HOUR_MS, WebhookDeliverer
from heliograph.app.ports import Unavailable
from heliograph.app.webhook_job import TryResult
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.way import Way
from tests.support.memory_store import MemoryStore
from tests.support.store import SECOND, START
from tests.support.use_case_fakes import Messages, NotedGathering, NotedSender, SetClock

FAR = first_key_at(START + 1_000_000_000)


class Book:
    """`notice.KnownAccounts` with one account."""

    def __init__(self) -> None:
        account = Account(1, "acme", "", b"s" * 32)
        self.accounts = {1: (account, ZoneInfo("Europe/Berlin"))}
        self.learnt: list[int] = []
        self.broken = False

    def known(self, account: int) -> tuple[Account, ZoneInfo] | None:
        return self.accounts.get(account)

    async def learn(self, account: int) -> None:
        self.learnt.append(account)
        if self.broken:
            raise Unavailable("no")


class OwingStore(MemoryStore):
    def __init__(self, *owed: Notice) -> None:
        super().__init__()
        self.owed = list(owed)

    async def notices_accounts(self, beyond: int, limit: int) -> list[tuple[int, int]]:
        first: dict[int, int] = {}
        for notice in self.owed:
            first.setdefault(notice.account, notice.first)
        return sorted(each for each in first.items() if each[0] > beyond)[:limit]

    async def notices_claim(self, limit: int, now: int, node: int, accounts: Sequence[int] = ()) -> list[Notice]:
        claimed = [
            notice for account in accounts for notice in [each for each in self.owed if each.account == account][:limit]
        ]
        self.owed = [notice for notice in self.owed if notice not in claimed]
        return claimed


class Desk:
    def __init__(self) -> None:
        self.clock = SetClock()
        self.gathering = NotedGathering()
        self.sender = NotedSender()
        self.book = Book()
        self.message = Messages(self.clock)
        self.notifier = self.make(retry_hours=1.0)

    def make(self, retry_hours: float = 24.0, **options: Any) -> Notifier:
        form = ReceiptRenderer(lambda fields: repr(fields).encode())
        webhooks = WebhookDeliverer(self.sender, self.book, {ReachedState: form}, retry_hours=retry_hours)
        return Notifier(self.gathering, self.clock, {Way.WEBHOOK: webhooks}, self.book, lambda: 0.5, **options)

    def owe(self, *messages: Message) -> None:
        for message in messages:
            self.notifier.owe(delivered(message, self.clock.now()))

    def begin(self, *, spill: bool = False, last_key: int = FAR) -> Facts:
        self.notifier.prepare()
        if spill:
            self.notifier.spill(self.gathering.facts, self.clock.now(), last_key)
        return self.gathering.take()

    def commit(self, *, spill: bool = False, last_key: int = FAR) -> Facts:
        facts = self.begin(spill=spill, last_key=last_key)
        self.notifier.committed()
        return facts

    def in_the_air(self) -> Message:
        message = self.message()
        self.owe(message)
        self.commit()
        return message


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.mark.parametrize("rowed", [False, True])
def test_an_end_that_does_not_count_is_not_told(desk: Desk, rowed: bool) -> None:
    """Another node ended the message, and owes its notice. A row that this node has overwritten is free again."""
    message = desk.message()
    if rowed:
        desk.notifier.mark = message.key
    desk.owe(message)
    desk.begin()
    (notice,) = desk.notifier._committing
    assert notice.end is not None
    notice.end.superseded = True
    room = desk.notifier.room
    desk.notifier.committed()
    assert desk.notifier.in_the_air == 0
    assert desk.notifier.room == room + 1
    assert [retry.claimed for retry in desk.gathering.facts.callback_retries] == [False] * rowed


def test_a_message_from_a_phone_that_another_node_wrote_is_not_told(desk: Desk) -> None:
    text = InboundMessage(1, 1, "491", "3388", "Hi", b"Hi", 0, START, way=Way.WEBHOOK, key=first_key_at(START))
    desk.notifier.owe(Notice(1, text.key, text, START))
    facts = desk.begin()
    text.contested = True
    desk.notifier.spill(facts, START + 4 * KEEP_MS, FAR)
    desk.notifier.committed()
    assert (desk.notifier.in_the_air, desk.notifier.room) == (0, notifier.IN_THE_AIR)
    assert not facts.callback_retries + desk.gathering.facts.callback_retries


def delivered(message: Message, at: int) -> Notice:
    return notice_of(message, MessageEnd(message.account, message.key, Delivery.DELIVRD, "000", at, owed=True))


def owed(message: Message, attempts: int = 0, body: bytes = b"", first: int = START) -> Notice:
    return Notice(
        message.account, message.key, ReachedState(message, Delivery.UNDELIV, "034", START), first, attempts, body
    )


# --- from the final state to the customer


def test_the_customer_is_told_after_the_commit(desk: Desk) -> None:
    one = desk.message(content="Hello to you all out there")
    desk.owe(one)
    facts = desk.begin()
    assert not facts
    assert desk.sender.jobs == []
    desk.notifier.committed()
    (job,) = desk.sender.jobs
    assert (job.key, job.url, job.secrets) == (one.key, one.callback_url, (b"s" * 32,))
    told = parse_qs(job.body.decode())
    assert told["message_status"] == ["DELIVRD"]
    assert told["text"] == ["Hello to you all out"]
    assert told["subdate"] == ["2023-11-14 23:13:20"]


def test_what_is_owed_while_a_commit_is_written_waits_for_the_next_one(desk: Desk) -> None:
    one, other = desk.message(), desk.message()
    desk.owe(one)
    desk.begin()
    desk.owe(other)
    desk.notifier.committed()
    assert [job.key for job in desk.sender.jobs] == [one.key]
    desk.commit()
    assert [job.key for job in desk.sender.jobs] == [one.key, other.key]


def test_after_a_failed_commit_each_customer_is_told_once(desk: Desk) -> None:
    desk.owe(desk.message())
    desk.begin()
    desk.owe(desk.message())
    desk.begin()
    assert desk.sender.jobs == []
    desk.notifier.committed()
    assert len(desk.sender.jobs) == 2


@pytest.mark.parametrize(("code", "end"), [
    (200, CallbackEnd.DELIVERED), (204, CallbackEnd.DELIVERED), (299, CallbackEnd.DELIVERED), (410, CallbackEnd.GONE),
])  # fmt: skip
def test_an_answer_that_ends_it_ends_it_once(desk: Desk, code: int, end: CallbackEnd) -> None:
    one = desk.in_the_air()
    desk.sender.end(one.key, code)
    desk.sender.end(one.key, code)
    (done,) = desk.commit().callbacks
    assert (done.key, done.end, done.code, done.attempts) == (one.key, end, code, 1)
    assert desk.notifier.in_the_air == 0


@pytest.mark.parametrize("code", [0, 199, 300, 302, 404, 500])
def test_every_other_answer_is_tried_again(desk: Desk, code: int) -> None:
    one = desk.in_the_air()
    woken = desk.gathering.woken
    desk.sender.end(one.key, code, "timed out" if code == 0 else "")
    (retry,) = desk.commit().callback_retries
    assert desk.gathering.woken > woken
    assert (retry.key, retry.attempts, retry.due, retry.first, retry.claimed) == (
        one.key, 1, START + 5 * SECOND, START, False,
    )  # fmt: skip
    assert retry.problem == ("timed out" if code == 0 else f"HTTP {code}")
    assert retry.body == desk.sender.jobs[0].body


def test_when_time_is_up_it_is_given_up(desk: Desk) -> None:
    desk.notifier.resume([owed(desk.message(), attempts=7, body=b"id=1", first=START - HOUR_MS)], rowed=True)
    desk.sender.end(desk.sender.jobs[0].key, 500)
    facts = desk.commit()
    (done,) = facts.callbacks
    assert (done.end, done.attempts, done.code) == (CallbackEnd.FAILED, 8, 500)
    (kept,) = facts.callback_retries
    assert (kept.key, kept.problem, kept.claimed) == (done.key, "HTTP 500", True)


# --- receivers that are busy, senders that die


def test_a_busy_receiver_is_offered_it_again_without_counting_a_try(desk: Desk) -> None:
    one = desk.in_the_air()
    desk.sender.end(one.key, 0, "too many wait", busy=True)
    (retry,) = desk.commit().callback_retries
    assert (retry.attempts, retry.due, retry.problem) == (0, START + 3 * SECOND, "too many wait")


def test_a_busy_receiver_hides_no_cause_of_an_earlier_try(desk: Desk) -> None:
    desk.notifier.resume([owed(desk.message(), attempts=2, body=b"id=1")], rowed=True)
    desk.sender.end(desk.sender.jobs[0].key, 0, "it failed too often", busy=True)
    (retry,) = desk.commit().callback_retries
    assert (retry.attempts, retry.problem) == (2, "")


def test_a_receiver_that_has_no_room_yet_is_offered_it_when_it_will_have(desk: Desk) -> None:
    desk.notifier.resume([owed(desk.message(), first=START - 60_000)], rowed=True)
    desk.sender._sent([TryResult(desk.sender.jobs[0].key, 0, "too many wait", busy=True, room=0.75)])
    (retry,) = desk.commit().callback_retries
    assert (retry.attempts, retry.due) == (0, START + 750)


@pytest.mark.parametrize(("age_ms", "pause_ms"), [(60_000, 15_000), (3_000_000, 60_000), (86_400_000, 1_728_000)])
def test_the_longer_it_is_owed_the_less_often_a_busy_receiver_is_offered_it(
    desk: Desk, age_ms: int, pause_ms: int
) -> None:
    desk.notifier.resume([owed(desk.message(), first=START - age_ms)], rowed=True)
    desk.sender.end(desk.sender.jobs[0].key, 0, busy=True)
    assert desk.commit().callback_retries[0].due == START + pause_ms + pause_ms // 2


def test_a_receiver_that_stays_busy_is_given_up_only_when_it_was_tried(desk: Desk) -> None:
    tried, never = desk.message(), desk.message()
    desk.notifier.resume([owed(tried, 1, first=START - HOUR_MS), owed(never, 0, first=START - HOUR_MS)], rowed=True)
    for each in (tried, never):
        desk.sender.end(each.key, 0, busy=True)
    facts = desk.commit()
    assert [(done.key, done.end) for done in facts.callbacks] == [(tried.key, CallbackEnd.FAILED)]
    assert [retry.key for retry in facts.callback_retries] == [never.key]


def test_a_notice_of_a_dead_receiver_ends_even_if_it_was_never_tried(desk: Desk) -> None:
    """Without an end, retention would never erase its message."""
    never = desk.message()
    desk.notifier.resume([owed(never, first=START - UNTRIED_MS)], rowed=True)
    desk.sender.end(never.key, 0, "it is left alone", busy=True)
    facts = desk.commit()
    assert [(done.key, done.end, done.attempts) for done in facts.callbacks] == [(never.key, CallbackEnd.FAILED, 0)]
    assert not facts.callback_retries


def test_when_the_sender_dies_all_in_the_air_is_owed_a_little_later(desk: Desk) -> None:
    several = [desk.in_the_air() for _ in range(3)]
    desk.sender.lose()
    facts = desk.commit()
    assert [retry.key for retry in facts.callback_retries] == [each.key for each in several]
    assert all(retry.due > START for retry in facts.callback_retries), "lest one that kills the sender does so at once"
    assert desk.notifier.in_the_air == 0
    desk.sender.end(several[0].key, 200)
    assert not desk.commit()


# --- rows and marks


def test_what_memory_has_no_room_for_goes_to_the_rows(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier, "IN_THE_AIR", 6)
    several = [desk.message() for _ in range(3)]
    desk.owe(*several)
    facts = desk.commit()
    assert [(retry.key, retry.due, retry.body) for retry in facts.callback_retries] == [(several[2].key, START, b"")]
    assert len(desk.sender.jobs) == 2


def test_a_callback_of_an_old_message_has_a_row_from_the_start(desk: Desk) -> None:
    one = desk.message()
    desk.clock.pass_ms(KEEP_MS + 1)
    desk.owe(one)
    (retry,) = desk.commit().callback_retries
    assert (retry.key, retry.due, retry.attempts, retry.body, retry.claimed) == (one.key, desk.clock.ms, 0, b"", True)
    assert [job.key for job in desk.sender.jobs] == [one.key], "it is tried as soon as it is durable"
    desk.clock.pass_ms(KEEP_MS + 1)
    assert desk.commit(spill=True).callback_retries == [], "it has its row"


def test_a_long_flight_gets_a_row_that_is_held_once(desk: Desk) -> None:
    one = desk.in_the_air()
    desk.clock.pass_ms(KEEP_MS + 1)
    (retry,) = desk.commit(spill=True).callback_retries
    assert (retry.key, retry.claimed) == (one.key, True)
    desk.clock.pass_ms(KEEP_MS)
    assert desk.commit(spill=True).callback_retries == []


def test_below_the_mark_every_callback_owed_has_a_row(desk: Desk) -> None:
    """One that was owed late and in the air since, and one whose commit took minutes."""
    slow, stuck = desk.message(), desk.message()
    desk.clock.pass_ms(KEEP_MS)
    desk.owe(slow)
    desk.clock.pass_ms(500)
    desk.commit()
    assert [job.key for job in desk.sender.jobs] == [slow.key]
    fresh = desk.message()
    desk.notifier._next.append(delivered(stuck, START))
    desk.owe(fresh)
    desk.gathering.take()
    desk.clock.pass_ms(KEEP_MS - 499)
    facts = desk.begin(spill=True)
    assert facts.marks[CALLBACK] >= stuck.key
    assert {retry.key: retry.claimed for retry in facts.callback_retries} == {slow.key: True, stuck.key: True}
    desk.notifier.committed()
    assert [job.key for job in desk.sender.jobs] == [slow.key, stuck.key, fresh.key]


def test_the_mark_never_passes_the_last_key_however_far_the_clock_jumps(desk: Desk) -> None:
    one = desk.message()
    desk.clock.ms += HOUR_MS
    assert desk.commit(spill=True, last_key=one.key).marks == {CALLBACK: one.key}
    desk.clock.ms -= HOUR_MS
    assert desk.commit(spill=True, last_key=one.key).marks == {}


async def test_what_the_rows_owe_is_sent_byte_for_byte(desk: Desk) -> None:
    one = desk.message()
    store = OwingStore(owed(one, attempts=2, body=b'{"id":"1"}'))
    assert not await desk.notifier.take_up(store.notices, 1)
    (job,) = desk.sender.jobs
    assert (job.body, job.content_type) == (b'{"id":"1"}', "application/json")
    desk.sender.end(one.key, 500)
    assert desk.commit().callback_retries[0].attempts == 3


async def test_a_callback_in_the_air_is_not_sent_beside_itself(desk: Desk) -> None:
    one = desk.in_the_air()
    await desk.notifier.take_up(OwingStore(owed(one)).notices, 1)
    assert len(desk.sender.jobs) == 1


async def test_a_notice_is_tried_once_if_its_row_is_claimed_during_its_commit(desk: Desk) -> None:
    """Another node ended the message too, and its commit wrote the row."""
    message, room = desk.message(), desk.notifier.room
    desk.owe(message)
    desk.begin()
    await desk.notifier.take_up(OwingStore(owed(message)).notices, 1)
    desk.notifier.committed()
    assert len(desk.sender.jobs) == 1
    desk.sender.end(message.key, 200)
    assert desk.notifier.room == room


@pytest.mark.parametrize("broken", [True, False])
async def test_what_is_claimed_is_not_left_lying_when_its_account_cannot_be_read(desk: Desk, broken: bool) -> None:
    desk.book.broken = broken
    stranger, one = desk.message(account=2), desk.message()
    await desk.notifier.take_up(OwingStore(owed(stranger), owed(one)).notices, 1)
    assert desk.book.learnt == [2]
    assert [job.key for job in desk.sender.jobs] == [one.key]
    (retry,) = desk.commit().callback_retries
    assert (retry.key, retry.due) == (stranger.key, START + UNREADABLE_PAUSE_MS)


async def test_no_more_is_claimed_than_there_is_room_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier, "IN_THE_AIR", 6)
    store = OwingStore(*(owed(desk.message()) for _ in range(5)))
    assert await desk.notifier.take_up(store.notices, 1)
    assert (len(desk.sender.jobs), len(store.owed)) == (2, 3)
    assert not await desk.notifier.take_up(store.notices, 1)
    assert len(store.owed) == 3


# --- several accounts


async def test_an_account_with_a_backlog_leaves_room_for_others(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier, "IN_THE_AIR", 90)
    desk.book.accounts[2] = desk.book.accounts[1]
    desk.book.accounts[3] = desk.book.accounts[1]
    backlog = [owed(desk.message()) for _ in range(200)]
    store = OwingStore(*backlog)
    while await desk.notifier.take_up(store.notices, 1):
        pass
    assert desk.notifier.in_the_air == 30, "half of what is left"
    desk.owe(*[desk.message(account=2) for _ in range(50)])
    assert len(desk.commit().callback_retries) == 30
    assert desk.notifier.in_the_air == 50
    late = owed(desk.message(account=3))
    store.owed.append(late)
    await desk.notifier.take_up(store.notices, 1)
    assert desk.sender.jobs[-1].key == late.key
    assert len(store.owed) == 170, "nothing more of the backlog"


async def test_what_is_done_makes_room_for_more_of_its_account(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier, "IN_THE_AIR", 6)
    store = OwingStore(*(owed(desk.message()) for _ in range(5)))
    while await desk.notifier.take_up(store.notices, 1):
        pass
    assert len(store.owed) == 3
    for key, code in zip([job.key for job in desk.sender.jobs], (200, 500), strict=True):
        desk.sender.end(key, code)
    desk.sender.lose()
    assert (desk.notifier.room, desk.notifier._held) == (6, {})
    await desk.notifier.take_up(store.notices, 1)
    assert desk.notifier.in_the_air == 2


async def test_many_accounts_are_looked_at_in_turns(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier, "ACCOUNTS_ASKED", 3)
    for account in range(1, 8):
        desk.book.accounts[account] = desk.book.accounts[1]
    store = OwingStore(*(owed(desk.message(account=account)) for account in range(1, 8)))
    assert await desk.notifier.take_up(store.notices, 1)
    assert len(desk.sender.jobs) == 3
    store.owed.append(owed(desk.message(account=1)))
    assert await desk.notifier.take_up(store.notices, 1)
    assert len(desk.sender.jobs) == 6
    await desk.notifier.take_up(store.notices, 1)
    assert len(desk.sender.jobs) == 7
    await desk.notifier.take_up(store.notices, 1)
    assert not store.owed


async def test_what_a_start_finds_beyond_the_room_of_its_account_goes_to_the_rows(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier, "IN_THE_AIR", 6)
    desk.notifier.resume([owed(desk.message()) for _ in range(5)], rowed=False)
    assert len(desk.sender.jobs) + len(desk.commit().callback_retries) == 5
    assert desk.notifier.in_the_air == 2


def test_a_new_callback_of_an_unknown_account_goes_to_the_rows(desk: Desk) -> None:
    desk.owe(desk.message(account=2))
    desk.commit()
    assert len(desk.commit().callback_retries) == 1
    assert desk.sender.jobs == []


def test_a_callback_that_another_node_would_recover_has_its_row_from_the_start(desk: Desk) -> None:
    mine, theirs = desk.message(), desk.message()
    desk.notifier = desk.make(keeps=lambda key: key == mine.key)
    desk.owe(mine, theirs)
    facts = desk.commit()
    assert [(each.key, each.claimed) for each in facts.callback_retries] == [(theirs.key, False)]
    assert [job.key for job in desk.sender.jobs] == [mine.key]
