"""Statements of an account: what is asked for of its ledger, page by page, with the balance that it led to."""

from heliograph.app.configuration import Account, LedgerQuery
from heliograph.app.facts import Facts, InboundMessage
from heliograph.app.ports import Store
from heliograph.domain.money.amounts import EntryKind
from tests.support.store import CREDIT, HOUR, START, Given


async def lived_in(store: Store, given: Given, account: Account) -> list[int]:
    """Ten charges an hour apart, and a top-up after the fifth; returns the amounts, newest first."""
    for number in range(10):
        given.now = START + number * HOUR
        await given.sent(account.id, price=(number + 1) * 1000, time=given.now)
        if number == 4:
            await store.accounts.add_credit(account.id, 5 * CREDIT, "bank", given.now + 1)
    amounts = [-(number + 1) * 1000 for number in range(10)]
    return [*amounts[:4:-1], 5 * CREDIT, *amounts[4::-1], 100 * CREDIT]


async def test_a_statement_comes_page_by_page_with_its_balance(store: Store, given: Given, account: Account) -> None:
    amounts = await lived_in(store, given, account)
    seen: list[int] = []
    query = LedgerQuery(limit=5)
    while True:
        page = await store.accounts.statement(account.id, query)
        assert page.balance == sum(amounts[len(seen) :])
        seen += [entry.amount for entry in page.entries]
        if page.more is None:
            break
        query.before = page.more
    assert seen == amounts
    assert await store.customers.balance(account.id) == sum(amounts)


async def test_a_statement_of_a_time_has_its_entries_alone(store: Store, given: Given, account: Account) -> None:
    amounts = await lived_in(store, given, account)
    query = LedgerQuery(start=START + 4 * HOUR, end=START + 6 * HOUR)
    page = await store.accounts.statement(account.id, query)
    assert [entry.amount for entry in page.entries] == [-7000, -6000, 5 * CREDIT, -5000]
    assert page.balance == sum(amounts[3:])
    assert (await store.accounts.statement(account.id, LedgerQuery(start=START + 99 * HOUR))).entries == []


async def test_entries_of_one_kind_are_found_within_the_effort(store: Store, given: Given, account: Account) -> None:
    await lived_in(store, given, account)
    query = LedgerQuery(kind=EntryKind.TOP_UP)
    page = await store.accounts.statement(account.id, query)
    assert [entry.note for entry in page.entries] == ["bank", "opening credit"]
    assert (page.more, page.reached, page.balance) == (None, None, None)
    query.effort = 4
    page = await store.accounts.statement(account.id, query)
    assert (page.entries, page.reached) == ([], START + 6 * HOUR)
    query.before = page.more
    page = await store.accounts.statement(account.id, query)
    assert [entry.note for entry in page.entries] == ["bank"]
    query.limit, query.effort, query.before = 1, 100, None
    page = await store.accounts.statement(account.id, query)
    assert (len(page.entries), page.more) == (1, page.entries[0].key)


async def test_nobody_sees_the_ledger_of_another(store: Store, given: Given, account: Account) -> None:
    other = await given.account("other", credit=7)
    await lived_in(store, given, account)
    page = await store.accounts.statement(other.id, LedgerQuery())
    assert ([entry.amount for entry in page.entries], page.balance) == ([7], 7)


async def test_entries_of_one_key_are_on_one_page(store: Store, given: Given, account: Account) -> None:
    """The charge of a message may have the key that is the position of a message from a phone."""
    low, both = given.key(), given.key()
    for key in (both - 1, low):
        came = InboundMessage(
            account.id, 1, "491701234567", "3388", "Hi", b"Hi", 0, given.now, price=7, key=key, tail=1
        )
        await store.commits.record(Facts(inbound=[came]))
    await given.sent(account.id, key=both, price=5)
    every = (await store.accounts.statement(account.id, LedgerQuery())).entries
    assert [(entry.key, entry.amount) for entry in every[:3]] == [(both, -7), (both, -5), (both - 1, -7)]
    seen: list[tuple[int, int]] = []
    query = LedgerQuery(limit=1)
    while True:
        page = await store.accounts.statement(account.id, query)
        seen += [(entry.key, entry.kind) for entry in page.entries]
        if page.more is None:
            break
        query.before = page.more
    assert seen == [(entry.key, entry.kind) for entry in every]
