"""An answer that is sent while it is made: whole, or visibly not, and for nobody who has gone."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from heliograph.http.asgi import Event, respond_in_pieces


class Client:
    """Somebody who asks; hangs up after `takes` pieces."""

    def __init__(self, takes: int = 99) -> None:
        self.events: list[Event] = []
        self._takes = takes
        self._gone = asyncio.Event()

    @property
    def body(self) -> bytes:
        return b"".join(event.get("body", b"") for event in self.events)

    @property
    def whole(self) -> bool:
        return not self.events[-1].get("more_body", False)

    async def receive(self) -> Event:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, event: Event) -> None:
        self.events.append(event)
        if len(self.events) > self._takes:
            self._gone.set()
            await asyncio.sleep(0)


class Pieces:
    """Makes three pieces; `made` is how many it came to, `closed` whether it was cleaned up."""

    def __init__(self, fails_at: int = 99) -> None:
        self.made = 0
        self.closed = False
        self._fails_at = fails_at

    async def __call__(self) -> AsyncGenerator[bytes]:
        try:
            for number in range(3):
                await asyncio.sleep(0)
                if number == self._fails_at:
                    raise RuntimeError("the store is away")
                self.made += 1
                yield b"%d;" % number
        finally:
            self.closed = True


async def answer(client: Client, pieces: Pieces, method: str = "GET") -> None:
    scope: dict[str, Any] = {"type": "http", "method": method}
    await respond_in_pieces(scope, client.receive, client.send, 200, [], pieces())


async def test_all_pieces_come_and_then_the_end() -> None:
    client, pieces = Client(), Pieces()
    await answer(client, pieces)
    assert (client.body, client.whole, pieces.closed) == (b"0;1;2;", True, True)


async def test_a_head_has_none_of_them_and_none_is_made() -> None:
    client, pieces = Client(), Pieces()
    await answer(client, pieces, "HEAD")
    assert (client.body, client.whole, pieces.made) == (b"", True, 0)


async def test_an_answer_that_fails_midway_is_not_taken_for_whole() -> None:
    client, pieces = Client(), Pieces(fails_at=1)
    with pytest.raises(RuntimeError, match="away"):
        await answer(client, pieces)
    assert (client.body, client.whole, pieces.closed) == (b"0;", False, True)


async def test_nothing_more_is_made_for_who_has_gone() -> None:
    client, pieces = Client(takes=1), Pieces()
    await answer(client, pieces)
    assert (client.body, client.whole, pieces.closed) == (b"0;", False, True)
    assert pieces.made == 2
