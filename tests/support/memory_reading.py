"""Offers the in-memory store's reading operations: for users, and for its other parts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from heliograph.app.facts import (
    LOW_BALANCE,
    NO_ANSWER,
    Accept,
    CallbackEnd,
    InboundMessage,
    Message,
    Outstanding,
    Queued,
    Submission,
    Verdict,
    notice_key_of,
    subject_key_of,
)
from heliograph.app.notice import LowBalance, Notice, ReachedState
from heliograph.app.records import (
    COUNTED,
    BacklogCounts,
    CallbackView,
    Earning,
    Hit,
    MessageRecord,
    Move,
    RestorePoint,
    Search,
    SearchPage,
    TakenSegment,
    ToldWorry,
)
from heliograph.domain.limits.gate import holder_of
from heliograph.domain.message.ids import time_of
from heliograph.domain.message.receipt import Delivery, ending_of
from heliograph.domain.message.state import State
from heliograph.domain.message.status import MessageStatus
from heliograph.domain.message.way import Way
from heliograph.domain.money.amounts import EntryKind
from heliograph.domain.numbers.country import country_of
from tests.support.memory_audit import audit
from tests.support.memory_rows import MemoryPart, Reference, Rows


def way_of(subject: Message | InboundMessage | LowBalance) -> Way:
    """The way of the notice about a subject."""
    return Way.WEBHOOK if isinstance(subject, LowBalance) else subject.way


def fits(search: Search, hit: Hit) -> bool:
    """Returns True if the message matches the search, apart from an id or a reference."""
    message = hit.message
    if search.account not in (None, message.account) or search.status not in (None, hit.status):
        return False
    if not message.destination.startswith(search.number):
        return False
    at = time_of(message.key) if search.account is None else message.time
    if not (search.start or at) <= at <= (at if search.end is None else search.end):
        return False
    if search.connector not in (None, message.connector, hit.sent_by):
        return False
    if search.sender and message.sender.lower() != search.sender.lower():
        return False
    if search.country and country_of(message.destination) != search.country.upper():
        return False
    if search.network not in ("", message.network):
        return False
    if not search.error:
        return True
    ending = ending_of(search.error)
    if ending is None or hit.delivery in (None, Delivery.DELIVRD):
        return False
    state, code = ending
    return state in (None, hit.delivery) and code in ("", hit.err)


class MemoryReading(MemoryPart):
    """Reads rows for several parts of the store."""

    def _first(self, rows: Rows, account: int, reference: str, used: Reference) -> Accept:
        batch = rows.batches.get(used.key)
        keys = [used.key] if batch is None else batch.keys
        state = State.SCHEDULED if used.scheduled else State.SENT
        messages = [replace(rows.messages[key]) for key in keys]
        for message in messages:
            end = rows.finals.get(message.key)
            failed_at_once = message.state == State.FAILED and not message.price
            if end is None or not failed_at_once or end.at > time_of(used.key):
                message.state = state
        return Accept(
            account=account,
            messages=messages,
            total=messages[0].price if batch is None else batch.total,
            at=time_of(used.key),
            scheduled=used.scheduled,
            batch=used.batch,
            reference=reference,
            fingerprint=used.fingerprint,
            key=used.key,
            tail=messages[0].tail if batch is None else batch.tail,
            verdict=Verdict.REPLAYED,
        )

    def _sent(self, rows: Rows, key: int) -> dict[int, Submission]:
        """The answers to the parts of a message, by segment."""
        found = {segment: rows.sent.get((key, segment)) for segment in range(rows.messages[key].segments)}
        return {segment: row for segment, row in found.items() if row is not None}

    def _queued(self, rows: Rows, key: int, attempted: bool, *, queued: bool) -> Queued:
        sent = self._sent(rows, key)
        attempts = [each for each in rows.attempts if each.key == key]
        taken = frozenset(segment for segment, row in sent.items() if row.status in (0, NO_ANSWER))
        message = replace(rows.messages[key], queued=queued)
        untried = queued and not (attempted or sent or attempts)
        preliminary = untried and message.connector == rows.queue[key].connector
        if queued:
            message.connector = rows.queue[key].connector
        holders = {row.connector for row in sent.values() if row.status == 0}
        tried = frozenset(each.connector for each in attempts) - holders - {message.connector}
        resent = queued and any(
            each.status == 0 or (each.status == NO_ANSWER and each.connector != message.connector) for each in attempts
        )
        return Queued(
            message, attempted, frozenset(sent), taken, tried if queued else frozenset(), resent,
            untried=untried, preliminary=preliminary,
        )  # fmt: skip

    def _outstanding(self, rows: Rows, key: int) -> Outstanding:
        message = rows.messages[key]
        parts = {segment: rows.parts.get((key, segment)) for segment in range(message.segments)}
        states = {segment: (part.state, part.err) for segment, part in parts.items() if part is not None}
        accepted = {segment: row for segment, row in self._sent(rows, key).items() if row.status == 0}
        operator_ids: dict[tuple[int, str], tuple[int, ...]] = {}
        for segment, row in accepted.items():
            if segment not in states:
                name = (row.connector, row.operator_id)
                operator_ids[name] = (*operator_ids.get(name, ()), segment)
        holders = {row.connector for row in accepted.values()}
        attempts = [each for each in rows.attempts if each.key == key]
        in_doubt = any(each.connector in holders and each.status == NO_ANSWER for each in attempts)
        tried = frozenset(each.connector for each in attempts) - holders
        undelivered_by = frozenset(each.connector for each in attempts if each.status == 0) - holders
        taken = 0 if in_doubt else len(accepted)
        return Outstanding(replace(message), operator_ids, states, taken, tried, undelivered_by)

    def _subject(self, rows: Rows, key: int) -> Message | InboundMessage | LowBalance:
        if key < LOW_BALANCE:
            return rows.balance_notices[LOW_BALANCE - key]
        return rows.inbound[key] if key in rows.inbound else rows.messages[subject_key_of(key)]

    def _notice(self, rows: Rows, key: int, first: int, attempts: int = 0, body: bytes = b"") -> Notice:
        inbound = rows.inbound.get(key)
        if inbound is not None:
            return Notice(inbound.account, key, replace(inbound), first, attempts, body, inbound.way)
        if key < LOW_BALANCE:
            low = rows.balance_notices[LOW_BALANCE - key]
            return Notice(low.account, key, replace(low), first, attempts, body)
        if key < 0:
            of = subject_key_of(key)
            told = next(each for each in rows.progress if each.key == of and notice_key_of(of, each.state) == key)
            message = replace(rows.messages[of])
            reached = ReachedState(message, told.state, told.err, told.at)
            return Notice(message.account, key, reached, first, attempts, body, message.way)
        end, message = rows.finals[key], replace(rows.messages[key])
        assert end.state is not None
        reached = ReachedState(message, end.state, end.err, end.at)
        return Notice(message.account, key, reached, first, attempts, body, message.way)

    def _callback(
        self, rows: Rows, message: Message | InboundMessage | LowBalance, notice: int | None = None
    ) -> CallbackView | None:
        key = notice if notice is not None or isinstance(message, LowBalance) else message.key
        assert key is not None
        retry, done = rows.retries.get(key), rows.callbacks.get(key)
        if retry is None and done is None:
            return None
        if way_of(message) is not Way.WEBHOOK:
            url = ""
        elif isinstance(message, Message):
            url = message.callback_url
        elif isinstance(message, LowBalance):
            url = rows.accounts[message.account].callback_url
        else:
            url = rows.accounts[message.account].inbound_url if message.account else ""
        tail = 0 if isinstance(message, LowBalance) else message.tail
        view = CallbackView(key, tail, message.account, url, 0, "", 0)
        if retry is not None:
            view.attempts, view.problem, view.first = retry.attempts, retry.problem, retry.first
            view.due, view.held = retry.due, retry.node is not None
        if done is not None:
            view.end, view.code, view.attempts, view.at = done.end, done.code, done.attempts, done.at
            if retry is None:
                end = rows.finals.get(key)
                view.first = done.at if end is None else end.at
        return view

    def _hit(self, rows: Rows, message: Message) -> Hit:
        end = rows.finals.get(message.key)
        taken = sum(of == message.key and each.status == 0 for (of, _), each in rows.sent.items())
        state, err = (None, "") if end is None else (end.state, end.err)
        row = rows.queue.get(message.key)
        held = None if row is None else row.held
        sent = self._sent(rows, message.key)
        sent_by = sent[min(sent)].connector if sent else None
        return Hit(replace(message), state, err, taken >= message.segments, held, sent_by)

    def _hits(self, rows: Rows, keys: Iterable[int], limit: int) -> list[Hit]:
        return [self._hit(rows, rows.messages[key]) for key in list(keys)[:limit]]

    def _record(self, rows: Rows, message: Message) -> MessageRecord:
        key = message.key
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
            holds=[replace(hold) for (of, _), hold in sorted(rows.message_holds.items()) if of == key],
            moves=[Move(each.at, each.was, each.time) for each in rows.moved if each.key == key],
            connectors={number: connector.name for number, connector in rows.connectors.items()},
            feedback=rows.feedback[key][:2] if key in rows.feedback else None,
            held=None if queued is None else queued.held,
        )


class MemoryMessages(MemoryReading):
    """`app.ports.Messages`."""

    async def earnings(self, after: int, end: int, limit: int) -> list[Earning]:
        rows = self._open()
        keys = sorted(key for key in rows.messages if after < key < end)[:limit]
        refunds = {each.message: each.amount for each in rows.ledger if each.kind is EntryKind.REFUND}
        found = []
        for key in keys:
            message, final = rows.messages[key], rows.finals.get(key)
            whole = final is not None and final.state is Delivery.DELIVRD
            parts = {
                segment for (of, segment), part in rows.parts.items() if of == key and part.state is Delivery.DELIVRD
            }
            taken = [
                TakenSegment(sent.connector, sent.at, whole or segment in parts)
                for (of, segment), sent in sorted(rows.sent.items())
                if of == key and sent.status in (0, NO_ANSWER)
            ]
            tries = [each for each in rows.attempts if each.key == key and each.status == 0]
            taken += [TakenSegment(each.connector, each.at, False) for each in tries]
            taken.sort(key=lambda segment: segment.at)
            amount = message.price - refunds.get(key, 0)
            found.append(Earning(key, message.account, message.destination, message.network, amount, taken))
        return found

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
            place = (message.time if own else 0, key)
            if search.before is not None and (place >= search.before if own else key >= search.before[1]):
                continue
            if search.account not in (None, message.account):
                continue
            if search.names_request and not self._is_of_request(rows, message, search):
                continue
            asked = time if search.account is None else message.time
            if not (search.start or 0) <= asked <= (1 << 62 if search.end is None else search.end):
                continue
            row = rows.queue.get(key)
            if search.status is MessageStatus.HELD and (row is None or row.held is None or row.node is not None):
                continue
            looked += 1
            hit = self._hit(rows, message)
            found = fits(search, hit)
            if found and len(hits) == search.limit:
                last = hits[-1].message
                return SearchPage(hits, (last.time if own else 0, last.key))
            if found:
                hits.append(hit)
            if looked == search.effort:
                return SearchPage(hits, place, time)
        return SearchPage(hits)

    def _is_of_request(self, rows: Rows, message: Message, search: Search) -> bool:
        """Whether the message is of the request that the search names."""
        request = message.batch or message.key
        if search.id is None:
            used = rows.references.get((message.account, search.reference))
            return used is not None and used.key == request
        batch = rows.batches.get(request)
        return search.id in ((message.key, message.tail), None if batch is None else (request, batch.tail))

    async def of_references(self, account: int, references: Sequence[str]) -> list[Hit]:
        rows = self._open()
        used = [rows.references.get((account, reference)) for reference in references]
        keys = sorted(each.key for each in used if each is not None and not each.batch)
        return self._hits(rows, keys, len(keys))

    async def held(self, keys: Sequence[int]) -> set[int]:
        rows = self._open()
        return {key for key in keys if key in rows.queue and rows.queue[key].held is not None}

    async def trace(self, key: int) -> MessageRecord | None:
        rows = self._open()
        message = rows.messages.get(key)
        return None if message is None else self._record(rows, message)


class MemoryUpkeep(MemoryReading):
    """`app.ports.Upkeep`."""

    async def index_numbers(self, now: int, size: int) -> int:
        """Everything is quick to find here."""
        self._open()
        del now, size
        return 0

    async def tidy_lists(self) -> None:
        self._open()

    async def probe(self) -> None:
        self._open()

    async def hazards(self) -> list[str]:
        return []

    async def backlog(self) -> dict[str, int]:
        rows = self._open()
        scheduled = sum(message.state == State.SCHEDULED for message in rows.messages.values())
        return {
            "scheduled": scheduled,
            "queued": len(rows.queue) - scheduled,
            "callbacks": sum(row.due is not None for row in rows.retries.values()),
            "callbacks_failed": sum(done.end is not CallbackEnd.DELIVERED for done in rows.callbacks.values()),
            "orphans": len(rows.early),
            "awaiting": len(rows.awaiting),
        }

    async def counts(self, now: int) -> BacklogCounts:
        rows = self._open()
        due = [row for row in rows.queue.values() if row.node is None and row.held is None and row.due <= now]
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
            if row.node is None and row.held is None and row.due > now
            if key in rows.messages and row.due > rows.messages[key].time
        )
        held = Counter(holder for row in rows.queue.values() if row.node is None and (holder := holder_of(row.held)))
        return BacklogCounts(scheduled, waiting, oldest, dict(deferred), awaiting, owed, ended, orphans, dict(held))

    async def told_worries(self) -> list[ToldWorry]:
        return sorted(self._open().told_worries, key=lambda told: (told.topic, told.subject))

    async def keep_told(self, told: Sequence[ToldWorry]) -> None:
        self._open().told_worries = list(told)

    async def ended_unknown(self, since: int) -> int:
        finals = self._open().finals
        return sum(time_of(key) >= since and end.state is Delivery.UNKNOWN for key, end in finals.items())

    async def reach(self) -> RestorePoint:
        rows = self._open()
        going = [m for m in rows.messages.values() if m.state == State.SENT and m.key not in rows.finals]
        parts = Counter(key for key, _ in rows.sent)
        times = [
            *map(time_of, rows.messages),
            *map(time_of, rows.inbound),
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
            sum(end.owed and end.state is not None and key not in rows.callbacks for key, end in rows.finals.items())
            + sum(bool(message.way) and key not in rows.callbacks for key, message in rows.inbound.items()),
        )

    async def damage(self) -> list[str]:
        return []

    async def audit(self) -> list[str]:
        return audit(self._open())
