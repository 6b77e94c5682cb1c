"""Callbacks: owed, claimed, ended, replayed."""

import pytest

from heliograph.app.configuration import Account
from heliograph.app.facts import (
    MOST_PROGRESS,
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    Facts,
    Message,
    MessageEnd,
    PartReceipt,
    notice_key_of,
)
from heliograph.app.notice import ReachedState
from heliograph.app.ports import Store
from heliograph.domain.message.extras import Extras
from heliograph.domain.message.ids import to_hex
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.way import Way
from tests.support.store import NODE, START, Given, Opener, replay_failed

OTHER_NODE = 8


async def ended(given: Given, account: Account) -> Message:
    """A delivered message whose customer is to be told."""
    message = await given.sent(account.id, wants_receipt=True, callback_url="https://customer.example/r")
    final = MessageEnd(message.account, message.key, Delivery.DELIVRD, "000", START + 1, owed=True)
    await given.store.commits.record(Facts(finals=[final]))
    return message


def retry(message: Message, due: int = START + 10, **fields: object) -> Facts:
    values = {"attempts": 1, "body": b"id=1", "problem": "timed out", "first": START + 1}
    return Facts(callback_retries=[CallbackRetry(message.account, message.key, due, **(values | fields))])  # type: ignore[arg-type]


def done(message: Message, end: CallbackEnd, attempts: int = 3) -> Facts:
    return Facts(callbacks=[CallbackDone(message.account, message.key, end, 200, attempts, START + 20)])


async def test_a_callback_is_claimed_when_it_is_due(store: Store, given: Given, account: Account) -> None:
    message = await ended(given, account)
    await store.commits.record(retry(message))
    assert await store.notices.next_due() == START + 10
    assert await store.notices.claim(10, START + 9, NODE) == []
    (owed,) = await store.notices.claim(10, START + 10, NODE)
    assert owed.subject == ReachedState(message, Delivery.DELIVRD, "000", START + 1)
    assert (owed.account, owed.key, owed.way) == (account.id, message.key, Way.WEBHOOK)
    assert (owed.attempts, owed.body, owed.first) == (1, b"id=1", START + 1)


async def test_the_cause_of_the_last_try_stays(store: Store, given: Given, account: Account) -> None:
    message = await ended(given, account)
    await store.commits.record(retry(message))
    await store.commits.record(retry(message, START + 20, problem=""))
    ((view,),) = [await store.notices.owed(10)]
    assert (view.due, view.problem) == (START + 20, "timed out")
    last = retry(message, START + 30, attempts=2, problem="refused", claimed=True)
    last.callbacks = done(message, CallbackEnd.FAILED, 2).callbacks
    await store.commits.record(last)
    ((view,),) = [await store.notices.ended(10)]
    assert (view.attempts, view.problem) == (2, "refused")
    assert await store.notices.owed(10) == []
    assert await store.notices.next_due() is None


async def test_nobody_else_gets_a_claimed_callback(store: Store, given: Given, account: Account) -> None:
    await store.commits.record(retry(await ended(given, account)))
    await store.notices.claim(10, START + 10, NODE)
    assert await store.notices.claim(10, START + 99, OTHER_NODE) == []
    assert await store.notices.next_due() is None
    assert await store.queue.release(NODE) == 1
    assert len(await store.notices.claim(10, START + 10, OTHER_NODE)) == 1


async def test_accounts_whose_receivers_fail_are_found_behind_any_number_of_callbacks(
    store: Store, given: Given, account: Account
) -> None:
    many, well, other = [await given.account(name) for name in ("many", "well", "other")]
    for owner, attempts in ((many, (1, 1, 2)), (well, (0, 2)), (account, (1, 3)), (other, (4,))):
        for each in attempts:
            await store.commits.record(retry(await ended(given, owner), attempts=each))
    over = await ended(given, well)
    last = retry(over, attempts=9, claimed=True)
    last.callbacks = done(over, CallbackEnd.FAILED, 9).callbacks
    await store.commits.record(last)
    assert await store.notices.failing(3, 3, 9) == [(account.name, 2), ("many", 3), ("other", 1)]
    assert await store.notices.failing(3, 3, 2) == [(account.name, 2), ("many", 3)]
    assert await store.notices.failing(9, 2, 9) == [(account.name, 2), ("many", 2)]
    await store.notices.claim(9, START + 99, NODE)
    assert len(await store.notices.failing(3, 3, 9)) == 3, "also while they are tried"


