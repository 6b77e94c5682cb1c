"""The chores of encryption: keys are read each few seconds, old rows sealed one after the other."""

import asyncio
from typing import Any

import pytest

from heliograph.app.ports import Unavailable
from heliograph.app.ports.encryption import SWITCH_MS, EncryptionState, KeyRefused, KeyVault, UnreadableValues
from heliograph.runtime.encryption_upkeep import REFRESH_S, EncryptionUpkeep
from tests.support.gateway import HandClock, MemoryJournal, unwatched
from tests.support.virtual_time import run


class MemoryEncryption:
    """Has `left` rounds of rows to seal."""

    def __init__(self, left: int = 0) -> None:
        self.left = left
        self.refreshed = 0
        self.problem: Exception | None = None
        self.unreadable = UnreadableValues()

    async def refresh(self, now: int) -> bool:
        self.refreshed += 1
        if self.problem is not None:
            raise self.problem
        return True

    async def advance(self, now: int, limit: int) -> bool:
        self.left -= self.left > 0
        return self.left > 0

    async def begin(self, now: int, *, plain: bool = False, delay: int = SWITCH_MS) -> int:
        raise NotImplementedError

    async def rewrap(self, vault: KeyVault) -> int:
        raise NotImplementedError

    async def damage(self) -> list[str]:
        raise NotImplementedError

    async def state(self) -> EncryptionState:
        raise NotImplementedError


class Chores:
    def __init__(self, left: int = 0, *, reseals: bool = True) -> None:
        self.encryption, self.journal = MemoryEncryption(left), MemoryJournal()
        self.refused = 0
        self.upkeep = EncryptionUpkeep(self.encryption, HandClock(), self.journal, self._count, reseals=reseals)

    def _count(self) -> None:
        self.refused += 1

    @property
    def events(self) -> list[Any]:
        return [event for _, event, _ in self.journal.lines]

    def run(self, seconds: float) -> None:
        async def work() -> None:
            self.upkeep.start(unwatched)
            await asyncio.sleep(seconds)
            await self.upkeep.stop()

        run(work())


def test_old_rows_are_sealed_without_waiting_for_the_next_round() -> None:
    chores = Chores(40)
    chores.run(REFRESH_S + 2)
    assert chores.encryption.left == 0
    assert chores.events == ["encryption.resealing", "encryption.resealed"]


def test_a_node_without_upkeep_reads_keys_only() -> None:
    chores = Chores(40, reseals=False)
    chores.run(REFRESH_S * 3.5)
    assert (chores.encryption.left, chores.encryption.refreshed) == (40, 3)


def test_each_damaged_row_is_logged_once() -> None:
    chores = Chores()
    for _ in range(2):
        chores.encryption.unreadable.note("message.content", "12", "019e2b1c5f3a70008c1de1f5a0b7c3d2")
    chores.encryption.unreadable.note("account.signing_secret", "acme")
    chores.run(REFRESH_S * 3.5)
    assert chores.journal.lines == [
        ("error", "encryption.unreadable", {"column": column, "row": row})
        for column, row in (
            ("message.content", "019e2b1c5f3a70008c1de1f5a0b7c3d2"),
            ("account.signing_secret", "acme"),
        )
    ]


def test_an_outage_is_waited_for() -> None:
    chores = Chores()
    chores.encryption.problem = Unavailable("away")
    chores.run(REFRESH_S * 3.5)
    assert (chores.encryption.refreshed, chores.refused, chores.events) == (3, 0, [])


@pytest.mark.parametrize("problem", [KeyRefused("the settings give no key")])
def test_where_the_key_is_missing_the_process_ends(problem: Exception) -> None:
    chores = Chores()
    chores.encryption.problem = problem
    chores.run(REFRESH_S * 3.5)
    assert (chores.encryption.refreshed, chores.refused) == (1, 1)
    assert chores.journal.lines == [("critical", "encryption.refused", {"problem": str(problem)})]
