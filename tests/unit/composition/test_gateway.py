"""The gateway as a whole: how it waits for its store at the start, and how it stops."""

import asyncio
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heliograph.app.ports import Away, Unavailable
from heliograph.composition import commands
from heliograph.composition import gateway as module
from heliograph.composition.gateway import Gateway
from heliograph.config import Settings
from heliograph.config.settings import EncryptionSettings, StoreSettings
from tests.support.gateway import HandClock, MemoryJournal


async def nothing(*_: object) -> None:
    """Does nothing."""


async def test_a_key_store_is_asked_once_however_long_the_database_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, asked = tmp_path / "ask", tmp_path / "asked"
    command.write_text(f"echo once >> {asked}; echo {'k' * 44}\n")
    answers = [Away("not yet"), Away("not yet"), Unavailable("the password is wrong")]

    async def open_database(*_: object) -> None:
        raise answers.pop(0)

    monkeypatch.setattr(commands, "_open_database", open_database)
    monkeypatch.setattr(module, "STORE_AGAIN_S", 0.0)
    settings = replace(
        Settings(),
        store=StoreSettings(url="postgresql://nowhere/at-all"),
        encryption=EncryptionSettings(key_command=f"sh {command}"),
    )
    gateway: Any = Gateway(settings, dev=False)
    gateway._clock, gateway._journal = HandClock(), MemoryJournal()
    gateway._past = SimpleNamespace(problem="")
    with pytest.raises(Unavailable, match="password"):
        await gateway._opened_store(SimpleNamespace(wait=nothing), asyncio.Event())
    assert asked.read_text() == "once\n"


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
