"""Accounts, their keys and their credit."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.routing import changed, put_price
from heliograph.adapters.store.shared.rows import (
    ACCOUNT_COLUMNS,
    account_of,
    account_row,
    changed_account,
)
from heliograph.app.configuration import Account, ApiKey, Exists, LedgerEntry, Missing, Price
from heliograph.domain.money import EntryKind

_BY_ID = f"SELECT {ACCOUNT_COLUMNS} FROM account WHERE id = $1"  # noqa: S608 - made of constants
_BY_NAME = f"SELECT {ACCOUNT_COLUMNS} FROM account WHERE name = $1"  # noqa: S608 - made of constants
_ALL = f'SELECT {ACCOUNT_COLUMNS}, balance FROM account ORDER BY name COLLATE "C"'  # noqa: S608 - made of constants
_NEW_COLUMNS = ACCOUNT_COLUMNS.removeprefix("id, ")
_PLACES = ", ".join(f"${n}" for n in range(1, _NEW_COLUMNS.count(",") + 2))
_INSERT = f"""
INSERT INTO account ({_NEW_COLUMNS}) VALUES ({_PLACES}) ON CONFLICT (name) DO NOTHING RETURNING id
"""  # noqa: S608 - made of constants
_LOCK = "SELECT balance FROM account WHERE id = $1 FOR NO KEY UPDATE"
_KEYS = "SELECT id, account, digest, created, revoked FROM api_key WHERE account = $1 ORDER BY created, id"
_ADD_KEY = """
INSERT INTO api_key (account, id, digest, created, revoked) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING RETURNING 1
"""
_REVOKE = "UPDATE api_key SET revoked = $1 WHERE account = $2 AND id = $3 AND revoked IS NULL RETURNING 1"
_LEDGER = """
SELECT key, account, kind, amount, message, at, note FROM ledger
WHERE account = $1 AND key < $2 ORDER BY key DESC, kind DESC LIMIT $3
"""
_ENTER = "SELECT enter_ledger($1, $2, ARRAY[$3::bigint], ARRAY[0::bigint], $4, $5)"
_ANY_KEY = (1 << 63) - 1


async def create_account(db: Db, account: Account, key: ApiKey, credit: int, prices: Sequence[Price]) -> Account:
    number = await db.fetchval(_INSERT, *account_row(account)[1:])
    if number is None:
        raise Exists(f"there is an account {account.name} already")
    created = replace(account, id=number)
    await _insert_key(db, replace(key, account=number))
    for price in prices:
        await put_price(db, price)
    await db.execute(_ENTER, number, EntryKind.TOP_UP, credit, account.created, "opening credit")
    await changed(db)
    return created


async def update_account(db: Db, account: int, changes: dict[str, Any]) -> Account:
    await db.fetchval(_LOCK, account)
    found = await account_by_id(db, account)
    if found is None:
        raise Missing("no such account")
    updated, columns = changed_account(found, changes)
    for name, value in columns.items():
        await db.execute(f"UPDATE account SET {name} = $1 WHERE id = $2", value, account)  # noqa: S608 - known
    await changed(db)
    return updated


async def account(db: Db, name: str) -> tuple[Account, list[ApiKey]] | None:
    row = await db.fetchrow(_BY_NAME, name)
    if row is None:
        return None
    found = account_of(row)
    return found, [ApiKey(*key) for key in await db.fetch(_KEYS, found.id)]


async def account_by_id(db: Db, account: int) -> Account | None:
    row = await db.fetchrow(_BY_ID, account)
    return account_of(row) if row else None


async def accounts(db: Db) -> list[tuple[Account, int]]:
    return [(account_of(row), row["balance"]) for row in await db.fetch(_ALL)]


async def add_credit(db: Db, account: int, amount: int, note: str, now: int) -> int:
    balance: int | None = await db.fetchval(_LOCK, account)
    if balance is None:
        raise Missing("no such account")
    await db.execute(_ENTER, account, EntryKind.TOP_UP, amount, now, note)
    await changed(db)
    return balance + amount


async def ledger(db: Db, account: int, limit: int, before: int | None) -> list[LedgerEntry]:
    rows = await db.fetch(_LEDGER, account, _ANY_KEY if before is None else before, limit)
    return [LedgerEntry(row[0], row[1], EntryKind(row[2]), *tuple(row)[3:]) for row in rows]


async def add_key(db: Db, key: ApiKey) -> None:
    if await db.fetchval(_LOCK, key.account) is None:
        raise Missing("no such account")
    await _insert_key(db, key)
    await changed(db)


async def revoke_key(db: Db, account: int, key: str, now: int) -> None:
    if await db.fetchval(_REVOKE, now, account, key) is None:
        raise Missing("no such key, or it is revoked already")
    await changed(db)


async def _insert_key(db: Db, key: ApiKey) -> None:
    if await db.fetchval(_ADD_KEY, key.account, key.id, key.digest, key.created, key.revoked) is None:
        raise Exists(f"there is a key {key.id} already")
