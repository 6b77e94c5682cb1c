"""Retention: what is old loses its text, then its number, then its row; what is owed waits, and money stays."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from heliograph.app.configuration import Account
from heliograph.app.facts import (
    CallbackDone,
    CallbackEnd,
    CallbackRetry,
    Facts,
    InboundMessage,
    Message,
    MessageEnd,
    PartReceipt,
    Submission,
    Verdict,
    notice_key_of,
)
from heliograph.app.kept_data import RetentionStep, RetentionSweep
from heliograph.app.ports import ListQuery, Store
from heliograph.app.ports.sending_lists import SendingList, references_of
from heliograph.app.records import RefusalQuery, RefusedRequest, Search
from heliograph.domain.error import Reason
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.retention import REDACTED_CODING, SCHEDULED, Stage
from heliograph.domain.message.way import Way
from tests.support.store import CREDIT, HOUR, NODE, SECOND, START, Given, replay_failed

PHONE, OTHER = "4917012345678", "447700900123"
URL = "https://customer.example/r"

LATER = START + 1000 * HOUR
"""All that happens in these tests did so long before."""


async def swept(store: Store, account: int, stage: Stage, before: int, *, inbound: bool = False) -> int:
    """Goes through all of an account's messages; returns how many were done."""
    done = 0
    while (step := await store.retention.advance(RetentionSweep(account, stage, inbound, before, LATER), 3)).looked:
        done += step.done
    return done


def taken(message: Message) -> Submission:
    return Submission(message.account, message.key, 0, 1, f"op-{message.key}", 0, message.time)


async def delivered(store: Store, given: Given, account: int, **fields: Any) -> Message:
    """A message that came to its end, with a receipt that nobody wants to hear of."""
    message = await given.sent(account, wants_receipt=True, **fields)
    await ended(store, message)
    return message


async def ended(store: Store, message: Message, *, owed: bool = False) -> None:
    await store.commits.record(
        Facts(
            submissions=[taken(message)],
            parts=[PartReceipt(message.account, message.key, 0, Delivery.DELIVRD, "000", START + 5)],
            finals=[MessageEnd(message.account, message.key, Delivery.DELIVRD, "000", START + 5, owed=owed)],
        )
    )


async def told(store: Store, message: Message | InboundMessage, end: CallbackEnd = CallbackEnd.DELIVERED) -> None:
    done = CallbackDone(message.account, message.key, end, 200, 1, START + 9)
    await store.commits.record(Facts(callbacks=[done]))


async def content(store: Store, message: Message) -> tuple[str, str] | None:
    found = await store.customers.message(message.account, message.key, message.tail)
    return None if found is None else (found.content, found.destination)


def phoned(given: Given, account: int, **fields: Any) -> InboundMessage:
    values: dict[str, Any] = {"sender": PHONE, "at": given.now, "key": given.key(), "tail": 99}
    values |= {"recipient": "3388", "content": "secret", "octets": b"secret", "coding": 0}
    return InboundMessage(account, 1, **(values | fields))


# --- texts and numbers


async def test_a_text_goes_and_all_else_stays(store: Store, given: Given, account: Account) -> None:
    message = await delivered(store, given, account.id, extras='{"priority":1}', callback_url=URL)
    assert await swept(store, account.id, Stage.TEXT, START + 1) == 1
    found = await store.customers.message(account.id, message.key, message.tail)
    assert found is not None
    assert (found.content, found.extras) == ("", "")
    assert (found.destination, found.sender, found.price, found.callback_url) == (PHONE, "Heliograph", CREDIT, URL)
    assert await store.upkeep.audit() == []


async def test_a_number_goes_and_is_found_no_more(store: Store, given: Given, account: Account) -> None:
    messages = [await delivered(store, given, account.id, callback_url=URL) for _ in range(5)]
    given.now += HOUR
    await delivered(store, given, account.id)
    while await store.upkeep.index_numbers(START + 2 * HOUR, 2):
        pass
    assert len((await store.messages.search(Search(number=PHONE))).hits) == 6
    assert await swept(store, account.id, Stage.NUMBER, START + 1) == 5
    found = await store.customers.message(account.id, messages[0].key, messages[0].tail)
    assert found is not None
    assert (found.destination, found.callback_url, found.content) == ("", "", "Guten Tag")
    assert len((await store.messages.search(Search(number=PHONE))).hits) == 1
    assert len(await store.customers.messages(account.id, ListQuery(limit=10))) == 6
    assert await store.upkeep.audit() == []


