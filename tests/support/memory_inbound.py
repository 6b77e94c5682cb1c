"""Inbound messages in the in-memory store."""

from collections.abc import Sequence
from dataclasses import replace

from heliograph.app.configuration import Exists, Missing, inbound_way
from heliograph.app.facts import Facts, InboundMessage, InboundPart, PartSet
from heliograph.app.ports.inbound import PAGE_OCTETS, REPEAT_MS, SLOW_ANSWER_MS, FoundCopies
from heliograph.app.records import InboundQuery, InboundRecord
from heliograph.domain.message.ids import first_key_at, time_of
from heliograph.domain.money.amounts import EntryKind
from heliograph.domain.money.pricing import price_table
from heliograph.domain.numbers.number_rules import InboundNumber
from heliograph.domain.text.inbound import reply_reference
from tests.support.memory_reading import MemoryReading
from tests.support.memory_rows import MemoryPart, PartRow, RetryRow, Rows, UnansweredRow


def contest(rows: Rows, messages: Sequence[InboundMessage], node: int) -> None:
    """Marks messages as contested if another node wrote equal messages after their look-up."""
    newest = {(row.connector, row.digest): row.number for row in rows.unanswered.values() if row.node != node}
    for message in messages:
        since = newest.get((message.connector, message.digest), 0)
        message.contested = since > message.last_note and message.key not in rows.inbound


def note_answers(rows: Rows, answered: Sequence[int], *, shared: bool) -> None:
    """Deletes the notes of answered messages; nodes that share a store keep them for a while."""
    for key in answered:
        if not shared:
            rows.unanswered.pop(key, None)
        elif key in rows.unanswered:
            rows.unanswered[key].answered = True


def keep_inbound(rows: Rows, facts: Facts, node: int) -> None:
    for key in facts.inbound_lost:
        if key in rows.unanswered:
            rows.unanswered[key].lost = True
    for message in facts.inbound:
        if message.key in rows.inbound:
            continue
        rows.inbound[message.key] = replace(
            message,
            digest=0,
            lost=False,
            parts_of=None,
            reply=None,
            replied=message.reply.key if message.reply is not None and message.reply.key in rows.messages else 0,
        )
        rows.positions[message.key] = max(message.key, _newest(rows, message.account) + 1)
        if message.digest:
            rows.last_note += 1
            rows.unanswered[message.key] = UnansweredRow(
                message.connector, message.digest, node, message.at, message.lost, rows.last_note
            )
        for (of, _), row in rows.inbound_parts.items():
            if of == message.parts_of and not row.joined and row.node == node:
                row.joined, row.node = message.key, None
    for reply in facts.inbound_replies:
        if reply.key in rows.inbound:
            rows.refused_replies[reply.key] = reply.problem
    for part in facts.inbound_parts:
        known = rows.inbound_parts.get((part.parts_of, part.number))
        if known is None or (known.joined and known.part.octets != part.octets):
            rows.inbound_parts[part.parts_of, part.number] = PartRow(replace(part))


def _newest(rows: Rows, account: int) -> int:
    """The position of the last message of an account; 0 without messages."""
    of = (rows.positions.get(key, 0) for key, message in rows.inbound.items() if account and message.account == account)
    return max(of, default=0)


class MemoryPulls(MemoryPart):
    """`app.ports.Pulls`."""

    async def page(self, account: int, after: int, limit: int) -> list[InboundMessage]:
        rows = self._open()
        owned = {rows.positions[key]: message for key, message in rows.inbound.items() if message.account == account}
        known = rows.inbound.get(after)
        start = rows.positions[after] if known is not None and known.account == account else after
        page: list[InboundMessage] = []
        octets = 0
        for position in sorted(owned):
            if position > start and len(page) < limit and octets < PAGE_OCTETS:
                page.append(replace(owned[position]))
                octets += len(owned[position].octets)
        return page

    async def find(self, account: int, key: int, tail: int) -> InboundMessage | None:
        message = self._open().inbound.get(key)
        own = message is not None and (message.account, message.tail) == (account, tail)
        return replace(message) if message is not None and own else None

    async def newest(self, accounts: Sequence[int]) -> dict[int, int]:
        rows = self._open()
        return {account: _newest(rows, account) for account in accounts if account in rows.accounts}


