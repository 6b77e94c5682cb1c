"""Suppressions: what phones and people ask for holds from its commit on, for what is sent and for what waits."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from heliograph.app.configuration import Account, Missing
from heliograph.app.facts import (
    Attempt,
    Facts,
    InboundMessage,
    MessageEnd,
    Queueing,
    Resend,
    Submission,
    Verdict,
    Withdrawal,
)
from heliograph.app.ports import Store
from heliograph.app.ports.accounts import MOST_AMONG
from heliograph.app.resources.explain import explain
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.receipt import NO_CODE, Delivery
from heliograph.domain.message.state import State
from heliograph.domain.message.suppression import Suppression
from heliograph.domain.money.amounts import EntryKind
from tests.support.store import CREDIT, HOUR, NODE, SECOND, START, Given, delivery_of, history_of

PHONE, OTHER, NUMBER = "4917012345678", "447700900123", "3388"


def text(given: Given, account: int, wish: Wish, *, reply: bool = False, **fields: Any) -> InboundMessage:
    """A message from the phone, with its reply if it is to have one."""
    key = given.key()
    answer = None
    if reply:
        message = given.message(account, destination=PHONE, sender=NUMBER, content="You are out.", queued=True)
        answer = given.accept(message, exempt=True)
    values: dict[str, Any] = {"at": given.now, "wish": wish, "reply": answer, "key": key, "tail": 99}
    return InboundMessage(account, 1, PHONE, NUMBER, "text", b"text", 0, **(values | fields))


async def told(store: Store, *messages: InboundMessage) -> None:
    await store.commits.record(Facts(inbound=list(messages)))


async def _by_text(store: Store, given: Given, account: int) -> None:
    await told(store, text(given, account, Wish.STOP))


async def _by_hand(store: Store, given: Given, account: int) -> None:
    assert await store.suppressions.suppress(account, [PHONE], "api", given.now) == 1


Stop = Callable[[Store, Given, int], Awaitable[None]]


@pytest.fixture(params=[_by_text, _by_hand], ids=["by text", "by hand"])
def stop(request: pytest.FixtureRequest) -> Stop:
    found: Stop = request.param
    return found


# --- what is sent


async def test_nothing_is_sent_to_a_phone_that_opted_out(
    store: Store, given: Given, account: Account, stop: Stop
) -> None:
    await stop(store, given, account.id)
    refused = given.accept(given.message(account.id, destination=PHONE))
    passed = given.accept(given.message(account.id, destination=OTHER))
    await store.commits.record(Facts(accepts=[refused, passed]))
    assert [refused.verdict, passed.verdict] == [Verdict.SUPPRESSED, Verdict.ACCEPTED]
    assert await store.customers.message(account.id, refused.key, refused.tail) is None
    assert await store.customers.balance(account.id) == 99 * CREDIT


async def test_only_the_account_is_concerned(store: Store, given: Given, account: Account, stop: Stop) -> None:
    other = await given.account("other")
    await stop(store, given, account.id)
    await given.sent(other.id, destination=PHONE)


async def test_requests_of_the_same_commit_come_after_the_text(store: Store, given: Given, account: Account) -> None:
    accept = given.accept(given.message(account.id, destination=PHONE))
    await store.commits.record(Facts(accepts=[accept], inbound=[text(given, account.id, Wish.STOP)]))
    assert accept.verdict is Verdict.SUPPRESSED


@pytest.mark.parametrize("scheduled", [False, True], ids=["at once", "scheduled"])
async def test_of_several_the_others_go(
    store: Store, given: Given, account: Account, stop: Stop, scheduled: bool
) -> None:
    await stop(store, given, account.id)
    time = given.now + (HOUR if scheduled else 0)
    accept = given.batch(account.id, 3, time=time, state=State.SCHEDULED if scheduled else State.SENT, queued=scheduled)
    for message, to in zip(accept.messages, (OTHER, PHONE, "447700900124"), strict=True):
        message.destination = to
    await given.recorded(accept)
    left_out = accept.messages[1]
    assert (left_out.state, left_out.price, accept.total) == (State.FAILED, 0, 2 * CREDIT)
    assert await store.customers.balance(account.id) == 98 * CREDIT
    stored = await store.customers.batch(account.id, accept.key, accept.tail, 0, 10)
    assert stored is not None
    states = [State.SCHEDULED if scheduled else State.SENT] * 3
    states[1] = State.FAILED
    assert [message.state for message in stored.messages] == states
    assert [message.price for message in stored.messages] == [CREDIT, 0, CREDIT]
    delivery = await delivery_of(store, left_out.key)
    assert delivery == (Delivery.REJECTD, NO_CODE, given.now)
    record = await store.messages.trace(left_out.key)
    assert record is not None
    assert "its recipient had opted out" in explain(record, {}, hex)
    claimed = await store.queue.claim(1, 10, time, NODE)
    assert left_out.key not in {queued.message.key for queued in claimed}
    assert await store.upkeep.audit() == []


async def test_several_that_all_opted_out_are_refused(store: Store, given: Given, account: Account, stop: Stop) -> None:
    await stop(store, given, account.id)
    accept = given.batch(account.id, 2, destination=PHONE, reference="r")
    await store.commits.record(Facts(accepts=[accept]))
    assert accept.verdict is Verdict.SUPPRESSED
    assert await store.customers.balance(account.id) == 100 * CREDIT
    # the reference was not used
    again = given.batch(account.id, 2, destination=OTHER, reference="r")
    await given.recorded(again)


async def test_credit_has_to_suffice_for_those_that_go(store: Store, given: Given) -> None:
    account = await given.account("poor", credit=CREDIT)
    await _by_hand(store, given, account.id)
    accept = given.batch(account.id, 2)
    accept.messages[0].destination = OTHER
    await given.recorded(accept)
    assert await store.customers.balance(account.id) == 0


async def test_a_request_that_was_accepted_before_is_replayed(
    store: Store, given: Given, account: Account, stop: Stop
) -> None:
    first = await given.sent(account.id, destination=PHONE, reference="r")
    await stop(store, given, account.id)
    again = given.accept(given.message(account.id, destination=PHONE, reference="r"))
    await store.commits.record(Facts(accepts=[again]))
    assert (again.verdict, again.key) == (Verdict.REPLAYED, first.key)


@pytest.mark.parametrize("at_once", [True, False])
async def test_a_repeat_names_the_recipients_that_the_first_request_left_out(
    store: Store, given: Given, account: Account, stop: Stop, *, at_once: bool
) -> None:
    await stop(store, given, account.id)
    requests = [given.batch(account.id, 2, destination=PHONE, reference="r") for _ in range(2)]
    for request in requests:
        request.messages[1].destination = OTHER
    for some in [requests] if at_once else [[request] for request in requests]:
        await store.commits.record(Facts(accepts=some))
    assert [each.verdict for each in requests] == [Verdict.ACCEPTED, Verdict.REPLAYED]
    found = await store.customers.replayed(account.id, "r")
    assert found is not None
    for each in (*requests, found[1]):
        assert each.total == CREDIT
        assert [(message.state, message.price) for message in each.messages] == [
            (State.FAILED, 0), (State.SENT, CREDIT),
        ]  # fmt: skip


async def test_a_repeat_gives_the_first_answer_of_a_free_message_that_failed_later(
    store: Store, given: Given, account: Account
) -> None:
    batch = given.batch(account.id, 2, price=0, reference="r")
    await given.recorded(batch)
    failed = batch.messages[0]
    end = MessageEnd(account.id, failed.key, Delivery.REJECTD, "", given.now + 1_000, owed=False, failed=True)
    await store.commits.record(Facts(finals=[end]))
    found = await store.customers.replayed(account.id, "r")
    assert found is not None
    assert [message.state for message in found[1].messages] == [State.SENT, State.SENT]


async def test_several_requests_of_one_commit_are_judged_each(
    store: Store, given: Given, account: Account, stop: Stop
) -> None:
    await stop(store, given, account.id)
    mixed, whole = given.batch(account.id, 2), given.batch(account.id, 2, destination=OTHER)
    mixed.messages[1].destination = OTHER
    refused = given.accept(given.message(account.id, destination=PHONE))
    await store.commits.record(Facts(accepts=[refused, whole, mixed]))
    assert [each.verdict for each in (refused, whole, mixed)] == [
        Verdict.SUPPRESSED, Verdict.ACCEPTED, Verdict.ACCEPTED,
    ]  # fmt: skip
    assert [each.state for each in (*whole.messages, *mixed.messages)] == [
        State.SENT, State.SENT, State.FAILED, State.SENT,
    ]  # fmt: skip
    assert await store.customers.balance(account.id) == 97 * CREDIT


# --- what waits


async def test_what_waits_for_the_phone_is_cancelled_and_refunded(
    store: Store, given: Given, account: Account, stop: Stop
) -> None:
    scheduled = [await given.scheduled(account.id, destination=PHONE) for _ in range(3)]
    deferred = await given.sent(account.id, destination=PHONE)
    row = Queueing(account.id, deferred.key, 1, given.now + HOUR, deferred.expires, attempted=False, claimed=False)
    await store.commits.record(
        Facts(queueings=[row], attempts=[Attempt(account.id, deferred.key, 0, 1, 88, given.now)])
    )
    untouched = await given.scheduled(account.id, destination=OTHER)
    await stop(store, given, account.id)
    assert await store.customers.balance(account.id) == 99 * CREDIT
    for message in (*scheduled, deferred):
        now = await store.customers.message(account.id, message.key, message.tail)
        assert now is not None
        assert now.state == State.CANCELLED
        events = await history_of(store, account.id, message.key, message.tail)
        assert events is not None
        assert [event.event for event in events][-2:] == ["Cancelled", "Refunded"]
    claimed = await store.queue.claim(1, 10, given.now + HOUR, NODE)
    assert [queued.message.key for queued in claimed] == [untouched.key]
    assert [entry.note for entry in await store.accounts.ledger(account.id, 10) if entry.kind is EntryKind.REFUND] == [
        "opted out"
    ] * 4
    assert await store.upkeep.audit() == []


async def test_a_message_in_memory_whose_recipient_opts_out_before_the_next_start_is_known(
    store: Store, given: Given, account: Account, stop: Stop
) -> None:
    """The process ended before it withdrew the message, or before the opt-out."""
    sent, attempted = [await given.sent(account.id, destination=PHONE) for _ in range(2)]
    begun = await given.sent(account.id, destination=PHONE, segments=2)
    other = await given.sent(account.id, destination=OTHER)
    submissions = [Submission(account.id, begun.key, 0, 1, "id", 0, given.now)]
    late = await given.sent(account.id, destination=PHONE, connector=2)
    await store.commits.record(Facts(submissions=submissions, marks={"attempted:1": attempted.key}))
    await stop(store, given, account.id)
    unsent = (await store.commits.recover(0, NODE)).unsent
    assert {queued.message.key: (queued.attempted, queued.suppressed) for queued in unsent} == {
        sent.key: (True, False),
        attempted.key: (True, False),
        begun.key: (False, False),
        other.key: (False, False),
        late.key: (False, True),
    }


async def test_what_may_have_left_is_let_go_on(store: Store, given: Given, account: Account, stop: Stop) -> None:
    """Half a text is worse than none, and what the operator may have cannot be called back."""
    begun = await given.sent(account.id, destination=PHONE, segments=2)
    doubtful = await given.sent(account.id, destination=PHONE)
    await store.commits.record(
        Facts(
            queueings=[
                Queueing(account.id, begun.key, 1, given.now, begun.expires, attempted=False, claimed=False),
                Queueing(account.id, doubtful.key, 1, given.now, doubtful.expires, attempted=True, claimed=False),
            ],
            submissions=[Submission(account.id, begun.key, 0, 1, "id", 0, given.now)],
        )
    )
    await stop(store, given, account.id)
    claimed = await store.queue.claim(1, 10, given.now, NODE)
    assert {queued.message.key: queued.suppressed for queued in claimed} == {begun.key: False, doubtful.key: False}
    assert not any(queued.is_reply for queued in claimed)
    assert await store.customers.balance(account.id) == 98 * CREDIT


async def test_what_a_node_has_claimed_is_its_own_until_it_comes_back(
    store: Store, given: Given, account: Account, stop: Stop
) -> None:
    message = await given.scheduled(account.id, destination=PHONE)
    due = given.now + HOUR
    assert len(await store.queue.claim(1, 10, due, NODE)) == 1
    await stop(store, given, account.id)
    assert await store.customers.balance(account.id) == 99 * CREDIT
    row = Queueing(account.id, message.key, 1, due, message.expires, attempted=False, claimed=False)
    await store.commits.record(Facts(queueings=[row]))
    [again] = await store.queue.claim(1, 10, due, NODE)
    assert (again.message.key, again.suppressed) == (message.key, True)
    withdrawal = Withdrawal(account.id, message.key, message.price, due)
    await store.commits.record(Facts(withdrawals=[withdrawal, withdrawal]))
    await store.commits.record(Facts(withdrawals=[withdrawal]))
    assert await store.customers.balance(account.id) == 100 * CREDIT
    now = await store.customers.message(account.id, message.key, message.tail)
    assert now is not None
    assert now.state == State.CANCELLED
    assert await store.queue.claim(1, 10, due + HOUR, NODE) == []
    assert await store.upkeep.audit() == []


async def test_a_withdrawal_of_what_has_ended_does_nothing(store: Store, given: Given, account: Account) -> None:
    gone = await given.scheduled(account.id)
    await store.customers.cancel(account.id, gone.key, gone.tail, given.now)
    await store.commits.record(Facts(withdrawals=[Withdrawal(account.id, gone.key, gone.price, given.now)]))
    assert await store.customers.balance(account.id) == 100 * CREDIT


# --- replies


async def test_the_reply_goes_out_although_the_number_is_suppressed(
    store: Store, given: Given, account: Account
) -> None:
    stop = text(given, account.id, Wish.STOP, reply=True)
    assert stop.reply is not None
    await told(store, stop)
    [queued] = await store.queue.claim(1, 10, given.now, NODE)
    assert (queued.message.key, queued.message.content, queued.suppressed) == (stop.reply.key, "You are out.", False)
    assert queued.is_reply
    assert await store.customers.balance(account.id) == 99 * CREDIT
    record = await store.inbound.show(stop.key, stop.tail)
    assert record is not None
    assert (record.message.wish, record.message.replied) == (Wish.STOP, stop.reply.key)
    # it was put off, and is not withdrawn by a suppression that comes after it
    row = Queueing(account.id, stop.reply.key, 1, given.now, given.now + HOUR, attempted=False, claimed=False)
    await store.commits.record(Facts(queueings=[row]))
    await told(store, text(given, account.id, Wish.START))
    await told(store, text(given, account.id, Wish.STOP))
    [again] = await store.queue.claim(1, 10, given.now, NODE)
    assert (again.message.key, again.suppressed) == (stop.reply.key, False)


async def test_a_stop_is_confirmed_once(store: Store, given: Given, account: Account) -> None:
    first, second = (text(given, account.id, Wish.STOP, reply=True) for _ in range(2))
    await told(store, first)
    await told(store, second)
    assert len(await store.queue.claim(1, 10, given.now, NODE)) == 1
    record = await store.inbound.show(second.key, second.tail)
    assert record is not None
    assert record.message.replied == 0
    assert await store.customers.balance(account.id) == 99 * CREDIT


async def test_help_is_answered_each_time_and_changes_nothing(store: Store, given: Given, account: Account) -> None:
    await told(store, text(given, account.id, Wish.STOP))
    await told(store, *(text(given, account.id, Wish.HELP, reply=True) for _ in range(2)))
    assert len(await store.queue.claim(1, 10, given.now, NODE)) == 2
    assert await store.suppressions.find(account.id, PHONE) is not None


async def test_a_reply_that_cannot_be_paid_for_is_left_out(store: Store, given: Given) -> None:
    account = await given.account("poor", credit=0)
    stop = text(given, account.id, Wish.STOP, reply=True)
    await told(store, stop)
    assert await store.queue.claim(1, 10, given.now, NODE) == []
    assert await store.suppressions.find(account.id, PHONE) is not None
    record = await store.inbound.show(stop.key, stop.tail)
    assert record is not None
    assert record.message.replied == 0
    assert await store.customers.balance(account.id) == 0


# --- undone


@pytest.mark.parametrize("wish", [Wish.START, Wish.YES])
async def test_a_phone_may_come_back(store: Store, given: Given, account: Account, wish: Wish) -> None:
    await told(store, text(given, account.id, Wish.STOP))
    await told(store, text(given, account.id, wish))
    await given.sent(account.id, destination=PHONE)
    assert await store.suppressions.find(account.id, PHONE) is None
    await told(store, text(given, account.id, Wish.STOP))
    refused = given.accept(given.message(account.id, destination=PHONE))
    await store.commits.record(Facts(accepts=[refused]))
    assert refused.verdict is Verdict.SUPPRESSED


@pytest.mark.parametrize("wish", [Wish.NONE, Wish.SUSPECTED, Wish.HELP])
async def test_other_texts_change_nothing(store: Store, given: Given, account: Account, wish: Wish) -> None:
    one = text(given, account.id, wish)
    await told(store, one)
    await given.sent(account.id, destination=PHONE)
    record = await store.inbound.show(one.key, one.tail)
    assert record is not None
    assert record.message.wish is wish


async def test_a_message_without_owner_changes_nothing(store: Store, given: Given, account: Account) -> None:
    await told(store, text(given, 0, Wish.STOP))
    await given.sent(account.id, destination=PHONE)


async def test_a_suppression_is_lifted_by_hand(store: Store, given: Given, account: Account, stop: Stop) -> None:
    await stop(store, given, account.id)
    await store.suppressions.lift(account.id, PHONE)
    await given.sent(account.id, destination=PHONE)
    with pytest.raises(Missing):
        await store.suppressions.lift(account.id, PHONE)


async def test_a_message_that_an_operator_took_and_did_not_deliver_is_not_refunded_by_an_opt_out(
    store: Store, given: Given, account: Account, stop: Stop
) -> None:
    message = await given.sent(account.id, destination=PHONE, wants_receipt=True)
    took = Submission(account.id, message.key, 0, 1, "a", 0, START)
    again = Resend(
        account.id, message.key, 1, 2, Delivery.UNDELIV, "011", message.time, message.expires, START + 9, message
    )
    await store.commits.record(Facts(submissions=[took], resends=[again]))
    before = await store.customers.balance(account.id)
    await stop(store, given, account.id)
    assert await store.customers.balance(account.id) == before
    (claimed,) = await store.queue.claim(2, 10, START + HOUR, NODE)
    assert (claimed.message.key, claimed.suppressed, claimed.resent) == (message.key, True, True)


# --- lists


async def test_suppressions_are_listed_by_number(store: Store, account: Account) -> None:
    numbers = [f"4477009{n:05}" for n in (5, 3, 4, 1, 2)]
    assert await store.suppressions.suppress(account.id, numbers, "import", START) == 5
    assert await store.suppressions.suppress(account.id, [*numbers, PHONE, PHONE], "api", START + SECOND) == 1
    expected = [Suppression(number, START, "import") for number in sorted(numbers)]
    expected.append(Suppression(PHONE, START + SECOND, "api"))
    assert await store.suppressions.page(account.id, "", 10) == expected
    assert await store.suppressions.page(account.id, expected[1].number, 2) == expected[2:4]
    assert await store.suppressions.page(account.id + 1, "", 10) == []
    assert await store.suppressions.find(account.id, PHONE) == expected[-1]
    assert await store.suppressions.find(account.id, OTHER) is None
    assert await store.suppressions.made_since(START + SECOND) == [(account.id, PHONE, START + SECOND)]


async def test_the_suppressed_ones_among_many_numbers_are_those_that_acceptance_refuses(
    store: Store, given: Given, account: Account, stop: Stop
) -> None:
    other = await given.account("other")
    numbers = [f"4477009{n:05}" for n in range(MOST_AMONG - 3)]
    erased, lifted, elsewhere, *_ = numbers
    await stop(store, given, account.id)
    await store.suppressions.suppress(account.id, [erased, lifted, *numbers[500:600]], "import", START)
    await store.suppressions.suppress(other.id, [elsewhere], "api", START)
    await store.recipients.forget(erased, account.id)
    await store.suppressions.lift(account.id, lifted)
    found = await store.suppressions.among(account.id, [*numbers, PHONE, PHONE, OTHER])
    assert found == {erased, PHONE, *numbers[500:600]}
    for number in (erased, lifted, elsewhere, PHONE, OTHER, numbers[499], numbers[599]):
        accept = given.accept(given.message(account.id, destination=number))
        await store.commits.record(Facts(accepts=[accept]))
        assert accept.verdict is (Verdict.SUPPRESSED if number in found else Verdict.ACCEPTED), number
    assert await store.suppressions.among(account.id, []) == set()
    assert await store.suppressions.among(99, [PHONE]) == set()


async def test_an_account_whose_last_suppression_was_lifted_has_none_among_many(store: Store, account: Account) -> None:
    await store.suppressions.suppress(account.id, [PHONE], "api", START)
    assert await store.suppressions.among(account.id, [OTHER, PHONE]) == {PHONE}
    await store.suppressions.lift(account.id, PHONE)
    assert await store.suppressions.among(account.id, [OTHER, PHONE]) == set()


async def test_an_unknown_account_has_no_suppressions(store: Store) -> None:
    with pytest.raises(Missing):
        await store.suppressions.suppress(99, [PHONE], "api", START)
    with pytest.raises(Missing):
        await store.suppressions.lift(99, PHONE)


@pytest.mark.parametrize("wish", [Wish.NONE, Wish.SUSPECTED, Wish.HELP])
async def test_a_reply_to_another_text_lifts_no_suppression(
    store: Store, given: Given, account: Account, wish: Wish
) -> None:
    await store.suppressions.suppress(account.id, [PHONE], "api", START)
    await told(store, text(given, account.id, wish, reply=True))
    assert await store.suppressions.find(account.id, PHONE) == Suppression(PHONE, START, "api")
