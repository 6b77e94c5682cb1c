"""Operations, run on a connection to the server."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.shared import sql
from heliograph.adapters.store.shared.rows import COLUMNS
from heliograph.adapters.store.shared.steps import Steps

R = TypeVar("R")

DIALECT: Final = sql.SqlDialect(
    words=COLUMNS
    | {
        "bytewise": 'COLLATE "C"',
        "json_array": "json_build_array",
        "json_group": "json_agg",
        "err": "CASE WHEN f.err ~ '^[0-9]+$' THEN right('00' || f.err, 3) ELSE '001' END",
        "user_column": "person",
        "false": "false",
        "put_off": "put_off",
        "parked": "parked",
        "no_octets": "''::bytea",
        "for_update": "FOR UPDATE",
        "row": "ctid",
        "content": ":content",
        "true": "true",
        "digest_of": "suppression_digest(m.account, m.destination)",
    },
    calls={
        "of_worker": "AND {} & 31 = :worker",
        "of_maker": "AND k.worker = {} & 31",
        "among": "= ANY (:{})",
        "elements": "json_array_elements(CAST(:{} AS json))",
        "digest": "suppression_digest(:account, :{})",
    },
    numbered=True,
)

STATEMENTS: Final = sql.load(DIALECT, Path(sql.__file__).with_name("queries"), Path(__file__).with_name("queries"))


async def drive(db: Db, operation: Callable[[], Steps[R]]) -> R:
    """Runs the operation to its end and returns its result, in the caller's transaction."""
    steps = operation()
    try:
        query = next(steps)
        while True:
            statement = STATEMENTS[query.name]
            parameters = [query.values[name] for name in statement.parameters]
            rows = await db.fetch(statement.text, *parameters) if statement.text else ()
            query = steps.send([tuple(row) for row in rows])
    except StopIteration as end:
        result: R = end.value
        return result
