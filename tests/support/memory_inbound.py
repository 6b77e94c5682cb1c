"""Inbound messages in the in-memory store."""

from collections.abc import Sequence
from dataclasses import replace

from heliograph.app.configuration import Exists, Missing
from heliograph.app.facts import Facts, InboundPart, PartSet
from heliograph.app.ports.inbound import REPEAT_MS, SLOW_ANSWER_MS
from heliograph.app.records import InboundQuery, InboundRecord
from heliograph.domain.ids import time_of
from heliograph.domain.numbers import InboundNumber
from tests.support.memory_reading import MemoryReading
from tests.support.memory_rows import PartRow, RetryRow, Rows, UnansweredRow


def keep_inbound(rows: Rows, facts: Facts, node: int) -> None:
    for key in facts.inbound_lost:
        if key in rows.unanswered:
            rows.unanswered[key].lost = True
    for key in facts.inbound_answered:
        rows.unanswered.pop(key, None)
    for message in facts.inbound:
        if message.key in rows.inbound:
            continue
        rows.inbound[message.key] = replace(message, digest=0, lost=False, parts_of=None)
        if message.digest:
            rows.unanswered[message.key] = UnansweredRow(
                message.connector, message.digest, node, message.at, message.lost
            )
        for (of, _), row in rows.inbound_parts.items():
            if of == message.parts_of and not row.joined and row.node == node:
                row.joined, row.node = message.key, None
    for part in facts.inbound_parts:
        known = rows.inbound_parts.get((part.parts_of, part.number))
        if known is None or (known.joined and known.part.octets != part.octets):
            rows.inbound_parts[part.parts_of, part.number] = PartRow(replace(part))


class MemoryInbound(MemoryReading):
    """`app.ports.Inbound`."""

    async def repeated(
        self, connector: int, digests: Sequence[int], now: int, node: int
    ) -> list[tuple[int, int, bool]]:
        return [
            (row.digest, key, row.lost or row.at < now - SLOW_ANSWER_MS)
            for key, row in sorted(self._open().unanswered.items())
            if row.connector == connector and row.digest in digests and row.at >= now - REPEAT_MS
            if row.lost or row.node != node
        ]

    async def gather(self, sets: Sequence[PartSet], node: int) -> list[list[InboundPart]]:
        rows = self._open()
        return self._claim(rows, [of for of in sets if len(self._waiting(rows, of)) >= of.total], node)

    async def ready(self, before: int, limit: int, node: int) -> list[list[InboundPart]]:
        rows = self._open()
        waiting = {of: self._waiting(rows, of) for of, _ in rows.inbound_parts}
        since = {of: min(row.part.at for row in parts) for of, parts in waiting.items() if parts}
        ready = [
            of for of in sorted(since, key=since.__getitem__) if len(waiting[of]) >= of.total or since[of] < before
        ]
        return self._claim(rows, ready[:limit], node)

    async def forget(self, before: int, limit: int) -> int:
        rows = self._open()
        parts = [name for name, row in rows.inbound_parts.items() if row.joined and row.part.at < before][:limit]
        notes = [key for key in sorted(rows.unanswered) if time_of(key) < before][:limit]
        for name in parts:
            del rows.inbound_parts[name]
        for key in notes:
            del rows.unanswered[key]
        return len(parts) + len(notes)

    async def find(self, query: InboundQuery) -> list[InboundRecord]:
        rows = self._open()
        found = [
            InboundRecord(replace(message), self._callback(rows, message))
            for key, message in sorted(rows.inbound.items(), reverse=True)
            if query.account in (None, message.account)
            and query.number in ("", message.sender, message.recipient)
            and (query.before is None or key < query.before)
        ]
        return found[: query.limit]

    async def show(self, key: int, tail: int) -> InboundRecord | None:
        rows = self._open()
        message = rows.inbound.get(key)
        if message is None or message.tail != tail:
            return None
        return InboundRecord(replace(message), self._callback(rows, message))

    async def route(self, key: int, tail: int, account: int, now: int) -> InboundRecord:
        rows = self._open()
        if account not in rows.accounts:
            raise Missing("no such account")
        message = rows.inbound.get(key)
        if message is None or message.tail != tail or message.account:
            raise Missing("no such inbound message, or it has an owner")
        message.account, message.owed = account, bool(rows.accounts[account].inbound_url)
        if message.owed:
            rows.retries[key] = RetryRow(now, 0, b"", "", now)
        return InboundRecord(replace(message), self._callback(rows, message))

    def _waiting(self, rows: Rows, of: PartSet) -> list[PartRow]:
        parts = [row for (name, _), row in rows.inbound_parts.items() if name == of and not row.joined]
        return sorted((row for row in parts if row.node is None), key=lambda row: row.part.number)

    def _claim(self, rows: Rows, sets: Sequence[PartSet], node: int) -> list[list[InboundPart]]:
        claimed = []
        for of in sets:
            parts = self._waiting(rows, of)
            for row in parts:
                row.node = node
            claimed.append([replace(row.part) for row in parts])
        return claimed

    async def add_number(self, number: InboundNumber) -> InboundNumber:
        rows = self._open()
        if number.account not in rows.accounts or (number.connector and number.connector not in rows.connectors):
            raise Missing("no such account or connector")
        same = (number.number, number.keyword, number.connector)
        if any((each.number, each.keyword, each.connector) == same for each in rows.numbers.values()):
            raise Exists(number.number)
        added = replace(number, id=self._place.next("number"))
        rows.numbers[added.id] = added
        rows.revision += 1
        return replace(added)

    async def remove_number(self, number: int) -> None:
        rows = self._open()
        if rows.numbers.pop(number, None) is None:
            raise Missing("no such number")
        rows.revision += 1
