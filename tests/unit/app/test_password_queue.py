"""Who waits for a password to be checked, and who has to come again."""

import asyncio
from collections.abc import Iterable
from itertools import count

import pytest

from heliograph.app.sending import password_queue
from heliograph.app.sending.password_queue import PasswordQueue
from heliograph.domain.error import Fault


class Rig:
    """Checks wait for `go`, and find the password `right` right."""

    def __init__(self) -> None:
        self.go = asyncio.Event()
        self.lines: list[tuple[bytes, bool]] = []
        self.checks = PasswordQueue(self._verify)
        self._numbers = count()
        self._known: set[bytes] = set()

    async def _verify(self, hashed: str, password: str, line: bytes = b"", *, first: bool = False) -> bool:
        self.lines.append((line, first))
        await self.go.wait()
        return password == "right"

    def ask(self, address: str, user: str, password: str = "wrong", asked: bytes = b"") -> "asyncio.Task[bool]":
        pair = f"{address} {user}".encode()
        asked = asked or f"{next(self._numbers)}".encode()
        return asyncio.create_task(self.checks.right("hash", password, asked, pair, address, known=pair in self._known))

    def knows(self, address: str, user: str) -> None:
        """The user has signed in from there."""
        self._known.add(f"{address} {user}".encode())

    async def refused(self, tasks: Iterable["asyncio.Task[bool]"]) -> int:
        """How many have to come again; the others have their answers."""
        await asyncio.sleep(0)  # all of them ask
        self.go.set()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        return sum(isinstance(answer, Fault) and answer.entry.code == "13" for answer in answers)


async def test_one_address_takes_no_place_of_another() -> None:
    rig = Rig()
    flood = [rig.ask("192.0.2.1", f"nobody {n}") for n in range(password_queue.A_LINE + 50)]
    guest = rig.ask("192.0.2.2", "acme", "right")
    assert await rig.refused(flood) == 50
    assert await guest
    assert len({line for line, _ in rig.lines}) == 2


async def test_who_has_signed_in_from_there_before_goes_first_and_has_a_place() -> None:
    rig = Rig()
    rig.knows("192.0.2.1", "acme")
    flood = [rig.ask("192.0.2.1", f"nobody {n}") for n in range(password_queue.A_LINE + 1)]
    customer = rig.ask("192.0.2.1", "acme", "right")
    assert await rig.refused(flood) == 1
    assert await customer
    assert [first for _, first in rig.lines] == [False] * password_queue.A_LINE + [True]


async def test_so_many_may_wait_in_all_lines_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(password_queue, "ALL_LINES", 10)
    rig = Rig()
    rig.knows("192.0.2.9", "acme")
    flood = [rig.ask(f"198.51.100.{n}", "nobody") for n in range(12)]
    customer = rig.ask("192.0.2.9", "acme", "right")
    assert await rig.refused(flood) == 2
    assert await customer
    assert await rig.refused([rig.ask(f"198.51.100.{n}", "nobody") for n in range(10)]) == 0


async def test_a_customer_with_many_connections_has_one_place() -> None:
    rig = Rig()
    many = [rig.ask("192.0.2.1", "acme", "right", b"the same header") for _ in range(500)]
    assert await rig.refused(many) == 0
    assert all(task.result() for task in many)


async def test_many_addresses_that_take_all_they_may_leave_places_for_one_more() -> None:
    rig = Rig()
    flood = [rig.ask(f"198.51.100.{n}", f"nobody {m}") for n in range(64) for m in range(password_queue.A_LINE)]
    await asyncio.sleep(0)
    guest = rig.ask("192.0.2.1", "acme", "right")
    assert await rig.refused(flood) > 0
    assert await guest
