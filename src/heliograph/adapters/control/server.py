"""The server of the control socket: a request for each connection, a line of JSON each; see
`runtime.control_socket`.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from heliograph.runtime.data_directory import FILE_NAME, LINE_OCTETS, socket_path

ASK_S = 5.0
"""The time for a client to send its request. Seconds."""

STOP_S = 1.0
"""The time for answers under way to end when the gateway stops. Seconds."""

Answer = dict[str, Any]
Send = Callable[[Answer], Awaitable[None]]
"""Writes a line of the answer, and waits for a slow client. Raises OSError if the client has gone."""

Handler = Callable[[Mapping[str, Any], Send], Awaitable[None]]
"""Answers a request. Raises ValueError, with a sentence for people, if the request makes no sense."""


class ControlServer:
    """Serves the control socket in the data directory."""

    def __init__(self, data: Path, handlers: Mapping[str, Handler]) -> None:
        """Makes a closed server. `handlers` are by the request's field `ask`, such as `events` or `log-level`."""
        self._data = data
        self._handlers = handlers
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Opens the socket. Raises OSError. The caller holds the data directory, so an existing socket is left from a
        gateway that has ended."""
        self._path.unlink(missing_ok=True)
        with socket_path(self._data) as path:
            self._server = await asyncio.start_unix_server(self._meet, path, limit=LINE_OCTETS)
        self._path.chmod(0o600)

    async def close(self) -> None:
        """Closes the socket and ends the requests under way; harmless if it was never open."""
        if self._server is None:
            return
        self._server.close()
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
        for task in self._talks:
            task.cancel()
        if self._talks:
            await asyncio.wait(self._talks, timeout=STOP_S)

    @property
    def _path(self) -> Path:
        return self._data / FILE_NAME

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        try:
            await self._talk(reader, writer)
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # the client has gone, or the gateway is stopping
        finally:
            self._talks.discard(task)
            writer.close()

    def _handler(self, request: object) -> Handler:
        handler = self._handlers.get(str(request.get("ask"))) if isinstance(request, dict) else None
        if handler is None:
            raise ValueError(f"ask for one of {', '.join(self._handlers)}")
        return handler

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def send(answer: Answer) -> None:
            writer.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
            await writer.drain()

        try:
            async with asyncio.timeout(ASK_S):
                request = json.loads(await reader.readline())
            handler = self._handler(request)
        except ValueError as problem:
            await send({"problem": str(problem)})
            return
        talk = asyncio.ensure_future(handler(request, send))
        gone = asyncio.ensure_future(_end(reader))
        try:
            await asyncio.wait({talk, gone}, return_when=asyncio.FIRST_COMPLETED)
            if talk.done():
                talk.result()
        except ValueError as problem:
            await send({"problem": str(problem)})
        finally:
            for task in (talk, gone):
                task.cancel()
            await asyncio.wait({talk, gone})


async def _end(reader: asyncio.StreamReader) -> None:
    """Waits until the client has closed its side."""
    while await reader.read(4096):
        pass
