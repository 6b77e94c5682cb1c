"""The gateway as a whole: how it stops."""

import asyncio
from types import SimpleNamespace
from typing import Any

from heliograph.composition.gateway import Gateway
from heliograph.config import Settings
from tests.support.gateway import MemoryJournal


async def nothing(*_: object) -> None:
    """Does nothing."""


async def test_requests_over_http_and_smpp_end_side_by_side() -> None:
    begun: list[float] = []
    seen: list[int] = []

    async def stop(grace: float) -> None:
        begun.append(grace)
        await asyncio.sleep(0)
        seen.append(len(begun))

    gateway: Any = Gateway(Settings(), dev=False)
    gateway._journal = MemoryJournal()
    gateway._listening = gateway._smpp_server = SimpleNamespace(stop=stop)
    gateway._verifier = SimpleNamespace(close=lambda: None)
    gateway._store = SimpleNamespace(close=nothing)
    await gateway.stop()
    assert begun == [15.0, 15.0]
    assert seen == [2, 2]
