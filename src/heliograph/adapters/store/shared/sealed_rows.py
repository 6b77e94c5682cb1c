"""`app.ports.encryption.SealedRows`: the data keys of a store, and the columns that are rewritten when a key is new.

Tables are rewritten in the order of STAGES, some rows a transaction. The transaction notes the key of the last row, so
that the next call after a crash continues there. Keys are never deleted, so no row is ever lost by it.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from heliograph.adapters.store.shared.steps import Operations, Q, Query, Rows, Steps, first, read, scan, write
from heliograph.app.ports.encryption import SETTLE_MS, KeyRow, Rewriting, RowChange

_LEAST: Final = -(1 << 63)


class RewritingStage(NamedTuple):
    """A table with columns that may be sealed."""

    table: str
    rows: Callable[..., Query]
    """Makes the query of up to `limit` rows `beyond` a key: the key of each, its name in envelopes, its columns."""
    replace: Callable[..., Query]
    """Makes the statement that replaces the columns of a row, given its key."""
    columns: tuple[str, ...]
    whole: bool = False
    """Whether the query returns all rows at once, as they are few."""


STAGES: Final = (
    RewritingStage("account", Q.accounts_to_seal, Q.seal_account, ("signing_secret",)),
    RewritingStage("connector", Q.connectors_to_seal, Q.seal_connector, ("settings",)),
    RewritingStage("admin_factor", Q.factors_to_seal, Q.seal_factor, ("secret",), whole=True),
    RewritingStage("message", Q.messages_to_seal, Q.seal_message, ("content",)),
    RewritingStage("inbound", Q.inbound_to_seal, Q.seal_inbound, ("content", "octets")),
    RewritingStage("callback_retry", Q.retries_to_seal, Q.seal_retry, ("body",)),
)
"""Parts of inbound messages are left out, because they are deleted within the hour."""


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
        rows = yield stage.rows(beyond=int(after) if after else _LEAST, limit=limit)
        for of, name, *values in rows:
            before = [value.encode() if isinstance(value, str) else bytes(value) for value in values]
            changed = [
                change(f"{stage.table}.{column}", str(name), value)
                for column, value in zip(stage.columns, before, strict=True)
            ]
            if changed != before:
                # settings of connectors are a column of text
                stored = [value.decode() for value in changed] if stage.table == "connector" else changed
                yield stage.replace(key=of, **dict(zip(stage.columns, stored, strict=True)))
        if len(rows) >= limit and not stage.whole:
            yield Q.note_resealing(stage=number, after=str(rows[-1][0]), sealed=count + len(rows))
        elif number + 1 < len(STAGES):
            yield Q.note_resealing(stage=number + 1, after="", sealed=count + len(rows))
        else:
            yield Q.end_resealing()
            return False
        return True

    @scan
    def count(self) -> Steps[int]:
        rows = yield from first(Q.count_to_seal())
        assert rows is not None
        return sum(rows)


def _keys(rows: Rows) -> list[KeyRow]:
    return [KeyRow(number, bytes(wrapped), since) for number, wrapped, since in rows]
