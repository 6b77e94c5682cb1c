"""`record` of requests: judged in order, charged and stored together or not at all."""

import asyncio
from dataclasses import replace

from heliograph.app.configuration import Account
from heliograph.app.facts import Accept, Facts, Verdict
from heliograph.app.ports import ListQuery, Store
from heliograph.domain.message.state import Kind, State
from heliograph.domain.message.way import Way
from heliograph.domain.money.amounts import EntryKind
from tests.support.store import CREDIT, HOUR, START, Given, Opener, on_every_driver

pytestmark = on_every_driver


async def test_an_accepted_message_is_stored_as_it_was_given(store: Store, given: Given, account: Account) -> None:
    message = given.message(
        account.id,
        kind=Kind.FLASH,
        content="€ 😀 \x00 '--",
        segments=3,
        price=123_456,
        wants_receipt=True,
        callback_url="https://customer.example/r",
        way=Way.WEBHOOK,
        reference="order-1",
        network="26201",
    )
    await given.recorded(given.accept(message))
    assert await store.customers.message(account.id, message.key, message.tail) == message


async def test_each_way_of_accepting_keeps_the_network(store: Store, given: Given, account: Account) -> None:
    """A plain request, a batch, and plain requests of which one is refused."""
    poor = await given.account("poor", credit=0)
    batch = given.batch(account.id, 2, network="310410")
    plain = [given.message(of, network="26201") for of in (account.id, poor.id)]
    await given.recorded(batch)
    await store.commits.record(Facts(accepts=[given.accept(message) for message in plain]))
    single = await given.sent(account.id, network="26202")
    for message in (*batch.messages, plain[0], single):
        found = await store.customers.message(account.id, message.key, message.tail)
        assert found is not None
        assert found.network == message.network


async def test_it_is_charged_with_one_entry_of_its_own_key(store: Store, given: Given, account: Account) -> None:
    message = await given.sent(account.id, price=35_000)
    assert await store.customers.balance(account.id) == 100 * CREDIT - 35_000
    entry = (await store.accounts.ledger(account.id, 10))[0]
    assert (entry.key, entry.kind, entry.amount, entry.message, entry.at) == (
        message.key,
        EntryKind.CHARGE,
        -35_000,
        message.key,
        START,
    )
    assert await store.upkeep.audit() == []


async def test_a_batch_is_charged_with_one_entry(store: Store, given: Given, account: Account) -> None:
    accept = given.batch(account.id, 1_000, price=2_000)
    await given.recorded(accept)
    assert await store.customers.balance(account.id) == 98 * CREDIT
    entries = await store.accounts.ledger(account.id, 10)
    assert [(entry.key, entry.amount) for entry in entries if entry.kind is EntryKind.CHARGE] == [
        (accept.key, -2 * CREDIT)
    ]
    assert await store.upkeep.audit() == []


async def test_a_message_that_costs_nothing_needs_no_entry(store: Store, given: Given, account: Account) -> None:
    await given.sent(account.id, price=0)
    assert [entry.kind for entry in await store.accounts.ledger(account.id, 10)] == [EntryKind.TOP_UP]
    assert await store.upkeep.audit() == []


async def test_the_last_credit_goes_to_the_first(store: Store, given: Given) -> None:
    account = await given.account("poor", credit=3 * CREDIT)
    accepts = [given.accept(given.message(account.id, price=price * CREDIT)) for price in (2, 2, 1, 1)]
    await store.commits.record(Facts(accepts=accepts))
    assert [accept.verdict for accept in accepts] == [
        Verdict.ACCEPTED,
        Verdict.TOO_LITTLE_CREDIT,
        Verdict.ACCEPTED,
        Verdict.TOO_LITTLE_CREDIT,
    ]
    assert await store.customers.balance(account.id) == 0
    assert len(await store.customers.messages(account.id, ListQuery())) == 2
    assert await store.upkeep.audit() == []