async def test_the_oldest_due_come_first(store: Store, given: Given, account: Account) -> None:
    messages = [await ended(given, account) for _ in range(3)]
    for message, due in zip(messages, (30, 10, 20), strict=True):
        await store.commits.record(retry(message, START + due))
    claimed = await store.notices.claim(2, START + 99, NODE)
    assert [owed.key for owed in claimed] == [messages[1].key, messages[2].key]


async def test_some_accounts_are_claimed_so_many_each(store: Store, given: Given, account: Account) -> None:
    other, third = await given.account("other"), await given.account("third")
    keys: dict[int, list[int]] = {}
    for place in range(3):
        for owner in (account, other, third):
            message = await ended(given, owner)
            await store.commits.record(retry(message, START + 30 - place))
            keys.setdefault(owner.id, []).insert(0, message.key)
    assert await store.notices.accounts(-1, 10) == [(owner.id, START + 28) for owner in (account, other, third)]
    assert await store.notices.accounts(account.id, 1) == [(other.id, START + 28)]
    assert await store.notices.claim(9, START + 27, NODE, [account.id]) == []
    claimed = await store.notices.claim(2, START + 30, NODE, [account.id, third.id])
    assert sorted(one.key for one in claimed) == sorted(keys[account.id][:2] + keys[third.id][:2])
    assert await store.notices.claim(9, START + 29, NODE, [account.id, third.id]) == []
    assert await store.notices.accounts(-1, 10) == [
        (account.id, START + 30),
        (other.id, START + 28),
        (third.id, START + 30),
    ]
    assert [one.key for one in await store.notices.claim(9, START + 30, OTHER_NODE, [third.id])] == keys[third.id][2:]
    assert len(await store.notices.claim(9, START + 30, NODE)) == 4
    assert await store.notices.accounts(-1, 10) == []


async def test_whose_notice_it_is_is_known_however_it_came_to_be_owed(
    store: Store, given: Given, account: Account
) -> None:
    other = await given.account("other")
    await under_way(given, other, Delivery.ENROUTE)
    replayed = await ended(given, account)
    await store.commits.record(done(replayed, CallbackEnd.FAILED))
    assert await replay_failed(store, START + 3) == 1
    assert await store.notices.accounts(-1, 10) == [(account.id, START + 3), (other.id, START + 1)]
    [claimed] = await store.notices.claim(9, START + 3, NODE, [account.id])
    assert claimed.key == replayed.key


async def test_a_failed_try_moves_the_callback(store: Store, given: Given, account: Account) -> None:
    message = await ended(given, account)
    await store.commits.record(retry(message, body=b"", attempts=0))
    await store.notices.claim(10, START + 10, NODE)
    await store.commits.record(retry(message, START + 50, attempts=2, body=b"id=2"))
    assert await store.notices.next_due() == START + 50
    (owed,) = await store.notices.claim(10, START + 50, OTHER_NODE)
    assert (owed.attempts, owed.body) == (2, b"id=2")


async def test_a_callback_in_the_air_is_held(store: Store, given: Given, account: Account) -> None:
    await store.commits.recover(0, NODE)
    await store.commits.record(retry(await ended(given, account), claimed=True))
    assert await store.notices.claim(10, START + 99, OTHER_NODE) == []
    assert await store.notices.next_due() is None
    assert await store.queue.release(NODE) == 1
    assert len(await store.notices.claim(10, START + 99, OTHER_NODE)) == 1