async def test_only_what_is_old_and_the_accounts_own_is_taken(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other")
    theirs, old = await delivered(store, given, other.id), await delivered(store, given, account.id)
    given.now += SECOND
    new = await delivered(store, given, account.id)
    assert await swept(store, account.id, Stage.TEXT, START + SECOND) == 1
    assert [await content(store, each) for each in (theirs, old, new)] == [
        ("Guten Tag", PHONE), ("", PHONE), ("Guten Tag", PHONE)
    ]  # fmt: skip


@pytest.mark.parametrize("inbound", [False, True])
async def test_messages_go_that_came_after_a_clock_that_was_ahead_was_set_right(
    store: Store, given: Given, account: Account, *, inbound: bool
) -> None:
    async def comes() -> None:
        if inbound:
            message = phoned(given, account.id, key=first_key_at(given.now))
            await store.commits.record(Facts(inbound=[message]))
        else:
            await delivered(store, given, account.id)

    given.now += 10 * HOUR
    await comes()
    assert await swept(store, account.id, Stage.TEXT, given.now + 1, inbound=inbound) == 1
    given.now -= 10 * HOUR
    assert await swept(store, account.id, Stage.TEXT, given.now - HOUR, inbound=inbound) == 0
    await comes()
    assert await swept(store, account.id, Stage.TEXT, given.now, inbound=inbound) == 0
    assert await swept(store, account.id, Stage.TEXT, given.now + 1, inbound=inbound) == 1


async def test_each_message_is_looked_at_once(store: Store, given: Given, account: Account) -> None:
    for _ in range(4):
        await delivered(store, given, account.id)
    sweep = RetentionSweep(account.id, Stage.TEXT, inbound=False, before=START + 1, quiet=LATER)
    looked = [(await store.retention.advance(sweep, 3)).looked for _ in range(3)]
    assert looked == [3, 1, 0]
    given.now += SECOND
    late = await delivered(store, given, account.id)
    assert await swept(store, account.id, Stage.TEXT, START + 2 * SECOND) == 1
    assert await content(store, late) == ("", PHONE)


# --- what is owed


async def _scheduled(given: Given, account: int) -> Message:
    return await given.scheduled(account, after=10)


async def _queued(given: Given, account: int) -> Message:
    message = given.message(account, queued=True)
    await given.recorded(given.accept(message))
    return message


async def _unsent(given: Given, account: int) -> Message:
    return await given.sent(account)


async def _unreported(given: Given, account: int) -> Message:
    message = await given.sent(account, wants_receipt=True)
    await given.store.commits.record(Facts(submissions=[taken(message)]))
    return message


async def _untold(given: Given, account: int) -> Message:
    message = await given.sent(account, wants_receipt=True, callback_url=URL)
    await ended(given.store, message, owed=True)
    return message


async def _to_be_told_again(given: Given, account: int) -> Message:
    message = await _untold(given, account)
    retry = CallbackRetry(account, message.key, START + HOUR, 1, b"body", "timed out", START)
    await given.store.commits.record(Facts(callback_retries=[retry]))
    return message


async def _on_its_way_untold(given: Given, account: int) -> Message:
    message = await given.sent(account, wants_receipt=True, callback_url=URL, extras='{"progress":true}')
    key = notice_key_of(message.key, Delivery.ENROUTE)
    facts = Facts(
        progress=[PartReceipt(account, message.key, 0, Delivery.ENROUTE, "000", START + 1)],
        callback_retries=[CallbackRetry(account, key, START + HOUR, 1, b"body", "timed out", START)],
    )
    await given.store.commits.record(facts)
    await ended(given.store, message)
    return message


@pytest.mark.parametrize("stage", SCHEDULED, ids=lambda stage: stage.label)
@pytest.mark.parametrize(
    "made", [_scheduled, _queued, _unsent, _unreported, _untold, _to_be_told_again, _on_its_way_untold]
)
async def test_nothing_that_is_owed_is_touched(
    store: Store, given: Given, account: Account, made: Callable[[Given, int], Any], stage: Stage
) -> None:
    message = await made(given, account.id)
    before = await store.customers.trace(account.id, message.key, message.tail)
    assert await swept(store, account.id, stage, START + HOUR) == 0
    assert await store.retention.accounts_kept(stage) == [account.id]
    assert (await store.retention.retry(account.id, stage, 0, 10, LATER)) == RetentionStep(1, 0, message.key)
    assert await store.customers.trace(account.id, message.key, message.tail) == before


@pytest.mark.parametrize("stage", SCHEDULED, ids=lambda stage: stage.label)
async def test_what_was_owed_is_taken_once_it_is_not(
    store: Store, given: Given, account: Account, stage: Stage
) -> None:
    message = await _untold(given, account.id)
    assert await swept(store, account.id, stage, START + HOUR) == 0
    await told(store, message)
    assert (await store.retention.retry(account.id, stage, 0, 10, LATER)).done == 1
    assert await store.retention.accounts_kept(stage) == []
    assert await content(store, message) == {Stage.TEXT: ("", PHONE), Stage.NUMBER: ("Guten Tag", "")}.get(stage)
    assert (await store.retention.retry(account.id, stage, 0, 10, LATER)).looked == 0


async def test_a_message_that_wants_no_receipt_is_done_when_it_is_answered(
    store: Store, given: Given, account: Account
) -> None:
    message = await given.sent(account.id)
    await store.commits.record(Facts(submissions=[taken(message)]))
    assert await swept(store, account.id, Stage.TEXT, START + 1) == 1


async def test_a_note_of_what_was_dropped_meanwhile_goes(store: Store, given: Given, account: Account) -> None:
    message = await _untold(given, account.id)
    assert await swept(store, account.id, Stage.TEXT, START + 1) == 0
    await told(store, message)
    assert await swept(store, account.id, Stage.ROW, START + 1) == 1
    assert (await store.retention.retry(account.id, Stage.TEXT, 0, 10, LATER)).done == 0
    assert await store.retention.accounts_kept(Stage.TEXT) == []


async def test_a_failed_callback_is_told_again_only_while_its_number_is_known(
    store: Store, given: Given, account: Account
) -> None:
    message = await _to_be_told_again(given, account.id)
    await told(store, message, CallbackEnd.FAILED)
    assert await swept(store, account.id, Stage.TEXT, START + 1) == 1
    assert await replay_failed(store, START + 20, account.id) == 1
    (owed,) = await store.notices.claim(1, START + 20, NODE)
    assert owed.body == b""  # with the text in it, it was forgotten
    await told(store, message, CallbackEnd.FAILED)
    assert await swept(store, account.id, Stage.NUMBER, START + 1) == 1
    assert await replay_failed(store, START + 30, account.id) == 0


async def test_a_reference_of_a_redacted_request_is_not_sent_twice(
    store: Store, given: Given, account: Account
) -> None:
    first = given.accept(given.message(account.id, reference="r1", wants_receipt=True), fingerprint=b"f" * 32)
    await given.recorded(first)
    await ended(store, first.messages[0])
    assert await swept(store, account.id, Stage.TEXT, START + 1) == 1
    again = given.accept(given.message(account.id, reference="r1"), fingerprint=b"f" * 32)
    await store.commits.record(Facts(accepts=[again]))
    assert again.verdict is Verdict.REFERENCE_CONFLICT


# --- rows


async def test_a_dropped_message_leaves_nothing_but_money(store: Store, given: Given, account: Account) -> None:
    first = given.accept(given.message(account.id, reference="r1", wants_receipt=True, callback_url=URL))
    await given.recorded(first)
    message = first.messages[0]
    await ended(store, message, owed=True)
    await told(store, message)
    given.now += SECOND
    kept = await delivered(store, given, account.id)
    assert await swept(store, account.id, Stage.ROW, START + 1) == 1
    assert await store.customers.trace(account.id, message.key, message.tail) is None
    assert await content(store, kept) is not None
    assert await store.customers.balance(account.id) == 98 * CREDIT
    assert len(await store.accounts.ledger(account.id, 10)) == 3
    assert await store.upkeep.audit() == []
    again = given.accept(given.message(account.id, reference="r1"))
    await store.commits.record(Facts(accepts=[again]))
    assert again.verdict is Verdict.ACCEPTED


@pytest.mark.parametrize("last", ["taken", "part", "progress", "final", "told", "told of progress"])
async def test_a_row_stays_to_which_something_just_happened(
    store: Store, given: Given, account: Account, last: str
) -> None:
    """The commit that says so may be made again: it must not leave what belongs to no message."""
    message = await given.sent(account.id, wants_receipt=True)
    at = {last: START + 9}
    part = PartReceipt(message.account, message.key, 0, Delivery.DELIVRD, "000", at.get("part", START))
    facts = Facts(
        submissions=[replace(taken(message), at=at.get("taken", START))],
        parts=[part],
        progress=[replace(part, state=Delivery.ENROUTE, at=at.get("progress", START))],
        finals=[MessageEnd(account.id, message.key, Delivery.DELIVRD, "000", at.get("final", START), owed=True)],
        callbacks=[
            CallbackDone(account.id, message.key, CallbackEnd.DELIVERED, 200, 1, at.get("told", START)),
            CallbackDone(
                account.id, notice_key_of(message.key, Delivery.ENROUTE), CallbackEnd.DELIVERED, 200, 1,
                at.get("told of progress", START),
            ),
        ],
    )  # fmt: skip
    await store.commits.record(facts)
    sweep = RetentionSweep(account.id, Stage.ROW, inbound=False, before=START + 1, quiet=START + 9)
    assert (await store.retention.advance(sweep, 10)).done == 0
    await store.commits.record(facts)
    assert await store.upkeep.audit() == []
    assert (await store.retention.retry(account.id, Stage.ROW, 0, 10, START + 9)).done == 0
    assert (await store.retention.retry(account.id, Stage.ROW, 0, 10, START + 10)).done == 1
    assert await store.upkeep.audit() == []


async def test_the_books_are_proved_after_refunds_were_dropped(store: Store, given: Given, account: Account) -> None:
    message = await given.scheduled(account.id)
    await store.customers.cancel(account.id, message.key, message.tail, START)
    assert await swept(store, account.id, Stage.ROW, message.time + 1) == 1
    assert await store.customers.message(account.id, message.key, message.tail) is None
    assert await store.customers.balance(account.id) == 100 * CREDIT
    assert await store.upkeep.audit() == []


async def test_a_batch_goes_message_by_message(store: Store, given: Given, account: Account) -> None:
    accept = given.batch(account.id, 3, wants_receipt=True, reference="b1", callback_url=URL)
    await given.recorded(accept)
    for message in accept.messages:
        await ended(store, message, owed=True)
    await told(store, accept.messages[0])
    await told(store, accept.messages[2])
    assert await swept(store, account.id, Stage.ROW, START + 1) == 2
    assert await store.upkeep.audit() == []
    stored = await store.customers.batch(account.id, accept.key, accept.tail, 0, 10)
    assert stored is not None
    assert [each.key for each in stored.messages] == [accept.messages[1].key]
    await told(store, accept.messages[1])
    assert (await store.retention.retry(account.id, Stage.ROW, 0, 10, LATER)).done == 1
    assert await store.customers.batch(account.id, accept.key, accept.tail, 0, 10) is None
    assert await store.upkeep.audit() == []
    assert await store.customers.replayed(account.id, "b1") is None


async def test_blocks_of_numbers_go_with_their_messages(store: Store, given: Given, account: Account) -> None:
    for _ in range(7):
        await delivered(store, given, account.id, destination=OTHER)
    while await store.upkeep.index_numbers(START + HOUR, 2):
        pass
    assert await swept(store, account.id, Stage.ROW, START + 1) == 7
    assert (await store.messages.search(Search(number=OTHER))).hits == []
    given.now += SECOND
    await delivered(store, given, account.id, destination=OTHER)
    assert len((await store.messages.search(Search(number=OTHER))).hits) == 1


async def test_messages_without_numbers_are_found_after_messages_of_others_went(
    store: Store, given: Given, account: Account
) -> None:
    other = await given.account("other")
    stays: list[int] = []
    for _ in range(3):
        await delivered(store, given, account.id)
        stays.insert(0, (await delivered(store, given, other.id)).key)
    while await store.upkeep.index_numbers(START + HOUR, 2):
        pass
    for owner in (account, other):
        assert await swept(store, owner.id, Stage.NUMBER, START + 1) == 3
    assert await swept(store, account.id, Stage.ROW, START + 1) == 3
    for wanted in (Search(sender="Heliograph"), Search(connector=1)):
        assert [hit.message.key for hit in (await store.messages.search(wanted)).hits] == stays


# --- messages from phones


async def test_inbound_messages_lose_text_then_number(store: Store, given: Given, account: Account) -> None:
    message = phoned(given, account.id)
    await store.commits.record(Facts(inbound=[message]))
    assert await swept(store, account.id, Stage.TEXT, START + HOUR, inbound=True) == 1
    (found,) = await store.pulls.page(account.id, 0, 10)
    assert (found.content, found.octets, found.coding, found.sender) == ("", b"", REDACTED_CODING, PHONE)
    assert await swept(store, account.id, Stage.NUMBER, START + HOUR, inbound=True) == 1
    (found,) = await store.pulls.page(account.id, 0, 10)
    assert (found.sender, found.recipient) == ("", "3388")


async def test_inbound_messages_that_are_owed_stay(store: Store, given: Given, account: Account) -> None:
    message = phoned(given, account.id, way=Way.WEBHOOK)
    await store.commits.record(Facts(inbound=[message]))
    assert await swept(store, account.id, Stage.TEXT, START + HOUR, inbound=True) == 0
    await told(store, message)
    assert (await store.retention.retry(account.id, Stage.TEXT, 0, 10, LATER)).done == 1


async def test_an_old_inbound_message_that_is_routed_later_goes_too(
    store: Store, given: Given, account: Account
) -> None:
    unrouted = phoned(given, 0)
    given.now += HOUR
    await store.commits.record(Facts(inbound=[unrouted, phoned(given, account.id)]))
    assert await swept(store, account.id, Stage.TEXT, START + 2 * HOUR, inbound=True) == 1
    await store.inbound.route(unrouted.key, unrouted.tail, account.id, START + 3 * HOUR)
    assert await store.retention.accounts_kept(Stage.TEXT) == [account.id]
    assert (await store.retention.retry(account.id, Stage.TEXT, 0, 10, LATER)).done == 1
    assert {each.content for each in await store.pulls.page(account.id, 0, 10)} == {""}
    assert await swept(store, account.id, Stage.NUMBER, START + 2 * HOUR, inbound=True) == 2


async def test_the_last_inbound_message_of_an_account_keeps_the_place_of_the_next(
    store: Store, given: Given, account: Account
) -> None:
    messages = [phoned(given, account.id, price=CREDIT) for _ in range(3)]
    await store.commits.record(Facts(inbound=messages))
    assert await swept(store, account.id, Stage.ROW, START + HOUR, inbound=True) == 2
    assert await store.upkeep.audit() == []
    (last,) = await store.pulls.page(account.id, 0, 10)
    assert last.key == messages[2].key
    given.now += SECOND
    await store.commits.record(Facts(inbound=[phoned(given, account.id, price=CREDIT)]))
    assert (await store.retention.retry(account.id, Stage.ROW, 0, 10, LATER)).done == 1
    assert await store.customers.balance(account.id) == 96 * CREDIT
    assert await store.upkeep.audit() == []


# --- beside messages


async def test_suppressed_numbers_are_forgotten_and_hold(store: Store, given: Given, account: Account) -> None:
    await store.suppressions.suppress(account.id, [PHONE], "api", START)
    await store.suppressions.suppress(account.id, [OTHER], "api", START + 5)
    assert await store.retention.forget_suppressed(account.id, START + 1, 10) == 1
    assert await store.retention.forget_suppressed(account.id, START + 1, 10) == 0
    assert [each.number for each in await store.suppressions.page(account.id, "", 10)] == [OTHER]
    assert await store.suppressions.find(account.id, PHONE) is not None
    refused = given.accept(given.message(account.id, destination=PHONE))
    await store.commits.record(Facts(accepts=[refused]))
    assert refused.verdict is Verdict.SUPPRESSED


async def test_refused_requests_of_an_account_are_forgotten(store: Store, account: Account) -> None:
    made = [
        RefusedRequest(of, Reason.CREDIT, at, 402, "POST", "/api/v1/messages", "to", "no", "192.0.2.1", "r")
        for of, at in ((account.id, START), (account.id, START + 5), (99, START))
    ]
    await store.refused_requests.add([], made, 10)
    assert await store.retention.forget_refused(account.id, START + 1) == 1
    assert {(each.account, each.at) for each in await store.refused_requests.latest(RefusalQuery(), 10)} == {
        (account.id, START + 5), (99, START),
    }  # fmt: skip


async def test_a_sending_list_goes_after_its_last_message(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other")
    lists = [SendingList(0, of, "Spring sale", "user:ada", START, 1, reported=START) for of in (account.id, other.id)]
    first, second = [await store.sending_lists.add(each) for each in lists]
    third = await store.sending_lists.add(replace(lists[0], reported=START + 9))
    for number in (first, third * 10):  # the messages of list 30 are none of list 3
        await delivered(store, given, account.id, reference=f"{references_of(number)}1")
    assert await store.retention.drop_lists(account.id, START + 5, 10) == 0
    await swept(store, account.id, Stage.ROW, START + HOUR)
    assert await store.retention.drop_lists(account.id, START, 10) == 0
    assert await store.retention.drop_lists(account.id, START + 5, 10) == 1
    assert [each.id for each in await store.sending_lists.page(1 << 62, None, 10)] == [third, second]
    assert await store.retention.drop_lists(account.id, START + 10, 10) == 1


async def test_reasons_of_refused_rows_are_forgotten_with_refused_requests(store: Store, account: Account) -> None:
    row = SendingList(
        0, account.id, "Spring sale", "user:ada", START, 1, reported=START, problem="It is '491701234567'."
    )
    row.id = await store.sending_lists.add(row)
    await store.retention.forget_refused(account.id, START)
    assert await store.sending_lists.find(row.id) == row
    await store.retention.forget_refused(account.id, START + 1)
    assert await store.sending_lists.find(row.id) == replace(row, problem="")


async def test_notices_of_low_balances_go_once_they_ended(store: Store, given: Given) -> None:
    account = await given.account("low", 10 * CREDIT, low_balance=5 * CREDIT, callback_url=URL)
    silent = await given.account("silent", 10 * CREDIT, low_balance=5 * CREDIT)
    for number in range(3):
        given.now += 1
        await given.sent(account.id, price=6 * CREDIT)
        await given.sent(silent.id, price=6 * CREDIT)
        for each in (account, silent):
            await store.accounts.add_credit(each.id, 6 * CREDIT, "", given.now)
        if number < 2:
            for notice in await store.notices.claim(9, LATER, NODE):
                end = CallbackEnd.FAILED if number else CallbackEnd.DELIVERED
                done = CallbackDone(account.id, notice.key, end, 200, 1, given.now)
                await store.commits.record(Facts(callbacks=[done]))
    assert await store.retention.drop_balance_notices(account.id, START + 1, 10) == 0
    assert await store.retention.drop_balance_notices(account.id, LATER, 1) == 1
    assert await store.retention.drop_balance_notices(account.id, LATER, 10) == 1
    assert await store.notices.ended(10) == []
    assert await replay_failed(store, LATER) == 0
    assert len(await store.notices.claim(9, LATER, NODE)) == 1
    await store.retention.drop_balance_notices(silent.id, LATER, 10)
    assert await store.upkeep.audit() == []


async def test_an_account_may_keep_days_of_its_own(store: Store, given: Given) -> None:
    account = await given.account(retain_text_days=0.5)
    found = await store.accounts.by_id(account.id)
    assert found is not None
    assert (found.retain_text_days, found.retain_number_days, found.retain_days) == (0.5, None, None)
    changed = await store.accounts.update(account.id, {"retain_days": 30.0, "retain_text_days": None})
    assert (changed.retain_text_days, changed.retain_number_days, changed.retain_days) == (None, None, 30.0)
