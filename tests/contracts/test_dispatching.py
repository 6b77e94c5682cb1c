"""The queue and the operators' answers."""

import asyncio
from dataclasses import replace

import pytest

from heliograph.app.configuration import Account
from heliograph.app.facts import (
    NO_ANSWER,
    NOT_SENT,
    Attempt,
    Facts,
    Message,
    MessageEnd,
    PartReceipt,
    Queued,
    Queueing,
    Resend,
    Submission,
)
from heliograph.app.ports import ListQuery, Store
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from heliograph.domain.money.amounts import EntryKind
from tests.support.store import CREDIT, HOUR, NODE, START, Given, Opener, delivery_of, history_of

OTHER_NODE = 8


def queueing(
    message: Message,
    *,
    due: int | None = None,
    connector: int | None = None,
    attempted: bool = False,
    claimed: bool = False,
) -> Queueing:
    return Queueing(
        message.account,
        message.key,
        message.connector if connector is None else connector,
        message.time if due is None else due,
        message.expires,
        attempted,
        claimed,
    )


def failed(message: Message, at: int = START, *, owed: bool = False) -> MessageEnd:
    return MessageEnd(
        message.account, message.key, Delivery.REJECTD, "011", at, owed, failed=True, refund=message.price
    )


def keys(claimed: list[Queued]) -> list[int]:
    return [queued.message.key for queued in claimed]


# --- claims


async def test_a_claim_names_the_other_connectors_that_tried_a_message(
    store: Store, given: Given, account: Account
) -> None:
    message = await given.scheduled(account.id, HOUR)
    tries = [Attempt(account.id, message.key, 0, connector, 8, START + at) for at, connector in enumerate((1, 2, 2, 3))]
    moved = queueing(message, connector=3)
    await store.commits.record(Facts(attempts=tries, queueings=[moved]))
    (claimed,) = await store.queue.claim(3, 10, START + HOUR, NODE)
    assert claimed.message.connector == 3
    assert claimed.tried == {1, 2}


async def test_an_operator_that_has_parts_of_a_message_keeps_them(store: Store, given: Given, account: Account) -> None:
    """Its connector was removed, and the rest of the message goes to another."""
    message = await given.scheduled(account.id, HOUR, segments=4, wants_receipt=True)
    taken = [
        Submission(account.id, message.key, segment, connector, f"id{segment}", 0, START)
        for segment, connector in ((0, 2), (1, 2), (2, 3))
    ]
    tries = [Attempt(account.id, message.key, 3, connector, status, START) for connector, status in ((1, 8), (2, 88))]
    await store.commits.record(Facts(submissions=taken, attempts=tries, queueings=[queueing(message, connector=3)]))
    found = await store.receipts.outstanding(message.key)
    assert found is not None
    assert (found.taken, found.tried) == (3, frozenset({1}))
    assert found.operator_ids == {(2, "id0"): (0,), (2, "id1"): (1,), (3, "id2"): (2,)}
    (claimed,) = await store.queue.claim(3, 10, START + HOUR, NODE)
    assert claimed.tried == {1}
    assert claimed.answered == {0, 1, 2}


async def test_rows_that_no_operator_has_tried_move_to_another_connector(
    store: Store, given: Given, account: Account
) -> None:
    untried, tried, attempted, claimed, later = [await given.scheduled(account.id, HOUR) for _ in range(5)]
    due = START + HOUR
    await store.commits.record(
        Facts(
            attempts=[Attempt(account.id, tried.key, 0, 2, 8, START)],
            queueings=[
                queueing(untried),
                queueing(tried),
                queueing(attempted, attempted=True),
                queueing(later, due=due + 1),
            ],
        )
    )
    of = untried.connector
    (found,) = [row for row in await store.queue.untried(of, 10, due) if row.key != claimed.key]
    assert (found.key, found.account, found.destination) == (untried.key, account.id, untried.destination)
    assert (found.sender, found.price, found.segments) == (untried.sender, untried.price, untried.segments)
    await store.commits.record(Facts(queueings=[queueing(claimed, claimed=True)]))
    moving = [untried.key, attempted.key, claimed.key]
    assert await store.queue.move(moving, of, 9) == 1
    assert await store.queue.move(moving, of, 9) == 0
    assert keys(await store.queue.claim(9, 10, due, NODE)) == [untried.key]