async def test_a_batch_is_all_or_nothing(store: Store, given: Given) -> None:
    account = await given.account("poor", credit=2 * CREDIT)
    accept = given.batch(account.id, 3)
    await store.commits.record(Facts(accepts=[accept]))
    assert accept.verdict is Verdict.TOO_LITTLE_CREDIT
    assert await store.customers.balance(account.id) == 2 * CREDIT
    assert await store.customers.messages(account.id, ListQuery()) == []
    assert await store.customers.batch(account.id, accept.key, accept.tail, 0, 10) is None


async def test_the_credit_limit_is_how_far_below_zero(store: Store, given: Given) -> None:
    account = await given.account("postpaid", credit=0, credit_limit=CREDIT)
    await given.sent(account.id)
    late = given.accept(given.message(account.id, price=1))
    await store.commits.record(Facts(accepts=[late]))
    assert late.verdict is Verdict.TOO_LITTLE_CREDIT
    assert await store.customers.balance(account.id) == -CREDIT


async def test_accounts_do_not_share_credit(store: Store, given: Given, account: Account) -> None:
    poor = await given.account("poor", credit=0)
    accepts = [given.accept(given.message(who)) for who in (poor.id, account.id, poor.id)]
    await store.commits.record(Facts(accepts=accepts))
    assert [accept.verdict for accept in accepts] == [
        Verdict.TOO_LITTLE_CREDIT,
        Verdict.ACCEPTED,
        Verdict.TOO_LITTLE_CREDIT,
    ]


