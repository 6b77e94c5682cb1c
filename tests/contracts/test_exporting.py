"""Exports of messages: all of them, page by page, while the gateway goes on."""

import json

import pytest

from heliograph.app.facts import Facts
from heliograph.app.ports import Store
from heliograph.app.records import ExportFormat, Search
from heliograph.app.resources import messages
from heliograph.app.resources.desk import Desk
from heliograph.domain.message.ids import to_hex
from tests.support.store import CREDIT, START, Given
from tests.support.virtual_time import VirtualClock


async def test_an_export_has_all_messages_and_keeps_no_commit_waiting(
    store: Store, given: Given, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "ROWS_AT_ONCE", 100)
    account = await given.account(credit=10_000 * CREDIT)
    wanted: list[str] = []
    for _ in range(3):
        batch = given.batch(account.id, 150)
        await store.commits.record(Facts(accepts=[batch]))
        wanted += [to_hex(message.key, message.tail) for message in batch.messages]
        given.now += 1
    search = Search(account=account.id, sender="Heliograph")
    found: list[str] = []
    async for piece in messages.message_file(Desk(store, VirtualClock(START)), "", search, ExportFormat.JSONL):
        lines = piece.splitlines()
        assert len(lines) <= 100  # in memory at a time
        found += [json.loads(line)["id"] for line in lines]
        if found:
            await given.sent(account.id)  # neither delayed by the export nor in it
    assert found == wanted[::-1]


async def test_an_export_ends_when_it_is_closed(store: Store, given: Given) -> None:
    account = await given.account()
    await given.sent(account.id)
    pieces = messages.message_file(Desk(store, VirtualClock(START)), "", Search(), ExportFormat.CSV)
    assert (await anext(pieces)).startswith(b"id,time,")
    await pieces.aclose()
    assert [piece async for piece in pieces] == []
    await given.sent(account.id)