# --- messages that another operator tries again


def resent(message: Message, *, connector: int = 1, instead: int = 2) -> Resend:
    return Resend(
        message.account,
        message.key,
        connector,
        instead,
        Delivery.UNDELIV,
        "011",
        message.time,
        message.expires,
        START + 9,
    )


def taken(message: Message, connector: int, name: str, at: int = START, segment: int = 0) -> Submission:
    return Submission(message.account, message.key, segment, connector, f"{name}{segment}", 0, at)


@pytest.mark.parametrize(("connector", "may_be_refunded"), [(1, True), (2, False)])
async def test_a_message_that_another_operator_may_have_is_not_refunded(
    store: Store, given: Given, account: Account, connector: int, may_be_refunded: bool
) -> None:
    message = await given.sent(account.id)
    unanswered = Attempt(account.id, message.key, 0, 1, NO_ANSWER, START)
    await store.commits.record(
        Facts(attempts=[unanswered], queueings=[replace(queueing(message), connector=connector)])
    )
    (claimed,) = await store.queue.claim(connector, 10, START + HOUR, NODE)
    assert claimed.resent is not may_be_refunded


@pytest.mark.parametrize("segments", [1, 2])
async def test_a_message_that_was_not_delivered_waits_for_another_connector(
    store: Store, given: Given, account: Account, segments: int
) -> None:
    message = await given.sent(account.id, segments=segments, wants_receipt=True)
    ends = [PartReceipt(account.id, message.key, n, Delivery.UNDELIV, "011", START + 9) for n in range(segments)]
    facts = Facts(
        submissions=[taken(message, 1, "a", segment=n) for n in range(segments)],
        parts=ends if segments > 1 else [],
        resends=[resent(message)],
    )
    await store.commits.record(facts)
    found = await store.receipts.outstanding(message.key)
    assert found is not None
    assert not found.operator_ids
    assert not found.states
    assert (found.taken, found.tried, found.undelivered_by) == (0, frozenset({1}), frozenset({1}))
    (claimed,) = await store.queue.claim(2, 10, START + HOUR, NODE)
    assert (claimed.message.key, claimed.tried, claimed.resent) == (message.key, frozenset({1}), True)
    assert (claimed.answered, claimed.attempted) == (frozenset(), False)
    await store.commits.record(
        Facts(
            submissions=[taken(message, 2, "b", START + 20, segment=n) for n in range(segments)],
            dequeued=[(account.id, message.key)],
        )
    )
    found = await store.receipts.outstanding(message.key)
    assert found is not None
    assert found.operator_ids.keys() == {(2, f"b{n}") for n in range(segments)}
    assert (found.taken, found.tried, found.undelivered_by) == (segments, frozenset({1}), frozenset({1}))
    (earning,) = await store.messages.earnings(0, message.key + 1, 10)
    assert [each.connector for each in earning.segments] == [1] * segments + [2] * segments
    events = await history_of(store, account.id, message.key, message.tail)
    assert [(each.event, each.segment, each.detail) for each in events or () if each.segment == 1] == [
        ("Submitted", 1, "to connector 1 as a0"),
        ("Receipt", 1, "UNDELIV 011"),
        ("Submitted", 1, "to connector 2 as b0, since connector 1 did not deliver it (UNDELIV 011)"),
    ]


async def test_an_operator_without_an_answer_counts_as_one_that_may_still_take_the_message(
    store: Store, given: Given, account: Account
) -> None:
    """The connector refused one part, and the others are sent to it again."""
    message = await given.sent(account.id, segments=2, wants_receipt=True)
    lost = Attempt(account.id, message.key, 0, 1, NO_ANSWER, START + 1)
    refused = Submission(account.id, message.key, 1, 1, "", 11, START)
    await store.commits.record(Facts(attempts=[lost], submissions=[refused]))
    found = await store.receipts.outstanding(message.key)
    assert found is not None
    assert (found.tried, found.undelivered_by) == (frozenset({1}), frozenset())


