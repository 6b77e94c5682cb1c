"""What customers read."""

import asyncio

import pytest

from heliograph.app.configuration import Account
from heliograph.app.facts import (
    MOST_MOVES,
    Attempt,
    CallbackDone,
    CallbackEnd,
    Facts,
    Message,
    MessageEnd,
    PartReceipt,
    Submission,
)
from heliograph.app.ports import ListQuery, Store
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from tests.support.store import CREDIT, HOUR, SECOND, START, Given, Opener, delivery_of, history_of

# --- one message, one batch


async def test_a_message_is_its_accounts_alone(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other")
    message = await given.sent(account.id)
    assert await store.customers.message(account.id, message.key, message.tail) == message
    assert await store.customers.message(other.id, message.key, message.tail) is None
    assert await store.customers.message(account.id, message.key, message.tail ^ 1) is None
    assert await store.customers.message(account.id, message.key + 1, message.tail) is None


async def test_a_batch_is_read_in_slices(store: Store, given: Given, account: Account) -> None:
    accept = given.batch(account.id, 5, reference="r")
    await given.recorded(given.accept(given.message(account.id)), accept, given.accept(given.message(account.id)))
    found = await store.customers.batch(account.id, accept.key, accept.tail, 1, 3)
    assert found is not None
    assert (found.key, found.tail, found.reference) == (accept.key, accept.tail, "r")
    assert found.messages == accept.messages[1:4]
    rest = await store.customers.batch(account.id, accept.key, accept.tail, 5, 3)
    assert rest is not None
    assert rest.messages == []


async def test_a_batch_is_its_accounts_alone(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other")
    accept = given.batch(account.id, 2)
    await given.recorded(accept)
    assert await store.customers.batch(other.id, accept.key, accept.tail, 0, 10) is None
    assert await store.customers.batch(account.id, accept.key, accept.tail ^ 1, 0, 10) is None
    message = accept.messages[0]
    assert await store.customers.batch(account.id, message.key, message.tail, 0, 10) is None
    assert await store.customers.message(account.id, accept.key, accept.tail) is None


async def test_an_id_without_a_tail_is_that_of_a_message_or_a_batch(
    store: Store, given: Given, account: Account
) -> None:
    other = await given.account("other")
    accept = given.batch(account.id, 2)
    await given.recorded(accept)
    assert await store.customers.tail(account.id, accept.key) == accept.tail
    assert await store.customers.tail(account.id, accept.messages[1].key) == accept.messages[1].tail
    assert await store.customers.tail(other.id, accept.key) is None
    assert await store.customers.tail(account.id, accept.messages[1].key + 1) is None


async def test_a_batch_shows_cancelled_messages(store: Store, given: Given, account: Account) -> None:
    accept = given.batch(account.id, 3, state=State.SCHEDULED, time=START + HOUR)
    await given.recorded(accept)
    gone = accept.messages[1]
    await store.customers.cancel(account.id, gone.key, gone.tail, START)
    found = await store.customers.batch(account.id, accept.key, accept.tail, 0, 10)
    assert found is not None
    assert [message.state for message in found.messages] == [State.SCHEDULED, State.CANCELLED, State.SCHEDULED]


async def test_batches_of_several_nodes_may_interleave(store: Store, given: Given, account: Account) -> None:
    """Keys ascend in each process, and those of two run through each other."""
    first, second = given.batch(account.id, 3), given.batch(account.id, 3)
    for shift, batch in enumerate((first, second)):
        for place, message in enumerate(batch.messages):
            message.key = first.key + 10 + 2 * place + shift
    second.key = first.key + 1
    for message in second.messages:
        message.batch = second.key
    await given.recorded(first, second)
    for batch in (first, second):
        found = await store.customers.batch(account.id, batch.key, batch.tail, 0, 10)
        assert found is not None
        assert found.messages == batch.messages
    assert await store.upkeep.audit() == []


async def test_the_balance_of_nobody_is_nothing(store: Store) -> None:
    assert await store.customers.balance(4_711) == 0


# --- lists


def keys(messages: list[Message]) -> list[int]:
    return [message.key for message in messages]


async def test_a_list_goes_by_time_then_key(store: Store, given: Given, account: Account) -> None:
    times = [START + 5, START, START + 5, START - 5]
    messages = [await given.sent(account.id, time=time) for time in times]
    expected = [messages[3], messages[1], messages[0], messages[2]]
    assert await store.customers.messages(account.id, ListQuery()) == expected
    assert await store.customers.messages(account.id, ListQuery(descending=True)) == expected[::-1]


async def test_pages_put_together_are_the_list(store: Store, given: Given, account: Account) -> None:
    for number in range(25):
        await given.sent(account.id, time=START + number // 3)
        await given.scheduled(account.id, after=number // 2 + 1)
    for pending in (False, True):
        for descending in (False, True):
            whole = await store.customers.messages(
                account.id, ListQuery(limit=100, pending=pending, descending=descending)
            )
            assert len(whole) == (50 if pending else 25)
            pages = [
                await store.customers.messages(
                    account.id, ListQuery(index=index, limit=7, pending=pending, descending=descending)
                )
                for index in range(0, 60, 7)
            ]
            assert [message for page in pages for message in page] == whole


async def test_which_states_are_listed(store: Store, given: Given, account: Account) -> None:
    sent = await given.sent(account.id)
    failed = await given.sent(account.id)
    scheduled = await given.scheduled(account.id)
    cancelled = await given.scheduled(account.id)
    await store.customers.cancel(account.id, cancelled.key, cancelled.tail, START)
    final = MessageEnd(failed.account, failed.key, Delivery.REJECTD, "001", START, False, True, failed.price)
    await store.commits.record(Facts(finals=[final]))
    assert keys(await store.customers.messages(account.id, ListQuery())) == [sent.key, failed.key]
    assert keys(await store.customers.messages(account.id, ListQuery(pending=True))) == [
        sent.key,
        failed.key,
        scheduled.key,
    ]
    await store.queue.claim(1, 10, START + HOUR, 1)
    assert keys(await store.customers.messages(account.id, ListQuery())) == [sent.key, failed.key, scheduled.key]


async def test_start_and_end_compare_the_shown_second(store: Store, given: Given, account: Account) -> None:
    times = [-1, 0, 999, SECOND, 2 * SECOND - 1, 2 * SECOND]
    messages = [await given.sent(account.id, time=START + time) for time in times]
    listed = await store.customers.messages(account.id, ListQuery(start=START, end=START + SECOND))
    assert listed == messages[1:5]
    assert await store.customers.messages(account.id, ListQuery(start=START + SECOND)) == messages[3:]
    assert await store.customers.messages(account.id, ListQuery(end=START)) == messages[:3]
    assert await store.customers.messages(account.id, ListQuery(start=START, end=START)) == messages[1:3]


async def test_a_list_is_its_accounts_alone(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other")
    await given.sent(account.id)
    mine = await given.sent(other.id)
    assert await store.customers.messages(other.id, ListQuery(pending=True)) == [mine]


# --- the interval between lists


async def test_a_list_is_admitted_once_an_interval(store: Store, account: Account) -> None:
    assert await store.customers.admit_list(account.id, START, 10 * SECOND) == 0
    assert await store.customers.admit_list(account.id, START + 1, 10 * SECOND) == 10 * SECOND - 1
    assert await store.customers.admit_list(account.id, START + 10 * SECOND - 1, 10 * SECOND) == 1
    assert await store.customers.admit_list(account.id, START + 10 * SECOND, 10 * SECOND) == 0
    assert await store.customers.admit_list(account.id, START + 10 * SECOND, 10 * SECOND) == 10 * SECOND


async def test_a_list_asked_with_a_clock_a_little_behind_is_not_admitted(store: Store, account: Account) -> None:
    """Of two processes, or of two requests that overtook each other."""
    assert await store.customers.admit_list(account.id, START, 10 * SECOND) == 0
    assert await store.customers.admit_list(account.id, START - 1, 10 * SECOND) == 10 * SECOND + 1
    assert await store.customers.admit_list(account.id, START - 9 * SECOND, 10 * SECOND) == 19 * SECOND
    assert await store.customers.admit_list(account.id, START - 10 * SECOND, 10 * SECOND) == 0


async def test_an_interval_of_nothing_admits_and_remembers(store: Store, account: Account) -> None:
    assert await store.customers.admit_list(account.id, START, 0) == 0
    assert await store.customers.admit_list(account.id, START, 0) == 0
    assert await store.customers.admit_list(account.id, START, 5) == 5


async def test_a_clock_that_went_back_locks_nobody_out(store: Store, account: Account) -> None:
    await store.customers.admit_list(account.id, START + HOUR, 10 * SECOND)
    assert await store.customers.admit_list(account.id, START, 10 * SECOND) == 0


async def test_a_list_that_was_admitted_and_not_answered_does_not_count(store: Store, account: Account) -> None:
    assert await store.customers.admit_list(account.id, START, 10 * SECOND, START - SECOND) == 0
    assert await store.customers.admit_list(account.id, START + 1, 10 * SECOND, START) == 0
    assert await store.customers.admit_list(account.id, START + 2, 10 * SECOND, START) == 10 * SECOND - 1


async def test_each_account_has_its_own_interval(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other")
    await store.customers.admit_list(account.id, START, 10 * SECOND)
    assert await store.customers.admit_list(other.id, START, 10 * SECOND) == 0


async def test_of_many_lists_at_once_one_is_admitted(store: Store, account: Account) -> None:
    waits = await asyncio.gather(*(store.customers.admit_list(account.id, START, 10 * SECOND) for _ in range(20)))
    assert sorted(waits) == [0, *[10 * SECOND] * 19]


async def test_the_interval_survives_a_restart(opener: Opener) -> None:
    store = await opener()
    account = await Given(store).account()
    await store.customers.admit_list(account.id, START, 10 * SECOND)
    await store.close()
    store = await opener()
    try:
        assert await store.customers.admit_list(account.id, START + 4, 10 * SECOND) == 10 * SECOND - 4
    finally:
        await store.close()


# --- history


async def test_the_history_of_a_delivered_message(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id, segments=2, price=70_000, wants_receipt=True)
    key = message.key
    await store.commits.record(
        Facts(
            attempts=[
                Attempt(message.account, key, 0, 1, 88, START + 10),
                Attempt(message.account, key, 1, 1, -1, START + 25),
            ]
        )
    )
    await store.commits.record(
        Facts(
            submissions=[
                Submission(message.account, key, 0, 1, "id-0", 0, START + 20),
                Submission(message.account, key, 1, 1, "id-1", 0, START + 30),
            ]
        )
    )
    await store.commits.record(
        Facts(progress=[PartReceipt(message.account, key, 1, Delivery.ENROUTE, "000", START + 40)])
    )
    await store.commits.record(
        Facts(
            parts=[
                PartReceipt(message.account, key, 1, Delivery.DELIVRD, "000", START + 50),
                PartReceipt(message.account, key, 0, Delivery.DELIVRD, "000", START + 60),
            ],
            finals=[MessageEnd(message.account, key, Delivery.DELIVRD, "000", START + 60, owed=True)],
        )
    )
    await store.commits.record(
        Facts(callbacks=[CallbackDone(message.account, key, CallbackEnd.DELIVERED, 204, 1, START + 70)])
    )
    events = await history_of(store, account.id, key, message.tail)
    assert events is not None
    assert [(event.event, event.segment) for event in events] == [
        ("Accepted", None),
        ("Charged", None),
        ("Deferred", 1),
        ("Submitted", 1),
        ("NoAnswer", 2),
        ("Submitted", 2),
        ("Receipt", 2),
        ("Receipt", 2),
        ("Receipt", 1),
        ("Final", None),
        ("Callback", None),
    ]
    assert [event.at - START for event in events] == [0, 0, 10, 20, 25, 30, 40, 50, 60, 60, 70]
    details = [event.detail for event in events]
    assert details[1] == "0.07"
    assert "id-0" in details[3]
    assert "DELIVRD" in details[9]
    assert "204" in details[10]


async def test_the_history_of_a_cancelled_message(store: Store, given: Given, account: Account) -> None:
    message = await given.scheduled(account.id)
    await store.customers.cancel(account.id, message.key, message.tail, START + 9)
    events = await history_of(store, account.id, message.key, message.tail)
    assert events is not None
    assert [(event.event, event.at - START) for event in events] == [
        ("Accepted", 0),
        ("Charged", 0),
        ("Scheduled", 0),
        ("Cancelled", 9),
        ("Refunded", 9),
    ]
    assert events[4].detail == "1"


async def test_the_history_of_a_message_that_was_rescheduled(store: Store, given: Given, account: Account) -> None:
    """START is 2023-11-14T22:13:20Z."""
    message = await given.scheduled(account.id, HOUR)
    for at, hours in ((9, 3), (20, 5), (20, 2)):
        await store.customers.reschedule(
            account.id, message.key, message.tail, START + hours * HOUR, START + 9 * HOUR, START + at
        )
    events = await history_of(store, account.id, message.key, message.tail)
    assert events is not None
    assert [(event.event, event.at - START, event.detail) for event in events[2:]] == [
        ("Scheduled", 0, "for 2023-11-14T23:13:20Z"),
        ("Rescheduled", 9, "for 2023-11-15T01:13:20Z"),
        ("Rescheduled", 20, "for 2023-11-15T00:13:20Z"),
    ]


async def test_a_history_tells_of_each_message_of_a_batch_that_was_rescheduled(
    store: Store, given: Given, account: Account
) -> None:
    accept = given.batch(account.id, 2, state=State.SCHEDULED, time=START + HOUR)
    await given.recorded(accept)
    first, second = accept.messages
    await store.customers.reschedule(account.id, first.key, first.tail, START + 2 * HOUR, START + 9 * HOUR, START + 1)
    await store.customers.reschedule(account.id, accept.key, accept.tail, START + 3 * HOUR, START + 9 * HOUR, START + 2)
    for message, moves in ((first, [1, 2]), (second, [2])):
        events = await history_of(store, account.id, message.key, message.tail)
        assert events is not None
        assert [event.at - START for event in events if event.event == "Rescheduled"] == moves


async def test_who_reschedules_for_ever_fills_no_disk(store: Store, given: Given, account: Account) -> None:
    message = await given.scheduled(account.id)
    for number in range(MOST_MOVES + 2):
        await store.customers.reschedule(
            account.id, message.key, message.tail, START + HOUR, START + 9 * HOUR, START + number
        )
    events = await history_of(store, account.id, message.key, message.tail)
    assert events is not None
    moves = [event.at - START for event in events if event.event == "Rescheduled"]
    assert moves == list(range(MOST_MOVES))


async def test_the_history_of_a_refused_message(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id)
    final = MessageEnd(message.account, message.key, Delivery.REJECTD, "011", START + 5, True, True, CREDIT)
    await store.commits.record(
        Facts(submissions=[Submission(message.account, message.key, 0, 1, "", 11, START + 5)], finals=[final])
    )
    events = await history_of(store, account.id, message.key, message.tail)
    assert events is not None
    assert [event.event for event in events] == ["Accepted", "Charged", "Refused", "Final", "Refunded"]
    assert "0000000B" in events[2].detail


@pytest.mark.parametrize("price", [0, CREDIT])
async def test_only_what_cost_something_was_charged(store: Store, given: Given, account: Account, price: int) -> None:
    message = await given.sent(account.id, price=price)
    events = await history_of(store, account.id, message.key, message.tail)
    assert events is not None
    assert ("Charged" in [event.event for event in events]) == (price > 0)


async def test_a_history_is_its_accounts_alone(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id)
    assert await history_of(store, account.id + 1, message.key, message.tail) is None
    assert await history_of(store, account.id, message.key, message.tail ^ 1) is None
    assert await delivery_of(store, message.key + 1) is None


async def test_ends_of_many_are_those_that_have_one(store: Store, given: Given, account: Account) -> None:
    delivered, unknown, others = [await given.sent(account.id) for _ in range(3)]
    cancelled = await given.scheduled(account.id)
    finals = [
        MessageEnd(account.id, delivered.key, Delivery.DELIVRD, "000", START + 5, False, False, 0),
        MessageEnd(account.id, unknown.key, Delivery.UNKNOWN, "", START + 6, False, False, 0),
    ]
    await store.commits.record(Facts(finals=finals))
    await store.customers.cancel(account.id, cancelled.key, cancelled.tail, given.now)
    ends = await store.customers.deliveries([delivered.key, unknown.key, cancelled.key, others.key, others.key + 1])
    assert ends == {
        delivered.key: (Delivery.DELIVRD, "000", START + 5),
        unknown.key: (Delivery.UNKNOWN, "", START + 6),
    }
    assert await store.customers.deliveries([]) == {}
