"""Low balances: an account is told once that its balance fell below its threshold, until a top-up."""

import asyncio
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given as any_of
from hypothesis import settings
from hypothesis import strategies as st

from heliograph.app.configuration import Account
from heliograph.app.facts import (
    LOW_BALANCE,
    Accept,
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    Facts,
    InboundMessage,
    Message,
    MessageEnd,
    Withdrawal,
)
from heliograph.app.notice import LowBalance, Notice
from heliograph.app.ports import Store
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.way import Way
from tests.contracts.conftest import STORES
from tests.support.store import CREDIT, HOUR, NODE, START, Given, Opener, replay_failed

URL = "https://customer.example/hook"


async def opened(given: Given) -> Account:
    """An account with 10 credits that is told below 5."""
    return await given.account("low", 10 * CREDIT, low_balance=5 * CREDIT, callback_url=URL)


async def owed(given: Given) -> list[Notice]:
    """Claims the notices that are owed."""
    return await given.store.notices.claim(100, given.now + HOUR, NODE)


async def lows(given: Given) -> list[tuple[int, int]]:
    """Claims the notices of low balances; returns balance and threshold of each, in credits."""
    return [(each.subject.balance // CREDIT, each.subject.threshold // CREDIT) for each in await owed(given)]


async def test_the_charge_that_falls_below_the_threshold_owes_a_notice(store: Store, given: Given) -> None:
    account = await opened(given)
    await given.sent(account.id, price=5 * CREDIT)
    assert await store.notices.next_due() is None
    given.now += 7
    await given.sent(account.id, price=1)
    assert await store.notices.next_due() == given.now
    assert await store.notices.accounts(-1, 10) == [(account.id, given.now)]
    (notice,) = await owed(given)
    low = notice.subject
    assert low == LowBalance(low.id, account.id, 5 * CREDIT - 1, 5 * CREDIT, given.now)
    assert (notice.key, notice.way, notice.first, notice.body) == (LOW_BALANCE - low.id, Way.WEBHOOK, given.now, b"")
    assert await owed(given) == []
    await given.sent(account.id, price=CREDIT)
    assert await owed(given) == []


async def test_only_a_top_up_to_the_threshold_lets_it_be_told_again(store: Store, given: Given) -> None:
    account = await opened(given)
    message = await given.sent(account.id, price=6 * CREDIT)
    assert await lows(given) == [(4, 5)]
    end = MessageEnd(account.id, message.key, Delivery.REJECTD, "", given.now, False, failed=True, refund=6 * CREDIT)
    await store.commits.record(Facts(finals=[end]))
    await given.sent(account.id, price=6 * CREDIT)
    assert await lows(given) == []
    await store.accounts.add_credit(account.id, CREDIT - 1, "", given.now)
    await given.sent(account.id, price=1)
    assert await lows(given) == []
    await store.accounts.add_credit(account.id, 2, "", given.now)
    assert await store.customers.balance(account.id) == 5 * CREDIT
    await given.sent(account.id, price=1)
    assert await lows(given) == [(4, 5)]


async def test_a_correction_by_hand_is_told(store: Store, given: Given) -> None:
    account = await opened(given)
    await store.accounts.add_credit(account.id, -6 * CREDIT, "correction", given.now)
    assert await lows(given) == [(4, 5)]


async def test_a_message_from_a_phone_is_told(store: Store, given: Given) -> None:
    account = await opened(given)
    came = InboundMessage(
        account.id, 1, "491701234567", "3388", "Hi", b"Hi", 0, given.now, price=6 * CREDIT, key=given.key(), tail=1
    )
    await store.commits.record(Facts(inbound=[came]))
    assert await lows(given) == [(4, 5)]


async def test_a_batch_and_a_request_with_a_reference_are_told(store: Store, given: Given) -> None:
    account = await opened(given)
    batch = given.batch(account.id, 3, price=2 * CREDIT)
    await store.commits.record(Facts(accepts=[batch]))
    assert await lows(given) == [(4, 5)]
    await store.accounts.add_credit(account.id, 2 * CREDIT, "", given.now)
    accept = given.accept(given.message(account.id, price=3 * CREDIT, reference="order-7"), fingerprint=b"x")
    await store.commits.record(Facts(accepts=[accept]))
    assert await lows(given) == [(3, 5)]


async def test_a_charge_and_its_refund_in_one_commit_are_no_fall(store: Store, given: Given) -> None:
    account = await opened(given)
    before = await given.sent(account.id, price=5 * CREDIT)
    charge = given.accept(given.message(account.id, price=2 * CREDIT))
    end = MessageEnd(account.id, before.key, Delivery.REJECTD, "", given.now, False, failed=True, refund=5 * CREDIT)
    await store.commits.record(Facts(accepts=[charge], finals=[end]))
    assert await store.customers.balance(account.id) == 8 * CREDIT
    assert await owed(given) == []


async def test_an_account_without_a_threshold_or_a_url_is_not_told(store: Store, given: Given) -> None:
    plain = await given.account("plain", 10 * CREDIT, callback_url=URL)
    silent = await given.account("silent", 10 * CREDIT, low_balance=5 * CREDIT)
    for account in (plain, silent):
        await given.sent(account.id, price=9 * CREDIT)
        assert await owed(given) == []
    await store.accounts.update(silent.id, {"callback_url": URL})
    await given.sent(silent.id, price=CREDIT)
    assert await owed(given) == []
    assert await store.upkeep.audit() == []


async def test_an_account_may_be_told_of_a_debt(store: Store, given: Given) -> None:
    account = await given.account("low", 0, credit_limit=9 * CREDIT, low_balance=-5 * CREDIT, callback_url=URL)
    await given.sent(account.id, price=6 * CREDIT)
    assert await lows(given) == [(-6, -5)]


async def test_another_threshold_is_told_only_if_the_balance_falls(store: Store, given: Given) -> None:
    account = await opened(given)
    await store.accounts.update(account.id, {"low_balance": 20 * CREDIT})
    await given.sent(account.id, price=CREDIT)
    assert await owed(given) == []
    await store.accounts.update(account.id, {"low_balance": 9 * CREDIT})
    await store.accounts.update(account.id, {"low_balance": 9 * CREDIT, "callback_format": "json"})
    await given.sent(account.id, price=CREDIT)
    assert await lows(given) == [(8, 9)]
    await store.accounts.update(account.id, {"low_balance": 9 * CREDIT, "callback_format": "form"})
    await given.sent(account.id, price=CREDIT)
    assert await owed(given) == []
    await store.accounts.update(account.id, {"low_balance": None})
    await given.sent(account.id, price=CREDIT)
    assert await owed(given) == []


async def test_a_notice_outlives_a_restart_and_is_owed_until_it_ends(opener: Opener, given: Given) -> None:
    account = await opened(given)
    await given.sent(account.id, price=6 * CREDIT)
    (notice,) = await owed(given)
    retry = CallbackRetry(account.id, notice.key, START + 9, 1, b"{}", "timed out", notice.first)
    await given.store.commits.record(Facts(callback_retries=[retry]))
    given.store = store = await opener()
    (again,) = await owed(given)
    assert (again.subject, again.attempts, again.body, again.first) == (notice.subject, 1, b"{}", notice.first)
    done = CallbackDone(account.id, notice.key, CallbackEnd.DELIVERED, 200, 2, given.now)
    await store.commits.record(Facts(callbacks=[done]))
    await store.queue.release(NODE)
    assert await owed(given) == []
    assert await store.notices.next_due() is None
    await store.close()


async def test_administrators_see_it_among_the_callbacks(store: Store, given: Given) -> None:
    account = await opened(given)
    await given.sent(account.id, price=6 * CREDIT)
    (view,) = await store.notices.owed(10)
    assert (view.message_id, view.account, view.url, view.attempts) == (None, account.id, URL, 0)
    assert await store.notices.drop([view.key], given.now) == 1
    (view,) = await store.notices.ended(10)
    assert (view.message_id, view.account, view.url, view.end) == (None, account.id, URL, CallbackEnd.FAILED)
    assert await replay_failed(store, given.now, account.id + 1) == 0
    assert await replay_failed(store, given.now, account.id) == 1
    assert await lows(given) == [(4, 5)]
    assert await store.upkeep.audit() == []


# --- any sequence of changes

THRESHOLDS = st.one_of(st.none(), st.integers(-4, 6))
FACTS = st.tuples(
    st.sampled_from(["single", "single", "named", "batch", "inbound", "fail", "withdraw"]), st.integers(0, 4)
)
STEPS = st.one_of(
    st.lists(FACTS, min_size=1, max_size=4),
    st.integers(-5, 8).filter(bool),
    st.tuples(THRESHOLDS),
)


class Model:
    """The balance and its notices over time."""

    def __init__(self, balance: int, threshold: int | None) -> None:
        self.balance = balance
        self.set_threshold(threshold)
        self.told: list[tuple[int, int]] = []

    def set_threshold(self, threshold: int | None) -> None:
        self.threshold = threshold
        self.armed = threshold is not None and self.balance >= threshold

    def change(self, amount: int, *, is_top_up: bool = False) -> None:
        self.balance += amount
        if self.threshold is None:
            return
        if is_top_up and amount > 0:
            self.armed = self.balance >= self.threshold
        if self.armed and self.balance < self.threshold:
            self.armed = False
            self.told.append((self.balance, self.threshold))


@pytest.mark.parametrize("kind", STORES)
def test_every_fall_is_told_once(kind: str, tmp_path: Path) -> None:
    numbers = count()
    with asyncio.Runner() as runner:
        store = runner.run(STORES[kind](tmp_path)())
        given = Given(store)

        @settings(max_examples=20, deadline=None)
        @any_of(st.integers(0, 6), THRESHOLDS, st.lists(STEPS, max_size=8))
        def told(
            credit: int, threshold: int | None, steps: list[list[tuple[str, int]] | int | tuple[int | None]]
        ) -> None:
            runner.run(_told(given, f"account-{next(numbers)}", credit, threshold, steps))

        told()
        assert runner.run(store.upkeep.audit()) == []
        runner.run(store.close())


async def _told(
    given: Given,
    name: str,
    credit: int,
    threshold: int | None,
    steps: list[list[tuple[str, int]] | int | tuple[int | None]],
) -> None:
    store = given.store
    account = await given.account(name, credit, credit_limit=1_000, low_balance=threshold, callback_url=URL)
    other = await given.account(f"{name}-other", 1_000, low_balance=0, callback_url=URL)
    model, charged = Model(credit, threshold), list[Message]()
    for step in steps:
        given.now += 1
        if isinstance(step, int):
            await store.accounts.add_credit(account.id, step, "", given.now)
            model.change(step, is_top_up=True)
        elif isinstance(step, tuple):
            await store.accounts.update(account.id, {"low_balance": step[0]})
            if step[0] != model.threshold:
                model.set_threshold(step[0])
        else:
            facts = Facts(accepts=[given.accept(given.message(other.id, price=1))])
            model.change(_gathered(given, account, facts, charged, step))
            await store.commits.record(facts)
    found = [each.subject for each in await owed(given)]
    assert [(each.balance, each.threshold) for each in sorted(found, key=lambda each: each.id)] == model.told
    assert {each.account for each in found} <= {account.id}
    assert await store.customers.balance(account.id) == model.balance


def _gathered(given: Given, account: Account, facts: Facts, charged: list[Message], step: list[tuple[str, int]]) -> int:
    """Adds facts of a commit; returns the sum that they change the balance by."""
    change, fresh = 0, list[Message]()
    for kind, price in step:
        if kind in ("fail", "withdraw"):
            if charged:
                message = charged.pop()
                change += message.price
                if kind == "fail":
                    facts.finals.append(
                        MessageEnd(account.id, message.key, Delivery.REJECTD, "", given.now, False, True, message.price)
                    )
                else:
                    facts.withdrawals.append(Withdrawal(account.id, message.key, message.price, given.now))
        elif kind == "inbound":
            came = InboundMessage(
                account.id, 1, "491701234567", "3388", "Hi", b"Hi", 0, given.now, price=price, key=given.key(), tail=1
            )
            facts.inbound.append(came)
            change -= price
        else:
            accept = _accept(given, account, kind, price)
            facts.accepts.append(accept)
            change -= accept.total
            fresh += accept.messages
    charged += fresh
    return change


def _accept(given: Given, account: Account, kind: str, price: int) -> Accept:
    if kind == "batch":
        return given.batch(account.id, 2, price=price)
    if kind == "named":
        key = given.key()
        message = given.message(account.id, price=price, key=key, reference=f"order-{key}")
        return given.accept(message, fingerprint=b"x")
    return given.accept(given.message(account.id, price=price))