async def test_no_part_counts_as_taken_while_an_earlier_copy_has_no_answer(
    store: Store, given: Given, account: Account
) -> None:
    message = await given.sent(account.id, wants_receipt=True)
    lost = Attempt(account.id, message.key, 0, 1, NO_ANSWER, START + 1)
    await store.commits.record(Facts(attempts=[lost, replace(lost, connector=2)], submissions=[taken(message, 1, "a")]))
    found = await store.receipts.outstanding(message.key)
    assert found is not None
    assert (found.taken, found.tried) == (0, frozenset({2}))


async def test_a_message_that_another_node_gave_to_another_connector_stays_there(
    store: Store, given: Given, account: Account
) -> None:
    message = await given.sent(account.id, wants_receipt=True)
    await store.commits.record(Facts(submissions=[taken(message, 1, "a")]))
    await store.commits.record(Facts(resends=[resent(message)]))
    await store.commits.record(Facts(resends=[resent(message, instead=3)]))
    assert keys(await store.queue.claim(2, 10, START + HOUR, NODE)) == [message.key]
    second = Facts(submissions=[taken(message, 2, "b")], dequeued=[(account.id, message.key)])
    await store.commits.record(second)
    await store.commits.record(Facts(resends=[resent(message, instead=3)]))
    found = await store.receipts.outstanding(message.key)
    assert found is not None
    assert found.operator_ids == {(2, "b0"): (0,)}
    assert await store.queue.claim(3, 10, START + HOUR, NODE) == []


async def test_a_message_that_ended_or_is_not_whole_goes_to_no_other_connector(
    store: Store, given: Given, account: Account
) -> None:
    ended = await given.sent(account.id, wants_receipt=True)
    half = await given.sent(account.id, segments=2, wants_receipt=True)
    facts = Facts(
        submissions=[taken(ended, 1, "a"), taken(half, 1, "b")],
        finals=[MessageEnd(account.id, ended.key, Delivery.UNDELIV, "011", START, owed=False)],
        resends=[resent(ended), resent(half)],
    )
    await store.commits.record(facts)
    assert await store.queue.claim(2, 10, START + HOUR, NODE) == []
    assert await delivery_of(store, ended.key) == (Delivery.UNDELIV, "011", START)


async def test_a_scheduled_message_is_claimed_when_it_is_due_and_not_before(
    store: Store, given: Given, account: Account
) -> None:
    message = await given.scheduled(account.id, HOUR)
    assert await store.queue.next_due() == {1: START + HOUR}
    assert await store.queue.claim(1, 10, START + HOUR - 1, NODE) == []
    (claimed,) = await store.queue.claim(1, 10, START + HOUR, NODE)
    assert claimed == Queued(
        replace(message, state=State.SENT, queued=True), attempted=False, untried=True, preliminary=True
    )
    await store.commits.record(Facts(queueings=[replace(queueing(message), connector=2)]))
    (moved,) = await store.queue.claim(2, 10, START + HOUR, NODE)
    assert moved.untried
    assert not moved.preliminary
    found = await store.customers.message(account.id, message.key, message.tail)
    assert found is not None
    assert found.state == State.SENT


async def test_nobody_else_gets_a_claimed_message(store: Store, given: Given, account: Account) -> None:
    await given.scheduled(account.id)
    assert len(await store.queue.claim(1, 10, START + HOUR, NODE)) == 1
    for node in (NODE, OTHER_NODE):
        assert await store.queue.claim(1, 10, START + HOUR, node) == []
        assert await store.queue.claim_expired(10, START + 9 * HOUR, node) == []
    assert await store.queue.next_due() == {}


async def test_claims_at_once_share_out_the_messages(store: Store, given: Given, account: Account) -> None:
    messages = [await given.scheduled(account.id) for _ in range(20)]
    shares = await asyncio.gather(*(store.queue.claim(1, 3, START + HOUR, node) for node in range(1, 11)))
    taken = [key for share in shares for key in keys(share)]
    assert sorted(taken) == [message.key for message in messages]


async def test_the_oldest_due_come_first(store: Store, given: Given, account: Account) -> None:
    late = await given.scheduled(account.id, 3 * HOUR)
    early = await given.scheduled(account.id, HOUR)
    middle = [await given.scheduled(account.id, 2 * HOUR) for _ in range(2)]
    now = START + 4 * HOUR
    assert keys(await store.queue.claim(1, 3, now, NODE)) == [early.key, middle[0].key, middle[1].key]
    assert keys(await store.queue.claim(1, 3, now, NODE)) == [late.key]


