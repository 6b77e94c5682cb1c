"""PostgreSQL's recorder, when answers to its transactions are lost."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from heliograph.adapters.store.postgres import record
from heliograph.adapters.store.postgres.connections import Unresolved, Writer
from heliograph.adapters.store.postgres.record import Recorder
from heliograph.adapters.store.postgres.servers import Servers
from heliograph.app.facts import CallbackRetry, Facts
from heliograph.app.ports import Unavailable


class FlakyRecorder(Recorder):
    """Executes nothing, and keeps the keys that each transaction would write."""

    def __init__(self) -> None:
        super().__init__(cast("Servers", SimpleNamespace(guard=None)))
        self.away = self.loses = False
        self.written: list[list[int]] = []

    async def _open(self) -> Writer:
        if self.away:
            raise Unavailable("no server")
        return cast("Writer", None)

    async def _execute(self, writer: Writer, facts: Facts, *, again: bool) -> list[int] | None:
        self.written.append([each.key for each in facts.callback_retries])
        if self.loses:
            raise Unresolved(1, 1)
        return None


async def test_facts_of_a_lost_transaction_are_written_once_though_the_next_call_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorder = FlakyRecorder()
    facts = Facts()

    async def record_with(key: int) -> None:
        facts.callback_retries.append(CallbackRetry(1, key, 0, 1, b"", "", 0))
        await recorder.record(facts)

    async def resolve_and_lose_the_server(*_: Any) -> bool:
        recorder.away = True
        return True

    async def unresolved(*_: Any) -> bool:
        raise Unavailable("no server")

    recorder.loses = True
    monkeypatch.setattr(record, "resolve", unresolved)
    with pytest.raises(Unavailable):
        await record_with(1)
    recorder.loses = False
    monkeypatch.setattr(record, "resolve", resolve_and_lose_the_server)
    with pytest.raises(Unavailable):
        await record_with(2)
    recorder.away = False
    await record_with(3)
    await record_with(4)
    assert recorder.written == [[1], [2, 3], [1, 2, 3, 4]]
