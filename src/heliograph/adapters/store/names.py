"""Names of administered things, for completion in a shell. It reads the store of a running gateway too.

A key press waits for the answer. So this module imports no other module of the store, and has its own statements.
"""

import sqlite3
import time
from pathlib import Path
from typing import Final
from urllib.parse import quote

_STATEMENTS: Final = {
    "account": (
        "SELECT name, CASE WHEN suspended THEN 'suspended' ELSE '' END FROM account"
        " WHERE name LIKE $1 ESCAPE '!' ORDER BY name LIMIT 200"
    ),
    "connector": "SELECT name, state FROM connector WHERE name LIKE $1 ESCAPE '!' ORDER BY name LIMIT 200",
    "plan": (
        "SELECT name, '' FROM (SELECT name FROM plan UNION SELECT plan FROM account) AS plans"
        " WHERE name LIKE $1 ESCAPE '!' ORDER BY name LIMIT 200"
    ),
    "template": "SELECT name, sender FROM template WHERE name LIKE $1 ESCAPE '!' ORDER BY name LIMIT 200",
    "user": "SELECT name, role FROM admin_user WHERE name LIKE $1 ESCAPE '!' ORDER BY name LIMIT 200",
    "token": (
        "SELECT id, name FROM admin_token WHERE revoked IS NULL AND id LIKE $1 ESCAPE '!' ORDER BY name, id LIMIT 200"
    ),
    "route": (
        "SELECT CAST(route.id AS TEXT), route.network || route.prefix || ' by ' || connector.name"
        " FROM route JOIN connector ON connector.id = route.connector"
        " WHERE CAST(route.id AS TEXT) LIKE $1 ESCAPE '!' ORDER BY route.id LIMIT 200"
    ),
    "number": (
        "SELECT CAST(number.id AS TEXT), number || ' ' || keyword || ' of ' || account.name"
        " FROM number JOIN account ON account.id = number.account"
        " WHERE CAST(number.id AS TEXT) LIKE $1 ESCAPE '!' ORDER BY number.id LIMIT 200"
    ),
    "sender-rule": (
        "SELECT CAST(id AS TEXT), country || ' ' || kind || ' ' || action || ' ' || value FROM sender_rule"
        " WHERE CAST(id AS TEXT) LIKE $1 ESCAPE '!' ORDER BY id LIMIT 200"
    ),
    "sending-list": (
        "SELECT CAST(id AS TEXT), name FROM sending_list WHERE CAST(id AS TEXT) LIKE $1 ESCAPE '!'"
        " ORDER BY id DESC LIMIT 200"
    ),
}
"""For each kind: name and hint of the things whose name is like `$1`. The text is the same for both engines.

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


def names_in_database(url: str, kind: str, begin: str, seconds: float) -> list[tuple[str, str]]:
    """Returns the same from a PostgreSQL database. Raises TimeoutError, OSError, ImportError and asyncpg's errors."""
    import asyncio

    import asyncpg

    async def read() -> list[tuple[str, str]]:
        async with asyncio.timeout(seconds):
            connection = await asyncpg.connect(url, timeout=seconds)
            try:
                await connection.execute("SET search_path = heliograph")
                return [(row[0], row[1]) for row in await connection.fetch(_STATEMENTS[kind], _like(begin))]
            finally:
                connection.terminate()

    return asyncio.run(read())


def _like(begin: str) -> str:
    return "".join(f"!{each}" if each in "!%_" else each for each in begin) + "%"
