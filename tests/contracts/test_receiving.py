"""Receipts: those awaited, those too early, those that match nothing."""

import pytest

from heliograph.app.configuration import Account
from heliograph.app.facts import (
    MOST_PROGRESS,
    Awaiting,
    EarlyReceipt,
    Facts,
    Message,
    MessageEnd,
    PartReceipt,
    Submission,
)
from heliograph.app.ports import EndedPart, Store, Unreported
from heliograph.domain.message.operator_id import MAX_CHARS
from heliograph.domain.message.receipt import Delivery
from tests.support.store import HOUR, START, Given, Opener, history_of, on_every_driver

pytestmark = on_every_driver


async def awaited(given: Given, account: Account, *operator_ids: str, **fields: int) -> Message:
    """A message that the operator took, a part each for `operator_ids`, and whose receipts are awaited by rows."""
    message = await given.sent(account.id, segments=len(operator_ids), wants_receipt=True, **fields)
    parts = list(enumerate(operator_ids))
    await given.store.commits.record(
        Facts(
            submissions=[
                Submission(message.account, message.key, segment, 1, name, 0, given.now) for segment, name in parts
            ],
            awaiting=[Awaiting(1, name, message.account, message.key, segment) for segment, name in parts],
        )
    )
    return message


def early(operator_id: str, at: int = START, connector: int = 1) -> EarlyReceipt:
    return EarlyReceipt(connector, operator_id, "4917012345678", Delivery.DELIVRD, "000", at)


async def test_a_message_is_found_by_the_operators_id(store: Store, given: Given, account: Account) -> None:
    message = await awaited(given, account, "a")
    await awaited(given, account, "b")
    (found,) = await store.receipts.find(1, ["a", "unknown"])
    assert found.message == message
    assert found.operator_ids == {(1, "a"): (0,)}
    assert found.states == {}


async def test_the_longest_id_has_room(store: Store, given: Given, account: Account) -> None:
    name = "".join(chr(0xC0 + n % 64) for n in range(MAX_CHARS))
    message = await awaited(given, account, name)
    await store.commits.record(Facts(early=[early(name)]))
    (found,) = await store.receipts.find(1, [name])
    assert (found.message, found.operator_ids) == (message, {(1, name): (0,)})


async def test_ids_are_each_connectors_own(store: Store, given: Given, account: Account) -> None:
    await awaited(given, account, "a")
    assert await store.receipts.find(2, ["a"]) == []


async def test_only_what_was_recorded_as_awaited_is_found(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id, wants_receipt=True)
    await store.commits.record(Facts(submissions=[Submission(message.account, message.key, 0, 1, "a", 0, START)]))
    assert await store.receipts.find(1, ["a"]) == []


async def test_a_message_of_several_parts_is_found_once_with_all_that_is_known(
    store: Store, given: Given, account: Account
) -> None:
    message = await awaited(given, account, "a", "b", "c")
    await store.commits.record(
        Facts(
            parts=[PartReceipt(message.account, message.key, 1, Delivery.UNDELIV, "034", START)],
            awaiting_matched=[Awaiting(1, "b", message.account, message.key, 1)],
        )
    )
    (found,) = await store.receipts.find(1, ["a", "c"])
    assert found.operator_ids == {(1, "a"): (0,), (1, "c"): (2,)}
    assert found.states == {1: (Delivery.UNDELIV, "034")}
    assert await store.receipts.find(1, ["b"]) == []


async def test_an_id_that_the_operator_gave_twice_is_awaited_by_the_other_message_still(
    store: Store, given: Given, account: Account
) -> None:
    one, other = await awaited(given, account, "a"), await awaited(given, account, "a")
    await store.commits.record(Facts(awaiting_matched=[Awaiting(1, "a", one.account, one.key, 0)]))
    (found,) = await store.receipts.find(1, ["a"])
    assert found.message.key == other.key


async def test_one_of_the_operators_ids_may_stand_for_several_parts(
    store: Store, given: Given, account: Account
) -> None:
    message = await awaited(given, account, "a", "a", "b")
    (found,) = await store.receipts.find(1, ["a"])
    assert found.operator_ids == {(1, "a"): (0, 1), (1, "b"): (2,)}
    ended = [
        PartReceipt(message.account, message.key, segment, Delivery.DELIVRD, "000", START + 9) for segment in (0, 1)
    ]
    matched = [Awaiting(1, "a", message.account, message.key, segment) for segment in (0, 1)]
    await store.commits.record(Facts(parts=ended, awaiting_matched=matched))
    assert await store.receipts.find(1, ["a"]) == []
    (found,) = await store.receipts.find(1, ["b"])
    assert found.operator_ids == {(1, "b"): (2,)}
    assert found.states.keys() == {0, 1}


