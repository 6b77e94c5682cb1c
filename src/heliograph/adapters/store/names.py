"""Names of administered things, for completion in a shell. It reads the store of a running gateway too.

A key press waits for the answer. So this module imports no other module of the store, and has its own statements.
"""

import sqlite3
import time
from pathlib import Path
from typing import Final
from urllib.parse import quote

_FIND: Final = "SELECT {name}, {hint} FROM {rows} WHERE {name} LIKE $1 ESCAPE '!' ORDER BY {order} LIMIT 200"


def _find(name: str, hint: str, rows: str, order: str = "name") -> str:
    return _FIND.format(name=name, hint=hint, rows=rows, order=order)


_STATEMENTS: Final = {
    "account": _find("name", "CASE WHEN suspended THEN 'suspended' ELSE '' END", "account"),
    "connector": _find("name", "state", "connector"),
    "plan": _find("name", "''", "(SELECT name FROM plan UNION SELECT plan FROM account) AS plans"),
    "template": _find("name", "sender", "template"),
    "user": _find("name", "role", "admin_user"),
    "token": _find("id", "name", "(SELECT id, name FROM admin_token WHERE revoked IS NULL) AS valid", "name, id"),
    "route": _find(
        "CAST(route.id AS TEXT)",
        "route.network || route.prefix || ' by ' || connector.name",
        "route JOIN connector ON connector.id = route.connector",
        "route.id",
    ),
    "number": _find(
        "CAST(number.id AS TEXT)",
        "number || ' ' || keyword || ' of ' || account.name",
        "number JOIN account ON account.id = number.account",
        "number.id",
    ),
    "sender-rule": _find(
        "CAST(id AS TEXT)", "country || ' ' || kind || ' ' || action || ' ' || value", "sender_rule", "id"
    ),
    "sending-list": _find("CAST(id AS TEXT)", "name", "sending_list", "id DESC"),
}
"""For each kind: name and hint of the things with a name like `$1`. The text is the same for both engines.

A hint says what the thing is, for example `49 by op1` for a route. zsh and fish show it.
"""


def names_in_file(file: Path, kind: str, begin: str, seconds: float) -> list[tuple[str, str]]:
    """Returns the things of a kind in an embedded store whose name begins with `begin`, with their hints. It
    never writes or creates the file.

    Raises sqlite3.Error, also if the file is missing or the search takes longer than `seconds`.
    """
    end = time.monotonic() + seconds
    connection = sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True, timeout=seconds)
    try:
        connection.set_progress_handler(lambda: time.monotonic() > end, 10_000)
        return [(row[0], row[1]) for row in connection.execute(_STATEMENTS[kind], {"1": _like(begin)})]
    finally:
        connection.close()


_SETTINGS = "SELECT set_config('search_path', 'heliograph', false), set_config('statement_timeout', $1, false)"
"""The server goes on with a statement after its client has left, up to this time limit."""


def names_in_database(url: str, kind: str, begin: str, seconds: float) -> list[tuple[str, str]]:
    """Returns the same from a PostgreSQL database. Raises TimeoutError, OSError, ImportError and asyncpg's errors."""
    import asyncio

    import asyncpg

    async def read() -> list[tuple[str, str]]:
        async with asyncio.timeout(seconds):
            connection = await asyncpg.connect(url, timeout=seconds)
            try:
                await connection.execute(_SETTINGS, str(int(seconds * 1000)))
                return [(row[0], row[1]) for row in await connection.fetch(_STATEMENTS[kind], _like(begin))]
            finally:
                connection.terminate()

    return asyncio.run(read())


def _like(begin: str) -> str:
    return "".join(f"!{each}" if each in "!%_" else each for each in begin) + "%"
