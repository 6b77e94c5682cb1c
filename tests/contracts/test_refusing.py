"""One fact that no store takes: `record` says so and writes nothing, and then all others can be recorded."""

from collections.abc import Callable
from dataclasses import fields

import pytest

from heliograph.app.commit.isolate import Bisection, PieceFate, RejectedPiece
from heliograph.app.configuration import Account
from heliograph.app.facts import (
    Accept,
    Attempt,
    Awaiting,
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    EarlyReceipt,
    Facts,
    Message,
    MessageEnd,
    PartReceipt,
    Queueing,
    Submission,
    Verdict,
)
from heliograph.app.ports import Store, StoreRejected
from heliograph.app.records import MessageRecord
from heliograph.domain.message.receipt import NO_CODE, Delivery
from tests.support.store import CREDIT, HOUR, NODE, START, Given

NO_TEXT = "\ud800"
"""Half of a surrogate pair is in no text that can be written as UTF-8."""

NO_NUMBER = 1 << 63
"""One more than a column holds."""

DONE, OPEN, READ = CallbackEnd.DELIVERED, Delivery.ENROUTE, Delivery.DELIVRD

MISFITS: dict[str, tuple[Callable[[int, int], Facts], PieceFate]] = {
    "a move in the queue": (
        lambda a, k: Facts(queueings=[Queueing(a, k, 1, NO_NUMBER, START, attempted=False, claimed=False)]),
        PieceFate.DROPPED,
    ),
    "a try": (lambda a, k: Facts(attempts=[Attempt(a, k, 0, 1, NO_NUMBER, START)]), PieceFate.DROPPED),
    "an answer's id": (
        lambda a, k: Facts(
            submissions=[Submission(a, k, 0, 1, NO_TEXT, 0, START)], awaiting=[Awaiting(1, NO_TEXT, a, k, 0)]
        ),
        PieceFate.REDUCED,
    ),
    "an answer's time": (
        lambda a, k: Facts(submissions=[Submission(a, k, 0, 1, "id", 0, NO_NUMBER)]),
        PieceFate.DROPPED,
    ),
    "a part's receipt": (lambda a, k: Facts(parts=[PartReceipt(a, k, 0, READ, NO_TEXT, START)]), PieceFate.REDUCED),
    "a receipt of progress": (
        lambda a, k: Facts(progress=[PartReceipt(a, k, 0, OPEN, NO_TEXT, START)]),
        PieceFate.REDUCED,
    ),
    "a final": (lambda a, k: Facts(finals=[MessageEnd(a, k, READ, NO_TEXT, START, owed=True)]), PieceFate.REDUCED),
    "an early receipt's code": (
        lambda a, k: Facts(early=[EarlyReceipt(1, "id", "49", READ, NO_TEXT, START)]),
        PieceFate.REDUCED,
    ),
    "an early receipt's id": (
        lambda a, k: Facts(early=[EarlyReceipt(1, NO_TEXT, "49", READ, "000", START)]),
        PieceFate.REDUCED,
    ),
    "the end of an early receipt": (lambda a, k: Facts(early_matched=[(1, NO_TEXT)]), PieceFate.DROPPED),
    "the end of what was awaited": (
        lambda a, k: Facts(awaiting_matched=[Awaiting(1, NO_TEXT, a, k, 0)]),
        PieceFate.REDUCED,
    ),
    "the end of a callback": (
        lambda a, k: Facts(callbacks=[CallbackDone(a, k, DONE, NO_NUMBER, 1, START)]),
        PieceFate.REDUCED,
    ),
    "another try of a callback": (
        lambda a, k: Facts(callback_retries=[CallbackRetry(a, k, START, 1, b"id=1", NO_TEXT, START)]),
        PieceFate.REDUCED,
    ),
}
"""By name: facts about the message `k` of the account `a`, and what is to become of them."""


