"""A second way of notices, made up here: durable until its receiver has them, retried, replayed, on every store."""

from collections.abc import Callable, Sequence
from zoneinfo import ZoneInfo

from heliograph.app.configuration import Account
from heliograph.app.facts import CallbackEnd, Facts, Message, MessageEnd
from heliograph.app.notice import Notice, ReachedState, TriedNotice, notice_of
from heliograph.app.notices.notifier import Notifier
from heliograph.app.ports import Store
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.way import Way
from tests.support.store import HOUR, NODE, START, Given, replay_failed
from tests.support.use_case_fakes import NotedGathering, SetClock

KEPT = 72 * HOUR


class Pigeons:
    """`notice.Deliverer`: a pigeon carries one notice, and an account has few of them, or none."""

    retry_ms = KEPT

    def __init__(self) -> None:
        self.pigeons: dict[int, int] = {}
        self.sent: list[Notice] = []
        self._tell: Callable[[list[TriedNotice]], None] = lambda _: None

    def capacity(self, account: int) -> int:
        return self.pigeons.get(account, 0)

    def reachable(self) -> Sequence[int]:
        return [account for account, number in self.pigeons.items() if number]

    def deliver(self, notices: Sequence[Notice]) -> list[Notice]:
        for notice in notices:
            self.pigeons[notice.account] -= 1
            notice.body = notice.body or f"{notice.subject.state.name} {notice.key}".encode()
        self.sent += notices
        return []

    def on_tried(self, listener: Callable[[list[TriedNotice]], None]) -> None:
        self._tell = listener

    def on_lost(self, listener: Callable[[], None]) -> None:
        """None is ever lost."""

    def back(self, end: CallbackEnd | None, code: int = 0, problem: str = "") -> None:
        """The oldest pigeon comes back, with what the receiver says."""
        notice = self.sent.pop(0)
        self.pigeons[notice.account] += 1
        self._tell([TriedNotice(notice.key, end, code, problem)])


class Loft:
    """One run of a gateway that has pigeons."""

    def __init__(self, store: Store, account: Account, clock: SetClock) -> None:
        self.store, self.account, self.clock = store, account, clock
        self.gathering, self.pigeons = NotedGathering(), Pigeons()
        ways = {Way.BIND: self.pigeons}
        self.notifier = Notifier(self.gathering, clock, ways, self, lambda: 0.5)

    def known(self, account: int) -> tuple[Account, ZoneInfo] | None:
        return (self.account, ZoneInfo("UTC")) if account == self.account.id else None

    async def learn(self, account: int) -> None:
        """There is no other."""

    async def commit(self) -> None:
        self.notifier.prepare()
        await self.store.commits.record(self.gathering.take())
        self.notifier.committed()

    async def end(self, message: Message) -> None:
        """The message reaches its final state."""
        final = MessageEnd(message.account, message.key, Delivery.DELIVRD, "000", self.clock.now(), owed=True)
        self.gathering.facts.finals.append(final)
        self.notifier.owe(notice_of(message, final))
        await self.commit()

    async def take_up(self) -> None:
        await self.notifier.take_up(self.store.notices, NODE)
        await self.commit()


async def wished(given: Given, account: Account) -> Message:
    return await given.sent(account.id, wants_receipt=True, way=Way.BIND)


async def test_a_notice_waits_for_its_receiver_over_restarts(store: Store, given: Given, account: Account) -> None:
    clock = SetClock()
    loft = Loft(store, account, clock)
    messages = [await wished(given, account) for _ in range(3)]
    for message in messages:
        await loft.end(message)
    await loft.commit()
    assert await store.notices.next_due() == START + KEPT
    await loft.take_up()
    assert loft.pigeons.sent == []

    recovery = await store.commits.recover(0, NODE + 1)
    assert recovery.owed == []
    again = Loft(store, account, clock)
    again.pigeons.pigeons = {account.id: 2}
    await again.take_up()
    assert [(each.key, each.way) for each in again.pigeons.sent] == [(each.key, Way.BIND) for each in messages[:2]]
    again.pigeons.back(CallbackEnd.DELIVERED)
    again.pigeons.back(CallbackEnd.DELIVERED)
    await again.take_up()
    assert [each.key for each in again.pigeons.sent] == [messages[2].key]
    again.pigeons.back(CallbackEnd.DELIVERED)
    await again.commit()
    assert await store.notices.next_due() is None
    assert await store.notices.ended(10) == []