async def test_each_of_several_accounts_gets_its_share(store: Store, given: Given) -> None:
    accounts = [(await given.account(name)).id for name in ("big", "small", "none", "other")]
    big, small, none, other = accounts
    of_big = [await given.sent(big, queued=True) for _ in range(5)]
    of_small = [await given.sent(small, queued=True) for _ in range(2)]
    of_other = await given.sent(other, queued=True)
    await given.scheduled(none, HOUR)
    await given.sent(none, queued=True, connector=2)
    assert await store.queue.accounts(1, START) == [big, small, other]
    claimed = await store.queue.claim(1, 3, START, NODE, [big, small, none])
    assert sorted(keys(claimed)) == [each.key for each in of_big[:3] + of_small]
    for account, messages in ((big, of_big[:3]), (small, of_small)):
        own = [each.message.key for each in claimed if each.message.account == account]
        assert own == [each.key for each in messages], "each account's in their order"
    assert await store.queue.accounts(1, START) == [big, other]
    assert keys(await store.queue.claim(1, 9, START, NODE)) == [each.key for each in of_big[3:]] + [of_other.key]
    assert await store.queue.accounts(1, START) == []
    assert await store.queue.accounts(1, START + HOUR) == [none]
    assert await store.queue.accounts(2, START) == [none]


async def test_a_row_that_is_put_into_the_queue_later_is_its_accounts(store: Store, given: Given) -> None:
    one, other = [(await given.account(name)).id for name in ("one", "other")]
    messages = [await given.sent(account) for account in (other, one)]
    await store.commits.record(Facts(queueings=[queueing(message) for message in messages]))
    assert await store.queue.accounts(1, START) == [one, other]
    assert keys(await store.queue.claim(1, 9, START, NODE, [one])) == [messages[1].key]
    await store.commits.record(Facts(queueings=[queueing(messages[1])]))
    assert await store.queue.accounts(1, START) == [one, other]


async def test_each_connector_has_its_own_queue(store: Store, given: Given, account: Account) -> None:
    first = await given.scheduled(account.id, HOUR, connector=1)
    third = await given.scheduled(account.id, 2 * HOUR, connector=3)
    await given.scheduled(account.id, 3 * HOUR, connector=3)
    assert await store.queue.next_due() == {1: START + HOUR, 3: START + 2 * HOUR}
    now = START + 2 * HOUR
    assert keys(await store.queue.claim(3, 10, now, NODE)) == [third.key]
    assert keys(await store.queue.claim(2, 10, now, NODE)) == []
    assert keys(await store.queue.claim(1, 10, now, NODE)) == [first.key]


async def test_a_message_beyond_the_lane_is_queued_as_it_is_accepted(
    store: Store, given: Given, account: Account
) -> None:
    message = await given.sent(account.id, queued=True)
    await given.sent(account.id)
    assert (await store.upkeep.backlog())["queued"] == 1
    assert keys(await store.queue.claim(1, 10, START, NODE)) == [message.key]


async def test_a_released_claim_is_free_again_and_stays_marked(store: Store, given: Given, account: Account) -> None:
    one, other = [await given.scheduled(account.id) for _ in range(2)]
    now = START + HOUR
    await store.queue.claim(1, 1, now, NODE)
    await store.queue.claim(1, 1, now, OTHER_NODE)
    await store.commits.record(Facts(sending=[(one.account, one.key)]))
    assert await store.queue.release(NODE) == 1
    (again,) = await store.queue.claim(1, 10, now, OTHER_NODE)
    assert (again.message.key, again.attempted) == (one.key, True)
    assert again.message.state == State.SENT
    assert await store.queue.release(OTHER_NODE) == 2
    assert {each.message.key: each.attempted for each in await store.queue.claim(1, 9, now, NODE)} == {
        one.key: True,
        other.key: False,
    }
    assert await store.queue.release(9) == 0


async def test_a_deferred_message_moves(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id)
    await store.commits.record(Facts(queueings=[queueing(message, due=START + 5, attempted=True)]))
    assert await store.queue.next_due() == {1: START + 5}
    (claimed,) = await store.queue.claim(1, 10, START + 5, NODE)
    assert claimed.attempted
    await store.commits.record(Facts(queueings=[queueing(message, due=START + 50, connector=2)]))
    assert await store.queue.next_due() == {2: START + 50}
    (claimed,) = await store.queue.claim(2, 10, START + 50, NODE)
    assert not claimed.attempted
    assert claimed.message.connector == 2


