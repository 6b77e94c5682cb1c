"""The keeper of retention: whose data are how old, in how large steps, and what is said of it."""

import asyncio
from dataclasses import replace

from heliograph.app.configuration import Account
from heliograph.app.facts import CallbackDone, CallbackEnd, Facts, InboundMessage, Message, MessageEnd, Submission
from heliograph.app.observing.counters import RetentionCounters
from heliograph.app.ports import Store
from heliograph.app.ports.sending_lists import SendingList
from heliograph.domain.calendar import DAY_MS
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.retention import RetentionDays, Stage
from heliograph.runtime.outage import Outage
from heliograph.runtime.retention import (
    LEAST,
    MOST,
    PASS_S,
    PAUSE_S,
    QUIET_S,
    RETRY_PASSES,
    SHARE,
    TARGET_S,
    RetentionKeeper,
    TransactionSize,
)
from tests.support.carrier_rig import NotedJournal
from tests.support.memory_store import MemoryStore
from tests.support.store import CREDIT, NODE, START, Given
from tests.support.virtual_time import VirtualClock, run

DAY = DAY_MS


class Rig:
    """A store with an account, and the keeper that looks after it; its clock begins ten days after the messages."""

    def __init__(self, kept: RetentionDays) -> None:
        self.store: Store = MemoryStore()
        self.given = Given(self.store)
        self.clock = VirtualClock(START + 10 * DAY)
        self.counters = RetentionCounters()
        self.journal = NotedJournal()
        self.keeper = RetentionKeeper(
            self.store, kept, self.clock, self.journal, Outage(self.clock, self.journal), self.counters
        )

    async def sent(self, account: Account, *, settled: bool = True, days: int = 0) -> Message:
        self.given.now = START + days * DAY
        message = await self.given.sent(account.id)
        if settled:
            await self.answer(message, self.given.now)
        return message

    async def answer(self, message: Message, at: int) -> None:
        """Records that an operator took the message."""
        answer = Submission(message.account, message.key, 0, 1, "x", 0, at)
        await self.store.commits.record(Facts(submissions=[answer]))

    async def found(self, message: Message) -> tuple[str, str] | None:
        found = await self.store.customers.message(message.account, message.key, message.tail)
        return None if found is None else (found.content, found.destination)


def test_each_account_goes_by_its_own_days() -> None:
    async def work() -> None:
        rig = Rig(RetentionDays(5, 20, 0))
        plain = await rig.given.account("plain")
        strict = await rig.given.account("strict", retain_number_days=9.5, retain_days=9.8)
        lax = await rig.given.account("lax", retain_text_days=0.0)
        messages = [await rig.sent(account) for account in (plain, strict, lax)]
        young = await rig.sent(plain, days=6)
        numbered = replace(strict, retain_days=0.0)
        await rig.store.accounts.update(strict.id, {"retain_days": numbered.retain_days})
        await rig.keeper.look_through()
        assert [await rig.found(each) for each in (*messages, young)] == [
            ("", "4917012345678"), ("", ""), ("Guten Tag", "4917012345678"), ("Guten Tag", "4917012345678")
        ]  # fmt: skip
        await rig.store.accounts.update(strict.id, {"retain_days": 9.8})
        await rig.keeper.look_through()
        assert await rig.found(messages[1]) is None
        assert (rig.counters.done[Stage.TEXT], rig.counters.done[Stage.NUMBER], rig.counters.done[Stage.ROW]) == (
            2,
            1,
            1,
        )
        assert [said for _, said, _ in rig.journal.lines] == ["retention.done"] * 2

    run(work())


def test_lists_and_notices_of_balances_go_by_the_days_of_messages() -> None:
    async def work() -> None:
        rig = Rig(RetentionDays(0, 0, 5))
        kept = await rig.given.account("kept", retain_days=0.0)
        gone = await rig.given.account("gone", low_balance=100 * CREDIT, callback_url="https://customer.example/hook")
        lists = [SendingList(0, each.id, "Sale", "user:ada", START, 1, reported=START) for each in (kept, gone)]
        numbers = [await rig.store.sending_lists.add(each) for each in lists]
        await rig.sent(gone)
        (notice,) = await rig.store.notices.claim(9, START, NODE)
        done = CallbackDone(gone.id, notice.key, CallbackEnd.FAILED, 0, 1, START)
        await rig.store.commits.record(Facts(callbacks=[done]))
        await rig.keeper.look_through()
        assert [await rig.store.sending_lists.find(each) is None for each in numbers] == [False, True]
        assert await rig.store.notices.ended(9) == []

    run(work())


