"""SMPP binds of customers in the in-memory store."""

from collections.abc import Sequence
from dataclasses import replace

from heliograph.app.configuration import Missing
from heliograph.app.ports.accounts import SUBMISSION_PREFIX
from heliograph.app.records import BIND_ALIVE_MS, CustomerBind
from heliograph.domain.message.state import State
from tests.support.memory_rows import MemoryPart


class MemoryBinds(MemoryPart):
    """`app.ports.CustomerBinds`."""

    async def enter(self, bind: CustomerBind, most: int) -> bool:
        rows = self._open()
        if bind.account not in rows.accounts:
            raise Missing("no such account")
        rows.binds = {number: each for number, each in rows.binds.items() if each.at >= bind.at - BIND_ALIVE_MS}
        if sum(each.account == bind.account for each in rows.binds.values()) >= most:
            return False
        rows.binds[bind.id] = replace(bind)
        return True

    async def report(self, node: int, at: int, changed: Sequence[CustomerBind]) -> list[int]:
        rows = self._open()
        for bind in rows.binds.values():
            if bind.node == node:
                bind.at = at
        rows.binds |= {bind.id: replace(bind) for bind in changed}
        return sorted(number for number in rows.dropped_binds if rows.binds[number].node == node)

    async def leave(self, number: int) -> None:
        rows = self._open()
        rows.binds.pop(number, None)
        rows.dropped_binds.discard(number)

    async def clear(self) -> None:
        self._open().binds.clear()

    async def drop(self, number: int) -> None:
        rows = self._open()
        if number not in rows.binds:
            raise Missing("no such bind")
        rows.dropped_binds.add(number)

    async def all(self, now: int) -> list[CustomerBind]:
        found = [replace(bind) for bind in self._open().binds.values() if bind.at >= now - BIND_ALIVE_MS]
        return sorted(found, key=lambda bind: (bind.account, bind.id))

    async def submissions(self, account: int) -> list[tuple[str, int]]:
        of = ((name, used.key) for (owner, name), used in self._open().references.items() if owner == account)
        return sorted((each for each in of if each[0].startswith(SUBMISSION_PREFIX)), key=lambda each: each[1])

    async def forget_submissions(self, names: Sequence[tuple[int, str]]) -> None:
        for each in names:
            self._open().references.pop(each, None)

    async def scheduled(
        self, account: int, sender: str, destination: str, after: int, limit: int
    ) -> list[tuple[int, int]]:
        found = [
            (each.time, each.key, each.tail)
            for each in self._open().messages.values()
            if (each.account, each.state, each.sender, each.destination)
            == (account, State.SCHEDULED, sender, destination)
            and each.time > after
        ]
        return [(key, tail) for _, key, tail in sorted(found)[:limit]]
