"""Many customers: connections that send as fast as they get answers."""

import asyncio
import base64
import contextlib
import itertools
import json
import threading
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlsplit

from heliograph.domain.error import IN_DOUBT
from tests.support.process import eventually
from tests.support.timeouts import COMMAND_S, PATIENCE_S

HEAD = "POST /api/v{version}/messages HTTP/1.1\r\nHost: gateway\r\nAuthorization: Basic {secret}\r\n"
FORM = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n"


class Load:
    """Sends messages from a thread of its own, each to another number, until it is stopped.

    Closed connections are opened again, so that the gateway may be killed and started again on the same port.
    """

    def __init__(
        self,
        url: str | Sequence[str],
        user: str,
        secret: str,
        *,
        version: int = 1,
        connections: int = 16,
        most: int = 1_000_000,
        dlr_url: str = "",
        receipts: bool = False,
        pause: float = 0.0,
        first: int = 491_700_000_000,
    ) -> None:
        """With several gateways, connections are distributed over them, and go to the next gateway after an end.

        `most`: most requests. `receipts` asks for receipts that are only recorded. `pause`: seconds that each
        connection waits after an answer. `first`: the first destination.
        """
        parts = map(urlsplit, [url] if isinstance(url, str) else url)
        self._addresses = itertools.cycle([(part.hostname, part.port) for part in parts])
        basic = base64.b64encode(f"{user}:{secret}".encode()).decode()
        self._head = HEAD.format(version=version, secret=basic)
        self._more = f"&dlr=1&dlr-url={quote(dlr_url, safe='')}" if dlr_url else "&dlr=1" * receipts
        self._connections = connections
        self._pause = pause
        self._numbers = itertools.count(first)
        self._most = most
        self._stopping = False
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self.accepted: dict[str, str] = {}
        """The ids of the messages that were answered 200, by their destinations."""
        self.answered_at: dict[str, float] = {}
        """Times of the answers, by destination, in seconds since the Unix epoch."""
        self.refused: list[tuple[int, bytes]] = []
        """Other answers, without 504."""
        self.unanswered: list[str] = []
        """Destinations of requests without an answer, or with 504: they may have been accepted."""

    def wait_for(self, accepted: int, seconds: float = COMMAND_S) -> None:
        eventually(
            lambda: len(self.accepted) >= accepted or not self._thread.is_alive(), f"{accepted} accepted", seconds
        )

    def stop(self) -> None:
        """Each connection ends with the answer to its last request."""
        self._stopping = True
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()

    def join(self, seconds: float = COMMAND_S) -> None:
        """Waits until as many were sent as were to be."""
        self._thread.join(seconds)
        assert not self._thread.is_alive()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    # --- inside

    async def _run(self) -> None:
        await asyncio.gather(*(self._connection() for _ in range(self._connections)))

    async def _connection(self) -> None:
        while self._goes_on():
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                reader, writer = await asyncio.open_connection(*next(self._addresses))
                try:
                    while self._goes_on():
                        self._most -= 1
                        await self._send(reader, writer, str(next(self._numbers)))
                        await asyncio.sleep(self._pause)
                finally:
                    writer.transport.abort()
            await asyncio.sleep(0.02)

    def _goes_on(self) -> bool:
        return not self._stopping and self._most > 0

    async def _send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, to: str, more: str = "") -> int:
        """`more`: further fields of the form. Returns the status of the answer."""
        body = f"to={to}&from=Heliograph&content=Load+for+{to}{self._more}{more}"
        writer.write(f"{self._head}{FORM.format(length=len(body))}{body}".encode())
        self.unanswered.append(to)
        status, answer = await _read_answer(reader)
        if status == IN_DOUBT.http:
            await asyncio.sleep(0.02)
            return status
        self.unanswered.remove(to)
        if status == 200:
            self.answered_at[to] = time.time()
            self.accepted[to] = json.loads(answer)["Id"]
        else:
            self.refused.append((status, answer))
            await asyncio.sleep(0.02)
        return status


async def _read_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("ascii").lower().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines if line)
    return int(first.split()[1]), await reader.readexactly(int(headers["content-length"]))
