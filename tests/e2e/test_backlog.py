"""A receiver was down for hours, and is back: what is owed to it comes by and by, and over few connections."""

import asyncio
import time
from collections import Counter
from pathlib import Path

import pytest

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.facts import CallbackRetry, Facts, MessageEnd, Submission
from heliograph.domain.message.receipt import Delivery
from tests.support.process import Admin, GatewayProcess, eventually
from tests.support.sink import Answer, Sink
from tests.support.store import Given

pytestmark = pytest.mark.slow

OWED = 4_000
CONNECTIONS = 64
"""To one receiver, at most."""


async def test_a_receiver_that_is_back_is_not_stormed(admin: Admin, data: Path) -> None:
    await asyncio.to_thread(admin.account, "acme", str(OWED))
    async with Sink(Answer(delay=0.02)) as sink:
        await _owe(data, sink.url("/dlr"))
        most = 0
        gateway = await asyncio.to_thread(GatewayProcess, data)
        with gateway:
            while len(sink.requests) < OWED:
                most = max(most, sink.open)
                assert gateway.running, gateway.err
                await asyncio.sleep(0.01)
            await asyncio.to_thread(eventually, lambda: admin("callbacks", "status")["pending"] == 0, "none is owed")
            assert await asyncio.to_thread(gateway.stop) == 0
        assert most <= CONNECTIONS
        # those few are used again and again
        assert sink.connections <= 2 * CONNECTIONS
        posted = Counter(received.form["id"] for received in sink.requests)
    assert len(posted) == OWED
    assert set(posted.values()) == {1}
    admin.assert_books_right()


async def _owe(data: Path, url: str) -> None:
    """As the store has it after hours of tries."""
    now = int(time.time() * 1000)
    hour = 3_600_000
    store = await SqliteStore.open(data / "heliograph.db")
    given = Given(store, now - 3 * hour)
    batch = given.batch(1, OWED, wants_receipt=True, callback_url=url, expires=now + hour)
    await given.recorded(batch)
    keys = [message.key for message in batch.messages]
    await store.commits.record(
        Facts(
            submissions=[Submission(1, key, 0, 1, f"{key}", 0, now - 3 * hour) for key in keys],
            finals=[MessageEnd(1, key, Delivery.DELIVRD, "000", now - 3 * hour, owed=True) for key in keys],
            callback_retries=[CallbackRetry(1, key, now, 9, b"", "refused", now - 3 * hour) for key in keys],
        )
    )
    await store.close()
