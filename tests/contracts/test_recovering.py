"""What is owed after a crash, from the marks and what is missing above them."""

from heliograph.app.configuration import Account
from heliograph.app.facts import (
    Awaiting,
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    EarlyReceipt,
    Facts,
    MessageEnd,
    PartReceipt,
    Queueing,
    Submission,
)
from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH, attempted
from heliograph.app.notice import ReachedState
from heliograph.app.ports import ConnectorReport, ConnectorState, Store
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from heliograph.domain.message.way import Way
from tests.support.store import HOUR, NODE, START, Given, Opener


async def test_a_new_store_has_nothing_to_recover(store: Store) -> None:
    recovery = await store.commits.recover(0, NODE)
    assert recovery.last_key == 0
    assert recovery.marks == {}
    assert [recovery.unsent, recovery.outstanding, recovery.owed, recovery.early] == [[], [], [], []]


async def test_the_highest_key_is_a_messages_or_a_batchs(store: Store, given: Given, account: Account) -> None:
    batch = given.batch(account.id, 3)
    await given.recorded(batch)
    assert (await store.commits.recover(0, NODE)).last_key == batch.messages[-1].key
    message = await given.scheduled(account.id)
    await store.customers.cancel(account.id, message.key, message.tail, given.now)
    assert (await store.commits.recover(0, NODE)).last_key == message.key


async def test_marks_are_kept_by_name(store: Store) -> None:
    await store.commits.record(Facts(marks={DISPATCH: 1, attempted(3): 2}))
    await store.commits.record(Facts(marks={DISPATCH: 5}))
    assert (await store.commits.recover(0, NODE)).marks == {DISPATCH: 5, attempted(3): 2}


async def test_unsent_are_the_fast_lanes_messages_without_an_answer(
    store: Store, given: Given, account: Account
) -> None:
    below, answered, refused, failed, ended, queued, scheduled, sent, other = [
        await given.sent(account.id) for _ in range(5)
    ] + [
        await given.sent(account.id, queued=True),
        await given.scheduled(account.id),
        await given.sent(account.id),
        await given.sent(account.id, connector=2),
    ]
    await store.commits.record(
        Facts(
            submissions=[
                Submission(answered.account, answered.key, 0, 1, "a", 0, START),
                Submission(refused.account, refused.key, 0, 1, "", 69, START),
            ],
            finals=[
                MessageEnd(failed.account, failed.key, Delivery.REJECTD, "001", START, False, True, failed.price),
                MessageEnd(ended.account, ended.key, Delivery.UNKNOWN, "001", START, owed=False),
            ],
            marks={DISPATCH: below.key, attempted(1): sent.key, attempted(2): other.key - 1},
        )
    )
    recovery = await store.commits.recover(0, NODE)
    assert [(each.message, each.attempted) for each in recovery.unsent] == [(sent, True), (other, False)]
    assert [each.message.key for each in await store.queue.claim(1, 9, START + HOUR, NODE)] == [
        queued.key,
        scheduled.key,
    ]


async def test_a_message_with_some_answers_is_unsent_in_part(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id, segments=3)
    answers = [
        Submission(message.account, message.key, 0, 1, "a", 0, START),
        Submission(message.account, message.key, 1, 1, "", 69, START),
    ]
    await store.commits.record(Facts(submissions=answers))
    (unsent,) = (await store.commits.recover(0, NODE)).unsent
    assert unsent.answered == {0, 1}
    assert unsent.taken == {0}
    await store.commits.record(Facts(submissions=[Submission(message.account, message.key, 2, 1, "c", 0, START)]))
    assert (await store.commits.recover(0, NODE)).unsent == []


async def test_a_message_that_moved_to_the_queue_is_not_unsent(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id)
    row = Queueing(message.account, message.key, 1, START, START + HOUR, attempted=True, claimed=False)
    await store.commits.record(Facts(queueings=[row]))
    assert (await store.commits.recover(0, NODE)).unsent == []


async def test_outstanding_are_parts_whose_receipts_only_memory_awaited(
    store: Store, given: Given, account: Account
) -> None:
    below, waits, unwanted, unanswered, rowed, ended = [
        await given.sent(account.id, wants_receipt=number != 2) for number in range(6)
    ]
    await store.commits.record(
        Facts(
            submissions=[
                Submission(message.account, message.key, 0, 1, str(message.key), 0, START)
                for message in (below, waits, unwanted, rowed, ended)
            ],
            finals=[MessageEnd(ended.account, ended.key, Delivery.DELIVRD, "000", START, owed=False)],
            awaiting=[Awaiting(1, str(rowed.key), rowed.account, rowed.key, 0)],
            marks={AWAITING: below.key},
        )
    )
    (outstanding,) = (await store.commits.recover(0, NODE)).outstanding
    assert outstanding.message == waits
    assert outstanding.operator_ids == {(1, str(waits.key)): (0,)}
    assert unanswered.key in {each.message.key for each in (await store.commits.recover(0, NODE)).unsent}