async def test_of_several_accounts_each_pays_for_its_own(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other", credit=2 * CREDIT)
    accepts = [given.accept(given.message(who)) for who in (other.id, account.id, other.id)]
    await store.commits.record(Facts(accepts=accepts))
    assert [accept.verdict for accept in accepts] == [Verdict.ACCEPTED] * 3
    assert await store.customers.balance(account.id) == 99 * CREDIT
    assert await store.customers.balance(other.id) == 0
    assert await store.upkeep.audit() == []


async def test_a_suspended_account_sends_nothing_until_it_is_resumed(
    store: Store, given: Given, account: Account
) -> None:
    await store.accounts.update(account.id, {"suspended": True})
    accept = given.accept(given.message(account.id))
    await store.commits.record(Facts(accepts=[accept]))
    assert accept.verdict is Verdict.SUSPENDED
    assert await store.customers.balance(account.id) == 100 * CREDIT
    await store.accounts.update(account.id, {"suspended": False})
    await given.sent(account.id)


async def test_an_account_that_does_not_exist_sends_nothing(store: Store, given: Given) -> None:
    accept = given.accept(given.message(4_711))
    await store.commits.record(Facts(accepts=[accept]))
    assert accept.verdict is Verdict.SUSPENDED
    assert await store.upkeep.audit() == []


# --- references


async def test_a_reference_used_again_for_the_same_gives_the_first_result(
    store: Store, given: Given, account: Account
) -> None:
    first = given.accept(given.message(account.id, reference="r"), fingerprint=b"same")
    await given.recorded(first)
    again = given.accept(given.message(account.id, reference="r", price=5), fingerprint=b"same")
    await store.commits.record(Facts(accepts=[again]))
    assert again == replace(first, verdict=Verdict.REPLAYED)
    assert await store.customers.balance(account.id) == 99 * CREDIT
    assert len(await store.customers.messages(account.id, ListQuery())) == 1


async def test_a_batch_is_replayed_in_its_order(store: Store, given: Given, account: Account) -> None:
    first = given.batch(account.id, 300, reference="r", price=7)
    first.fingerprint = b"same"
    others = [given.accept(given.message(account.id)) for _ in range(3)]
    await given.recorded(others[0], first, others[1])
    again = given.batch(account.id, 300, reference="r", price=7)
    again.fingerprint = b"same"
    await given.recorded(others[2])
    await store.commits.record(Facts(accepts=[again]))
    assert again == replace(first, verdict=Verdict.REPLAYED)


async def test_a_replay_shows_what_was_answered_though_it_was_cancelled_since(
    store: Store, given: Given, account: Account
) -> None:
    message = await given.scheduled(account.id, reference="r")
    await store.customers.cancel(account.id, message.key, message.tail, given.now)
    again = given.accept(given.message(account.id, reference="r"), total=0)
    await store.commits.record(Facts(accepts=[again]))
    assert again.verdict is Verdict.REPLAYED
    assert again.scheduled
    assert (again.key, again.tail, again.total) == (message.key, message.tail, message.price)
    assert again.messages == [message]
    assert again.messages[0].state == State.SCHEDULED


async def test_a_replay_needs_no_credit(store: Store, given: Given) -> None:
    account = await given.account("poor", credit=CREDIT)
    await given.sent(account.id, reference="r")
    again = given.accept(given.message(account.id, reference="r"))
    await store.commits.record(Facts(accepts=[again]))
    assert again.verdict is Verdict.REPLAYED


async def test_a_reference_used_for_something_else_is_a_conflict(store: Store, given: Given, account: Account) -> None:
    await given.recorded(given.accept(given.message(account.id, reference="r"), fingerprint=b"one"))
    other = given.accept(given.message(account.id, reference="r"), fingerprint=b"other")
    await store.commits.record(Facts(accepts=[other]))
    assert other.verdict is Verdict.REFERENCE_CONFLICT
    assert await store.customers.balance(account.id) == 99 * CREDIT


async def test_of_two_with_one_reference_in_one_transaction_one_is_sent(
    store: Store, given: Given, account: Account
) -> None:
    first, same, other = (
        given.accept(given.message(account.id, reference="r"), fingerprint=fingerprint)
        for fingerprint in (b"same", b"same", b"other")
    )
    await store.commits.record(Facts(accepts=[first, same, other]))
    assert [each.verdict for each in (first, same, other)] == [
        Verdict.ACCEPTED,
        Verdict.REPLAYED,
        Verdict.REFERENCE_CONFLICT,
    ]
    assert (same.key, same.tail, same.messages) == (first.key, first.tail, first.messages)
    assert await store.customers.balance(account.id) == 99 * CREDIT


async def test_a_refused_request_uses_up_no_reference(store: Store, given: Given) -> None:
    account = await given.account("poor", credit=0)
    refused = given.accept(given.message(account.id, reference="r"), fingerprint=b"one")
    await store.commits.record(Facts(accepts=[refused]))
    assert refused.verdict is Verdict.TOO_LITTLE_CREDIT
    await store.accounts.add_credit(account.id, CREDIT, "", given.now)
    await given.recorded(given.accept(given.message(account.id, reference="r"), fingerprint=b"other"))


async def test_references_are_each_accounts_own(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other")
    await given.sent(account.id, reference="r")
    await given.sent(other.id, reference="r")
    assert await store.customers.replayed(other.id, "q") is None


async def test_the_first_use_of_a_reference_can_be_looked_up(store: Store, given: Given, account: Account) -> None:
    first = given.batch(account.id, 3, reference="r", state=State.SCHEDULED, time=START + HOUR)
    first.fingerprint = b"print"
    await given.recorded(first)
    found = await store.customers.replayed(account.id, "r")
    assert found == (b"print", replace(first, verdict=Verdict.REPLAYED))


# --- durability


async def test_what_was_accepted_is_there_after_a_restart(opener: Opener) -> None:
    store = await opener()
    given = Given(store)
    account = await given.account()
    message = await given.sent(account.id, reference="r")
    batch = given.batch(account.id, 20)
    await given.recorded(batch)
    await store.close()
    store = await opener()
    try:
        assert await store.customers.balance(account.id) == 79 * CREDIT
        assert await store.customers.message(account.id, message.key, message.tail) == message
        found = await store.customers.batch(account.id, batch.key, batch.tail, 0, 100)
        assert found is not None
        assert found.messages == batch.messages
        assert await store.customers.replayed(account.id, "r") is not None
        assert await store.upkeep.audit() == []
    finally:
        await store.close()


async def test_many_transactions_at_once_spend_each_credit_once(store: Store, given: Given) -> None:
    account = await given.account("poor", credit=10 * CREDIT)
    accepts: list[Accept] = [given.accept(given.message(account.id)) for _ in range(40)]
    await asyncio.gather(*(store.commits.record(Facts(accepts=[accept])) for accept in accepts))
    assert sum(accept.verdict is Verdict.ACCEPTED for accept in accepts) == 10
    assert await store.customers.balance(account.id) == 0
    assert await store.upkeep.audit() == []
