"""Offers `CuttingRelay`: a relay that counts what the client sends and cuts the connection at a chosen piece."""

import asyncio
from contextlib import suppress
from enum import Enum
from typing import Self

from tests.support.listening import stop_listening


class CutEffect(Enum):
    """Fate of the chosen piece of the client's octets, before both ends are closed."""

    UNSAID = "it never reaches the server"
    UNHEARD = "the server answers, and the answer is lost"
    LATE = "the client gives up; the server hears it only afterwards, when `deliver` is called"


class CuttingRelay:
    """Relays between clients and a server on 127.0.0.1. A statement of asyncpg is usually a single piece."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._server: asyncio.Server | None = None
        self._at: int | None = None
        self._cut = CutEffect.UNSAID
        self._stays_down = False
        self._late: list[tuple[asyncio.StreamWriter, bytes]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._ends: set[asyncio.StreamWriter] = set()
        self.down = False
        """Whether new connections are refused. Open connections are closed when they next send."""
        self.said = 0
        """Pieces that clients have sent since `cut_at`."""
        self.was_cut = False

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        await stop_listening(self._server)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for end in self._ends:
            end.close()

    def cut_at(self, number: int | None, cut: CutEffect = CutEffect.UNSAID, *, stays_down: bool = False) -> None:
        """Cuts once, at the piece with this number, from 1. `stays_down`: no connection gets through after it."""
        self._at, self._cut, self.said, self.was_cut = number, cut, 0, False
        self._stays_down = stays_down

    async def deliver(self) -> None:
        """Delivers the late piece to the server. Returns when the server has done with it."""
        late, self._late = self._late, []
        for server, piece in late:
            server.write(piece)
            with suppress(OSError):
                await server.drain()
                server.write_eof()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._ends.add(writer)
        try:
            if not self.down:
                await self._relay(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, server = await asyncio.open_connection("127.0.0.1", self._target)
        self._ends.add(server)
        back = asyncio.create_task(_pump(answers, writer))
        kept = False
        try:
            while piece := await reader.read(1 << 20):
                if self.down:
                    return
                self.said += 1
                if self.said != self._at:
                    server.write(piece)
                    await server.drain()
                    continue
                self._at, self.was_cut, self.down = None, True, self._stays_down
                back.cancel()
                with suppress(asyncio.CancelledError):
                    await back
                if self._cut is CutEffect.UNHEARD:
                    server.write(piece)
                    await answers.read(1)
                elif self._cut is CutEffect.LATE:
                    self._late.append((server, piece))
                    kept = True
                return
        finally:
            back.cancel()
            if not kept:
                server.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(1 << 20):
            writer.write(piece)
            await writer.drain()
    writer.close()
