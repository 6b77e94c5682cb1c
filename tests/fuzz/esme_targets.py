"""The SMPP server under any octets of a client: sound answers, each request once, and nothing left behind.

Each target takes octets and returns nothing; what it raises is a finding.
"""

import asyncio
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from heliograph.adapters.smpp_server.connection import PORTION_OCTETS, EsmeConnection
from heliograph.adapters.smpp_server.deliverer import BindDeliverer
from heliograph.adapters.smpp_server.registry import Binds
from heliograph.adapters.smpp_server.services import Services
from heliograph.app.configuration import SmppTerms
from heliograph.app.notice import Notice, TriedNotice
from heliograph.app.observing.counters import BindCounters
from heliograph.app.observing.refusals import Refusals
from heliograph.app.sending.compose import SendRules
from heliograph.app.sending.reschedule import Rescheduling
from heliograph.domain.message.way import Way
from heliograph.net.proxies import Proxies
from heliograph.smpp import codec
from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from heliograph.smpp.framer import Framer
from tests.support.gateway import open_gateway
from tests.unit.http.test_connection import Wire

TURNS: Final = 400
"""Turns of the loop after which there is nothing more to come."""

MOST_PER_STORE: Final = 1_000
"""Inputs that one store in memory serves before another replaces it."""

WINDOW: Final = 5
DELIVERIES: Final = 3
"""deliver_sm that wait for their answer as the input begins."""

SEPARATOR: Final = b"|||"
"""Between the PDUs of `pdus_of_client`."""

PROXY: Final = "127.0.0.1"

ALPHABETS: Final = ("gsm", "latin1", "ascii")
FORMS: Final = ("uuid", "decimal", "hex16")
REFERENCES: Final = ("", "user_message_reference", "0x1402")

BOUND: Final = 0x40
"""Bit of the first octet: the client has bound before the input begins."""

_DELIVERY: Final = codec.encode_body(p.DeliverSm(source_addr="49", short_message=b"Hello"))

_KINDS: Final = sorted(kind for kind in p.PDU_TYPES if kind not in c.BIND_COMMANDS)
"""Commands of PDUs that are made with a right header."""


class ClientWire(Wire):
    """A wire of an SMPP client."""

    def set_write_buffer_limits(self, high: int) -> None:
        pass

    def get_extra_info(self, name: str) -> object:
        return self.peer if name == "peername" else self

    def fileno(self) -> int:
        raise OSError("there is no socket")

    def get_write_buffer_size(self) -> int:
        return 0