@pytest.mark.parametrize("end", list(CallbackEnd))
async def test_a_callback_that_is_over_is_owed_no_more(
    store: Store, given: Given, account: Account, end: CallbackEnd
) -> None:
    message = await ended(given, account)
    await store.commits.record(retry(message))
    await store.notices.claim(10, START + 10, NODE)
    await store.commits.record(done(message, end))
    assert await store.notices.next_due() is None
    assert await store.notices.claim(10, START + 99, NODE) == []
    assert await store.queue.release(NODE) == 0
    backlog = await store.upkeep.backlog()
    assert backlog["callbacks"] == 0
    assert backlog["callbacks_failed"] == (end is not CallbackEnd.DELIVERED)
    assert (await store.commits.recover(0, NODE)).owed == []


async def test_a_retry_of_a_commit_that_is_made_again_does_not_outlive_its_end(
    store: Store, given: Given, account: Account
) -> None:
    message = await ended(given, account)
    facts = retry(message)
    facts.callbacks = done(message, CallbackEnd.DELIVERED).callbacks
    await store.commits.record(facts)
    assert await store.notices.next_due() is None
    assert await store.notices.claim(10, START + 99, NODE) == []


async def test_the_first_end_stays(store: Store, given: Given, account: Account) -> None:
    message = await ended(given, account)
    await store.commits.record(retry(message))
    await store.commits.record(done(message, CallbackEnd.FAILED))
    await store.commits.record(done(message, CallbackEnd.DELIVERED))
    assert (await store.upkeep.backlog())["callbacks_failed"] == 1
    assert await replay_failed(store, START + 30) == 1
    (owed,) = await store.notices.claim(10, START + 30, NODE)
    assert owed.body == b"id=1"


async def test_a_replay_sends_the_same_octets_with_all_its_time_again(
    store: Store, given: Given, account: Account
) -> None:
    message = await ended(given, account)
    await store.commits.record(retry(message, attempts=9))
    await store.commits.record(done(message, CallbackEnd.FAILED))
    assert await store.notices.replay([message.key], START + 100) == 1
    assert await store.notices.next_due() == START + 100
    (owed,) = await store.notices.claim(10, START + 100, NODE)
    assert (owed.body, owed.attempts, owed.first) == (b"id=1", 0, START + 100)
    await store.commits.record(done(message, CallbackEnd.DELIVERED))
    assert (await store.upkeep.backlog())["callbacks_failed"] == 0
    assert await replay_failed(store, START + 200) == 0


async def test_a_callback_that_ended_at_once_can_be_replayed(store: Store, given: Given, account: Account) -> None:
    message = await ended(given, account)
    await store.commits.record(done(message, CallbackEnd.GONE))
    assert await replay_failed(store, START + 100, account.id) == 1
    (owed,) = await store.notices.claim(10, START + 100, NODE)
    assert isinstance(owed.subject, ReachedState)
    assert (owed.subject.message, owed.body) == (message, b"")


