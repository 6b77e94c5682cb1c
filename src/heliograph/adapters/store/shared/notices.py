"""`app.ports.Notices`: the table of notices that could not be delivered at once."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from heliograph.adapters.store.shared.rows import ANY_KEY, INBOUND_WIDTH, MESSAGE_WIDTH, inbound_of, message_of
from heliograph.adapters.store.shared.steps import Operations, Q, Row, Steps, claiming, listing, lookup, write
from heliograph.app.facts import LOW_BALANCE, CallbackEnd
from heliograph.app.notice import LowBalance, Notice, ReachedState
from heliograph.app.records import CallbackView
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.way import Way


class StoredNotices(Operations):
    @claiming
    def claim(self, limit: int, now: int, node: int, accounts: Sequence[int] = ()) -> Steps[list[Notice]]:
        if accounts:
            due = yield Q.claim_notices_of(accounts=list(accounts), limit=limit, now=now, node=node)
        else:
            due = yield Q.claim_notices(limit=limit, now=now, node=node)
        return (yield from _read([key for (key,) in due]))

    @claiming
    def claim_parked(self, way: Way, limit: int, node: int, accounts: Sequence[int]) -> Steps[list[Notice]]:
        claimed = yield Q.claim_parked(way=+way, accounts=list(accounts), limit=limit, node=node)
        return (yield from _read([key for (key,) in claimed]))

    @lookup
    def oldest_parked(self, way: Way, accounts: Sequence[int]) -> Steps[int | None]:
        found = yield Q.oldest_parked(way=+way, accounts=list(accounts))
        return min((since for (since,) in found if since is not None), default=None)

    @lookup
    def accounts(self, beyond: int, limit: int) -> Steps[list[tuple[int, int]]]:
        rows = yield Q.accounts_with_notices(beyond=beyond, limit=limit)
        # another node may have claimed the account's last row between the two queries
        return [(account, due) for account, due in rows if due is not None]

    @lookup
    def next_due(self) -> Steps[int | None]:
        ((due,),) = yield Q.next_notice_due()
        return None if due is None else int(due)

    @write
    def replay(self, keys: Sequence[int], now: int) -> Steps[int]:
        rows = yield Q.replayable(keys=list(keys))
        replayed = [key for (key,) in rows]
        if replayed:
            yield Q.owe_again(keys=replayed, now=now)
            yield Q.undo_ends(keys=replayed)
        return len(replayed)

    @listing
    def failing(self, often: int, many: int, limit: int) -> Steps[list[tuple[str, int]]]:
        rows = yield Q.failing_receivers(often=often, many=many, limit=limit)
        return [(name, pending) for name, pending in rows]

    @listing
    def owed(
        self, limit: int, after: tuple[int, int] | None = None, account: int | None = None
    ) -> Steps[list[CallbackView]]:
        due, key = (-1, -1) if after is None else after
        if account is None:
            rows = yield Q.owed_notices(due=due, key=key, limit=limit)
        else:
            rows = yield Q.owed_notices_of(account=account, due=due, key=key, limit=limit)
        return [CallbackView(*row) for row in rows]

    @listing
    def ended(self, limit: int, before: int | None = None) -> Steps[list[CallbackView]]:
        rows = yield Q.ended_notices(before=ANY_KEY if before is None else before, limit=limit)
        return [replace(CallbackView(*row[:7]), end=CallbackEnd(row[7]), code=row[8], at=row[9]) for row in rows]

    @write
    def drop(self, keys: Sequence[int], now: int) -> Steps[int]:
        rows = yield Q.droppable(keys=list(keys))
        dropped = [key for (key,) in rows]
        if dropped:
            yield Q.give_up(keys=dropped, now=now)
            yield Q.keep_without_due(keys=dropped)
        return len(dropped)


def _read(keys: list[int]) -> Steps[list[Notice]]:
    """Returns the notices of these keys, final states first."""
    if not keys:
        return []
    rows = yield Q.notices(keys=keys)
    notices = [notice_of(row) for row in rows]
    if len(notices) < len(keys):
        rows = yield Q.inbound_notices(keys=keys)
        notices += [inbound_notice_of(row) for row in rows]
    if any(key < 0 for key in keys):
        rows = yield Q.progress_notices(keys=keys)
        progress: dict[int, Notice] = {}
        for row in rows:
            progress.setdefault(row[-1], progress_notice_of(row))
        notices += progress.values()
    if any(key < LOW_BALANCE for key in keys):
        rows = yield Q.balance_notices(keys=keys)
        notices += [balance_notice_of(row) for row in rows]
    return notices


def notice_of(row: Row) -> Notice:
    """Reads MESSAGE_COLUMNS, then state, err and time of the final, then the columns of the notice (`_notice`)."""
    state, err, at = row[MESSAGE_WIDTH : MESSAGE_WIDTH + 3]
    message = message_of(row)
    return _notice(message.account, message.key, ReachedState(message, Delivery(state), err, at), row[-4:])


def progress_notice_of(row: Row) -> Notice:
    """Reads the same of a state on the way, and last the notice's key."""
    state, err, at = row[MESSAGE_WIDTH : MESSAGE_WIDTH + 3]
    message = message_of(row)
    return _notice(message.account, row[-1], ReachedState(message, Delivery(state), err, at), row[-5:-1])


def inbound_notice_of(row: Row) -> Notice:
    """Reads INBOUND_COLUMNS, then the columns of the notice (`_notice`)."""
    message = inbound_of(row)
    return _notice(message.account, message.key, message, row[INBOUND_WIDTH:])


def balance_notice_of(row: Row) -> Notice:
    """Reads the row of a balance notice, then the columns of the notice (`_notice`)."""
    low = LowBalance(*row[:5])
    return _notice(low.account, LOW_BALANCE - low.id, low, row[5:])


def _notice(account: int, key: int, subject: Any, columns: Row) -> Notice:
    """Reads attempts, body, when it was first owed, and the way."""
    attempts, body, first, way = columns
    return Notice(account, key, subject, first, attempts, bytes(body), Way(way))