class MemoryInbound(MemoryReading):
    """`app.ports.Inbound`."""

    async def repeated(self, connector: int, digests: Sequence[int], now: int, node: int) -> FoundCopies:
        rows = self._open()
        copies = [
            (row.digest, key, row.lost or row.at < now - SLOW_ANSWER_MS)
            for key, row in sorted(rows.unanswered.items())
            if row.connector == connector and row.digest in digests and row.at >= now - REPEAT_MS
            if (row.lost or row.node != node) and not row.answered
        ]
        return FoundCopies(copies, rows.last_note)

    async def gather(self, sets: Sequence[PartSet], node: int) -> list[list[InboundPart]]:
        rows = self._open()
        self._place.check_node(node)
        return self._claim(rows, [of for of in sets if len(self._waiting(rows, of)) >= of.total], node)

    async def ready(self, before: int, limit: int, node: int) -> list[list[InboundPart]]:
        rows = self._open()
        self._place.check_node(node)
        waiting = self._all_waiting(rows)
        since = {of: min(row.part.at for row in parts) for of, parts in waiting.items() if parts}
        ready = [
            of for of in sorted(since, key=since.__getitem__) if len(waiting[of]) >= of.total or since[of] < before
        ]
        return self._claim(rows, ready[:limit], node)

    async def forget(self, before: int, answered: int, limit: int) -> int:
        rows = self._open()
        parts = [name for name, row in rows.inbound_parts.items() if row.joined and row.part.at < before][:limit]
        notes = [key for key in sorted(rows.unanswered) if time_of(key) < before][:limit]
        for name in parts:
            del rows.inbound_parts[name]
        for key in notes:
            del rows.unanswered[key]
        settled = [key for key, row in rows.unanswered.items() if row.answered and time_of(key) < answered]
        for key in settled:
            del rows.unanswered[key]
        return len(parts) + len(notes) + len(settled)

    async def find(self, query: InboundQuery) -> list[InboundRecord]:
        rows = self._open()
        found = [
            self._inbound_record(rows, message)
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
        return self._inbound_record(rows, message)

    async def route(self, key: int, tail: int, account: int, now: int) -> InboundRecord:
        rows = self._open()
        if account not in rows.accounts:
            raise Missing("no such account")
        message = rows.inbound.get(key)
        if message is None or message.tail != tail or message.account:
            raise Missing("no such inbound message, or it has an owner")
        rows.positions[key] = max(key, first_key_at(now), _newest(rows, account) + 1)
        cursors = {stage: at for (of, stage, inbound), (_, at) in rows.places.items() if inbound and of == account}
        rows.kept |= {(account, stage, key) for stage, at in cursors.items() if at > key}
        message.account, message.way = (
            account,
            inbound_way(rows.accounts[account].inbound_way, rows.accounts[account].inbound_url),
        )
        prices = price_table(rows.prices.values(), now)
        message.price = prices.tariff(rows.accounts[account].plan).inbound(message.sender.removeprefix("+"))
        self._place.enter(account, EntryKind.INBOUND, -message.price, key, now, key=rows.positions[key])
        self._place.note_low_balances()
        if message.way:
            rows.retries[key] = RetryRow(now, 0, b"", "", now)
        return self._inbound_record(rows, message)

    def _inbound_record(self, rows: Rows, message: InboundMessage) -> InboundRecord:
        record = InboundRecord(replace(message), self._callback(rows, message))
        known = rows.references.get((message.account, reply_reference(message.key, message.tail)))
        if known is not None:
            record.reply = known.key, rows.messages[known.key].tail
        record.refused = rows.refused_replies.get(message.key, "")
        return record

    def _waiting(self, rows: Rows, of: PartSet) -> list[PartRow]:
        """Parts of the set that are neither joined nor claimed, by number."""
        parts = [row for (name, _), row in rows.inbound_parts.items() if name == of and not row.joined]
        return sorted((row for row in parts if row.node is None), key=lambda row: row.part.number)

    def _all_waiting(self, rows: Rows) -> dict[PartSet, list[PartRow]]:
        """The same for every set, in a single pass: worlds with a short memory keep thousands of parts, and query
        often."""
        found: dict[PartSet, list[PartRow]] = {}
        for (of, _), row in rows.inbound_parts.items():
            parts = found.setdefault(of, [])
            if not row.joined and row.node is None:
                parts.append(row)
        for parts in found.values():
            parts.sort(key=lambda row: row.part.number)
        return found

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
