"""A receiver of callbacks on loopback: records requests, answers as scripted, checks signatures.

async with Sink() as sink:
    sink.script(Answer(500), Answer(200, gate=event))
    ...post to sink.url("/dlr")...
    received = await sink.wait_for(2)
    assert sink.signed_by(received[0], secret)
"""

import asyncio
import contextlib
import ssl
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl

from heliograph.domain.security.signature import sign
from tests.support.hanging_up import reset
from tests.support.listening import stop_listening
from tests.support.timeouts import PATIENCE_S


@dataclass(slots=True)
class Received:
    """A whole request. Header names are in lower case; `connection` counts from 1. `at`: time of arrival, in seconds
    since the Unix epoch."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int
    at: float = field(default_factory=time.time)
    _form: dict[str, str] | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def form(self) -> dict[str, str]:
        # read once: tests look at thousands of them again and again while more come
        if self._form is None:
            self._form = dict(parse_qsl(self.body.decode(), keep_blank_values=True, strict_parsing=True))
        return self._form

    @property
    def of_receipt(self) -> bool:
        """Whether it tells of a receipt, not of a message from a phone."""
        return not self.headers.get("webhook-id", "").startswith("mo_")


@dataclass(slots=True)
class Answer:
    """The reaction of the sink to a request.

    `gate` (if any) is waited for first, then `delay` seconds. `raw` is written instead of a proper answer. Then the
    connection is closed if `close`, reset if `reset`, or left as it is and never answered if `hang`.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    raw: bytes | None = None
    delay: float = 0.0
    gate: asyncio.Event | None = None
    close: bool = False
    reset: bool = False
    hang: bool = False

    def octets(self) -> bytes:
        if self.raw is not None:
            return self.raw
        lines = [f"HTTP/1.1 {self.status} Whatever", f"Content-Length: {len(self.body)}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return "\r\n".join([*lines, "", ""]).encode() + self.body


class Sink:
    """`default` answers whatever has no scripted answer."""

    def __init__(self, default: Answer | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.default = default or Answer()
        self.answering: Callable[[Received], Answer] = lambda _: self.default
        """Chooses the answer to requests without a scripted answer, if their order is not defined."""
        self.requests: list[Received] = []
        self.connections = 0
        """Accepted so far."""
        self.open = 0
        """Open now."""
        self.port = 0
        self._tls = tls
        self._script: deque[Answer] = deque()
        self._by_path: dict[str, deque[Answer]] = {}
        self._changed = asyncio.Condition()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def script(self, *answers: Answer, path: str | None = None) -> None:
        """Scripts the next answers, in turn; with `path`, only the answers to requests for it."""
        (self._script if path is None else self._by_path.setdefault(path, deque())).extend(answers)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    @staticmethod
    def signed_by(received: Received, secret: bytes) -> bool:
        """Whether the request has a signature by this secret over exactly this body."""
        headers = received.headers
        moment = int(headers["webhook-timestamp"])
        expected = sign(secret, headers["webhook-id"], moment, received.body)
        return expected in headers["webhook-signature"].split(" ")

    async def wait_for(self, count: int) -> list[Received]:
        """Returns the requests, once this many have arrived."""
        await self.wait_until(lambda: len(self.requests) >= count)
        return self.requests

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Looks whenever a request or the end of a connection has come."""
        async with asyncio.timeout(PATIENCE_S), self._changed:
            await self._changed.wait_for(condition)

    async def drop_connections(self) -> None:
        """Closes the connections that are open now, and waits until they are gone."""
        dropped = set(self._writers)
        for writer in dropped:
            writer.close()
        await self.wait_until(lambda: not dropped & self._writers)

    async def start(self, port: int = 0) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, ssl=self._tls, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Refuses connections from now on; `start` with the same port takes it up again."""
        if self._server is not None:
            await stop_listening(self._server)
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # --- inside

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        self.connections += 1
        self.open += 1
        try:
            await self._talk(reader, writer, self.connections)
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass
        except asyncio.CancelledError:
            # The end of the sink, which waits for this task.
            pass
        finally:
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
            self._writers.discard(writer)
            self.open -= 1
            await self._notify()
            self._tasks.discard(task)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        while True:
            received = await read_request(reader, number)
            self.requests.append(received)
            answer = self._answer(received)
            await self._notify()
            if answer.gate is not None:
                await answer.gate.wait()
            if answer.delay:
                await asyncio.sleep(answer.delay)
            if answer.hang:
                await reader.read()
                return
            writer.write(answer.octets())
            await writer.drain()
            if answer.reset:
                reset(writer)
                return
            if answer.close:
                return

    def _answer(self, received: Received) -> Answer:
        mine = self._by_path.get(received.target)
        if mine:
            return mine.popleft()
        return self._script.popleft() if self._script else self.answering(received)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


async def read_request(reader: asyncio.StreamReader, connection: int) -> Received:
    """Reads a request with a `Content-Length`. Raises IncompleteReadError at the end of the connection."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, target, headers, body, connection)
