"""A client on our own core, which shows what reached it, octet by octet and in order."""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from heliograph.simulator.smsc import Simulator
from heliograph.smpp import constants as c
from heliograph.smpp import event as e
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import Role
from heliograph.smpp.receipt import ReceiptContent, parse_receipt
from heliograph.smpp.session import Session, SessionOptions
from tests.support.timeouts import PATIENCE_S


class Esme(asyncio.Protocol):
    """A bound client. Receipts are answered with `receipt_status`; None leaves them unanswered."""

    def __init__(self, window: int, enquire_timeout: float | None) -> None:
        self.loop = asyncio.get_running_loop()
        self.session = Session(
            Role.ESME,
            self.loop.time(),
            SessionOptions(
                window=window,
                enquire_interval=0,  # it tests a link where the test says so
                enquire_timeout=enquire_timeout,
                unbind_timeout=2 * PATIENCE_S,  # an end that the other side holds up is noticed
            ),
        )
        self.transport: asyncio.Transport
        self.receipt_status: int | None = 0
        self.reads: list[bytes] = []
        self.order: list[str] = []
        """`answer ID` and `receipt ID` as they came."""
        self.receipts: list[ReceiptContent] = []
        self.deliveries: list[p.DeliverSm] = []
        self.from_phones: list[p.DeliverSm] = []
        self.unmatched: list[p.Pdu] = []
        self.refusal: int | None = None
        self.closed = False
        self._changed = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.reads.append(data)
        for event in self.session.receive(data, self.loop.time()):
            self._happened(event)
        self.flush()

    def connection_lost(self, _reason: Exception | None) -> None:
        self.closed = True
        if self._timer is not None:
            self._timer.cancel()
        for event in self.session.connection_lost():
            self._happened(event)
        self._changed.set()

    def flush(self) -> None:
        data = self.session.data_to_send()
        if data and not self.closed:
            self.transport.write(data)
        if self.session.closing and not self.closed:
            self.transport.close()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline = None if self.closed else self.session.next_deadline()
        if deadline is not None:
            self._timer = self.loop.call_at(deadline, self._on_timer)
        self._changed.set()

    async def wait(self, condition: Callable[[], object]) -> None:
        """Until it holds. Fails the test after a while."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    def send(self, pdu: p.Pdu) -> asyncio.Future[e.Answered | e.Lost]:
        """Sends a request; the future holds what answers it, or that the link was lost."""
        future: asyncio.Future[e.Answered | e.Lost] = self.loop.create_future()
        self.session.request(pdu, future, self.loop.time())
        self.flush()
        return future

    async def ask(self, pdu: p.Pdu) -> e.Answered:
        async with asyncio.timeout(PATIENCE_S):
            answered = await self.send(pdu)
        assert isinstance(answered, e.Answered)
        return answered

    async def submit(self, destination: str = "447700900100", **fields: Any) -> e.Answered:
        return await self.ask(submit_sm(destination, **fields))

    async def close(self) -> None:
        if not self.closed:
            self.transport.close()
        await self.wait(lambda: self.closed)

    def _on_timer(self) -> None:
        self._timer = None
        for event in self.session.handle_timers(self.loop.time()):
            self._happened(event)
        self.flush()

    def _happened(self, event: e.Event) -> None:
        match event:
            case e.Answered(token=asyncio.Future() as future):
                self.order.append(f"answer {event.message_id}")
                if not future.done():
                    future.set_result(event)
            case e.Lost():
                for token in event.tokens:
                    assert isinstance(token, asyncio.Future)
                    if not token.done():
                        token.set_result(event)
            case e.Delivered(request=p.DeliverSm() as request):
                if request.esm_class & (c.ESM_RECEIPT | c.ESM_INTERMEDIATE):
                    receipt = parse_receipt(request)
                    assert receipt is not None
                    self.order.append(f"receipt {receipt.message_id}")
                    self.receipts.append(receipt)
                    self.deliveries.append(request)
                else:
                    self.from_phones.append(request)
                if self.receipt_status is not None:
                    self.session.answer(request, self.receipt_status)
            case e.Unmatched():
                self.unmatched.append(event.response)
            case e.BindRefused():
                self.refusal = event.status


class Smsc:
    """A running simulator and its clients."""

    def __init__(self, simulator: Simulator, port: int) -> None:
        self.simulator = simulator
        self.port = port
        self._clients: list[Esme] = []

    async def connect(self, *, window: int = 1000, enquire_timeout: float | None = None) -> Esme:
        loop = asyncio.get_running_loop()
        _, esme = await loop.create_connection(lambda: Esme(window, enquire_timeout), "127.0.0.1", self.port)
        self._clients.append(esme)
        return esme

    async def bind(
        self,
        kind: type[p.BindRequest] = p.BindTransceiver,
        system_id: str = "acme",
        password: str = "secret",
        *,
        window: int = 1000,
        enquire_timeout: float | None = None,
        receipt_status: int | None = 0,
    ) -> Esme:
        """A client that is bound, or was refused."""
        esme = await self.connect(window=window, enquire_timeout=enquire_timeout)
        esme.receipt_status = receipt_status
        esme.session.bind(kind(system_id=system_id, password=password), esme.loop.time())
        esme.flush()
        await esme.wait(lambda: esme.session.bound or esme.refusal is not None or esme.closed)
        return esme

    async def until(self, condition: Callable[[], object]) -> None:
        """Until something holds of the simulator, which tells nobody: it is looked at."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():  # noqa: ASYNC110
                await asyncio.sleep(0.002)

    async def stop(self) -> None:
        await self.simulator.stop()
        for client in self._clients:
            await client.close()


def submit_sm(destination: str = "447700900100", **fields: Any) -> p.SubmitSm:
    """A message that wants a receipt."""
    given = {
        "source_addr": "Acme",
        "source_addr_ton": 5,
        "dest_addr_ton": 1,
        "dest_addr_npi": 1,
        "registered_delivery": c.RECEIPT_FINAL,
        "short_message": b"hello",
        **fields,
    }
    return p.SubmitSm(destination_addr=destination, **given)
