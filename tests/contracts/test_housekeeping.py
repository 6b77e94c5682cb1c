"""Counts, the audit, and the end."""

import pytest

from heliograph.app.configuration import Account
from heliograph.app.facts import (
    Awaiting,
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    EarlyReceipt,
    Facts,
    MessageEnd,
    Queueing,
    Submission,
)
from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH
from heliograph.app.ports import Store, Unavailable
from heliograph.app.records import RestorePoint, ToldWorry
from heliograph.domain.message.ids import to_hex
from heliograph.domain.message.receipt import Delivery
from tests.support.store import HOUR, START, Given, Opener


async def test_probing(store: Store) -> None:
    await store.upkeep.probe()
    await store.upkeep.probe()


async def test_what_people_were_told_is_kept(store: Store) -> None:
    assert await store.upkeep.told_worries() == []
    down = ToldWorry("connector", "op1", "op1 is down", START)
    queue = ToldWorry("queue", "", "Messages wait", START + 5)
    other = ToldWorry("connector", "Op0", "Op0 is down", START)
    await store.upkeep.keep_told([queue, down, other])
    assert await store.upkeep.told_worries() == [other, down, queue]
    await store.upkeep.keep_told([down])
    assert await store.upkeep.told_worries() == [down]
    await store.upkeep.keep_told([])
    assert await store.upkeep.told_worries() == []


async def test_counts(store: Store, given: Given, account: Account) -> None:
    assert await store.upkeep.backlog() == {
        "scheduled": 0, "queued": 0, "callbacks": 0, "callbacks_failed": 0, "orphans": 0, "awaiting": 0,
    }  # fmt: skip
    for _ in range(3):
        await given.scheduled(account.id)
    for _ in range(2):
        await given.sent(account.id, queued=True)
    ended = [await given.sent(account.id) for _ in range(9)]
    await store.commits.record(
        Facts(
            finals=[
                MessageEnd(message.account, message.key, Delivery.DELIVRD, "000", START, owed=True) for message in ended
            ],
            early=[EarlyReceipt(1, str(n), "", Delivery.DELIVRD, "000", START) for n in range(5)],
            awaiting=[Awaiting(1, str(n), ended[0].account, ended[0].key, n) for n in range(6)],
            callbacks=[
                CallbackDone(ended[0].account, ended[0].key, CallbackEnd.GONE, 410, 1, START),
                CallbackDone(ended[1].account, ended[1].key, CallbackEnd.FAILED, 0, 9, START),
                CallbackDone(ended[2].account, ended[2].key, CallbackEnd.DELIVERED, 200, 1, START),
            ],
            callback_retries=[
                CallbackRetry(message.account, message.key, START, 1, b"", "", START) for message in ended[5:]
            ],
        )
    )
    assert await store.upkeep.backlog() == {
        "scheduled": 3, "queued": 2, "callbacks": 4, "callbacks_failed": 2, "orphans": 5, "awaiting": 6,
    }  # fmt: skip


async def test_how_far_the_rows_reach(store: Store, given: Given, account: Account) -> None:
    """The account's opening credit is the first of them."""
    assert await store.upkeep.reach() == RestorePoint(account.created, 0, 0, 0, 0)
    await given.scheduled(account.id)
    cancelled = await given.scheduled(account.id)
    await store.customers.cancel(account.id, cancelled.key, cancelled.tail, START)
    await given.sent(account.id, queued=True)
    half, whole, silent, ended, told = [
        await given.sent(account.id, segments=2, wants_receipt=number != 2) for number in range(5)
    ]
    parts = [Submission(half.account, half.key, 1, 1, "x", 0, START)] + [
        Submission(each.account, each.key, segment, 1, "x", 0, START)
        for each in (whole, silent, ended, told)
        for segment in range(2)
    ]
    finals = [
        MessageEnd(each.account, each.key, Delivery.DELIVRD, "000", START + 5 * HOUR, owed=True)
        for each in (ended, told)
    ]
    await store.commits.record(Facts(submissions=parts, finals=finals))
    assert await store.upkeep.reach() == RestorePoint(START + 5 * HOUR, 1, 2, 1, 2)
    done = CallbackDone(told.account, told.key, CallbackEnd.DELIVERED, 200, 1, START + 6 * HOUR)
    await store.commits.record(Facts(callbacks=[done]))
    assert await store.upkeep.reach() == RestorePoint(START + 6 * HOUR, 1, 2, 1, 1)
    assert await store.upkeep.audit() == []


