"""Requests that wait for inbound messages are woken, bounded, and cost nothing while nobody waits."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from heliograph.app.facts import Facts, InboundMessage
from heliograph.app.ports import Unavailable
from heliograph.runtime import long_polls
from heliograph.runtime.long_polls import LongPolls, TooManyWait
from tests.support.memory_store import MemoryStore
from tests.support.timeouts import PATIENCE_S


def message(account: int) -> InboundMessage:
    return InboundMessage(account, 1, "49", "3388", "Hello", b"", 0, 0)


class Inbox:
    """What the messages of an account are read from."""

    def __init__(self) -> None:
        self.found: list[int] = []
        self.reads = 0
        self.numbers: dict[int, int] = {}
        self.looks = 0
        self.broken = False

    async def read(self) -> Sequence[int]:
        self.reads += 1
        return list(self.found)

    async def newest(self, accounts: Sequence[int]) -> dict[int, int]:
        self.looks += 1
        if self.broken:
            raise Unavailable("broken")
        return {account: self.numbers.get(account, 0) for account in accounts}


class Client:
    """Somebody who may go."""

    def __init__(self) -> None:
        self._left = asyncio.Event()

    async def gone(self) -> None:
        await self._left.wait()

    def leave(self) -> None:
        self._left.set()


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
async def polls(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LongPolls]:
    monkeypatch.setattr(long_polls, "LOOK_S", 0.01)
    pulls = MemoryStore().pulls
    monkeypatch.setattr(pulls, "newest", inbox.newest)
    polls = LongPolls(pulls)
    yield polls
    await polls.close()


async def waiting(polls: LongPolls, inbox: Inbox, client: Client, account: int = 1) -> "asyncio.Task[Sequence[int]]":
    """A request that has found nothing."""
    count = polls.count
    task = asyncio.create_task(polls.first(account, PATIENCE_S, inbox.read, client.gone()))
    while polls.count == count or not inbox.reads:  # noqa: ASYNC110 - another task's doing
        await asyncio.sleep(0)
    return task


async def test_what_is_there_is_answered_at_once(polls: LongPolls, inbox: Inbox) -> None:
    inbox.found = [7]
    assert await polls.first(1, PATIENCE_S, inbox.read, Client().gone()) == [7]
    assert polls.count == 0


async def test_nothing_comes_of_a_wait_that_is_over(polls: LongPolls, inbox: Inbox) -> None:
    assert await polls.first(1, 0.02, inbox.read, Client().gone()) == ()
    assert polls.count == 0


async def test_a_commit_of_this_process_wakes_those_of_its_account(
    polls: LongPolls, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_polls, "LOOK_S", PATIENCE_S)
    other = Inbox()
    theirs = await waiting(polls, other, Client(), 2)
    mine = [await waiting(polls, inbox, Client()) for _ in range(2)]
    polls.committed(Facts(inbound=[message(3)]), 0, 0.0)
    inbox.found = other.found = [7]
    polls.committed(Facts(inbound=[message(1)]), 0, 0.0)
    assert [await task for task in mine] == [[7], [7]]
    assert not theirs.done()
    await polls.close()
    assert await theirs == [7]


async def test_what_others_commit_is_found_by_looking(polls: LongPolls, inbox: Inbox) -> None:
    task = await waiting(polls, inbox, Client())
    while inbox.looks < 3:  # noqa: ASYNC110 - another task's doing
        await asyncio.sleep(0.001)
    reads = inbox.reads
    assert reads <= 2
    inbox.broken = True
    looks = inbox.looks
    while inbox.looks < looks + 2:  # noqa: ASYNC110 - another task's doing
        await asyncio.sleep(0.001)
    assert inbox.reads == reads
    inbox.broken, inbox.found, inbox.numbers = False, [7], {1: 5}
    assert await task == [7]


async def test_nobody_looks_while_nobody_waits(polls: LongPolls, inbox: Inbox) -> None:
    client = Client()
    task = await waiting(polls, inbox, client)
    client.leave()
    assert await task == []
    assert polls._looking is not None
    await asyncio.wait_for(polls._looking, PATIENCE_S)
    inbox.numbers = {1: 1}
    again = await waiting(polls, inbox, Client())
    inbox.found = [7]
    inbox.numbers = {1: 2}
    assert await again == [7]


async def test_so_many_wait_and_no_more(polls: LongPolls, inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_polls, "MOST_OF_ACCOUNT", 2)
    monkeypatch.setattr(long_polls, "MOST_WAITING", 3)
    tasks = [await waiting(polls, inbox, Client(), account) for account in (1, 1, 2)]
    inbox.reads = 0
    for account in (1, 3):
        with pytest.raises(TooManyWait):
            await polls.first(account, PATIENCE_S, inbox.read, Client().gone())
    assert polls.count == 3
    assert inbox.reads == 0
    await polls.close()
    assert [await task for task in tasks] == [[], [], []]
    assert await polls.first(1, PATIENCE_S, inbox.read, Client().gone()) == []


async def test_a_store_that_is_away_is_told(polls: LongPolls) -> None:
    async def away() -> Sequence[int]:
        raise Unavailable("away")

    with pytest.raises(Unavailable):
        await polls.first(1, PATIENCE_S, away, Client().gone())
    assert polls.count == 0


async def test_a_request_that_is_cancelled_leaves_nothing(polls: LongPolls, inbox: Inbox) -> None:
    task = await waiting(polls, inbox, Client())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert polls.count == 0
