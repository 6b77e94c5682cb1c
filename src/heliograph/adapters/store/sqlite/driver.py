"""Operations, run on a connection to the file."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from heliograph.adapters.store.shared import sql
from heliograph.adapters.store.shared.rows import COLUMNS
from heliograph.adapters.store.shared.steps import Rows, Steps
from heliograph.adapters.store.sqlite.connection import is_no_text
from heliograph.adapters.store.sqlite.statements import many

R = TypeVar("R")

_DIGEST: Final = "suppression_digest((SELECT key FROM suppression_key), {}, {})"

DIALECT: Final = sql.SqlDialect(
    words=COLUMNS
    | {
        "bytewise": "",
        "json_array": "json_array",
        "json_group": "json_group_array",
        "err": "CASE WHEN f.err <> '' AND f.err NOT GLOB '*[^0-9]*' THEN substr('00' || f.err, -3) ELSE '001' END",
        "user_column": "user",
        "false": "0",
        "true": "1",
        "put_off": "put_off = 1",
        "parked": "parked <> 0",
        "no_octets": "x''",
        "for_update": "",
        # a damaged envelope, which stays as it is, may begin with any octet
        "content": (
            "CASE WHEN :content = :was_content THEN content WHEN substr(:content, 1, 1) = x'ff' THEN :content "
            "ELSE CAST(:content AS TEXT) END"
        ),
        "digest_of": _DIGEST.format("m.account", "m.destination"),
    },
    calls={
        "of_worker": "",
        "of_maker": "",
        "among": "IN (SELECT value FROM json_each(:{}))",
        "elements": "json_each(:{})",
        "digest": _DIGEST.format(":account", ":{}"),
    },
)

STATEMENTS: Final = sql.load(DIALECT, Path(sql.__file__).with_name("queries"), Path(__file__).with_name("queries"))

DETECTED: Final = frozenset(
    {"content", "settings", "tlvs", "body", "networks", "senders", "prefixes", "smpp", "scopes", "details"}
)
"""Columns of texts and JSON with readers that tell damaged octets. Other damaged texts get U+FFFD."""


def drive(db: sqlite3.Connection, operation: Callable[[], Steps[R]]) -> R:
    """Runs the operation to its end and returns its result, in the caller's transaction."""
    steps = operation()
    try:
        query = next(steps)
        while True:
            text = STATEMENTS[query.name].text
            # SQLite gets a list as a JSON text, for example `[1, 2]`
            values = {
                name: many(value) if isinstance(value, list | tuple) else value for name, value in query.values.items()
            }
            query = steps.send(_rows(db, text, values) if text else ())
    except StopIteration as end:
        result: R = end.value
        return result


def _rows(db: sqlite3.Connection, text: str, values: dict[str, object]) -> Rows:
    """Returns the rows of a statement. Damaged texts are read as octets, or with U+FFFD."""
    try:
        return db.execute(text, values).fetchall()
    except sqlite3.OperationalError as fault:
        if not is_no_text(fault) or "RETURNING" in text:  # rows that were changed are not changed twice
            raise
    usual, db.text_factory = db.text_factory, _text_or_octets
    try:
        cursor = db.execute(text, values)
        names = [name for name, *_ in cursor.description]
        return [
            tuple(
                value.decode(errors="replace") if isinstance(value, Damaged) and name not in DETECTED else value
                for name, value in zip(names, row, strict=True)
            )
            for row in cursor
        ]
    finally:
        db.text_factory = usual


class Damaged(bytes):
    """The octets of a text that is no UTF-8: a disk has changed it."""

    __slots__ = ()


def _text_or_octets(octets: bytes) -> str | Damaged:
    try:
        return octets.decode()
    except UnicodeDecodeError:
        return Damaged(octets)