async def test_what_is_replayed(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other")
    mine = [await ended(given, account) for _ in range(3)]
    theirs = await ended(given, other)
    for message in (*mine[:2], theirs):
        await store.commits.record(done(message, CallbackEnd.FAILED))
    await store.commits.record(done(mine[2], CallbackEnd.DELIVERED))
    assert await store.notices.replay([mine[0].key], START) == 1
    assert await replay_failed(store, START, account.id) == 1
    assert await replay_failed(store, START) == 1
    assert await store.notices.replay([mine[2].key], START) == 0
    claimed = {owed.key for owed in await store.notices.claim(10, START, NODE)}
    assert claimed == {mine[0].key, mine[1].key, theirs.key}


async def test_callbacks_survive_a_restart(opener: Opener) -> None:
    store = await opener()
    given = Given(store)
    account = await given.account()
    await store.commits.record(retry(await ended(given, account), body=b"\x00\xff"))
    await store.close()
    store = await opener()
    try:
        (owed,) = await store.notices.claim(10, START + 10, NODE)
        assert owed.body == b"\x00\xff"
    finally:
        await store.close()


# --- states on the way


async def under_way(given: Given, account: Account, *states: Delivery) -> Message:
    """A message whose customer is to be told of these states."""
    message = await given.sent(account.id, wants_receipt=True, callback_url="https://customer.example/r")
    for place, state in enumerate(states):
        told = PartReceipt(account.id, message.key, 0, state, f"00{place}", START + 1 + place, owed=True)
        await given.store.commits.record(Facts(progress=[told]))
    return message


async def test_each_state_on_the_way_is_told_once(store: Store, given: Given, account: Account) -> None:
    message = await under_way(given, account, Delivery.ENROUTE, Delivery.ACCEPTD, Delivery.ENROUTE)
    await ended(given, account)
    first, second = await store.notices.claim(10, START + 9, NODE)
    assert first.subject == ReachedState(message, Delivery.ENROUTE, "000", START + 1)
    assert second.subject == ReachedState(message, Delivery.ACCEPTD, "001", START + 2)
    assert (first.account, first.key, first.first) == (
        account.id,
        notice_key_of(message.key, Delivery.ENROUTE),
        START + 1,
    )
    delivered = CallbackDone(account.id, first.key, CallbackEnd.DELIVERED, 200, 1, START + 20)
    await store.commits.record(Facts(callbacks=[delivered]))
    again = PartReceipt(account.id, message.key, 1, Delivery.ENROUTE, "", START + 30, owed=True)
    await store.commits.record(Facts(progress=[again]))
    assert await store.queue.release(NODE) == 1
    [left] = await store.notices.claim(10, START + 99, OTHER_NODE)
    assert left.key == second.key
    assert await store.upkeep.audit() == []


async def test_a_state_is_told_after_many_codes_of_another(store: Store, given: Given, account: Account) -> None:
    """A notice without a subject would stay claimed, and its message would never be dropped."""
    message = await under_way(given, account, *[Delivery.ENROUTE] * MOST_PROGRESS, Delivery.ACCEPTD)
    claimed = await store.notices.claim(10, START + 99, NODE)
    assert [each.subject for each in claimed] == [
        ReachedState(message, Delivery.ENROUTE, "000", START + 1),
        ReachedState(message, Delivery.ACCEPTD, f"00{MOST_PROGRESS}", START + 1 + MOST_PROGRESS),
    ]


async def test_a_state_that_comes_after_the_end_is_not_told(store: Store, given: Given, account: Account) -> None:
    message = await ended(given, account)
    late = PartReceipt(account.id, message.key, 0, Delivery.ENROUTE, "", START + 30, owed=True)
    await store.commits.record(Facts(progress=[late]))
    assert await store.notices.claim(10, START + 99, NODE) == []


async def test_a_state_that_nobody_asked_for_is_not_told(store: Store, given: Given, account: Account) -> None:
    message = await under_way(given, account)
    await store.commits.record(Facts(progress=[PartReceipt(account.id, message.key, 0, Delivery.ENROUTE, "", START)]))
    assert await store.notices.claim(10, START + 99, NODE) == []


async def test_callbacks_of_states_are_listed_replayed_and_dropped(
    store: Store, given: Given, account: Account
) -> None:
    message = await under_way(given, account, Delivery.ENROUTE)
    [owed] = await store.notices.owed(10)
    assert (owed.message_id, owed.url) == (to_hex(message.key, message.tail), message.callback_url)
    gone = CallbackDone(account.id, owed.key, CallbackEnd.GONE, 410, 1, START + 20)
    await store.commits.record(Facts(callbacks=[gone]))
    [failed] = await store.notices.ended(10)
    assert (failed.key, failed.account, failed.code) == (owed.key, account.id, 410)
    assert await replay_failed(store, START + 30, account.id) == 1
    [claimed] = await store.notices.claim(10, START + 30, NODE)
    assert isinstance(claimed.subject, ReachedState)
    await store.queue.release(NODE)
    assert await store.notices.drop([owed.key], START + 40) == 1
    assert await store.upkeep.audit() == []


# --- extras


async def test_a_messages_extras_come_with_it(store: Store, given: Given, account: Account) -> None:
    extras = Extras(priority=1, elements=b"\x24\1\1").text()
    message = await given.sent(account.id, extras=extras)
    assert await store.customers.message(account.id, message.key, message.tail) == message
    assert message.extras == extras
    scheduled = await given.scheduled(account.id, extras=extras)
    assert scheduled.extras == extras
