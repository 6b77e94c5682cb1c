"""Registries of sender IDs in the in-memory store."""

from collections.abc import Sequence
from dataclasses import replace

from heliograph.app.configuration import Exists, Missing, RegisteredSender
from heliograph.domain.numbers.sender_rules import SenderRule
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


class MemorySenderRules(MemoryPart):
    """`app.ports.SenderRules`."""

    async def add(self, rule: SenderRule) -> SenderRule:
        rows = self._open()
        if any(replace(each, id=rule.id) == rule for each in rows.sender_rules.values()):
            raise Exists("there is such a rule already")
        added = replace(rule, id=self._place.next("sender_rule"))
        rows.sender_rules[added.id] = added
        rows.revision += 1
        return added

    async def remove(self, rule: int) -> None:
        rows = self._open()
        if rows.sender_rules.pop(rule, None) is None:
            raise Missing("no such rule")
        rows.revision += 1
