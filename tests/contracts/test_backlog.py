"""Waiting messages as administrators see and change them."""

from typing import Any

import pytest

from heliograph.app.configuration import Account
from heliograph.app.facts import NO_ANSWER, Attempt, Facts, Queueing, Submission, Withdrawal
from heliograph.app.ports import Store
from heliograph.app.ports.backlog import (
    OrderAnswer,
    QueueAction,
    QueueFilter,
    QueueOrder,
    WaitingGroup,
    WaitingRow,
)
from heliograph.app.records import Search
from heliograph.domain.calendar import DAY_MS
from heliograph.domain.limits.gate import OF_ADMINISTRATOR, OF_SUSPENDED, Holder
from heliograph.domain.message.state import State
from heliograph.domain.message.status import MessageStatus
from tests.contracts.test_guard import RANGE, hold_of
from tests.support.store import CREDIT, HOUR, NODE, START, Given

PHONE = "4917012345678"
EVER = 1 << 62


async def queued(given: Given, account: Account, *, attempted: bool = False, **fields: Any) -> int:
    """Returns the key of a message in the queue. `held` and `due` are of its row."""
    row = {name: fields.pop(name, None) for name in ("held", "due")}
    message = given.message(account.id, **{"destination": PHONE, "queued": True} | fields)
    await given.recorded(given.accept(message))
    due = row["due"] or message.time
    queueing = Queueing(account.id, message.key, message.connector, due, message.expires, attempted, False, row["held"])
    await given.store.commits.record(Facts(queueings=[queueing]))
    return message.key


async def due(store: Store, connector: int = 1) -> list[int]:
    return [queued.message.key for queued in await store.queue.claim(connector, 100, START + HOUR, NODE)]


async def rows(store: Store) -> dict[int, WaitingRow]:
    return {row.key: row for row in await store.backlog.rows(0, 100)}


async def test_waiting_messages_are_counted_by_stretches(store: Store, given: Given, account: Account) -> None:
    keys = [await queued(given, account, network="26201") for _ in range(3)]
    await queued(given, account, destination="447700900123", connector=2, time=START - HOUR)
    later = await given.scheduled(account.id, destination=PHONE)
    await store.backlog.change(QueueAction.HOLD, keys[:1], START)
    groups, after = await store.backlog.groups(0, START, 10)
    assert after is None
    assert sorted(groups, key=lambda group: group.connector) == [
        WaitingGroup(1, account.id, "4917", "26201", 3, 1, 1, START, 3 * CREDIT),
        WaitingGroup(2, account.id, "4477", "", 1, 0, 0, START - HOUR, CREDIT),
    ]
    first, after = await store.backlog.groups(0, START, 2)
    assert ([each.messages for each in first], after) == ([2], keys[1])
    assert [row.key for row in await store.backlog.rows(keys[1], 2)] == [keys[2], keys[2] + 32]
    assert (await rows(store))[later.key].time == later.time
    assert (await rows(store))[keys[0]].network == "26201"
    assert await store.backlog.groups(later.key, START, 10) == ([], None)


async def test_a_move_gives_another_connector_and_makes_put_off_messages_due(
    store: Store, given: Given, account: Account
) -> None:
    plain, deferred = await queued(given, account), await queued(given, account, due=START + 2 * HOUR)
    assert await store.backlog.change(QueueAction.MOVE, [plain, deferred], START, 2) == 2
    assert await due(store) == []
    assert await due(store, 2) == [plain, deferred]


async def test_a_hold_stands_beside_other_reasons_and_neither_releases_the_other(
    store: Store, given: Given, account: Account
) -> None:
    await store.guard.hold(hold_of(account), 0)
    plain, guarded, of_suspended = [await queued(given, account, held=held) for held in (None, RANGE, OF_SUSPENDED)]
    alone = await queued(given, account, held=RANGE)
    every = [plain, guarded, of_suspended]
    for _ in range(2):
        assert await store.backlog.change(QueueAction.HOLD, every, START) == 3
    assert [row.on_hold for row in (await rows(store)).values()] == [True, True, True, False]
    assert (await store.guard.holds(10))[0].messages == 2
    held = (await store.messages.search(Search(status=MessageStatus.HELD))).hits
    assert [hit.message.key for hit in held] == [alone, of_suspended, guarded, plain]
    counts = (await store.upkeep.counts(START)).held
    assert counts == {Holder.ADMINISTRATOR: 3, Holder.GUARD: 1}
    assert (await store.queue.resume(START, 10), await store.guard.let_go(START, 10)) == (0, 0)
    await store.guard.release(account.id, RANGE, START)
    assert await store.guard.let_go(START, 10) == 1
    assert await due(store) == [alone]
    assert await store.backlog.change(QueueAction.RELEASE, every, START) == 3
    assert await due(store) == [plain, of_suspended]
    assert await store.guard.let_go(START, 10) == 1