def test_nothing_is_done_and_said_where_everything_is_kept() -> None:
    async def work() -> None:
        rig = Rig(RetentionDays())
        message = await rig.sent(await rig.given.account())
        await rig.keeper.look_through()
        assert await rig.found(message) == ("Guten Tag", "4917012345678")
        assert rig.journal.lines == []

    run(work())


def test_unrouted_messages_go_by_the_gateways_days() -> None:
    async def work() -> None:
        rig = Rig(RetentionDays(5, 5, 0))
        message = InboundMessage(0, 1, "447700900123", "3388", "hi", b"hi", 0, START, key=rig.given.key(), tail=1)
        await rig.store.commits.record(Facts(inbound=[message]))
        await rig.keeper.look_through()
        found = await rig.store.inbound.show(message.key, 1)
        assert found is not None
        assert (found.message.content, found.message.sender) == ("", "")

    run(work())


def test_what_was_owed_is_looked_at_again_while_its_days_stand() -> None:
    async def work() -> None:
        rig = Rig(RetentionDays(5, 0, 0))
        account = await rig.given.account()
        message = await rig.sent(account, settled=False)
        await rig.keeper.look_through()
        assert rig.counters.left[Stage.TEXT] == 1
        await rig.store.commits.record(
            Facts(finals=[MessageEnd(account.id, message.key, Delivery.DELIVRD, "", START, owed=False)])
        )
        await rig.keeper.look_through()
        assert await rig.found(message) == ("Guten Tag", "4917012345678")
        await rig.store.accounts.update(account.id, {"retain_text_days": 0.0})
        for _ in range(RETRY_PASSES):
            await rig.keeper.look_through()
        assert await rig.found(message) == ("Guten Tag", "4917012345678")
        await rig.store.accounts.update(account.id, {"retain_text_days": None})
        for _ in range(RETRY_PASSES):
            await rig.keeper.look_through()
        assert await rig.found(message) == ("", "4917012345678")

    run(work())


def test_a_row_goes_only_after_a_quiet_while() -> None:
    async def work() -> None:
        rig = Rig(RetentionDays(0, 0, 5))
        account = await rig.given.account()
        message = await rig.sent(account, settled=False)
        await rig.answer(message, rig.clock.now())
        task = asyncio.create_task(rig.keeper.run())
        await asyncio.sleep(QUIET_S - 1)
        assert await rig.found(message) is not None
        await asyncio.sleep(PASS_S * (RETRY_PASSES + 1))
        task.cancel()
        assert await rig.found(message) is None

    run(work())


def test_after_an_outage_a_row_waits_for_commits_from_before_it() -> None:
    async def work() -> None:
        rig = Rig(RetentionDays(0, 0, 5))
        account = await rig.given.account()
        message = await rig.sent(account, settled=False)
        await rig.answer(message, rig.clock.now())
        rig.store.broken = True  # type: ignore[attr-defined]
        task = asyncio.create_task(rig.keeper.run())
        await asyncio.sleep(QUIET_S * 3)
        rig.store.broken = False  # type: ignore[attr-defined]
        await asyncio.sleep(QUIET_S - PASS_S)
        assert await rig.found(message) is not None
        assert rig.counters.left[Stage.ROW] == 1
        await asyncio.sleep(PASS_S * (RETRY_PASSES + 1))
        task.cancel()
        assert await rig.found(message) is None

    run(work())


def test_a_store_that_is_away_is_said_and_waited_for() -> None:
    async def work() -> None:
        rig = Rig(RetentionDays(5, 0, 0))
        message = await rig.sent(await rig.given.account())
        rig.store.broken = True  # type: ignore[attr-defined]
        task = asyncio.create_task(rig.keeper.run())
        await asyncio.sleep(PASS_S * 1.5)
        rig.store.broken = False  # type: ignore[attr-defined]
        await asyncio.sleep(PASS_S)
        task.cancel()
        assert await rig.found(message) == ("", "4917012345678")

    run(work())


def test_transactions_find_their_size_and_leave_time_to_others() -> None:
    size = TransactionSize()
    assert size.learn(0.0) == PAUSE_S
    assert size.learn(TARGET_S) >= TARGET_S * (1 / SHARE - 1) - 1e-9
    for _ in range(10):
        size.learn(TARGET_S / 10)
    assert size.messages == MOST
    for _ in range(10):
        size.learn(1.0)
    assert size.messages == LEAST
