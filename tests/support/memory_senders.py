"""Registries of sender IDs in the in-memory store."""

from collections.abc import Sequence
from dataclasses import replace

from heliograph.app.configuration import Missing, RegisteredSender
from tests.support.memory_rows import MemoryPart


class MemorySenders(MemoryPart):
    """`app.ports.Senders`."""

    async def put(self, senders: Sequence[RegisteredSender]) -> int:
        rows = self._open()
        if any(each.account not in rows.accounts for each in senders):
            raise Missing("no such account")
        new = len({(each.account, each.sender) for each in senders} - rows.senders.keys())
        rows.senders |= {(each.account, each.sender): replace(each) for each in senders}
        rows.revision += 1
        return new

    async def remove(self, account: int, sender: str) -> None:
        rows = self._open()
        if rows.senders.pop((account, sender), None) is None:
            raise Missing("no such sender")
        rows.revision += 1
