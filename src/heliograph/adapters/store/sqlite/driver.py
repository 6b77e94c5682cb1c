"""Operations, run on a connection to the file."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from heliograph.adapters.store.shared import sql
from heliograph.adapters.store.shared.rows import COLUMNS
from heliograph.adapters.store.shared.steps import Rows, Steps
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
            rows: Rows = db.execute(text, values).fetchall() if text else ()
            query = steps.send(rows)
    except StopIteration as end:
        result: R = end.value
        return result