async def test_a_refused_part_has_no_receipt_to_come(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id, segments=2, wants_receipt=True)
    answers = [
        Submission(message.account, message.key, 0, 1, "a", 0, START),
        Submission(message.account, message.key, 1, 1, "", 69, START),
    ]
    await store.commits.record(Facts(submissions=answers))
    found = await store.receipts.outstanding(message.key)
    assert found is not None
    assert found.operator_ids == {(1, "a"): (0,)}


async def test_the_first_receipt_of_a_part_stays(store: Store, given: Given, account: Account) -> None:
    message = await awaited(given, account, "a", "b")
    for state in (Delivery.DELIVRD, Delivery.UNDELIV):
        await store.commits.record(Facts(parts=[PartReceipt(message.account, message.key, 0, state, "000", START)]))
    found = await store.receipts.outstanding(message.key)
    assert found is not None
    assert found.states == {0: (Delivery.DELIVRD, "000")}


async def test_what_has_its_final_state_awaits_nothing(store: Store, given: Given, account: Account) -> None:
    message = await awaited(given, account, "a")
    assert await store.receipts.outstanding(message.key) is not None
    await store.commits.record(
        Facts(finals=[MessageEnd(message.account, message.key, Delivery.DELIVRD, "000", START, owed=False)])
    )
    assert await store.receipts.find(1, ["a"]) == []
    assert await store.receipts.outstanding(message.key) is None


async def test_a_wait_that_is_left_behind_a_final_state_is_forgotten(
    store: Store, given: Given, account: Account
) -> None:
    """Another node ended the message before the late answer to a copy of a part was durable."""
    message, other = await awaited(given, account, "a"), await awaited(given, account, "b")
    await store.commits.record(
        Facts(finals=[MessageEnd(message.account, message.key, Delivery.DELIVRD, "000", START, owed=False)])
    )
    assert await store.receipts.overdue(START, 0, 10) == ([], [], None), "its validity has not ended"
    found, ended, _ = await store.receipts.overdue(START + 33 * HOUR, 0, 10)
    assert ([each.message.key for each in found], ended) == ([other.key], [message.key])
    await store.receipts.forget_awaited(ended)
    found, ended, _ = await store.receipts.overdue(START + 33 * HOUR, 0, 10)
    assert ([each.message.key for each in found], ended) == ([other.key], [])


async def test_a_message_that_does_not_exist_awaits_nothing(store: Store) -> None:
    assert await store.receipts.outstanding(4_711) is None


async def test_an_id_that_the_operator_gave_twice_finds_both(store: Store, given: Given, account: Account) -> None:
    messages = [await awaited(given, account, "a") for _ in range(2)]
    found = await store.receipts.find(1, ["a"])
    assert [each.message.key for each in found] == [message.key for message in messages]


async def test_receipts_that_never_came(store: Store, given: Given, account: Account) -> None:
    first = await awaited(given, account, "a")
    given.now += HOUR
    second = await awaited(given, account, "b", "c")
    given.now += HOUR
    await awaited(given, account, "d")
    assert await store.receipts.overdue(START, 0, 10) == ([], [], None)
    expired = START + 26 * HOUR
    found, _, beyond = await store.receipts.overdue(expired, 0, 10)
    assert [each.message.key for each in found] == [first.key, second.key]
    assert beyond is None
    found, _, beyond = await store.receipts.overdue(expired, 0, 1)
    assert [each.message.key for each in found] == [first.key]
    assert beyond == first.key
    found, *_ = await store.receipts.overdue(expired, first.key, 10)
    assert [each.message.key for each in found] == [second.key]


async def test_a_message_is_overdue_by_its_own_validity(store: Store, given: Given, account: Account) -> None:
    long = await awaited(given, account, "a", expires=START + 72 * HOUR)
    short = await awaited(given, account, "b", expires=START + HOUR)
    found, _, beyond = await store.receipts.overdue(START + 26 * HOUR, 0, 2)
    assert [each.message.key for each in found] == [short.key]
    assert beyond == short.key, "both were looked at"
    found, *_ = await store.receipts.overdue(START + 73 * HOUR, 0, 10)
    assert [each.message.key for each in found] == [long.key, short.key]


async def test_a_scheduled_message_is_not_overdue_before_its_time(store: Store, given: Given, account: Account) -> None:
    await awaited(given, account, "a", time=START + 30 * HOUR, expires=START + 31 * HOUR)
    assert await store.receipts.overdue(START + 26 * HOUR, 0, 10) == ([], [], None)
    found, *_ = await store.receipts.overdue(START + 32 * HOUR, 0, 10)
    assert len(found) == 1


