"""A client that binds to the SMPP server: the session of the engine in the other role, over a real socket."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any, cast

from heliograph.smpp import codec
from heliograph.smpp import constants as c
from heliograph.smpp import event as e
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import Role
from heliograph.smpp.session import Session, SessionOptions
from heliograph.smpp.tlv import Tlvs

ANSWER_S = 10.0
"""Seconds for any answer in tests."""

BINDS = {"tx": p.BindTransmitter, "rx": p.BindReceiver, "trx": p.BindTransceiver}


class Esme(asyncio.Protocol):
    """A client. `answer`: its command_status for each deliver_sm, None to stay silent."""

    def __init__(self, answer: Callable[[p.DeliverSm], int | None] = lambda _: 0) -> None:
        self._loop = asyncio.get_running_loop()
        self._answer = answer
        self._news = asyncio.Event()
        self.session = Session(Role.ESME, self._loop.time(), SessionOptions(window=1_000, response_timeout=60))
        self.delivered: list[p.DeliverSm] = []
        self.answers: dict[int, p.Pdu] = {}
        self.bound: int | None = None
        """The status of the bind's answer."""
        self.bind_tlvs: Tlvs = ()
        self.gone = False

    @classmethod
    async def connect(
        cls, port: int, answer: Callable[[p.DeliverSm], int | None] = lambda _: 0, tls: ssl.SSLContext | None = None
    ) -> "Esme":
        loop = asyncio.get_running_loop()
        name = None if tls is None else "localhost"
        made = await loop.create_connection(lambda: cls(answer), "127.0.0.1", port, ssl=tls, server_hostname=name)
        return made[1]

    async def bind(self, name: str = "acme", password: str = "smpp-pw", kind: str = "trx", version: int = 0x34) -> int:
        """Binds; returns the status of the answer."""
        request = BINDS[kind](system_id=name, password=password, interface_version=version)
        self.session.bind(request, self._loop.time())
        self._flush()
        await self.until(lambda: self.bound is not None or self.gone)
        return -1 if self.bound is None else self.bound

    def begin(self, pdu: p.Pdu) -> int:
        """Sends a request; returns its number."""
        sequence = self.session.request(pdu, None, self._loop.time())
        self._flush()
        return sequence

    async def ask(self, pdu: p.Pdu) -> Any:
        """Sends a request; returns its answer."""
        sequence = self.begin(pdu)
        await self.until(lambda: sequence in self.answers)
        return self.answers[sequence]

    async def submit(self, text: str = "Hello", to: str = "491701234567", **fields: Any) -> p.SubmitSmResp:
        """Submits a message from `Helio`; returns the answer."""
        usual: dict[str, Any] = {"source_addr_ton": 5, "source_addr": "Helio", "dest_addr_ton": 1, "dest_addr_npi": 1}
        pdu = p.SubmitSm(**{**usual, "destination_addr": to, "short_message": text.encode(), **fields})
        return cast("p.SubmitSmResp", await self.ask(pdu))

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Waits until something is so."""
        async with asyncio.timeout(ANSWER_S):
            while not is_so():
                self._news.clear()
                await self._news.wait()

    def stop_reading(self) -> None:
        """Leaves received octets in the system's buffer."""
        self._transport.pause_reading()

    def close(self) -> None:
        self._transport.abort()

    # --- the loop's callbacks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        for event in self.session.receive(data, self._loop.time()):
            match event:
                case e.Bound(_, response):
                    self.bound, self.bind_tlvs = 0, response.tlvs
                case e.BindRefused(status):
                    self.bound = status
                case e.Answered():
                    self.answers[event.sequence] = codec.decode(event.frame)
                case e.Delivered(request):
                    assert isinstance(request, p.DeliverSm)
                    self.delivered.append(request)
                    answer = self._answer(request)
                    if answer is not None:
                        self.session.answer(request, answer)
        self._flush()
        self._news.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone = True
        self.session.connection_lost()
        self._news.set()

    def _flush(self) -> None:
        self._transport.write(self.session.data_to_send())
        if self.session.closing:
            self._transport.close()


def receipt_fields(pdu: p.DeliverSm) -> dict[str, str]:
    """The fields of a receipt's text, as Kannel's expression finds them: in this order only."""
    text = pdu.short_message.decode()
    keys = ("id:", " sub:", " dlvrd:", " submit date:", " done date:", " stat:", " err:", " text:")
    values, rest = [], text
    for key in keys:
        value, found, rest = rest.partition(key)
        assert found, (key, text)
        values.append(value)
    assert values[0] == ""
    assert pdu.esm_class in (c.ESM_RECEIPT, c.ESM_INTERMEDIATE)
    return dict(zip((key.strip(" :") for key in keys), [*values[1:], rest], strict=True))
