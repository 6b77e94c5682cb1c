"""Offers `SwitchableRelay`: a relay between two programs that can be interrupted, cut and restored."""

import asyncio
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from tests.support.listening import stop_listening
from tests.support.timeouts import PATIENCE_S


class SwitchableRelay:
    """Relays connections to a port of an address, on a loop in a thread of its own.

    While it is unplugged no octet arrives at either end and no connection is closed: octets wait, and arrive late.
    """

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._target = (host, port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._plugged = asyncio.Event()
        self._plugged.set()
        self._is_cut = False
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    @property
    def is_cut(self) -> bool:
        """Whether connections are closed as they come."""
        return self._is_cut

    def unplug(self) -> None:
        """Returns when nothing gets through any more."""
        asyncio.run_coroutine_threadsafe(self._switch(plugged=False), self._loop).result(PATIENCE_S)

    def cut(self) -> None:
        """Closes all connections, and further ones as they come, as if the server had died."""
        asyncio.run_coroutine_threadsafe(self._cut(), self._loop).result(PATIENCE_S)

    def plug_in(self) -> None:
        asyncio.run_coroutine_threadsafe(self._switch(plugged=True), self._loop).result(PATIENCE_S)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(PATIENCE_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(PATIENCE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()

    async def _switch(self, *, plugged: bool) -> None:
        if plugged:
            self._plugged.set()
            self._is_cut = False
        else:
            self._plugged.clear()

    async def _cut(self) -> None:
        self._is_cut = True
        for task in self._tasks:
            task.cancel()

    async def _open(self) -> None:
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        await stop_listening(self._server)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if self._is_cut:
                return
            await self._plugged.wait()
            answers, target = await asyncio.open_connection(*self._target)
            await asyncio.gather(self._pump(reader, target), self._pump(answers, writer))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while piece := await reader.read(1 << 16):
                await self._plugged.wait()
                writer.write(piece)
                await writer.drain()
            await self._plugged.wait()
        finally:
            with suppress(OSError):
                writer.close()