async def test_what_awaits_its_receipt_is_found_by_key(store: Store, given: Given, account: Account) -> None:
    first = await awaited(given, account, "a", "b")
    given.now += HOUR
    whole = await awaited(given, account, "c", "c")
    assert await store.receipts.unreported(START, 0, 10) == ([], None)
    found, beyond = await store.receipts.unreported(given.now + 1, 0, 10)
    assert beyond is None
    assert found == [
        Unreported(first.key, 1, "a", START, first.sender, first.destination),
        Unreported(first.key, 1, "b", START, first.sender, first.destination),
        Unreported(whole.key, 1, "c", given.now, whole.sender, whole.destination),
    ]
    found, beyond = await store.receipts.unreported(given.now + 1, 0, 1)
    assert ([each.operator_id for each in found], beyond) == (["a", "b"], first.key)
    assert [each.key for each in (await store.receipts.unreported(given.now + 1, first.key, 2))[0]] == [whole.key]


async def test_what_has_ended_is_not_asked_for(store: Store, given: Given, account: Account) -> None:
    first, second = await awaited(given, account, "a", "b"), await awaited(given, account, "c")
    await store.commits.record(
        Facts(
            parts=[PartReceipt(first.account, first.key, 0, Delivery.DELIVRD, "000", START)],
            awaiting_matched=[Awaiting(1, "a", first.account, first.key, 0)],
            finals=[MessageEnd(second.account, second.key, Delivery.DELIVRD, "000", START, owed=False)],
        )
    )
    found, beyond = await store.receipts.unreported(given.now + 1, 0, 2)
    assert [each.operator_id for each in found] == ["b"]
    assert beyond == second.key, "both were looked at"


async def test_ended_parts_are_found_by_the_operators_id(store: Store, given: Given, account: Account) -> None:
    before, single = await awaited(given, account, "a"), await awaited(given, account, "b")
    given.now += HOUR
    whole, open_ = await awaited(given, account, "c", "d"), await awaited(given, account, "e")
    other = await awaited(given, account, "f")
    await store.commits.record(
        Facts(
            parts=[PartReceipt(whole.account, whole.key, 0, Delivery.UNDELIV, "011", given.now)],
            finals=[
                MessageEnd(each.account, each.key, Delivery.DELIVRD, "000", given.now, owed=False)
                for each in (before, single, other)
            ],
        )
    )
    ids = ["a", "b", "c", "d", "e", "unknown"]
    assert await store.receipts.ended(1, ids, START, given.now + 1) == [
        EndedPart("a", before.destination, Delivery.DELIVRD),
        EndedPart("b", single.destination, Delivery.DELIVRD),
        EndedPart("c", whole.destination, Delivery.UNDELIV),
    ]
    assert [each.operator_id for each in await store.receipts.ended(1, ids, given.now, given.now + 1)] == ["c"]
    assert [each.operator_id for each in await store.receipts.ended(1, ids, START, given.now)] == ["a", "b"]
    assert await store.receipts.ended(2, ids, START, given.now + 1) == []
    assert (await store.receipts.outstanding(open_.key)) is not None


async def test_early_receipts_are_kept_until_they_are_matched(store: Store) -> None:
    receipts = [early("a"), early("b", START + 1), early("a", START + 2, connector=2)]
    await store.commits.record(Facts(early=receipts))
    assert await store.receipts.orphans(10) == receipts[::-1]
    assert await store.receipts.orphans(1) == receipts[2:]
    assert await store.receipts.orphans(1, 1) == [receipts[1]]
    assert await store.receipts.orphans(10, 3) == []
    await store.commits.record(Facts(early_matched=[(1, "a"), (1, "unknown")]))
    assert await store.receipts.orphans(10) == [receipts[2], receipts[1]]
    assert (await store.upkeep.backlog())["orphans"] == 2


async def test_old_receipts_without_a_message_are_forgotten(store: Store) -> None:
    receipts = [early(str(number), START + number) for number in range(5)]
    await store.commits.record(Facts(early=receipts))
    assert await store.receipts.forget(START + 3, 10, 2) == 2
    assert await store.receipts.forget(START + 3, 10, 10) == 1
    assert await store.receipts.forget(START + 3, 10, 10) == 0
    assert await store.receipts.orphans(10) == [receipts[4], receipts[3]]


async def test_of_receipts_without_a_message_no_more_than_so_many_are_kept(store: Store) -> None:
    receipts = [early(str(number)) for number in range(5)]
    await store.commits.record(Facts(early=receipts))
    assert await store.receipts.forget(START, 2, 2) == 2
    assert await store.receipts.forget(START, 2, 10) == 1
    assert await store.receipts.forget(START, 2, 10) == 0
    assert await store.receipts.orphans(10) == [receipts[4], receipts[3]]


async def test_an_early_receipt_matched_in_the_same_transaction_is_gone(store: Store) -> None:
    await store.commits.record(Facts(early=[early("a")], early_matched=[(1, "a")]))
    assert await store.receipts.orphans(10) == []