async def test_outstanding_knows_the_parts_that_have_ended(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id, segments=3, wants_receipt=True)
    await store.commits.record(
        Facts(
            submissions=[Submission(message.account, message.key, n, 1, str(n), 0, START) for n in range(3)],
            parts=[PartReceipt(message.account, message.key, 1, Delivery.EXPIRED, "011", START)],
        )
    )
    (outstanding,) = (await store.commits.recover(0, NODE)).outstanding
    assert outstanding.operator_ids == {(1, "0"): (0,), (1, "2"): (2,)}
    assert outstanding.states == {1: (Delivery.EXPIRED, "011")}


async def test_owed_are_finals_whose_callback_only_memory_knew(store: Store, given: Given, account: Account) -> None:
    below, owed, unowed, told, later = [
        await given.sent(account.id, wants_receipt=True, way=Way.WEBHOOK) for _ in range(5)
    ]
    await store.commits.record(
        Facts(
            finals=[
                MessageEnd(message.account, message.key, Delivery.DELIVRD, "000", START + 4, owed=message is not unowed)
                for message in (below, owed, unowed, told, later)
            ],
            callbacks=[CallbackDone(told.account, told.key, CallbackEnd.DELIVERED, 200, 1, START)],
            callback_retries=[CallbackRetry(later.account, later.key, START, 1, b"x", "", START)],
            marks={CALLBACK: below.key},
        )
    )
    (found,) = (await store.commits.recover(0, NODE)).owed
    assert found.subject == ReachedState(owed, Delivery.DELIVRD, "000", START + 4)
    assert (found.account, found.key, found.way) == (owed.account, owed.key, Way.WEBHOOK)
    assert (found.attempts, found.body, found.first) == (0, b"", START + 4)


async def test_early_receipts_come_back_newest_last(store: Store) -> None:
    receipts = [EarlyReceipt(1, str(n), "49", Delivery.DELIVRD, "000", START + n) for n in range(3)]
    await store.commits.record(Facts(early=receipts))
    assert (await store.commits.recover(0, NODE)).early == receipts


async def test_claims_of_earlier_runs_are_given_up(store: Store, given: Given, account: Account) -> None:
    await store.commits.recover(0, NODE - 1)
    message = await given.scheduled(account.id)
    await store.queue.claim(1, 9, START + HOUR, NODE - 1)
    ended = await given.sent(account.id)
    await store.commits.record(
        Facts(
            finals=[MessageEnd(ended.account, ended.key, Delivery.DELIVRD, "000", START, owed=True)],
            callback_retries=[CallbackRetry(ended.account, ended.key, START, 1, b"x", "", START)],
        )
    )
    await store.notices.claim(9, START, NODE - 1)
    await store.network.save_link_states([ConnectorReport(1, NODE - 1, ConnectorState(), START)])
    await store.commits.recover(0, NODE)
    (claimed,) = await store.queue.claim(1, 9, START + HOUR, NODE)
    assert claimed.message.key == message.key
    assert claimed.message.state == State.SENT
    assert len(await store.notices.claim(9, START, NODE)) == 1
    assert await store.network.link_states() == []


async def test_recovery_after_a_restart(opener: Opener) -> None:
    store = await opener()
    given = Given(store)
    account = await given.account()
    unsent = await given.sent(account.id)
    waits = await given.sent(account.id, wants_receipt=True)
    owed = await given.sent(account.id, wants_receipt=True)
    await store.commits.record(
        Facts(
            submissions=[Submission(waits.account, waits.key, 0, 1, "w", 0, START)],
            finals=[MessageEnd(owed.account, owed.key, Delivery.DELIVRD, "000", START, owed=True)],
            marks={attempted(1): waits.key},
        )
    )
    await store.close()
    store = await opener()
    try:
        recovery = await store.commits.recover(0, NODE + 1)
        assert [(each.message.key, each.attempted) for each in recovery.unsent] == [(unsent.key, True)]
        assert [each.message.key for each in recovery.outstanding] == [waits.key]
        assert [each.key for each in recovery.owed] == [owed.key]
        assert recovery.last_key == owed.key
    finally:
        await store.close()
