"""`app.ports.encryption.SealedRows`: the data keys of a store, and the columns that are rewritten when a key is new.

Tables are rewritten in the order of STAGES, some rows a transaction. The transaction notes the key of the last row, so
that the next call after a crash continues there. Keys are never deleted, so no row is ever lost by it.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from heliograph.adapters.store.shared.rows import account_of, template_of
from heliograph.adapters.store.shared.steps import Operations, Q, Query, Row, Rows, Steps, first, read, scan, write
from heliograph.app.facts import subject_key_of
from heliograph.app.ports import DamagedRow
from heliograph.app.ports.encryption import SETTLE_MS, KeyRow, Rewriting, RowChange, RowTest, UnreadableValues
from heliograph.domain.message.ids import to_hex

_LEAST: Final = -(1 << 63)

_SCANNED: Final = 10_000
"""Rows that a search for damage reads at once: some megabytes of texts."""

_OF_MESSAGES: Final = ("message.", "inbound.", "callback_retry.")
"""Beginnings of the columns with rows that are named by the key of a message or of a notice."""


class RewritingStage(NamedTuple):
    """A table with columns that may be sealed."""

    table: str
    rows: Callable[..., Query]
    """Makes the query of up to `limit` rows behind a key. A row has its name in envelopes, its key, its columns."""
    replace: Callable[..., Query]
    """Makes the statement that replaces the columns of a row, given its key, unless they are other than they were."""
    columns: tuple[str, ...]
    start: Mapping[str, int | str]
    """The columns of the key, each with a value before the first row."""

    def page(self, after: str, limit: int) -> Query:
        """Returns the query of up to `limit` rows behind a cursor, or of the first rows if the cursor is empty."""
        key = json.loads(after) if after else list(self.start.values())
        return self.rows(**dict(zip(self.start, key, strict=True)), limit=limit)

    def cursor(self, row: Row) -> str:
        """Returns the cursor behind a row, for example `[115]`."""
        return json.dumps(row[1 : 1 + len(self.start)])

    def split(self, row: Row) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """Returns the name of a row in envelopes, its key, and its columns as they are stored."""
        width = 1 + len(self.start)
        key, values = row[1:width], row[width:]
        return str(row[0]), dict(zip(self.start, key, strict=True)), dict(zip(self.columns, values, strict=True))


_BY_ID: Final = {"id": _LEAST}
_BY_KEY: Final = {"key": _LEAST}
_BY_PART: Final[Mapping[str, int | str]] = {
    "connector": _LEAST, "sender": "", "recipient": "", "reference": 0, "total": 0, "number": 0,
}  # fmt: skip

STAGES: Final = (
    RewritingStage("account", Q.accounts_to_seal, Q.seal_account, ("signing_secret",), _BY_ID),
    RewritingStage("connector", Q.connectors_to_seal, Q.seal_connector, ("settings",), _BY_ID),
    RewritingStage("admin_factor", Q.factors_to_seal, Q.seal_factor, ("secret",), {"user": "", "id": ""}),
    RewritingStage("message", Q.messages_to_seal, Q.seal_message, ("content",), _BY_KEY),
    RewritingStage("inbound", Q.inbound_to_seal, Q.seal_inbound, ("content", "octets"), _BY_KEY),
    RewritingStage("callback_retry", Q.retries_to_seal, Q.seal_retry, ("body",), _BY_KEY),
    RewritingStage("inbound_part", Q.parts_to_seal, Q.seal_part, ("octets",), _BY_PART),
)
"""The tables in the order of a rewrite. Its progress has the index of a table: add further tables at the end."""


class StoredSealedRows(Operations):
    """`app.ports.encryption.SealedRows`."""

    @read
    def keys(self) -> Steps[tuple[list[KeyRow], Rewriting | None]]:
        keys = _keys((yield Q.data_keys()))
        at = yield from first(Q.resealing())
        return keys, None if at is None else Rewriting(STAGES[at[0]].table, at[2])

    @write
    def add_key(self, make: Callable[[list[KeyRow]], KeyRow]) -> Steps[int | None]:
        key = make(_keys((yield Q.data_keys())))
        if not (yield Q.add_data_key(number=key.number, wrapped=key.wrapped, since=key.since)):
            return None
        yield Q.begin_resealing()
        return key.number

    @write
    def rewrap(self, change: Callable[[int, bytes], bytes]) -> Steps[int]:
        keys = [key for key in _keys((yield Q.data_keys())) if key.wrapped]
        for key in keys:
            yield Q.rewrap_data_key(number=key.number, wrapped=change(key.number, key.wrapped))
        return len(keys)

    @write
    def rewrite(self, change: RowChange, newest: int, now: int, limit: int) -> Steps[bool]:
        at = yield from first(Q.lock_resealing())
        if at is None:
            return False
        key = _keys((yield Q.data_keys()))[-1]
        if key.number != newest or now < key.since + SETTLE_MS:
            return False
        number, after, count = at
        stage = STAGES[number]
        rows = yield stage.page(after, limit)
        for row in rows:
            name, key_of_row, was = stage.split(row)
            before = {column: _octets(value) for column, value in was.items()}
            changed = {column: change(f"{stage.table}.{column}", name, value) for column, value in before.items()}
            if changed != before:
                # settings of connectors are a column of text
                stored = {
                    column: value.decode() if stage.table == "connector" else value for column, value in changed.items()
                }
                yield stage.replace(**key_of_row, **stored, **{f"was_{column}": value for column, value in was.items()})
        if len(rows) >= limit:
            yield Q.note_resealing(stage=number, after=stage.cursor(rows[-1]), sealed=count + len(rows))
        elif number + 1 < len(STAGES):
            yield Q.note_resealing(stage=number + 1, after="", sealed=count + len(rows))
        else:
            yield Q.end_resealing()
            return False
        return True

    @scan
    def find(self, is_damaged: RowTest, most: int) -> Steps[list[tuple[str, str]]]:
        found: list[tuple[str, str]] = []
        for stage in STAGES:
            after, is_last = "", False
            while not is_last and len(found) < most:
                rows = yield stage.page(after, _SCANNED)
                for row in rows:
                    name, _, values = stage.split(row)
                    found += [
                        (f"{stage.table}.{column}", name)
                        for column, value in values.items()
                        if is_damaged(f"{stage.table}.{column}", name, _octets(value))
                    ]
                is_last = len(rows) < _SCANNED
                after = "" if is_last else stage.cursor(rows[-1])
        found += yield from _damaged_json()
        return (yield from _with_ids(found[:most]))

    @scan
    def count(self) -> Steps[int]:
        rows = yield from first(Q.count_to_seal())
        assert rows is not None
        return sum(rows)


def _keys(rows: Rows) -> list[KeyRow]:
    return [KeyRow(number, bytes(wrapped), since) for number, wrapped, since in rows]


def _damaged_json() -> Steps[list[tuple[str, str]]]:
    """Returns column and row of other values that are not the JSON that they must be."""
    damaged = UnreadableValues()
    for row in (yield Q.accounts()):
        try:
            account_of(row)
        except DamagedRow as damage:
            damaged.note(damage.column, damage.row)
    for row in (yield Q.templates()):
        template_of(row, damaged)
    return damaged.take_fresh()


def _octets(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _with_ids(found: list[tuple[str, str]]) -> Steps[list[tuple[str, str]]]:
    """Returns columns and rows, with the id of the message where a row is of a message."""
    keys = {row: subject_key_of(int(row)) for column, row in found if column.startswith(_OF_MESSAGES)}
    ids: dict[int, str] = {}
    if keys:
        ids = {key: to_hex(key, tail) for key, tail in (yield Q.tails_of(keys=list(keys.values())))}
    return [(column, ids.get(keys.get(row, 0), row)) for column, row in found]