async def test_the_rows_reach_to_when_a_message_was_last_rescheduled(
    store: Store, given: Given, account: Account
) -> None:
    message = await given.scheduled(account.id, 9 * HOUR)
    at = START + HOUR
    await store.customers.reschedule(account.id, message.key, message.tail, START + 8 * HOUR, START + 9 * HOUR, at)
    assert (await store.upkeep.reach()).latest == at


# --- the audit finds what is wrong; that it finds nothing otherwise is said by nearly every other test


async def test_the_audit_finds_a_refund_that_is_not_the_price(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id)
    refund = message.price + 1
    await store.commits.record(
        Facts(finals=[MessageEnd(message.account, message.key, Delivery.REJECTD, "001", START, False, True, refund)])
    )
    assert any(str(message.key) in sentence for sentence in await store.upkeep.audit())


async def test_the_audit_finds_a_failed_message_without_refund(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id)
    await store.commits.record(
        Facts(finals=[MessageEnd(message.account, message.key, Delivery.REJECTD, "001", START, False, True, 0)])
    )
    (sentence,) = await store.upkeep.audit()
    assert to_hex(message.key, message.tail) in sentence


async def test_the_audit_finds_a_total_that_is_not_the_sum(store: Store, given: Given, account: Account) -> None:
    batch = given.batch(account.id, 3)
    batch.total += 1
    message = given.message(account.id)
    await given.recorded(batch, given.accept(message, total=5))
    first, second = await store.upkeep.audit()
    assert to_hex(message.key, message.tail) in first
    assert to_hex(batch.key, batch.tail) in second


async def test_the_audit_finds_a_message_that_nothing_will_send(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id)
    await store.commits.record(Facts(marks={DISPATCH: message.key - 1}))
    assert await store.upkeep.audit() == []
    await store.commits.record(Facts(marks={DISPATCH: message.key}))
    (sentence,) = await store.upkeep.audit()
    assert to_hex(message.key, message.tail) in sentence
    await store.commits.record(
        Facts(queueings=[Queueing(message.account, message.key, 1, START, START, attempted=False, claimed=False)])
    )
    assert await store.upkeep.audit() == []


async def test_the_audit_finds_a_receipt_that_would_not_be_recognised(
    store: Store, given: Given, account: Account
) -> None:
    message = await given.sent(account.id, wants_receipt=True)
    taken = Submission(message.account, message.key, 0, 1, "a", 0, START)
    await store.commits.record(Facts(submissions=[taken], marks={AWAITING: message.key - 1}))
    assert await store.upkeep.audit() == []
    await store.commits.record(Facts(marks={AWAITING: message.key}))
    (sentence,) = await store.upkeep.audit()
    assert to_hex(message.key, message.tail) in sentence
    await store.commits.record(Facts(awaiting=[Awaiting(1, "a", message.account, message.key, 0)]))
    assert await store.upkeep.audit() == []


async def test_the_audit_finds_a_callback_that_nothing_will_make(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id)
    final = MessageEnd(message.account, message.key, Delivery.DELIVRD, "000", START, owed=True)
    await store.commits.record(Facts(finals=[final], marks={CALLBACK: message.key - 1}))
    assert await store.upkeep.audit() == []
    await store.commits.record(Facts(marks={CALLBACK: message.key}))
    (sentence,) = await store.upkeep.audit()
    assert to_hex(message.key, message.tail) in sentence
    await store.commits.record(
        Facts(callback_retries=[CallbackRetry(message.account, message.key, START, 0, b"", "", START)])
    )
    assert await store.upkeep.audit() == []


async def test_the_audit_finds_an_answered_message_in_the_queue(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id, queued=True)
    await store.commits.record(Facts(submissions=[Submission(message.account, message.key, 0, 1, "a", 0, START)]))
    (sentence,) = await store.upkeep.audit()
    assert to_hex(message.key, message.tail) in sentence


# --- the end


async def test_a_closed_store_is_unavailable(opener: Opener) -> None:
    store = await opener()
    await store.close()
    await store.close()
    with pytest.raises(Unavailable):
        await store.customers.balance(1)
    with pytest.raises(Unavailable):
        await store.commits.record(Facts(marks={"a": 1}))
    with pytest.raises(Unavailable):
        await store.upkeep.probe()