class FuzzedServer:
    """Connections of clients to a gateway on fakes, on a loop of its own that turns when it is told to."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._on_raised)
        self._calls = 0
        self._raised: list[object] = []

    def _on_raised(self, _: object, context: dict[str, Any]) -> None:
        self._raised.append(context.get("exception") or context["message"])

    async def _open(self) -> None:
        gateway = self._gateway = await open_gateway(rules=SendRules(max_destinations=20), credit="1000000")
        self._services = Services(
            gateway.authenticator,
            gateway.sending,
            Rescheduling(gateway.store.customers, gateway.composer),
            gateway.store.customers,
            gateway.directory,
            gateway.clock,
            gateway.journal,
            Refusals(),
            lambda: None,
            gateway.store.binds,
            1,
            172_800_000,
            Proxies((PROXY,)),
        )

    def try_input(self, mode: int, terms: int, octets: bytes, step: int) -> None:
        """Gives the octets, `step` at a time, to a connection; checks what it wrote and left behind."""
        self._raised.clear()
        self._loop.run_until_complete(self._try(mode, terms, octets, step))
        assert not self._raised, self._raised

    async def _try(self, mode: int, terms: int, octets: bytes, step: int) -> None:
        if self._calls % MOST_PER_STORE == 0:
            await self._open()
        self._calls += 1
        gateway, services = self._gateway, self._services
        gateway.clock.forward(60)
        smpp = SmppTerms(
            password_hash="hash of smpp-pw",
            window=WINDOW,
            alphabet=ALPHABETS[terms % 3],
            id_form=FORMS[terms // 3 % 3],
            reference=REFERENCES[terms // 9 % 3],
            country="49" if terms & 0x80 else "",
            dedupe_s=60 if terms & 0x40 else 0,
        )
        await gateway.change_account(smpp=smpp)
        binds = Binds(BindCounters())
        deliverer = BindDeliverer(binds, {}, gateway.clock, 72, lambda: None)  # type: ignore[arg-type] # no notices of its own
        ends: list[TriedNotice] = []
        deliverer.on_tried(ends.extend)
        wire = ClientWire(PROXY if mode & 0x20 else "192.0.2.7")
        connection = EsmeConnection(services, binds, deliverer, tls=False)
        session = connection.session
        connection.connection_made(wire)  # type: ignore[arg-type]
        sent = 0
        if mode & BOUND:
            kind = (p.BindTransmitter, p.BindReceiver, p.BindTransceiver)[mode % 3]
            version = (0x50 if mode & 0x10 else 0x34) - (terms & 1)
            bind = kind(1, 0, system_id="acme", password="smpp-pw", interface_version=version)
            connection.data_received(codec.encode(bind))
            assert await _until(lambda: session.bound), "it is not bound"
            while connection.room and sent < DELIVERIES:
                notice = Notice(1, sent, None, gateway.clock.now(), way=Way.BIND)
                connection.deliver(notice, [_DELIVERY] * (1 + sent % 3))
                sent += 1
        wire.written = b""
        for start in range(0, len(octets), step):
            if wire.paused:
                await _until(lambda: not wire.paused or wire.closing)
            if wire.closing:
                break
            connection.data_received(octets[start : start + step])
            assert session.in_flight <= WINDOW, "the window is exceeded"
            assert session.unanswered <= WINDOW + PORTION_OCTETS // c.HEADER_OCTETS, "too much is read"
        assert await _until(lambda: wire.closing or not (session.unanswered or connection._tasks)), "it has no answer"
        _check_answers(wire.written, octets)
        connection.connection_lost(None)
        assert await _until(lambda: not (services.tasks or connection._tasks)), "it goes on"
        await services.resubmissions.flush()
        assert not services.delay._under_way, "a submission has no end"
        assert not services.departed, "the store was not available"
        names = [each for copies in services.resubmissions._accounts.values() for each in copies.values()]
        assert not any(each.under_way for each in names), "a name stays under way"
        assert not len(binds), "it is still bound"
        assert not gateway.store._place.rows.binds, "the store has a bind"
        assert sorted(end.key for end in ends) == list(range(sent)), "each delivery has one end"
        errors = [line for line in gateway.journal.lines if line[0] in ("error", "critical")]
        assert not errors, errors
        gateway.journal.lines.clear()


def _check_answers(written: bytes, octets: bytes) -> None:
    framer = Framer()
    for frame in framer.feed(written):
        codec.decode(frame)
    assert not framer.error, "the answers are no PDUs"
    assert not framer._partial, "an answer is not whole"
    assert len(written) <= 40 * len(octets) + 4_096, f"{len(written)} octets are written"


async def _until(is_so: Callable[[], object]) -> bool:
    """Turns the loop until it is so. Returns False where it does not come to that."""
    for _ in range(TURNS):
        if is_so():
            break
        await asyncio.sleep(0)
    for _ in range(3):  # what was raised meanwhile is told
        await asyncio.sleep(0)
    return bool(is_so())


_server: Final = cache(FuzzedServer)


def listener(octets: bytes) -> None:
    """A client's octets, in pieces: it has bound before or not, and comes from a trusted proxy or not."""
    if len(octets) < 4:
        return
    _server().try_input(octets[0], octets[1], octets[3:], octets[2] * 4 + 1)


def pdus_of_client(octets: bytes) -> None:
    """A client that has bound sends PDUs with right headers and any bodies."""
    if len(octets) < 4:
        return
    stream = b""
    for number, body in enumerate(octets[2:].split(SEPARATOR)):
        if body:
            command = _KINDS[body[0] % len(_KINDS)]
            stream += codec.HEADER.pack(len(body) + 15, command, 0, number % 4 + 1) + body[1:]
    _server().try_input(octets[0] & 0x1F | BOUND, octets[1], stream, PORTION_OCTETS)


def piece_of(pdu: p.Pdu) -> bytes:
    """Returns a PDU as `pdus_of_client` reads it."""
    return bytes((_KINDS.index(pdu.command_id),)) + codec.encode(pdu)[16:]


ESME_TARGETS: Final[dict[str, Callable[[bytes], None]]] = {"listener": listener, "pdus_of_client": pdus_of_client}
