"""A scripted SMSC on loopback, on the protocol core's own message centre role.

async with Smsc() as smsc:
    smsc.reply = lambda submit: ESME_RTHROTTLED     # or None: no answer, until `link.respond`
    ...
    await smsc.link.cut()
"""

import asyncio
import contextlib
import ssl
import time
from collections.abc import AsyncIterator, Callable
from types import TracebackType
from typing import Self, cast

from heliograph.smpp import constants as c
from heliograph.smpp import event as e
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus, Role
from heliograph.smpp.session import Session, SessionOptions
from tests.support.listening import stop_listening
from tests.support.ports import free_port
from tests.support.timeouts import PATIENCE_S

Reply = Callable[[p.SubmitSm], int | None]


async def wait_until(condition: Callable[[], object], what: str = "") -> None:
    """Waits until the condition holds; fails the test when it takes too long."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain {what}".strip())
        await asyncio.sleep(0.002)


class SmscLink(asyncio.Protocol):
    """A connection of an ESME."""

    def __init__(self, smsc: "Smsc") -> None:
        self._smsc = smsc
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.session = Session(Role.MC, time.monotonic(), SessionOptions(window=10_000, enquire_interval=0))
        self.bind: p.BindRequest | None = None
        self.submits: list[p.SubmitSm] = []
        self.queries: list[p.QuerySm] = []
        self.open: dict[int, p.SubmitSm] = {}
        """Submissions without an answer, by their sequence numbers."""
        self.most_open = 0
        self.receipts_answered: list[tuple[object, int]] = []
        """The tokens of `deliver`, with the statuses that came back."""
        self.writes = 0
        """Count of reads."""
        self.enquiries = 0
        self.unbound = False
        self.mute = False
        """Whether the link neither reads nor answers, as if the peer had vanished."""
        self.gone = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._smsc.links.append(self)
        self._smsc.connected_at.append(time.monotonic())
        if self._smsc.hang_up:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self.mute:
            return
        self.writes += 1
        self.enquiries += data.count(b"\0\0\0\x10\0\0\0\x15\0\0\0\0")
        for event in self.session.receive(data, time.monotonic()):
            self._on_event(event)
        self.flush()

    def _on_event(self, event: e.Event) -> None:
        match event:
            case e.BindRequested(request):
                self.bind = request
                if self._smsc.bind_status is not None:
                    self.session.answer(request, self._smsc.bind_status)
                if self.session.bound and self._smsc.greet is not None:
                    self._smsc.greet(self)
            case e.RequestReceived(request) if isinstance(request, p.SubmitSm):
                self.submits.append(request)
                self.open[request.sequence] = request
                self.most_open = max(self.most_open, len(self.open))
                status = self._smsc.reply(request)
                if status is not None:
                    self.respond(request, status)
            case e.RequestReceived(request) if isinstance(request, p.QuerySm):
                self.queries.append(request)
                answer = self._smsc.told(request)
                if answer is not None:
                    self.session.respond(answer)
            case e.Answered(token, _, status):
                self.receipts_answered.append((token, status))
            case e.Unbound():
                self.unbound = True
            case _:
                pass

    def respond(self, request: p.SubmitSm, status: int = CommandStatus.ESME_ROK, message_id: str | None = None) -> None:
        """Answers a submission; it goes out with the next flush."""
        self.open.pop(request.sequence, None)
        if message_id is None:
            message_id = self._smsc.next_id() if status == 0 else ""
        self.session.respond(p.SubmitSmResp(request.sequence, status, message_id=message_id))

    def respond_all(self, status: int = CommandStatus.ESME_ROK) -> None:
        for request in list(self.open.values()):
            self.respond(request, status)
        self.flush()

    def deliver(self, pdu: p.DeliverSm | p.DataSm, token: object = None) -> None:
        """Sends a receipt or a message to the ESME."""
        self.session.request(pdu, token, time.monotonic())
        self.flush()

    def unbind(self) -> None:
        self.session.unbind(time.monotonic())
        self.flush()

    def send(self, octets: bytes) -> None:
        self.session.send_octets(octets)
        self.flush()

    def flush(self) -> None:
        data = self.session.data_to_send()
        if self._transport is None or self.mute:
            return
        if data:
            self._transport.write(data)
        if self.session.closing:
            self._transport.close()

    @property
    def backlog(self) -> int:
        """Octets that the ESME has left to us."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def read(self, goes_on: bool) -> None:
        """Reads received octets, or leaves them to fill the connection."""
        assert self._transport is not None
        if goes_on:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def close(self) -> None:
        """Ends the connection when all is written, without a word."""
        if self._transport is not None:
            self._transport.close()

    def cut(self) -> None:
        """Resets the connection."""
        if self._transport is not None:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.session.connection_lost()
        self.gone = True


class Smsc:
    """Listens on loopback. `bind_status` None: binds are not answered. `hang_up`: connections are cut at once."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._ids = 0
        self.port = free_port()
        self.links: list[SmscLink] = []
        self.connected_at: list[float] = []
        self.bind_status: int | None = CommandStatus.ESME_ROK
        self.hang_up = False
        self.reply: Reply = lambda _: CommandStatus.ESME_ROK
        self.told: Callable[[p.QuerySm], p.QuerySmResp | None] = lambda query: p.QuerySmResp(
            query.sequence, CommandStatus.ESME_RQUERYFAIL
        )
        self.greet: Callable[[SmscLink], None] | None = None
        """Called with each link right after its bind is answered."""

    async def __aenter__(self) -> Self:
        await self.listen()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
        for link in self.links:
            link.cut()
        with contextlib.suppress(AssertionError):
            await wait_until(lambda: all(link.gone for link in self.links))

    async def listen(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: SmscLink(self), "127.0.0.1", self.port, ssl=self._tls)

    async def close(self) -> None:
        """Stops accepting; open connections stay."""
        if self._server is not None:
            await stop_listening(self._server)
            self._server = None

    def next_id(self) -> str:
        self._ids += 1
        return f"id{self._ids}"

    @property
    def link(self) -> SmscLink:
        """The newest connection."""
        return self.links[-1]

    @property
    def up(self) -> list[SmscLink]:
        """The connections that are bound."""
        return [link for link in self.links if link.session.bound and not link.gone]

    @property
    def submits(self) -> list[p.SubmitSm]:
        return [submit for link in self.links for submit in link.submits]


@contextlib.asynccontextmanager
async def speaking(greeting: bytes) -> AsyncIterator[int]:
    """A server that knows no SMPP: it says its greeting, then listens. Gives its port."""
    writers: list[asyncio.StreamWriter] = []

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        writer.write(greeting)
        with contextlib.suppress(ConnectionError):
            await reader.read()
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        await stop_listening(server)
        for writer in writers:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


def receipt(message_id: str, state: str = "DELIVRD", err: str = "000", number: str = "447700900123") -> p.DeliverSm:
    """A receipt as SMPP v3.4, appendix B has it."""
    text = (
        f"id:{message_id} sub:001 dlvrd:001 submit date:2701150800 done date:2701150801 stat:{state} err:{err} text:hi"
    )
    return p.DeliverSm(
        source_addr=number, destination_addr="Helio", esm_class=c.ESM_RECEIPT, short_message=text.encode()
    )
