"""Sending lists in the in-memory store."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from heliograph.app.configuration import Missing
from heliograph.app.ports.sending_lists import AlreadySent, ListState, SendingList, StatusCount, references_of
from heliograph.domain.message.status import MessageStatus
from tests.support.memory_reading import MemoryReading


class MemorySendingLists(MemoryReading):
    """`app.ports.SendingLists`."""

    async def add(self, sending: SendingList, form: str = "") -> int:
        rows = self._open()
        if form in rows.sent_forms:
            raise AlreadySent(rows.sent_forms[form])
        number = self._place.next("sending_list")
        rows.sending_lists[number] = replace(sending, id=number)
        if form:
            rows.sent_forms[form] = number
        return number

    async def page(self, before: int, account: int | None, limit: int) -> Sequence[SendingList]:
        found = [
            replace(each)
            for id, each in sorted(self._open().sending_lists.items(), reverse=True)
            if id < before and account in (None, each.account)
        ]
        return found[:limit]

    async def find(self, id: int) -> SendingList | None:
        found = self._open().sending_lists.get(id)
        return None if found is None else replace(found)

    async def report(self, sending: SendingList) -> ListState | None:
        rows = self._open()
        known = rows.sending_lists.get(sending.id)
        if known is None:
            return None
        rows.sending_lists[sending.id] = replace(sending, state=known.state)
        return known.state

    async def change(self, id: int, state: ListState) -> None:
        rows = self._open()
        if id not in rows.sending_lists or rows.sending_lists[id].state is ListState.CANCELLED is not state:
            raise Missing("no such list, or it is cancelled")
        rows.sending_lists[id].state = state

    async def counts(self, account: int, id: int) -> Mapping[MessageStatus, StatusCount]:
        rows = self._open()
        keys = [
            used.key
            for (owner, reference), used in rows.references.items()
            if owner == account and reference.startswith(references_of(id)) and not used.batch
        ]
        found: dict[MessageStatus, StatusCount] = {}
        for hit in self._hits(rows, keys, len(keys)):
            found[hit.status] = found.get(hit.status, StatusCount()).plus(1, hit.message.price)
        return found
