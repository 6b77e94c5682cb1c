"""Moves the embedded store of a stopped gateway to a PostgreSQL database: all rows, balances and waiting messages."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from heliograph.app.ports import Unavailable
from heliograph.composition.commands import open_desk, stopped_store
from heliograph.config import Settings, changed

if TYPE_CHECKING:
    from heliograph.adapters.store.postgres.moving import ArrivingStore
    from heliograph.adapters.store.sqlite.moving import MovingFile

_LEFT: Final = frozenset(
    {"customer_bind", "link_state", "node_report", "queue_order", "queue_answer", "suppression_key"}
)
"""Tables with rows that stay: states of a running gateway, and the key, which goes along in another form."""

_RENAMED: Final = {
    ("listing", "account"): "id",
    ("listing", "at"): "last_list",
    ("mark", "worker"): "0",
    ("admin_session", "person"): '"user"',
    ("admin_factor", "person"): '"user"',
    ("admin_recovery_code", "person"): '"user"',
    # the gateway is gone, and its claims with it
    ("queue", "node"): "NULL",
    ("callback_retry", "node"): "NULL",
    ("inbound_part", "node"): "NULL",
    ("inbound_unanswered", "lost"): "1",
    ("inbound_unanswered", "answered"): "0",
    ("inbound_unanswered", "number"): "0",
}
"""Columns with another name or value in the file, as SQL."""

_SOURCES: Final = {"listing": "account WHERE last_list IS NOT NULL"}

Progress = Callable[[str, int, int], object]
"""Takes a table, and its rows so far and in all."""


async def move(settings: Settings, url: str, progress: Progress) -> dict[str, int]:
    """Moves the store in the data directory to the database. Goes on behind the rows of a move that was broken off.

    Returns the rows of each table. Raises Unavailable, and SettingsError if the URL is not a database's. If rows
    were on their way, the file stays marked as moving.
    """
    from heliograph.adapters.store.postgres.moving import arriving
    from heliograph.adapters.store.sqlite.moving import moving

    arrived = changed(settings, "store.url", url, "--to")
    rows: dict[str, int] = {}
    with stopped_store(settings) as path, moving(path) as file:
        if faults := file.audit():
            raise Unavailable("the ledgers are not right, see `heliograph audit`: " + "; ".join(faults))
        async with arriving(url, file.identity) as database:
            if database is not None:
                file.begin()
                rows = await _copy(file, database, progress)
        file.end()
    async with open_desk(arrived) as desk:
        if faults := await desk.store.upkeep.audit():
            raise Unavailable("the ledgers in the database are not right: " + "; ".join(faults))
        await desk.note("store.move", "postgresql", {"rows": str(sum(rows.values()))})
    return rows


def abandon(settings: Settings) -> None:
    """Gives up an unfinished move, so that the gateway can run on the file again. Raises Unavailable."""
    from heliograph.adapters.store.sqlite.moving import abandon as unmark

    with stopped_store(settings) as path:
        unmark(path)


async def _copy(file: "MovingFile", database: "ArrivingStore", progress: Progress) -> dict[str, int]:
    totals = {table: file.count(_SOURCES.get(table, table)) for table in database.columns if table not in _LEFT}
    for table, total in totals.items():
        columns = database.columns[table]
        names = {column: _RENAMED.get((table, column), f'"{column}"') for column in columns}
        # texts that a database keeps as octets
        selected = ", ".join(
            f"CAST({name} AS BLOB)" if columns[column] == "bytea" else name for column, name in names.items()
        )
        done = await database.begin(table)
        progress(table, done, total)
        truths = [place for place, kind in enumerate(columns.values()) if kind == "boolean"]
        for rows in file.read(selected, _SOURCES.get(table, table), done):
            batch = rows
            for place in truths:  # SQLite has numbers for them
                batch = [(*row[:place], bool(row[place]), *row[place + 1 :]) for row in batch]
            await database.take(table, batch)
            done += len(batch)
            progress(table, done, total)
    counts = await database.counts()
    if wrong := [
        f"{table} has {counts[table]:,} of {rows:,}" for table, rows in totals.items() if counts[table] != rows
    ]:
        raise Unavailable("rows are missing in the database: " + ", ".join(wrong))
    await database.finish({table: file.highest_id(table) for table in database.numbered if table not in _LEFT})
    return totals