async def test_a_held_message_is_this_nodes_until_it_is_released(store: Store, given: Given, account: Account) -> None:
    await store.commits.recover(0, NODE)
    message = await given.sent(account.id)
    await store.commits.record(Facts(queueings=[queueing(message, claimed=True)]))
    assert await store.queue.claim(1, 10, START + HOUR, OTHER_NODE) == []
    assert await store.queue.next_due() == {}
    assert await store.queue.release(NODE) == 1
    assert keys(await store.queue.claim(1, 10, START, OTHER_NODE)) == [message.key]


async def test_a_receipt_that_is_asked_for_after_all_is_awaited(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id)
    submission = Submission(account.id, message.key, 0, 1, "id", 0, START)
    await store.commits.record(Facts(asking=[(account.id, message.key)], submissions=[submission]))
    (outstanding,) = (await store.commits.recover(0, NODE)).outstanding
    assert outstanding.message == replace(message, wants_receipt=True)


async def test_what_is_dequeued_is_gone(store: Store, given: Given, account: Account) -> None:
    message = await given.scheduled(account.id)
    await store.queue.claim(1, 10, START + HOUR, NODE)
    done = Facts(
        submissions=[Submission(message.account, message.key, 0, 1, "a", 0, START)],
        dequeued=[(message.account, message.key), (message.account, 99)],
    )
    await store.commits.record(done)
    assert await store.queue.release(NODE) == 0
    assert await store.queue.claim(1, 10, START + HOUR, NODE) == []
    await store.commits.record(
        Facts(sending=[(message.account, message.key)], dequeued=[(message.account, message.key)])
    )
    assert await store.upkeep.audit() == []


async def test_a_message_whose_validity_ended_is_claimed_as_such(store: Store, given: Given, account: Account) -> None:
    message = await given.scheduled(account.id, HOUR, connector=2)
    await given.scheduled(account.id, 3 * HOUR)
    assert await store.queue.claim_expired(10, message.expires - 1, NODE) == []
    (claimed,) = await store.queue.claim_expired(10, message.expires, NODE)
    assert claimed.message.key == message.key
    assert claimed.message.state == State.SENT
    await store.commits.record(Facts(finals=[failed(claimed.message)], dequeued=[(message.account, message.key)]))
    assert await store.customers.balance(account.id) == 99 * CREDIT
    assert await store.upkeep.audit() == []


async def test_a_claim_knows_which_parts_were_answered(store: Store, given: Given, account: Account) -> None:
    """The operator may have what it never answered for, and does not have what was never sent."""
    message = await given.sent(account.id, segments=6, queued=True)
    statuses = {0: 0, 2: 69, 3: NO_ANSWER, 4: NOT_SENT}
    answers = [
        Submission(message.account, message.key, part, 1, "", status, START) for part, status in statuses.items()
    ]
    await store.commits.record(Facts(submissions=answers))
    (claimed,) = await store.queue.claim(1, 10, START, NODE)
    assert claimed.answered == {0, 2, 3, 4}
    assert claimed.taken == {0, 3}


async def test_claims_and_marks_survive_a_restart(opener: Opener) -> None:
    store = await opener()
    given = Given(store)
    account = await given.account()
    message = await given.scheduled(account.id)
    await store.queue.claim(1, 10, START + HOUR, NODE)
    await store.commits.record(Facts(sending=[(message.account, message.key)]))
    await store.close()
    store = await opener()
    try:
        assert await store.queue.claim(1, 10, START + HOUR, OTHER_NODE) == []
        assert await store.queue.release(NODE) == 1
        (claimed,) = await store.queue.claim(1, 10, START + HOUR, OTHER_NODE)
        assert claimed.attempted
    finally:
        await store.close()


# --- answers


async def test_the_first_answer_of_a_part_stays(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id, wants_receipt=True)
    await store.commits.record(Facts(submissions=[Submission(message.account, message.key, 0, 1, "first", 0, START)]))
    await store.commits.record(
        Facts(submissions=[Submission(message.account, message.key, 0, 1, "second", 8, START + 1)])
    )
    found = await store.receipts.outstanding(message.key)
    assert found is not None
    assert found.operator_ids == {(1, "first"): (0,)}