@pytest.mark.parametrize("state", [Delivery.ENROUTE, Delivery.ACCEPTD])
async def test_progress_is_history_and_no_end(store: Store, given: Given, account: Account, state: Delivery) -> None:
    message = await awaited(given, account, "a")
    progress = PartReceipt(message.account, message.key, 0, state, "000", START + 1)
    await store.commits.record(Facts(progress=[progress]))
    await store.commits.record(Facts(progress=[progress]))
    found = await store.receipts.outstanding(message.key)
    assert found is not None
    assert found.states == {}
    events = await history_of(store, account.id, message.key, message.tail)
    assert events is not None
    assert [(event.at, event.segment) for event in events if state.name in event.detail] == [(START + 1, 1)]


async def test_progress_that_is_told_again_and_again_is_kept_once(store: Store, given: Given, account: Account) -> None:
    message = await awaited(given, account, "a", "b")

    def told(at: int, state: Delivery, err: str, segment: int = 0) -> PartReceipt:
        return PartReceipt(message.account, message.key, segment, state, err, START + at)

    for at in range(1, 50):
        state = Delivery.ENROUTE if at % 2 else Delivery.ACCEPTD
        await store.commits.record(
            Facts(progress=[told(at, state, "000"), told(at, state, "000", 1), told(at + 1, state, "000")])
        )
    assert await receipts_of(store, message) == [
        ("ENROUTE 000", START + 1, 1),
        ("ENROUTE 000", START + 1, 2),
        ("ACCEPTD 000", START + 2, 1),
        ("ACCEPTD 000", START + 2, 2),
    ]


@pytest.mark.parametrize("at_once", [1, 7, 100])
async def test_so_much_progress_of_a_part_is_kept(store: Store, given: Given, account: Account, at_once: int) -> None:
    message = await awaited(given, account, "a")
    told = [
        PartReceipt(message.account, message.key, 0, Delivery.ENROUTE, f"{number:03}", START + number)
        for number in range(100)
    ]
    for start in range(0, 100, at_once):
        await store.commits.record(Facts(progress=told[start : start + at_once]))
    kept = await receipts_of(store, message)
    assert kept == [(f"ENROUTE {number:03}", START + number, 1) for number in range(MOST_PROGRESS)]


async def receipts_of(store: Store, message: Message) -> list[tuple[str, int, int | None]]:
    """What its history has of receipts."""
    events = await history_of(store, message.account, message.key, message.tail)
    assert events is not None
    return [(event.detail, event.at, event.segment) for event in events if event.event == "Receipt"]


async def test_what_is_awaited_survives_a_restart(opener: Opener) -> None:
    store = await opener()
    given = Given(store)
    account = await given.account()
    message = await awaited(given, account, "a", "b")
    await store.commits.record(Facts(early=[early("x")]))
    await store.close()
    store = await opener()
    try:
        (found,) = await store.receipts.find(1, ["b"])
        assert found.message == message
        assert (await store.upkeep.backlog())["awaiting"] == 2
        assert await store.receipts.orphans(10) == [early("x")]
    finally:
        await store.close()


# --- words of customers


async def test_the_last_word_of_a_customer_about_a_message_is_kept(
    store: Store, given: Given, account: Account
) -> None:
    message = await awaited(given, account, "a")
    of = account.id, message.key, message.tail
    assert await store.receipts.confirm(*of[:2], message.tail ^ 1, True, START) is None
    assert await store.receipts.confirm(of[0] + 1, *of[1:], True, START) is None
    word = await store.receipts.confirm(*of, False, START + 1)
    assert word is not None
    assert (word.message.key, word.message.connector, word.taken, word.was, word.now) == (
        message.key, 1, True, None, None
    )  # fmt: skip
    ended = MessageEnd(account.id, message.key, Delivery.DELIVRD, "000", START + 2, owed=False)
    await store.commits.record(Facts(finals=[ended]))
    changes = []
    for at, delivered in enumerate((False, False, True, False), START + 3):
        word = await store.receipts.confirm(*of, delivered, at)
        assert word is not None
        changes.append((word.was, word.now))
    assert changes == [(None, False), (False, False), (False, None), (None, False)]
    events = await history_of(store, account.id, message.key, message.tail) or []
    assert [(each.at, each.detail) for each in events if each.event == "Feedback"] == [(START + 6, "not delivered")]


async def test_a_message_that_no_operator_took_gets_no_word(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id)
    refused = Submission(account.id, message.key, 0, 1, "", 11, START)
    await store.commits.record(Facts(submissions=[refused]))
    word = await store.receipts.confirm(account.id, message.key, message.tail, True, START)
    assert word is not None
    assert not word.taken
    record = await store.customers.trace(account.id, message.key, message.tail)
    assert record is not None
    assert record.feedback is None
