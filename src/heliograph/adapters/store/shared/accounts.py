"""`app.ports.Accounts`: accounts, their keys and their credit."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from heliograph.adapters.store.shared.ledger import top_up
from heliograph.adapters.store.shared.network import note_prices, put_price, tables_changed
from heliograph.adapters.store.shared.rows import (
    ANY_KEY,
    account_of,
    account_values,
)
from heliograph.adapters.store.shared.steps import Operations, Q, Steps, first, listing, lookup, read, write
from heliograph.app.configuration import (
    BALANCES,
    Account,
    ApiKey,
    BalanceOutOfBounds,
    Exists,
    LedgerEntry,
    LedgerPage,
    LedgerQuery,
    Missing,
    NameTaken,
    Price,
    SystemIdTaken,
    TopUp,
    changed_account,
)
from heliograph.app.records import Usage
from heliograph.domain.message.ids import first_key_at, time_of
from heliograph.domain.money.amounts import EntryKind

ENTRIES = 2_000_000
"""Most entries of a ledger that usage is computed from, the latest."""

LATER = 2_000_000
"""Entries that may follow an entry while its balance is computed."""

_NO_ACCOUNT = (0, *account_values(Account(0, "", "", b"")).values())
"""The row of an account that nobody has."""


class StoredAccountNames(Operations):
    """`app.ports.AccountNames`."""

    @lookup
    def containing(self, text: str, limit: int) -> Steps[list[str]]:
        rows = yield Q.account_names_with(text=text.lower(), limit=limit)
        return [name for (name,) in rows]

    @lookup
    def by_plan(self) -> Steps[dict[str, int]]:
        rows = yield Q.accounts_by_plan()
        return dict(rows)


class StoredAccounts(Operations):
    @write
    def create(self, account: Account, key: ApiKey, credit: int, prices: Sequence[Price]) -> Steps[Account]:
        yield tables_changed()  # first: another creation waits for the revision, and sees the name of this account
        known = yield from first(Q.account_name_in_any_case(name=account.name))
        if known is not None and known[0] != account.name:
            raise NameTaken(known[0])
        for name in filter(None, (account.name, account.smpp_system_id)):
            known = yield from first(Q.account_by_system_id(system_id=name))
            if known is not None and account_of(known).name != account.name:
                raise SystemIdTaken(name)
        added = yield Q.add_account(**account_values(account))
        if not added:
            raise Exists(f"there is an account {account.name} already")
        created = replace(account, id=added[0][0])
        yield from _insert_key(replace(key, account=created.id))
        for price in prices:
            yield put_price(price)
        yield from top_up(created.id, credit, account.created, "opening credit")
        if created.low_balance is not None:
            yield Q.arm_low_balance(account=created.id)
        if prices:
            yield from note_prices(prices)
        return created

    @write
    def update(self, account: int, changes: dict[str, Any]) -> Steps[Account]:
        yield from lock_account(account)
        found = yield from first(Q.account_by_id(account=account))
        assert found is not None
        before = account_of(found)
        updated = changed_account(before, changes)
        if changes.get("smpp_system_id"):
            known = yield from first(Q.account_by_system_id(system_id=updated.smpp_system_id))
            if known is not None and account_of(known).id != account:
                raise SystemIdTaken(updated.smpp_system_id)
        yield Q.update_account(**account_values(updated), id=account)
        if updated.low_balance != before.low_balance:
            yield Q.arm_low_balance(account=account)
        yield tables_changed()
        return updated

    @read
    def find(self, name: str, *, to_bind: bool = False) -> Steps[tuple[Account, list[ApiKey]] | None]:
        wanted = Q.account_by_system_id(system_id=name) if to_bind else Q.account_by_name(name=name)
        found = yield from first(wanted)
        # The same steps without an account, so that the time does not tell which accounts exist.
        account = account_of(_NO_ACCOUNT if found is None else found)
        keys = yield Q.keys(account=account.id)
        return None if found is None else (account, [ApiKey(*key) for key in keys])

    @lookup
    def by_id(self, account: int) -> Steps[Account | None]:
        found = yield from first(Q.account_by_id(account=account))
        return None if found is None else account_of(found)

    @lookup
    def all(self) -> Steps[list[tuple[Account, int]]]:
        rows = yield Q.accounts()
        return [(account_of(row), row[-1]) for row in rows]

    @lookup
    def without_credit(self, limit: int) -> Steps[list[str]]:
        rows = yield Q.accounts_without_credit(limit=limit)
        return [name for (name,) in rows]

    @write
    def add_credit(
        self, account: int, amount: int, note: str, now: int, reference: str = "", within: tuple[int, int] = BALANCES
    ) -> Steps[TopUp]:
        before = yield from lock_account(account)
        if reference:
            earlier = yield from first(Q.top_up(account=account, reference=reference))
            if earlier is not None:
                if earlier[0] != amount:
                    raise Exists(f"the top-up {reference} had another amount")
                return TopUp(earlier[1], replayed=True)
        balance = before + amount
        if not within[0] <= balance <= within[1]:
            raise BalanceOutOfBounds(before)
        yield from top_up(account, amount, now, note)
        if reference:
            yield Q.keep_top_up(account=account, reference=reference, amount=amount, balance=balance)
        yield tables_changed()
        return TopUp(balance)

    @lookup
    def ledger(self, account: int, limit: int, before: int | None = None) -> Steps[list[LedgerEntry]]:
        rows = yield Q.ledger(account=account, limit=limit, before=ANY_KEY if before is None else before)
        return [LedgerEntry(row[0], row[1], EntryKind(row[2]), *row[3:]) for row in rows]

    @listing
    def statement(self, account: int, query: LedgerQuery) -> Steps[LedgerPage]:
        latest = ANY_KEY if query.end is None else first_key_at(query.end + 1)
        start = first_key_at(query.start)
        before = latest if query.before is None else min(latest, query.before)
        kind = query.kind
        # a page ends behind all entries of its last key, because the next page begins below it
        beyond = 1 if kind is not None else len(EntryKind)
        effort = query.limit + beyond if kind is None else query.effort
        least, most = (min(EntryKind), max(EntryKind)) if kind is None else (kind, kind)
        rows = yield Q.statement(
            account=account,
            start=start,
            before=before,
            effort=effort,
            least=least,
            most=most,
            limit=query.limit + beyond,
        )
        end_of_page = query.limit
        while end_of_page < len(rows) and rows[end_of_page][0] == rows[end_of_page - 1][0]:
            end_of_page += 1
        found = LedgerPage([LedgerEntry(row[0], row[1], EntryKind(row[2]), *row[3:]) for row in rows[:end_of_page]])
        if len(rows) > end_of_page:
            found.more = found.entries[-1].key
        elif kind is not None:
            end = yield from first(Q.reached_entry(account=account, start=start, before=before, effort=effort))
            if end is not None:
                found.more, found.reached = end[0], time_of(end[0])
        if found.entries and kind is None:
            newest = found.entries[0].key
            ((balance, later),) = yield Q.balance_before(account=account, key=newest + 1, entries=LATER + 1)
            found.balance = balance if later <= LATER else None
        return found

    @listing
    def usage(self, account: int, start: int, end: int, step: int) -> Steps[list[Usage]]:
        rows = yield Q.usage(
            account=account, start=first_key_at(start), end=first_key_at(end), step=step, entries=ENTRIES
        )
        return [Usage(*row) for row in rows]

    @write
    def add_key(self, key: ApiKey) -> Steps[None]:
        yield from lock_account(key.account)
        yield from _insert_key(key)
        yield tables_changed()

    @write
    def revoke_key(self, account: int, key: str, now: int) -> Steps[None]:
        if not (yield Q.revoke_key(account=account, key=key, now=now)):
            raise Missing("no such key, or it is revoked already")
        yield tables_changed()


def lock_account(account: int) -> Steps[int]:
    """The account's balance; it is locked until the transaction ends. Raises Missing."""
    found = yield from first(Q.lock_account(account=account))
    if found is None:
        raise Missing("no such account")
    balance: int = found[0]
    return balance


def _insert_key(key: ApiKey) -> Steps[None]:
    added = yield Q.add_key(
        account=key.account,
        id=key.id,
        digest=key.digest,
        created=key.created,
        revoked=key.revoked,
        expires=key.expires,
    )
    if not added:
        raise Exists(f"there is a key {key.id} already")