async def test_a_released_message_is_due_from_its_release(store: Store, given: Given, account: Account) -> None:
    """Else its connector would count as overloaded, and lose its messages to a dearer one."""
    key = await queued(given, account)
    await store.backlog.change(QueueAction.HOLD, [key], START)
    await store.backlog.change(QueueAction.RELEASE, [key], START + HOUR)
    assert await store.queue.next_due() == {1: START + HOUR}
    (claimed,) = await store.queue.claim(1, 9, START + HOUR, NODE)
    assert claimed.message.released == START + HOUR


async def test_a_message_that_is_released_before_its_time_waits_from_its_time(
    store: Store, given: Given, account: Account
) -> None:
    message = await given.scheduled(account.id)
    await store.backlog.change(QueueAction.HOLD, [message.key], START)
    await store.backlog.change(QueueAction.RELEASE, [message.key], START + 1)
    assert await store.queue.next_due() == {1: message.time}
    (claimed,) = await store.queue.claim(1, 9, message.time, NODE)
    assert (claimed.message.time, claimed.message.released) == (message.time, 0)


async def test_a_guard_refunds_messages_that_an_administrator_holds_too(
    store: Store, given: Given, account: Account
) -> None:
    await store.guard.hold(hold_of(account), 0)
    both, plain = await queued(given, account, held=RANGE), await queued(given, account)
    await store.backlog.change(QueueAction.HOLD, [both, plain], START)
    traces = [await store.messages.trace(key) for key in (both, plain)]
    assert [each.held for each in traces if each] == [OF_ADMINISTRATOR + RANGE, OF_ADMINISTRATOR]
    assert await store.guard.refund(account.id, RANGE, START, 10) == 1
    assert list(await rows(store)) == [plain]


async def test_a_cancellation_refunds_once(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other")
    keys = [await queued(given, owner) for owner in (account, other, account)]
    assert await store.backlog.change(QueueAction.CANCEL, keys, START) == 3
    assert await store.backlog.change(QueueAction.CANCEL, keys, START) == 0
    assert await store.customers.balance(account.id) == 100 * CREDIT
    assert await store.customers.balance(other.id) == 100 * CREDIT
    trace = await store.messages.trace(keys[0])
    assert trace is not None
    assert (trace.message.state, trace.entries[-1].note) == (State.CANCELLED, "cancelled in the queue")
    assert await store.upkeep.audit() == []


@pytest.mark.parametrize("action", QueueAction)
async def test_a_message_of_which_a_part_may_have_left_stays(
    store: Store, given: Given, account: Account, action: QueueAction
) -> None:
    attempted = await queued(given, account, attempted=True)
    taken = await queued(given, account, segments=2)
    undelivered, unanswered = await queued(given, account), await queued(given, account)
    claimed = await queued(given, account, connector=2)
    submissions = [Submission(account.id, taken, 0, 1, "a", 0, START)]
    attempts = [
        Attempt(account.id, undelivered, 0, 1, 0, START),
        Attempt(account.id, unanswered, 0, 1, NO_ANSWER, START),
    ]
    await store.commits.record(Facts(submissions=submissions, attempts=attempts))
    assert await due(store, 2) == [claimed]
    before = await rows(store)
    assert await store.backlog.change(action, [attempted, taken, undelivered, unanswered, claimed], START, 3) == 0
    assert await rows(store) == before
    assert before[attempted].attempted
    assert before[claimed].is_claimed


async def test_an_order_reaches_each_node_and_has_its_answers(store: Store) -> None:
    wanted = QueueFilter(START, EVER, connector=1, country="DE")
    first = await store.backlog.order(QueueOrder(QueueAction.MOVE, wanted, 2), START)
    second = await store.backlog.order(QueueOrder(QueueAction.HOLD, QueueFilter(START, EVER)), START)
    assert await store.backlog.orders(0) == [
        QueueOrder(QueueAction.MOVE, wanted, 2, first),
        QueueOrder(QueueAction.HOLD, QueueFilter(START, EVER), 0, second),
    ]
    assert [order.id for order in await store.backlog.orders(first)] == [second]
    for _ in range(2):
        await store.backlog.answer(first, NODE, OrderAnswer(3, 1))
    assert await store.backlog.answers(first) == {NODE: OrderAnswer(3, 1)}
    third = await store.backlog.order(QueueOrder(QueueAction.HOLD, wanted), START + 8 * DAY_MS)
    assert [order.id for order in await store.backlog.orders(0)] == [third]
    assert await store.backlog.answers(first) == {}


async def test_a_withdrawal_says_in_the_ledger_why(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id)
    facts = Facts(withdrawals=[Withdrawal(account.id, message.key, CREDIT, START, "cancelled in the queue")])
    await store.commits.record(facts)
    trace = await store.messages.trace(message.key)
    assert trace is not None
    assert trace.entries[-1].note == "cancelled in the queue"