async def test_a_notice_on_its_way_is_owed_after_a_crash(store: Store, given: Given, account: Account) -> None:
    clock = SetClock()
    loft = Loft(store, account, clock)
    loft.pigeons.pigeons = {account.id: 1}
    message = await wished(given, account)
    await loft.end(message)
    assert len(loft.pigeons.sent) == 1

    (owed,) = (await store.commits.recover(0, NODE + 1)).owed
    reached = ReachedState(message, Delivery.DELIVRD, "000", clock.now())
    assert (owed.key, owed.way, owed.subject) == (message.key, Way.BIND, reached)


async def test_a_notice_that_was_put_off_is_tried_again_when_it_is_due(
    store: Store, given: Given, account: Account
) -> None:
    clock = SetClock()
    loft = Loft(store, account, clock)
    loft.pigeons.pigeons = {account.id: 1}
    message = await wished(given, account)
    await loft.end(message)
    loft.pigeons.back(None, 0x64, "RX_T_APPN")
    await loft.commit()
    await loft.take_up()
    assert loft.pigeons.sent == []
    (view,) = await store.notices.owed(10)
    assert (view.attempts, view.problem, view.due) == (1, "RX_T_APPN", START + 5_000)
    clock.ms += 5_000
    await loft.take_up()
    assert [(each.key, each.body) for each in loft.pigeons.sent] == [(message.key, f"DELIVRD {message.key}".encode())]


async def test_a_notice_that_nobody_could_deliver_is_replayed(store: Store, given: Given, account: Account) -> None:
    clock = SetClock()
    loft = Loft(store, account, clock)
    refused, unreachable = await wished(given, account), await wished(given, account)
    loft.pigeons.pigeons = {account.id: 1}
    await loft.end(refused)
    await loft.end(unreachable)
    loft.pigeons.back(CallbackEnd.FAILED, 0x45, "no such receiver")
    loft.pigeons.pigeons.clear()
    await loft.commit()
    clock.ms += KEPT
    await loft.take_up()
    ends = {view.key: (view.end, view.code) for view in await store.notices.ended(10)}
    assert ends == {refused.key: (CallbackEnd.FAILED, 0x45), unreachable.key: (CallbackEnd.FAILED, 0)}

    assert await replay_failed(store, clock.now(), account.id) == 2
    loft.pigeons.pigeons = {account.id: 5}
    await loft.take_up()
    assert [each.key for each in loft.pigeons.sent] == [refused.key, unreachable.key]
    loft.pigeons.back(CallbackEnd.DELIVERED)
    loft.pigeons.back(CallbackEnd.DELIVERED)
    await loft.commit()
    assert await store.notices.ended(10) == []
    assert await store.notices.next_due() is None


async def test_the_callbacks_of_an_account_do_not_go_with_its_parked_notices(
    store: Store, given: Given, account: Account
) -> None:
    webhook = await given.sent(account.id, wants_receipt=True, callback_url="https://customer.example/r")
    final = MessageEnd(account.id, webhook.key, Delivery.DELIVRD, "000", START, owed=True)
    await store.commits.record(Facts(finals=[final]))
    loft = Loft(store, account, SetClock())
    await loft.end(await wished(given, account))
    await loft.commit()
    assert await store.notices.oldest_parked(Way.BIND, [account.id, account.id + 1]) == loft.clock.now()
    assert await store.notices.oldest_parked(Way.BIND, [account.id + 1]) is None
    assert [each.way for each in await store.notices.claim_parked(Way.BIND, 9, NODE, [account.id])] == [Way.BIND]
    assert await store.notices.claim_parked(Way.BIND, 9, NODE, [account.id]) == []
