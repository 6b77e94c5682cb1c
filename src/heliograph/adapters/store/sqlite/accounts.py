"""Accounts, their keys and their credit."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from heliograph.adapters.store.shared.rows import ACCOUNT_COLUMNS, account_of, account_row, changed_account
from heliograph.adapters.store.sqlite.money import Book
from heliograph.adapters.store.sqlite.routing import changed, put_price
from heliograph.app.configuration import Account, ApiKey, Exists, LedgerEntry, Missing, Price
from heliograph.domain.money import EntryKind

_BY_ID = f"SELECT {ACCOUNT_COLUMNS} FROM account WHERE id = ?"  # noqa: S608 - made of constants
_BY_NAME = f"SELECT {ACCOUNT_COLUMNS} FROM account WHERE name = ?"  # noqa: S608 - made of constants
_ALL = f"SELECT {ACCOUNT_COLUMNS}, balance FROM account ORDER BY name"  # noqa: S608 - made of constants
_NEW_COLUMNS = ACCOUNT_COLUMNS.removeprefix("id, ")
_INSERT = f"""
INSERT INTO account ({_NEW_COLUMNS}) VALUES ({", ".join("?" * (_NEW_COLUMNS.count(",") + 1))})
ON CONFLICT (name) DO NOTHING
RETURNING id
"""  # noqa: S608 - made of constants
_BALANCE = "SELECT balance FROM account WHERE id = ?"
_KEYS = "SELECT id, account, digest, created, revoked FROM api_key WHERE account = ? ORDER BY created, id"
_ADD_KEY = """
INSERT INTO api_key (account, id, digest, created, revoked) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_REVOKE = "UPDATE api_key SET revoked = ? WHERE account = ? AND id = ? AND revoked IS NULL"
_LEDGER = """
SELECT key, account, kind, amount, message, at, note FROM ledger
WHERE account = ? AND key < ? ORDER BY key DESC, kind DESC LIMIT ?
"""
_ANY_KEY = (1 << 63) - 1


def create_account(
    db: sqlite3.Connection, account: Account, key: ApiKey, credit: int, prices: Sequence[Price]
) -> Account:
    row = db.execute(_INSERT, account_row(account)[1:]).fetchone()
    if row is None:
        raise Exists(f"there is an account {account.name} already")
    created = replace(account, id=row[0])
    _insert_key(db, replace(key, account=created.id))
    for price in prices:
        put_price(db, price)
    book = Book(db)
    book.enter(created.id, EntryKind.TOP_UP, credit, 0, account.created, "opening credit")
    book.close()
    changed(db)
    return created


def update_account(db: sqlite3.Connection, account: int, changes: dict[str, Any]) -> Account:
    found = account_by_id(db, account)
    if found is None:
        raise Missing("no such account")
    updated, columns = changed_account(found, changes)
    for name, value in columns.items():
        db.execute(f"UPDATE account SET {name} = ? WHERE id = ?", (value, account))  # noqa: S608 - a known name
    changed(db)
    return updated


def account(db: sqlite3.Connection, name: str) -> tuple[Account, list[ApiKey]] | None:
    row = db.execute(_BY_NAME, (name,)).fetchone()
    if row is None:
        return None
    found = account_of(row)
    return found, [ApiKey(*key) for key in db.execute(_KEYS, (found.id,))]


def account_by_id(db: sqlite3.Connection, account: int) -> Account | None:
    row = db.execute(_BY_ID, (account,)).fetchone()
    return account_of(row) if row else None


def accounts(db: sqlite3.Connection) -> list[tuple[Account, int]]:
    return [(account_of(row[:-1]), row[-1]) for row in db.execute(_ALL)]


def add_credit(db: sqlite3.Connection, account: int, amount: int, note: str, now: int) -> int:
    if db.execute(_BALANCE, (account,)).fetchone() is None:
        raise Missing("no such account")
    book = Book(db)
    book.enter(account, EntryKind.TOP_UP, amount, 0, now, note)
    book.close()
    changed(db)
    balance: int = db.execute(_BALANCE, (account,)).fetchone()[0]
    return balance


def ledger(db: sqlite3.Connection, account: int, limit: int, before: int | None) -> list[LedgerEntry]:
    rows = db.execute(_LEDGER, (account, _ANY_KEY if before is None else before, limit))
    return [LedgerEntry(row[0], row[1], EntryKind(row[2]), *row[3:]) for row in rows]


def add_key(db: sqlite3.Connection, key: ApiKey) -> None:
    if db.execute(_BALANCE, (key.account,)).fetchone() is None:
        raise Missing("no such account")
    _insert_key(db, key)
    changed(db)


def revoke_key(db: sqlite3.Connection, account: int, key: str, now: int) -> None:
    if db.execute(_REVOKE, (now, account, key)).rowcount == 0:
        raise Missing("no such key, or it is revoked already")
    changed(db)


def _insert_key(db: sqlite3.Connection, key: ApiKey) -> None:
    row = (key.account, key.id, key.digest, key.created, key.revoked)
    if db.execute(_ADD_KEY, row).rowcount == 0:
        raise Exists(f"there is a key {key.id} already")