def full(misfit: Facts, *neighbours: Message) -> Facts:
    """A commit with the misfit between the same about its neighbours."""
    facts = Facts(marks={"dispatch": 5})
    for number, message in enumerate(neighbours):
        account, key, name = message.account, message.key, f"id-{number}"
        facts.attempts.append(Attempt(account, key, 0, 1, 0x58, START))
        facts.submissions.append(Submission(account, key, 0, 1, name, 0, START))
        facts.parts.append(PartReceipt(account, key, 0, READ, "000", START))
        facts.finals.append(MessageEnd(account, key, READ, "000", START, owed=True))
        facts.callbacks.append(CallbackDone(account, key, DONE, 200, 1, START))
        facts.early.append(EarlyReceipt(1, f"early-{number}", "49", READ, "000", START))
        if number == len(neighbours) // 2:
            for each in fields(Facts):
                if each.name != "marks":
                    getattr(facts, each.name).extend(getattr(misfit, each.name))
    return facts


async def told_of(store: Store, key: int) -> MessageRecord:
    trace = await store.messages.trace(key)
    assert trace is not None
    return trace


@pytest.mark.parametrize("what", MISFITS)
async def test_a_commit_with_a_misfit_is_refused_as_a_whole(
    store: Store, given: Given, account: Account, what: str
) -> None:
    message, neighbour = await given.sent(account.id), await given.sent(account.id)
    facts = full(MISFITS[what][0](account.id, message.key), neighbour)
    accept = given.accept(given.message(account.id))
    facts.accepts.append(accept)
    with pytest.raises(StoreRejected) as refused:
        await store.commits.record(facts)
    assert NO_TEXT not in str(refused.value)
    assert str(NO_NUMBER) not in str(refused.value)
    assert accept.verdict is Verdict.UNAVAILABLE
    assert await store.customers.balance(account.id) == 98 * CREDIT
    assert (await store.commits.recover(0, NODE)).marks == {}
    assert (await told_of(store, neighbour.key)).submissions == []
    assert await store.receipts.orphans(10) == []
    await given.recorded(accept)
    assert await store.upkeep.audit() == []


@pytest.mark.parametrize("what", MISFITS)
async def test_apart_all_others_are_recorded(store: Store, given: Given, account: Account, what: str) -> None:
    message = await given.sent(account.id, segments=2)
    neighbours = [await given.sent(account.id, callback_url="https://customer.example/r") for _ in range(5)]
    misfit, fate = MISFITS[what][0](account.id, message.key), MISFITS[what][1]
    facts = full(misfit, *neighbours)
    facts.accepts += [given.accept(given.message(account.id)), given.batch(account.id, 3)]
    noted: list[RejectedPiece] = []
    await Bisection(store.commits, facts, noted.append).record()
    assert [(each.facts, each.fate) for each in noted] == [(misfit, fate)]
    assert [accept.verdict for accept in facts.accepts] == [Verdict.ACCEPTED] * 2
    assert await store.customers.balance(account.id) == (100 - 6 - 4) * CREDIT
    assert (await store.commits.recover(0, NODE)).marks == {"dispatch": 5}
    for number, neighbour in enumerate(neighbours):
        trace = await told_of(store, neighbour.key)
        assert [each.operator_id for each in trace.submissions] == [f"id-{number}"]
        assert trace.final == (READ, "000", START)
        assert trace.callback is not None
        assert trace.callback.end is DONE
    orphans = {each.operator_id for each in await store.receipts.orphans(10)}
    assert orphans >= {f"early-{number}" for number in range(len(neighbours))}


@pytest.mark.parametrize("place", [0, 1, 30, 63])
async def test_one_request_that_cannot_be_written_does_not_fail_the_others(
    store: Store, given: Given, account: Account, place: int
) -> None:
    taken = await given.sent(account.id)
    accepts = [given.accept(given.message(account.id, price=1)) for _ in range(64)]
    accepts[place] = given.accept(given.message(account.id, price=1, key=taken.key))
    submission = Submission(taken.account, taken.key, 0, 1, "id", 0, given.now)
    facts = Facts(accepts=accepts, submissions=[submission], marks={"dispatch": 5})
    with pytest.raises(StoreRejected):
        await store.commits.record(facts)
    noted: list[RejectedPiece] = []
    await Bisection(store.commits, facts, noted.append).record()
    assert [(each.facts.accepts, each.fate) for each in noted] == [([accepts[place]], PieceFate.REFUSED)]
    assert [accept.verdict for accept in accepts] == [
        Verdict.UNAVAILABLE if number == place else Verdict.ACCEPTED for number in range(64)
    ]
    assert await store.customers.balance(account.id) == 99 * CREDIT - 63
    assert (await store.commits.recover(0, NODE)).marks == {"dispatch": 5}
    assert await store.upkeep.audit() == []


