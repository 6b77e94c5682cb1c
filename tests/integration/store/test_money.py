"""The keys of ledger entries."""

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.configuration import Account
from heliograph.domain.message.ids import WORKERS, time_of
from heliograph.domain.message.state import State
from heliograph.domain.money.amounts import EntryKind
from tests.support.store import HOUR, START, Given


async def test_entries_that_are_no_charge_stay_clear_of_the_keys_of_messages(
    store: SqliteStore, given: Given, account: Account
) -> None:
    """They have the worker bits all set, and follow each other where a moment has several."""
    batch = given.batch(account.id, 200, state=State.SCHEDULED, time=START + HOUR, price=1)
    await given.recorded(batch)
    await store.accounts.add_credit(account.id, 1, "", START)
    await store.customers.cancel(account.id, batch.key, batch.tail, START)
    await store.accounts.add_credit(account.id, 1, "", START)
    entries = [entry for entry in await store.accounts.ledger(account.id, 1_000) if entry.kind is not EntryKind.CHARGE]
    assert len(entries) == 203
    assert {entry.key % WORKERS for entry in entries} == {WORKERS - 1}
    assert max(time_of(entry.key) for entry in entries) == START + 1  # 128 of them fit into a millisecond
    assert (entries[0].kind, entries[0].message) == (EntryKind.TOP_UP, 0)
