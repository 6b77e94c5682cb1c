"""Retention in the in-memory store."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from heliograph.app.facts import LOW_BALANCE, NO_ANSWER, InboundMessage, Message, subject_key_of
from heliograph.app.kept_data import ErasureStep, PhoneTraces, RetentionStep, RetentionSweep
from heliograph.app.notice import LowBalance
from heliograph.app.ports.sending_lists import references_of
from heliograph.domain.message.ids import first_key_at, time_of
from heliograph.domain.message.retention import REDACTED_CODING, Stage
from heliograph.domain.message.state import ENDED, State
from heliograph.domain.money.amounts import EntryKind
from tests.support.memory_rows import DroppedMoney, MemoryPart, Rows
from tests.support.memory_suppressions import withdraw_waiting

T = TypeVar("T")
K = TypeVar("K")


class MemoryRetention(MemoryPart):
    """`app.ports.Retention`."""

    async def advance(self, sweep: RetentionSweep, limit: int) -> RetentionStep:
        rows = self._open()
        place = rows.places.get((sweep.account, sweep.stage, sweep.inbound), (-1, -1))
        if sweep.inbound:
            found = [(0, key) for key, each in rows.inbound.items() if each.account == sweep.account]
            due = [each for each in found if time_of(each[1]) < sweep.before]
        else:
            found = [(each.time, key) for key, each in rows.messages.items() if each.account == sweep.account]
            due = [each for each in found if each[0] < sweep.before]
        next_ones = sorted(each for each in due if each > place)[:limit]
        ahead = (0, first_key_at(sweep.before)) if sweep.inbound else (sweep.before, -1)
        if place >= ahead:
            rows.places[sweep.account, sweep.stage, sweep.inbound] = (ahead[0], ahead[1] - sweep.inbound)
        if not next_ones:
            return RetentionStep()
        time, key = rows.places[sweep.account, sweep.stage, sweep.inbound] = next_ones[-1]
        done = take(rows, sweep.stage, [key for _, key in next_ones], sweep.quiet)
        rows.kept |= {(sweep.account, sweep.stage, key) for _, key in next_ones if key not in done}
        return RetentionStep(len(next_ones), len(done), key, time)

    async def retry(self, account: int, stage: Stage, beyond: int, limit: int, quiet: int) -> RetentionStep:
        rows = self._open()
        keys = sorted(key for of, at, key in rows.kept if (of, at) == (account, stage) and key > beyond)[:limit]
        if not keys:
            return RetentionStep()
        there = [key for key in keys if key in rows.messages or key in rows.inbound]
        done = take(rows, stage, there, quiet)
        cleared = {*done, *(set(keys) - set(there))}
        rows.kept -= {(account, stage, key) for key in cleared}
        return RetentionStep(len(keys), len(done), keys[-1])

    async def accounts_kept(self, stage: Stage) -> list[int]:
        return sorted({account for account, of, _ in self._open().kept if of is stage})

    async def forget_suppressed(self, account: int, before: int, limit: int) -> int:
        del limit  # the digests would be all that is left, and there are none here
        rows = self._open()
        old = [each for (of, _), each in rows.suppressions.items() if of == account and each.since < before]
        forgotten = [each for each in old if (account, each.number) not in rows.forgotten]
        rows.forgotten |= {(account, each.number) for each in forgotten}
        return len(forgotten)

    async def forget_refused(self, account: int, before: int) -> int:
        rows = self._open()
        for each in rows.sending_lists.values():
            if each.account == account and each.reported < before:
                each.problem = ""
        was = len(rows.refused_requests)
        rows.refused_requests = [
            each for each in rows.refused_requests if each.account != account or each.at >= before
        ]  # fmt: skip
        return was - len(rows.refused_requests)

    async def drop_lists(self, account: int, before: int, limit: int) -> int:
        rows = self._open()
        old = [
            id
            for id, each in sorted(rows.sending_lists.items())
            if each.account == account
            and each.reported < before
            and not any(of == account and name.startswith(references_of(id)) for of, name in rows.references)
        ][:limit]
        for id in old:
            del rows.sending_lists[id]
        return len(old)

    async def drop_balance_notices(self, account: int, before: int, limit: int) -> int:
        rows = self._open()
        old = [
            id
            for id, each in sorted(rows.balance_notices.items())
            if each.account == account and each.at < before
            and LOW_BALANCE - id in rows.callbacks and rows.callbacks[LOW_BALANCE - id].at < before
        ][:limit]  # fmt: skip
        for id in old:
            del rows.balance_notices[id], rows.callbacks[LOW_BALANCE - id]
            rows.retries.pop(LOW_BALANCE - id, None)
        return len(old)

    async def scrub(self) -> bool:
        self._open()
        return True


class MemoryRecipients(MemoryPart):
    """`app.ports.Recipients`."""

    async def traces(self, number: str, account: int | None) -> PhoneTraces:
        rows = self._open()
        return PhoneTraces(
            [(each.account, key) for key, each in sorted(rows.messages.items())
             if each.destination == number and account in (None, each.account)],
            [(each.account, key, each.tail) for key, each in sorted(rows.inbound.items())
             if each.sender == number and account in (None, each.account)],
            [(of, each.since, each.source) for (of, phone), each in sorted(rows.suppressions.items())
             if phone == number and account in (None, of) and (of, phone) not in rows.forgotten],
            [(each.connector, each.operator_id, each.state, each.err, each.at) for each in rows.early
             if each.destination == number and account is None],
            sum(of.sender == number and not row.joined for (of, _), row in rows.inbound_parts.items()),
        )  # fmt: skip

    async def judge(self, account: int, keys: Sequence[int]) -> ErasureStep:
        rows = self._open()
        waiting = self._waiting(rows, account, keys)
        done = [key for key in keys if key in waiting or (_is_there(rows, key) and settled(rows, key))]
        return ErasureStep(len(waiting), len(done), len(keys) - len(done))

    async def erase(self, account: int, keys: Sequence[int], now: int) -> ErasureStep:
        rows = self._open()
        waiting = self._waiting(rows, account, keys)
        withdraw_waiting(self._place, waiting, now)
        done = take(rows, Stage.ERASURE, [key for key in keys if _is_there(rows, key)])
        left = set(keys) - set(done)
        rows.kept |= {(account, Stage.ERASURE, key) for key in left}
        return ErasureStep(len(waiting), len(done), len(left))

    async def forget(self, number: str, account: int | None) -> None:
        rows = self._open()
        rows.forgotten |= {of for of in rows.suppressions if of[1] == number and account in (None, of[0])}
        if account is None:
            rows.early = [each for each in rows.early if each.destination != number]

    def _waiting(self, rows: Rows, account: int, keys: Sequence[int]) -> list[int]:
        resent = {each.key for each in rows.attempts if each.status in (0, NO_ANSWER)}
        return [
            key
            for key in keys
            if key in rows.queue and rows.messages[key].account == account
            and rows.queue[key].node is None and not rows.queue[key].attempted
            and not any(of == key for of, _ in rows.sent) and key not in resent
        ]  # fmt: skip


def _is_there(rows: Rows, key: int) -> bool:
    return key in rows.messages or key in rows.inbound


def settled(rows: Rows, key: int) -> bool:
    """Whether nothing is owed for a message of either way."""
    if any(row.due is not None and subject_key_of(of) == key for of, row in rows.retries.items()):
        return False
    inbound = rows.inbound.get(key)
    if inbound is not None:
        return key not in rows.unanswered and (not inbound.way or key in rows.callbacks)
    message, end = rows.messages[key], rows.finals.get(key)
    if key in rows.queue:
        return False
    if end is None:
        answered = sum(of == key for of, _ in rows.sent)
        return not message.wants_receipt and message.state == State.SENT and answered >= message.segments
    return end.state is None or not end.owed or key in rows.callbacks


def take(rows: Rows, stage: Stage, keys: Sequence[int], quiet: int = 0) -> list[int]:
    """Applies the stage to the settled messages among these. Returns their keys."""
    done = [key for key in keys if settled(rows, key)]
    if stage is Stage.ROW:
        last = {max(places) for places in _positions(rows).values()}
        done = [key for key in done if (rows.positions.get(key, -1), key) not in last and _last_at(rows, key) < quiet]
    for key in done:
        if stage is Stage.ROW:
            _drop(rows, key)
        else:
            _redact(rows, stage, key)
    return done


def _last_at(rows: Rows, key: int) -> int:
    """When something last happened to a message; 0 where nothing did."""
    times = [row.at for of, row in rows.sent.items() if of[0] == key]
    times += [row.at for of, row in rows.parts.items() if of[0] == key]
    times += [row.at for row in rows.progress if row.key == key]
    times += [row.at for of, row in rows.callbacks.items() if subject_key_of(of) == key]
    return max([*times, rows.finals[key].at if key in rows.finals else 0])


def _positions(rows: Rows) -> dict[int, list[tuple[int, int]]]:
    places: dict[int, list[tuple[int, int]]] = {}
    for key, each in rows.inbound.items():
        places.setdefault(each.account, []).append((rows.positions.get(key, -1), key))
    return places


def _redact(rows: Rows, stage: Stage, key: int) -> None:
    rows.retries = {of: row for of, row in rows.retries.items() if subject_key_of(of) != key}
    inbound = rows.inbound.get(key)
    if inbound is not None:
        rows.inbound_parts = _others(rows.inbound_parts, lambda row: row.joined == key)
        if stage is not Stage.NUMBER:
            inbound = replace(inbound, content="", octets=b"", coding=REDACTED_CODING)
            rows.refused_replies.pop(key, None)
        rows.inbound[key] = inbound if stage is Stage.TEXT else replace(inbound, sender="")
        return
    message = rows.messages[key]
    for name in [each for each, row in rows.references.items() if row.key == key and each[1].startswith("smpp:")]:
        del rows.references[name]
    used = rows.references.get((message.account, message.reference or ""))
    if used is not None:
        used.fingerprint = b""
    if stage is not Stage.NUMBER:
        message = replace(message, content="", extras="")
    if stage is not Stage.TEXT:
        message = replace(message, destination="", callback_url="")
    rows.messages[key] = message


def _drop(rows: Rows, key: int) -> None:
    if rows.archive is not None:
        _note(rows, rows.archive, key)
    rows.retries = {of: row for of, row in rows.retries.items() if subject_key_of(of) != key}
    rows.callbacks = {of: row for of, row in rows.callbacks.items() if subject_key_of(of) != key}
    if key in rows.inbound:
        gone = rows.inbound.pop(key)
        rows.positions.pop(key, None)
        rows.refused_replies.pop(key, None)
        rows.inbound_parts = _others(rows.inbound_parts, lambda row: row.joined == key)
        _add(rows, gone.account, EntryKind.INBOUND, gone.price, key)
        return
    message = rows.messages.pop(key)
    if message.state in ENDED:
        _add(rows, message.account, EntryKind.REFUND, message.price, key)
    if not message.batch:
        _add(rows, message.account, EntryKind.CHARGE, message.price, key)
        rows.references.pop((message.account, message.reference or ""), None)
    rows.sent = {of: row for of, row in rows.sent.items() if of[0] != key}
    rows.parts = {of: row for of, row in rows.parts.items() if of[0] != key}
    rows.attempts = _not_of(rows.attempts, lambda row: row.key == key)
    rows.progress = _not_of(rows.progress, lambda row: row.key == key)
    rows.moved = _not_of(rows.moved, lambda row: row.key == key)
    rows.message_holds = {of: hold for of, hold in rows.message_holds.items() if of[0] != key}
    rows.awaiting = {row for row in rows.awaiting if row[2] != key}
    rows.finals.pop(key, None)
    rows.feedback.pop(key, None)
    batch = rows.batches.get(message.batch)
    if batch is None:
        return
    batch.keys.remove(key)
    batch.dropped += message.price
    if not batch.keys:
        del rows.batches[batch.key]
        rows.references.pop((batch.account, batch.reference or ""), None)
        _add(rows, batch.account, EntryKind.CHARGE, batch.dropped, batch.key)


def _note(rows: Rows, archive: Rows, key: int) -> None:
    """Copies a message's rows into another store."""
    for name in ("messages", "finals", "callbacks", "inbound", "positions"):
        if key in getattr(rows, name):
            getattr(archive, name)[key] = getattr(rows, name)[key]
    for name in ("sent", "parts"):
        getattr(archive, name).update({of: row for of, row in getattr(rows, name).items() if of[0] == key})


def with_archive(rows: Rows) -> Rows:
    """Returns the rows as if nothing had been dropped."""
    if rows.archive is None:
        return rows
    names = ("messages", "finals", "callbacks", "inbound", "positions", "sent", "parts")
    return replace(rows, **{name: getattr(rows.archive, name) | getattr(rows, name) for name in names})


def _add(rows: Rows, account: int, kind: EntryKind, amount: int, key: int) -> None:
    if amount:
        sum_ = rows.dropped.setdefault((account, kind), DroppedMoney())
        sum_.entries += 1
        sum_.amount += amount
        sum_.last_key = max(sum_.last_key, key)


def _others(rows: dict[K, T], goes: Callable[[T], bool]) -> dict[K, T]:
    return {key: row for key, row in rows.items() if not goes(row)}


def _not_of(rows: Iterable[T], goes: Callable[[T], bool]) -> list[T]:
    return [row for row in rows if not goes(row)]


def redacted(subject: Message | InboundMessage | LowBalance) -> bool:
    """Whether a notice of it could not be made again."""
    if isinstance(subject, LowBalance):
        return False
    if isinstance(subject, Message):
        return not subject.destination
    return not subject.sender or subject.coding == REDACTED_CODING