async def test_the_first_final_stays(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id)
    assert await delivery_of(store, message.key) is None
    first = MessageEnd(message.account, message.key, Delivery.DELIVRD, "000", START + 5, owed=False)
    second = replace(first, state=Delivery.UNDELIV, err="011", at=START + 9)
    await store.commits.record(Facts(finals=[first, second]))
    await store.commits.record(Facts(finals=[second]))
    assert await delivery_of(store, message.key) == (Delivery.DELIVRD, "000", START + 5)


async def test_a_message_that_never_left_is_refunded_once(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id, queued=True)
    final = failed(message, START + 3)
    await store.commits.record(Facts(finals=[final, final]))
    await store.commits.record(Facts(finals=[final]))
    assert await store.customers.balance(account.id) == 100 * CREDIT
    refunds = [entry for entry in await store.accounts.ledger(account.id, 10) if entry.kind is EntryKind.REFUND]
    assert [(entry.amount, entry.message, entry.at) for entry in refunds] == [(CREDIT, message.key, START + 3)]
    found = await store.customers.message(account.id, message.key, message.tail)
    assert found is not None
    assert found.state == State.FAILED
    assert await store.customers.messages(account.id, ListQuery()) == [found]
    assert await store.queue.next_due() == {}
    assert await delivery_of(store, message.key) == (Delivery.REJECTD, "011", START + 3)
    assert await store.upkeep.audit() == []


async def test_after_a_delivery_nothing_is_refunded(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id)
    delivered = MessageEnd(message.account, message.key, Delivery.DELIVRD, "000", START, owed=False)
    await store.commits.record(Facts(finals=[delivered, failed(message)]))
    assert await store.customers.balance(account.id) == 99 * CREDIT
    found = await store.customers.message(account.id, message.key, message.tail)
    assert found is not None
    assert found.state == State.SENT
    assert await store.upkeep.audit() == []


@pytest.mark.parametrize("fails", [True, False])
async def test_a_final_of_a_cancelled_message_is_passed_over(
    store: Store, given: Given, account: Account, fails: bool
) -> None:
    message = await given.scheduled(account.id)
    await store.customers.cancel(account.id, message.key, message.tail, START)
    final = (
        failed(message)
        if fails
        else MessageEnd(message.account, message.key, Delivery.DELIVRD, "000", START, owed=True)
    )
    await store.commits.record(Facts(finals=[final]))
    assert await delivery_of(store, message.key) is None
    assert await store.customers.balance(account.id) == 100 * CREDIT
    assert (await store.commits.recover(0, NODE)).owed == []
    assert await store.upkeep.audit() == []


async def test_a_final_of_no_message_refunds_nothing(store: Store, given: Given, account: Account) -> None:
    phantom = given.message(account.id)
    await store.commits.record(Facts(finals=[failed(phantom)]))
    assert await store.customers.balance(account.id) == 100 * CREDIT
    assert await delivery_of(store, phantom.key) is None


async def test_refunds_of_one_moment_are_told_apart(store: Store, given: Given, account: Account) -> None:
    batch = given.batch(account.id, 50)
    await given.recorded(batch)
    await store.commits.record(Facts(finals=[failed(message) for message in batch.messages]))
    entries = await store.accounts.ledger(account.id, 100)
    refunds = {entry.message: entry.key for entry in entries if entry.kind is EntryKind.REFUND}
    assert refunds.keys() == {message.key for message in batch.messages}
    assert len(set(refunds.values())) == 50
    assert await store.customers.balance(account.id) == 100 * CREDIT
    assert await store.upkeep.audit() == []


async def test_tries_that_decided_nothing_are_kept(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id)
    attempt = Attempt(message.account, message.key, 0, 1, 88, START + 1)
    await store.commits.record(Facts(attempts=[attempt, Attempt(message.account, message.key, 0, 1, -1, START + 2)]))
    await store.commits.record(Facts(attempts=[attempt]))
    events = await history_of(store, account.id, message.key, message.tail)
    assert events is not None
    assert len([event for event in events if event.segment == 1]) == 2
