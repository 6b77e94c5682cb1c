"""One phone: everything that is kept of it is found, and erased but for what is still owed."""

import pytest

from heliograph.app.configuration import Account
from heliograph.app.facts import NO_ANSWER, Attempt, EarlyReceipt, Facts, InboundPart, PartSet
from heliograph.app.kept_data import ErasureStep, PhoneTraces
from heliograph.app.ports import Store
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.retention import REDACTED_CODING, Stage
from heliograph.domain.message.state import State
from tests.contracts.test_retention import OTHER, PHONE, content, delivered, ended, phoned
from tests.support.store import CREDIT, HOUR, NODE, START, Given

NOTHING = PhoneTraces([], [], [], [], 0)


async def known(store: Store, given: Given, account: int) -> PhoneTraces:
    """Leaves traces of PHONE, and of another, everywhere; returns those of PHONE."""
    for _ in range(3):
        await delivered(store, given, account, destination=OTHER)
    messages = [await delivered(store, given, account) for _ in range(3)]
    while await store.upkeep.index_numbers(START + HOUR, 2):
        pass
    messages.append(await delivered(store, given, account))
    texts = [phoned(given, account), phoned(given, 0), phoned(given, account, sender=OTHER)]
    part = InboundPart(PartSet(1, PHONE, "3388", 7, 2), 1, 0, True, b"half", START)
    early = [EarlyReceipt(1, f"op-{to}", to, Delivery.DELIVRD, "000", START) for to in (PHONE, OTHER)]
    await store.commits.record(Facts(inbound=texts, inbound_parts=[part], early=early))
    await store.suppressions.suppress(account, [PHONE, OTHER], "api", START)
    return PhoneTraces(
        [(account, each.key) for each in messages],
        [(account, texts[0].key, 99), (0, texts[1].key, 99)],
        [(account, START, "api")],
        [(1, f"op-{PHONE}", Delivery.DELIVRD, "000", START)],
        1,
    )


async def test_everything_of_a_phone_is_found(store: Store, given: Given, account: Account) -> None:
    assert await store.recipients.traces(PHONE, None) == NOTHING
    traces = await known(store, given, account.id)
    assert await store.recipients.traces(PHONE, None) == traces
    assert await store.recipients.traces(PHONE[:-1], None) == NOTHING


async def test_what_is_one_accounts_is_found_alone(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other")
    theirs = await delivered(store, given, other.id)
    traces = await known(store, given, account.id)
    found = await store.recipients.traces(PHONE, account.id)
    assert (found.messages, found.inbound, found.unmatched) == (traces.messages, traces.inbound[:1], [])
    assert (await store.recipients.traces(PHONE, other.id)).messages == [(other.id, theirs.key)]


async def test_settled_messages_are_erased(store: Store, given: Given, account: Account) -> None:
    traces = await known(store, given, account.id)
    keys = [key for _, key in traces.messages]
    phones = [key for of, key, _ in traces.inbound if of == account.id]
    assert await store.recipients.judge(account.id, keys) == ErasureStep(0, 4, 0)
    assert await store.recipients.traces(PHONE, None) == traces
    assert await store.recipients.erase(account.id, keys, START + 1) == ErasureStep(0, 4, 0)
    assert await store.recipients.erase(account.id, phones, START + 1) == ErasureStep(0, 1, 0)
    assert await store.recipients.erase(0, [traces.inbound[1][1]], START + 1) == ErasureStep(0, 1, 0)
    await store.recipients.forget(PHONE, None)
    assert await store.recipients.traces(PHONE, None) == PhoneTraces([], [], [], [], 1)
    found = await store.inbound.show(phones[0], 99)
    assert found is not None
    assert (found.message.sender, found.message.content, found.message.coding) == ("", "", REDACTED_CODING)
    assert await store.suppressions.find(account.id, PHONE) is not None
    assert len((await store.recipients.traces(OTHER, None)).messages) == 3
    assert await store.upkeep.audit() == []


async def test_what_waits_is_cancelled_and_refunded(store: Store, given: Given, account: Account) -> None:
    message = await given.scheduled(account.id)
    assert await store.recipients.judge(account.id, [message.key]) == ErasureStep(1, 1, 0)
    assert await store.recipients.erase(account.id, [message.key], START + 1) == ErasureStep(1, 1, 0)
    found = await store.customers.message(account.id, message.key, message.tail)
    assert found is not None
    assert (found.state, found.content, found.destination) == (State.CANCELLED, "", "")
    assert await store.customers.balance(account.id) == 100 * CREDIT
    assert await store.queue.claim(1, 10, START + 2 * HOUR, NODE) == []
    assert await store.upkeep.audit() == []


@pytest.mark.parametrize("status", [0, NO_ANSWER])
async def test_what_an_earlier_operator_took_stays_charged(
    store: Store, given: Given, account: Account, status: int
) -> None:
    """The message waits for its next operator. The first is paid for it, or may have delivered it."""
    message = await given.scheduled(account.id)
    await store.commits.record(Facts(attempts=[Attempt(account.id, message.key, 0, 2, status, START)]))
    assert await store.recipients.judge(account.id, [message.key]) == ErasureStep(0, 0, 1)
    assert await store.recipients.erase(account.id, [message.key], START + 1) == ErasureStep(0, 0, 1)
    assert await store.customers.balance(account.id) == 99 * CREDIT
    assert await store.retention.accounts_kept(Stage.ERASURE) == [account.id]


async def test_what_is_in_flight_is_erased_once_it_is_over(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id, wants_receipt=True)
    assert await store.recipients.judge(account.id, [message.key]) == ErasureStep(0, 0, 1)
    assert await store.recipients.erase(account.id, [message.key], START + 1) == ErasureStep(0, 0, 1)
    assert await content(store, message) == ("Guten Tag", PHONE)
    assert await store.retention.accounts_kept(Stage.ERASURE) == [account.id]
    await ended(store, message)
    assert (await store.retention.retry(account.id, Stage.ERASURE, 0, 10, START)).done == 1
    assert await content(store, message) == ("", "")


async def test_a_phone_of_one_account_stays_with_others(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other")
    for of in (account, other):
        await store.suppressions.suppress(of.id, [PHONE], "api", START)
    await store.commits.record(Facts(early=[EarlyReceipt(1, "op", PHONE, Delivery.DELIVRD, "000", START)]))
    await store.recipients.forget(PHONE, account.id)
    found = await store.recipients.traces(PHONE, None)
    assert (found.suppressions, len(found.unmatched)) == ([(other.id, START, "api")], 1)


async def test_what_was_deleted_leaves_the_disk_as_far_as_the_store_can(store: Store) -> None:
    assert await store.retention.scrub()
