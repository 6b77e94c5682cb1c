"""Those who run the gateway, and what they look at, in the in-memory store."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, cast

from heliograph.app import ports
from heliograph.app.admin.oversight import (
    COUNTED,
    AuditEntry,
    BacklogCounts,
    CallbackView,
    Hit,
    MessageRecord,
    RestorePoint,
    Search,
    SearchPage,
)
from heliograph.app.facts import CallbackDone, CallbackEnd, Message
from heliograph.domain.ids import time_of
from heliograph.domain.message import State
from heliograph.domain.money import EntryKind
from heliograph.domain.receipt import Delivery
from tests.support.memory_administration import (
    MemoryAccounts,
    MemoryAuditLog,
    MemoryNetwork,
    MemoryTokens,
    MemoryUsers,
)
from tests.support.memory_rows import MemoryPart, Place, Rows


class Noting:
    """A store, or a part of it, each change of which has its line in the audit log; nothing else happens between."""

    def __init__(self, target: Any, describe: Callable[[Any], AuditEntry | None], log: ports.AuditLog) -> None:
        self._target = target
        self._describe = describe
        self._log = log

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if isinstance(found, MemoryPart):
            return Noting(found, self._describe, self._log)

        async def noted(*arguments: object) -> object:
            result = await found(*arguments)
            entry = self._describe(result)
            if entry is not None:
                await self._log.append(entry)
            return result

        return noted


class MemoryOperators(MemoryPart):
    """The part of `app.ports.Store` that those who run the gateway use."""

    def __init__(self, rows: Rows | None = None) -> None:
        place = Place(rows)
        super().__init__(place)
        self.accounts: ports.Accounts = MemoryAccounts(place)
        self.network: ports.Network = MemoryNetwork(place)
        self.users: ports.Users = MemoryUsers(place)
        self.tokens: ports.Tokens = MemoryTokens(place)
        self.audit_log: ports.AuditLog = MemoryAuditLog(place)

    @property
    def broken(self) -> bool:
        return self._place.broken

    @broken.setter
    def broken(self, broken: bool) -> None:
        self._place.broken = broken

    def noting(self, describe: Callable[[Any], AuditEntry | None]) -> ports.Store:
        return cast("ports.Store", Noting(self, describe, self.audit_log))

    # --- messages

    async def search(self, search: Search) -> SearchPage:
        rows = self._open()
        own = not search.by_acceptance
        places = sorted(
            ((message.time, key) if own else (time_of(key), key) for key, message in rows.messages.items()),
            key=lambda place: place if own else place[1],
            reverse=True,
        )
        looked, hits = 0, list[Hit]()
        for time, key in places:
            message = rows.messages[key]
            place = (message.time, key)
            if search.before is not None and (place >= search.before if own else key >= search.before[1]):
                continue
            if search.account not in (None, message.account):
                continue
            asked = time if search.account is None else message.time
            if not (search.start or 0) <= asked <= (1 << 62 if search.end is None else search.end):
                continue
            looked += 1
            hit = self._hit(rows, message)
            fits = message.destination.startswith(search.number) and search.standing in (None, hit.standing)
            if fits and len(hits) == search.limit:
                last = hits[-1].message
                return SearchPage(hits, (last.time, last.key))
            if fits:
                hits.append(hit)
            if looked == search.effort:
                return SearchPage(hits, place, time)
        return SearchPage(hits)

    def _hit(self, rows: Rows, message: Message) -> Hit:
        end = rows.finals.get(message.key)
        return Hit(replace(message), None if end is None else end.state, "" if end is None else end.err)

    def _hits(self, rows: Rows, keys: Iterable[int], limit: int) -> list[Hit]:
        return [self._hit(rows, rows.messages[key]) for key in list(keys)[:limit]]

    async def identified(self, key: int, tail: int, limit: int) -> list[Hit]:
        rows = self._open()
        if key in rows.messages:
            return self._hits(rows, [key], limit) if rows.messages[key].tail == tail else []
        batch = rows.batches.get(key)
        return [] if batch is None or batch.tail != tail else self._hits(rows, batch.keys, limit)

    async def referenced(self, reference: str, account: int | None, limit: int) -> list[Hit]:
        rows = self._open()
        uses = [
            used
            for (owner, name), used in rows.references.items()
            if name == reference and account in (None, owner)
        ]  # fmt: skip
        keys: list[int] = []
        for used in sorted(uses, key=lambda used: -used.key):
            keys += rows.batches[used.key].keys if used.batch else [used.key]
        return self._hits(rows, keys, limit)

    async def of_references(self, account: int, references: Sequence[str]) -> list[Hit]:
        rows = self._open()
        used = [rows.references.get((account, reference)) for reference in references]
        keys = sorted(each.key for each in used if each is not None and not each.batch)
        return self._hits(rows, keys, len(keys))

    async def trace(self, key: int) -> MessageRecord | None:
        rows = self._open()
        message = rows.messages.get(key)
        if message is None:
            return None
        end, queued = rows.finals.get(key), rows.queue.get(key)
        receipts = [*(each for each in rows.progress if each.key == key)]
        receipts += [part for (of, _), part in rows.parts.items() if of == key]
        return MessageRecord(
            message=replace(message),
            submissions=sorted(
                (each for (of, _), each in rows.sent.items() if of == key), key=lambda each: (each.at, each.segment)
            ),
            attempts=[each for each in rows.attempts if each.key == key],
            receipts=sorted(receipts, key=lambda each: (each.at, each.segment)),
            final=None if end is None else (end.state, end.err, end.at),
            entries=[
                entry
                for entry in rows.ledger
                if (entry.kind is EntryKind.CHARGE and entry.key == (message.batch or key))
                or (entry.kind is EntryKind.REFUND and entry.message == key)
            ],
            queued=None if queued is None else (queued.connector, queued.due, queued.node is not None),
            callback=self._callback(rows, message),
        )

    def _callback(self, rows: Rows, message: Message) -> CallbackView | None:
        retry, done = rows.retries.get(message.key), rows.callbacks.get(message.key)
        if retry is None and done is None:
            return None
        view = CallbackView(message.key, message.tail, message.account, message.callback_url, 0, "", 0)
        if retry is not None:
            view.attempts, view.problem, view.first = retry.attempts, retry.problem, retry.first
            view.due, view.held = retry.due, retry.node is not None
        if done is not None:
            view.end, view.code, view.attempts, view.at = done.end, done.code, done.attempts, done.at
            if retry is None:
                end = rows.finals.get(message.key)
                view.first = done.at if end is None else end.at
        return view

    # --- callbacks, backlogs, usage

    async def owed_callbacks(self, limit: int, after: tuple[int, int] | None = None) -> list[CallbackView]:
        rows = self._open()
        places = sorted(
            (row.due, key)
            for key, row in rows.retries.items()
            if row.node is None and row.due is not None
        )  # fmt: skip
        views = [self._callback(rows, rows.messages[key]) for due, key in places if after is None or (due, key) > after]
        return [view for view in views if view is not None][:limit]

    async def ended_callbacks(self, limit: int, before: int | None = None) -> list[CallbackView]:
        rows = self._open()
        keys = sorted(
            (key for key, done in rows.callbacks.items() if done.end is not CallbackEnd.DELIVERED), reverse=True
        )
        views = [self._callback(rows, rows.messages[key]) for key in keys if before is None or key < before]
        return [view for view in views if view is not None][:limit]

    async def drop_callbacks(self, keys: Sequence[int], now: int) -> int:
        rows = self._open()
        dropped = 0
        for key in keys:
            retry = rows.retries.get(key)
            if retry is not None and retry.node is None and retry.due is not None:
                rows.callbacks.setdefault(
                    key, CallbackDone(rows.messages[key].account, key, CallbackEnd.GIVEN_UP, 0, retry.attempts, now)
                )
                retry.due = None
                dropped += 1
        return dropped

    async def reach(self) -> RestorePoint:
        rows = self._open()
        going = [m for m in rows.messages.values() if m.state == State.SENT and m.key not in rows.finals]
        parts = Counter(key for key, _ in rows.sent)
        times = [
            *map(time_of, rows.messages),
            *(entry.at for entry in rows.ledger),
            *(move.at for move in rows.moved),
            *(end.at for end in rows.finals.values()),
        ]
        times += [row.at for row in rows.sent.values()] + [done.at for done in rows.callbacks.values()]
        return RestorePoint(
            max(times, default=None),
            sum(m.state == State.SCHEDULED for m in rows.messages.values()),
            sum(parts[m.key] < m.segments for m in going),
            sum(parts[m.key] >= m.segments and m.wants_receipt for m in going),
            sum(end.owed and end.state is not None and key not in rows.callbacks for key, end in rows.finals.items()),
        )

    async def standing(self, now: int) -> BacklogCounts:
        rows = self._open()
        due = [row for row in rows.queue.values() if row.node is None and row.due <= now]
        counts = (
            sum(message.state == State.SCHEDULED for message in rows.messages.values()),
            len(due),
            len(rows.awaiting),
            sum(row.due is not None for row in rows.retries.values()),
            sum(done.end is not CallbackEnd.DELIVERED for done in rows.callbacks.values()),
            len(rows.early),
        )
        scheduled, waiting, awaiting, owed, ended, orphans = (min(count, COUNTED) for count in counts)
        oldest = min((row.due for row in due), default=None)
        deferred = Counter(
            row.connector
            for key, row in rows.queue.items()
            if row.node is None and row.due > now and key in rows.messages and row.due > rows.messages[key].time
        )
        return BacklogCounts(scheduled, waiting, oldest, dict(deferred), awaiting, owed, ended, orphans)

    async def ended_unknown(self, since: int) -> int:
        finals = self._open().finals
        return sum(time_of(key) >= since and end.state is Delivery.UNKNOWN for key, end in finals.items())