async def test_a_value_that_no_column_takes_fails_its_request_alone(
    store: Store, given: Given, account: Account
) -> None:
    good = given.accept(given.message(account.id))
    no_text = given.accept(given.message(account.id, content=NO_TEXT))
    no_number = given.accept(given.message(account.id, expires=NO_NUMBER))
    noted: list[RejectedPiece] = []
    await Bisection(store.commits, Facts(accepts=[no_text, good, no_number]), noted.append).record()
    assert [each.facts.accepts for each in noted] == [[no_text], [no_number]]
    assert [accept.verdict for accept in (no_text, good, no_number)] == [
        Verdict.UNAVAILABLE,
        Verdict.ACCEPTED,
        Verdict.UNAVAILABLE,
    ]
    assert await store.customers.balance(account.id) == 99 * CREDIT
    assert await store.upkeep.audit() == []


async def test_requests_are_still_judged_in_order(store: Store, given: Given) -> None:
    account = await given.account("poor", credit=3 * CREDIT)
    prices = (2, 2, 1, 1)
    accepts: list[Accept] = [given.accept(given.message(account.id, price=price * CREDIT)) for price in prices]
    accepts.insert(1, given.accept(given.message(account.id, content=NO_TEXT)))
    await Bisection(store.commits, Facts(accepts=accepts), lambda _: None).record()
    assert [accept.verdict for accept in accepts] == [
        Verdict.ACCEPTED,
        Verdict.UNAVAILABLE,
        Verdict.TOO_LITTLE_CREDIT,
        Verdict.ACCEPTED,
        Verdict.TOO_LITTLE_CREDIT,
    ]


async def test_an_answer_without_its_id_still_counts_as_sent_and_ends(
    store: Store, given: Given, account: Account
) -> None:
    """Nothing is sent again for it, its receipt is waited for as long as any, and what was awaited is over with it."""
    message = await given.sent(account.id, wants_receipt=True)
    key = message.key
    answer = MISFITS["an answer's id"][0](account.id, key)
    await Bisection(store.commits, answer, lambda _: None).record()
    recovery = await store.commits.recover(0, NODE)
    assert recovery.unsent == []
    (overdue,), *_ = await store.receipts.overdue(START + 25 * HOUR, 0, 10)
    assert overdue.operator_ids == {(1, ""): (0,)}
    end = Facts(
        finals=[MessageEnd(account.id, key, Delivery.UNKNOWN, NO_CODE, START, owed=False)],
        awaiting_matched=[Awaiting(1, NO_TEXT, account.id, key, 0)],
    )
    await Bisection(store.commits, end, lambda _: None).record()
    assert await store.receipts.overdue(START + 25 * HOUR, 0, 10) == ([], [], None)
    assert (await store.upkeep.backlog())["awaiting"] == 0
    assert await store.upkeep.audit() == []


async def test_a_refund_is_made_whatever_is_wrong_with_its_code(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id)
    final = MessageEnd(
        account.id, message.key, Delivery.REJECTD, NO_TEXT, START, owed=False, failed=True, refund=message.price
    )
    await Bisection(store.commits, Facts(finals=[final], dequeued=[(account.id, message.key)]), lambda _: None).record()
    assert (await told_of(store, message.key)).final == (Delivery.REJECTD, NO_CODE, START)
    assert await store.customers.balance(account.id) == 100 * CREDIT
    assert await store.upkeep.audit() == []


async def test_only_what_is_at_fault_is_left_out(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id, segments=3)
    facts = Facts(
        submissions=[
            Submission(account.id, message.key, segment, 1, name, 0, START)
            for segment, name in enumerate(("a", NO_TEXT, "c"))
        ],
        parts=[
            PartReceipt(account.id, message.key, segment, READ, err, START)
            for segment, err in enumerate(("042", NO_TEXT))
        ],
    )
    noted: list[RejectedPiece] = []
    await Bisection(store.commits, facts, noted.append).record()
    trace = await told_of(store, message.key)
    assert [each.operator_id for each in trace.submissions] == ["a", "", "c"]
    assert [each.err for each in trace.receipts] == ["042", NO_CODE]
    assert [each.fate for each in noted] == [PieceFate.REDUCED]
