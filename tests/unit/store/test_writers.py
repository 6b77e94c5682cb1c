"""Transactions on one connection to PostgreSQL, when their caller goes away."""

import asyncio
from typing import Any, cast

import pytest

from heliograph.adapters.store.postgres.connections import Writer
from heliograph.adapters.store.postgres.db import Db


class Silent:
    """A connection that never answers COMMIT."""

    def __init__(self) -> None:
        self.asked_to_commit = asyncio.Event()
        self.ended = False

    async def execute(self, query: str, *_: Any) -> str:
        if query == "COMMIT":
            self.asked_to_commit.set()
            await asyncio.Event().wait()
        return "UPDATE 1"

    def is_closed(self) -> bool:
        return self.ended

    def terminate(self) -> None:
        self.ended = True


async def test_who_is_cancelled_during_a_commit_is_cancelled_and_not_sent_to_find_out_what_became_of_it() -> None:
    db = Silent()
    writer = Writer(cast("Db", db), 7, 1)

    async def nothing(_: Db) -> None:
        return None

    task = asyncio.create_task(writer.transact(nothing))
    await db.asked_to_commit.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert db.ended
