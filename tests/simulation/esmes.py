"""Customers' SMPP clients: they bind, submit, lose answers, fall silent, put receipts off, and bind anew.

The server's connections are the real ones, on wires that take their time and break. There is one node at a time: a
client whose node has ended binds to the next life of the gateway.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from heliograph.adapters.smpp_server.connection import EsmeConnection
from heliograph.adapters.smpp_server.deliverer import PUT_OFF, BindDeliverer
from heliograph.adapters.smpp_server.expected import ReceiptWish, expected_of, key_of
from heliograph.adapters.smpp_server.registry import Binds
from heliograph.adapters.smpp_server.server import SmppServer
from heliograph.adapters.smpp_server.services import Services
from heliograph.app.configuration import SmppTerms
from heliograph.app.facts import CallbackEnd
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.way import Way
from heliograph.smpp import codec, tlv
from heliograph.smpp import constants as c
from heliograph.smpp import event as e
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus, Role
from heliograph.smpp.framer import Framer
from heliograph.smpp.session import Session, SessionOptions
from tests.support.esme import receipt_fields
from tests.support.memory_rows import Rows

PASSWORD: Final = "smpp-pw"

REFERENCE_TAG: Final = 0x1402

WINDOW: Final = 4
BINDS: Final = 3

PATIENCE_S: Final = 5.0
"""Seconds after which a client takes a request for lost."""

LAST_S: Final = 60.0
"""Seconds from the last fault to a last message and question of each customer."""

MOST_UNREAD: Final = 600
"""Octets for a client that does not read; these are the server's MAX_UNREAD_OCTETS in these worlds."""

SYSTEM_OCTETS: Final = 200
"""Octets that the server's system takes from it before the client has read them."""

GREED: Final = 30
"""Requests that a client has under way at once, whatever its account's window is."""

PORTION_OCTETS: Final = 200
"""Octets that the server reads from a client in a turn."""

MOST_UNANSWERED: Final = WINDOW + PORTION_OCTETS // (c.HEADER_OCTETS + 17)
"""Requests of a connection that wait: the window, and the portion that filled it."""

MOST_BEYOND: Final = MOST_UNANSWERED * 60 + 100
"""Octets that are written to a client after the turn that filled its buffer: answers to the requests under way, and
enquire_link."""

_USUAL: Final = SmppTerms(password_hash="hash of smpp-pw", window=WINDOW, binds=BINDS)

ESME_TERMS: Final = {
    "reference": replace(_USUAL, reference=f"{REFERENCE_TAG:#x}", id_form="decimal"),
    "dedupe": replace(_USUAL, dedupe_s=3_600),
    "plain": replace(_USUAL, id_form="hex16"),
}
"""Customers of these worlds, with their terms by kind."""

LIMITS: Final[dict[str, float]] = {
    "ANSWER_S": 4.0,
    "ENQUIRE_S": 5.0,
    "SILENCE_S": 15.0,
    "MAX_UNREAD_OCTETS": MOST_UNREAD,
    "PORTION_OCTETS": PORTION_OCTETS,
}
"""Limits of a connection in these worlds, so low that they are met."""

TRIED_AGAIN: Final = (CommandStatus.ESME_RMSGQFUL, CommandStatus.ESME_RTHROTTLED, CommandStatus.ESME_RSYSERR)
"""Answers after which a client sends a message again, as Kannel does."""

STORED_ONCE: Final = ("reference", "dedupe")
"""Customers of whom a message that they send again is stored once."""


@dataclass
class EsmeOdds:
    """How likely each thing goes wrong; all 0 once faults have stopped."""

    cut: float = 0.0
    vanish: float = 0.0
    mute: float = 0.0
    deaf: float = 0.0
    put_off: float = 0.0
    failed: float = 0.0
    unbind: float = 0.0
    slow: float = 0.0

    @classmethod
    def of(cls, chance: random.Random) -> "EsmeOdds":
        """Some kinds of faults often, some seldom, some never."""
        return cls(**{name: chance.choice((0.0, 0.02, 0.1)) for name in cls.__annotations__})

    def stop(self) -> None:
        for name in self.__annotations__:
            setattr(self, name, 0.0)


@dataclass(eq=False)
class Wanted:
    """A message that a client wants to send, until it has an answer that decides."""

    text: str
    destination: str
    number: int
    registered: int
    schedule: str = ""
    oks: list[str] = field(default_factory=list)
    """The ids of answers with ESME_ROK."""
    attempts: int = 0
    unknown: int = 0
    """Attempts without an answer."""
    lasting: bool = False
    """Whether it is sent until it has an answer."""


class Wire(asyncio.Transport):
    """The server's end of a connection, and the network to the client."""

    def __init__(self, esmes: "Esmes", client: "EsmeClient") -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._esmes = esmes
        self._client = client
        self._high = MOST_UNREAD
        self._heard: list[bytes] = []
        self._times = [0.0, 0.0]
        """When the last octets to the server and to the client arrive: none overtakes others."""
        self._reading = True
        self._is_full = self._loses = False
        self._full_at = 0.0
        """Time of the turn in which the buffer was filled."""
        self.beyond = 0
        """Octets that were written after that turn, until the client read again."""
        self._framer = Framer()
        self._from_client = Framer()
        self.protocol: EsmeConnection | None = None
        self.unread = 0
        """Octets that were written and have not arrived."""
        self.closing = self.broken = False
        self.deliveries: dict[int, float] = {}
        """Times of deliver_sm without an answer, by their numbers."""

    # --- the server's

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return (self._client.customer.host, 40_000) if name == "peername" else default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = high or 0

    def get_write_buffer_size(self) -> int:
        return max(0, self.unread - SYSTEM_OCTETS)

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        if not self._reading:
            self._reading = True
            self._loop.call_soon(self._hand_over)

    def write(self, data: Any) -> None:
        if self.broken or self.protocol is None:
            return
        self.unread += len(data)
        if self._is_full and self._loop.time() > self._full_at:
            self.beyond += len(data)
        for frame in self._framer.feed(bytes(data)):
            self._esmes.written(self, self._client.customer, frame)
        self._later(1, self._arrive, bytes(data))
        if not self._is_full and self.get_write_buffer_size() > self._high:
            self._is_full, self._full_at = True, self._loop.time()
            self.protocol.pause_writing()

    def close(self) -> None:
        if not self.closing and not self.broken:
            self.closing = True
            self._later(1, self._flushed)

    def abort(self) -> None:
        self.break_off(None)

    # --- the client's

    def send(self, data: bytes) -> None:
        """Sends octets to the server."""
        self._later(0, self._hear, data)

    def finish(self) -> None:
        """The client closes in good order: what it sent arrives before."""
        self._later(0, lambda: self.break_off(None))

    def break_off(self, error: Exception | None, delay: float = 0.0) -> None:
        """Both ends lose the connection, and what is on its way; the server learns of it after a delay."""
        if self.broken:
            return
        self.broken = self.closing = True
        self._loop.call_soon(self._client.lost, self)
        self._loop.call_later(delay, self._lose, error)

    def die(self) -> None:
        """The server's process has ended; what it wrote may still arrive."""
        protocol, self.protocol = self.protocol, None
        if protocol is not None:
            for timer in (protocol._timer, protocol._guard):
                if timer is not None:
                    timer.cancel()
        self._loses = self._esmes.chance.random() < 0.5
        self._loop.call_later(self._esmes.chance.random(), self.break_off, None)

    def read_again(self) -> None:
        """The client reads again."""
        waiting, self._client.waiting = self._client.waiting, []
        for data in waiting:
            self._arrive(data)

    # --- inside

    def _later(self, way: int, call: Callable[..., None], *args: Any) -> None:
        chance, odds = self._esmes.chance, self._esmes.odds
        delay = chance.random() * (3.0 if chance.random() < odds.slow else 0.02)
        self._times[way] = max(self._times[way], self._loop.time() + delay)
        self._loop.call_at(self._times[way], call, *args)

    def _hear(self, data: bytes) -> None:
        if not self.closing:
            self._heard.append(data)
            if self._reading:
                self._hand_over()

    def _hand_over(self) -> None:
        while self._heard and self._reading and not self.closing and self.protocol is not None:
            data = self._heard.pop(0)
            for frame in self._from_client.feed(data):
                if int.from_bytes(frame[4:8], "big") in (c.DELIVER_SM_RESP, c.GENERIC_NACK):
                    self.deliveries.pop(int.from_bytes(frame[12:16], "big"), None)
            self.protocol.data_received(data)

    def _arrive(self, data: bytes) -> None:
        if self.broken or self._loses:
            return
        if self._client.deaf:
            self._client.waiting.append(data)
            return
        self.unread -= len(data)
        if self._is_full and self.get_write_buffer_size() <= self._high // 4 and self.protocol is not None:
            self._is_full, self.beyond = False, 0
            self.protocol.resume_writing()
        self._client.receive(data)

    def _flushed(self) -> None:
        if not self.unread:
            self.break_off(None)

    def _lose(self, error: Exception | None) -> None:
        protocol, self.protocol = self.protocol, None
        if protocol is not None:
            protocol.connection_lost(error)


class EsmeClient:
    """A client with a connection, from its start to its end."""

    def __init__(self, esmes: "Esmes", customer: "Customer", kind: type[p.BindRequest]) -> None:
        self._esmes = esmes
        self._loop = asyncio.get_running_loop()
        self.customer = customer
        self.mute = False
        """Whether it answers no deliver_sm."""
        self.deaf = False
        """Whether it does not read."""
        self.waiting: list[bytes] = []
        self.gone = False
        self.session = Session(
            Role.ESME,
            self._loop.time(),
            SessionOptions(window=GREED, response_timeout=PATIENCE_S, enquire_interval=0),
        )
        self.wire = Wire(esmes, self)
        self.wire.protocol = esmes.connection()
        self.wire.protocol.connection_made(self.wire)
        name = customer.name
        self.session.bind(kind(system_id=name, password=PASSWORD, interface_version=0x34), self._loop.time())
        self._flush()
        self._tick()

    @property
    def can_send(self) -> bool:
        return not self.gone and self.session.room > 0 and self.session.may_send(c.SUBMIT_SM)

    def submit(self, pdu: p.Pdu, token: object) -> None:
        self.session.request(pdu, token, self._loop.time())
        self._flush()

    def receive(self, data: bytes) -> None:
        if not self.gone:
            self._handle(self.session.receive(data, self._loop.time()))

    def unbind(self) -> None:
        """Ends the session in good order."""
        if not self.gone and self.session.bound:
            self.session.unbind(self._loop.time())
            self._flush()

    def lost(self, wire: Wire) -> None:
        if not self.gone:
            self.gone = True
            self._handle(self.session.connection_lost())
            self.customer.lost(self)

    # --- inside

    def _tick(self) -> None:
        if not self.gone:
            self._handle(self.session.handle_timers(self._loop.time()))
            self._loop.call_later(0.5, self._tick)

    def _handle(self, events: list[e.Event]) -> None:
        customer = self.customer
        for event in events:
            match event:
                case e.Bound():
                    customer.bound(self)
                case e.BindRefused(status):
                    self._esmes.refused[status] += 1
                    self.wire.finish()
                case e.Answered(Wanted() as wanted, _, status, name):
                    customer.answered(wanted, status, name)
                case e.TimedOut(Wanted() as wanted):
                    customer.unanswered(self, wanted)
                case e.Lost(tokens):
                    for token in tokens:
                        if isinstance(token, Wanted):
                            customer.unanswered(None, token)
                case e.Delivered(p.DeliverSm() as pdu):
                    self._on_delivery(pdu)
                case e.Closing():
                    self._flush()
                    self.wire.finish()
        self._flush()

    def _on_delivery(self, pdu: p.DeliverSm) -> None:
        esmes, chance, odds = self._esmes, self._esmes.chance, self._esmes.odds
        if self.mute:
            return
        status = 0
        if chance.random() < odds.put_off:
            status = chance.choice(sorted(PUT_OFF))
        elif chance.random() < odds.failed:
            status = CommandStatus.ESME_RINVDSTADR
        esmes.delivered(self.customer, pdu, status)
        self.session.answer(pdu, status)

    def _flush(self) -> None:
        data = self.session.data_to_send()
        if data and not self.gone:
            self.wire.send(data)


class Customer:
    """A customer with its clients and messages; outlives the gateway. `kind`: `reference`, `dedupe` or `plain`."""

    def __init__(self, esmes: "Esmes", name: str, account: int, terms: SmppTerms) -> None:
        self._esmes = esmes
        self._loop = asyncio.get_running_loop()
        self.name = self.kind = name
        self.account = account
        self.terms = terms
        self.host = f"192.0.2.{account}"
        self.clients: list[EsmeClient] = []
        self.wanted: list[Wanted] = []
        self._open: list[Wanted] = []
        """Messages that are to be sent once a client can."""
        self.told: dict[int, list[tuple[str, int]]] = {}
        """States of receipts with the statuses of our answers, by message."""

    def connect(self) -> None:
        """Binds another client, if the gateway lives and the account may have one more."""
        if self._esmes.server is None:
            self._loop.call_later(0.5, self.connect)
        elif len(self.clients) < BINDS + 1:
            kind = self._esmes.chance.choice((p.BindTransceiver, p.BindTransceiver, p.BindReceiver, p.BindTransmitter))
            self.clients.append(EsmeClient(self._esmes, self, kind if self._esmes.odds_left else p.BindTransceiver))

    def bound(self, client: EsmeClient) -> None:
        del client
        self.send_on()

    def lost(self, client: EsmeClient) -> None:
        self.clients.remove(client)
        if not (self.clients and self._esmes.odds_left) or self._esmes.chance.random() < 0.5:
            self._loop.call_later(self._esmes.chance.random() * 2, self.connect)

    def send(self, destination: str) -> None:
        """Wants to send another message."""
        chance = self._esmes.chance
        number = len(self.wanted)
        text = " ".join((self.name, str(number), "x" * chance.choice((0, 0, 0, 300))))
        schedule = "000000000010000R" if chance.random() < 0.1 else ""
        registered = chance.choice((1, 1, 1, 2, 0))
        equal = 2 if self.kind == "dedupe" and chance.random() < 0.2 else 1
        for _ in range(equal):
            wanted = Wanted(text, destination, number, registered, schedule, lasting=self.kind != "plain")
            self.wanted.append(wanted)
            self._open.append(wanted)
        self.send_on()

    def ask(self) -> None:
        """Asks for the state of a message, or cancels it."""
        chance = self._esmes.chance
        known = [wanted for wanted in self.wanted[-20:] if wanted.oks]
        able = [client for client in self.clients if client.can_send]
        if known and able:
            wanted = chance.choice(known)
            kind = p.CancelSm if wanted.schedule else p.QuerySm
            chance.choice(able).submit(kind(message_id=wanted.oks[0]), None)

    def send_on(self) -> None:
        """Sends what is to be sent over the clients that can."""
        for client in self._esmes.chance.sample(self.clients, len(self.clients)):
            while self._open and client.can_send:
                wanted = self._open.pop(0)
                wanted.attempts += 1
                client.submit(self._pdu(wanted), wanted)

    def _pdu(self, wanted: Wanted) -> p.SubmitSm:
        tlvs = ((tlv.MESSAGE_PAYLOAD, wanted.text.encode()),) if len(wanted.text) > 140 else ()
        if self.kind == "reference":
            tlvs = (*tlvs, (REFERENCE_TAG, b"ref-%d" % wanted.number))
        return p.SubmitSm(
            tlvs=tlvs, source_addr_ton=5, source_addr="Helio", destination_addr=f"+{wanted.destination}",
            registered_delivery=wanted.registered, schedule_delivery_time=wanted.schedule,
            short_message=b"" if len(wanted.text) > 140 else wanted.text.encode(),
        )  # fmt: skip

    def answered(self, wanted: Wanted, status: int, name: str) -> None:
        if status == 0:
            wanted.oks.append(name)
        elif status in TRIED_AGAIN and (wanted.lasting or self._esmes.odds_left):
            self._loop.call_later(self._esmes.chance.random() * 2, self._again, wanted)
        self.send_on()

    def unanswered(self, client: EsmeClient | None, wanted: Wanted) -> None:
        """An attempt has no answer: its connection was lost, or the client's patience."""
        wanted.unknown += 1
        if client is not None and self.kind == "dedupe":
            client.wire.break_off(ConnectionResetError())  # only a lost connection lets the server know
        if wanted.lasting:
            self._again(wanted)

    def _again(self, wanted: Wanted) -> None:
        self._open.append(wanted)
        self.send_on()


class Esmes:
    """All customers' clients, and what they know of the gateway."""

    def __init__(
        self,
        chance: random.Random,
        rows: Callable[[], list[Rows]],
        recipient: Callable[[], str],
        arrived: dict[int, list[bytes]],
        wrong: list[str],
    ) -> None:
        """`arrived` is told of receipts as of webhooks; `wrong` of promises that were broken."""
        self.chance = chance
        self.odds = EsmeOdds.of(chance)
        self.odds_left = True
        """Whether faults go on."""
        self._rows = rows
        self._recipient = recipient
        self._arrived = arrived
        self._wrong = wrong
        self.server: SmppServer | None = None
        self.services: Services | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self.customers: list[Customer] = []
        self.refused: Counter[int] = Counter()
        """Statuses of refused binds."""

    def connection(self) -> EsmeConnection:
        """Returns a new connection of the server."""
        server = self.server
        assert server is not None
        return EsmeConnection(server._services, server._binds, server._deliverer, tls=False)

    def add(self, name: str, account: int, terms: SmppTerms) -> None:
        self.customers.append(Customer(self, name, account, terms))

    # --- lives

    async def serve(self, services: Services, binds: Binds, deliverer: BindDeliverer) -> None:
        """A new life of the gateway listens."""
        self.services = services
        self.server = SmppServer(services, binds, deliverer, 100, lambda _: None)
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(self.server.report()), loop.create_task(self.server._settle())]
        for customer in self.customers:
            for _ in range(BINDS - len(customer.clients)):
                customer.connect()

    async def stop(self) -> None:
        """The server stops in good order; every answer that it owes has been written before."""
        assert self.server is not None
        assert self.services is not None
        server, self.server = self.server, None
        for task in self._tasks:
            task.cancel()
        await server.stop(20.0)

    def crash(self) -> None:
        """The process is gone."""
        self.server = None
        for customer in self.customers:
            for client in customer.clients:
                client.wire.die()

    def calm(self) -> None:
        """Nothing goes wrong any more: clients read and answer."""
        self.odds.stop()
        self.odds_left = False
        for customer in self.customers:
            for client in list(customer.clients):
                self._hear(client)
                client.unbind()  # transmitters get no receipts
            customer.connect()
        asyncio.get_running_loop().call_later(LAST_S, self._last_words)

    def _last_words(self) -> None:
        for customer in self.customers:
            customer.send(self._recipient())
            customer.ask()

    # --- what happens

    def step(self) -> None:
        """A customer sends, or one of its clients misbehaves."""
        chance, odds = self.chance, self.odds
        customer = chance.choice(self.customers)
        for _ in range(chance.choice((1, 1, 2, 12))):
            customer.send(self._recipient())
        for client in list(customer.clients):
            if chance.random() < odds.cut:
                client.wire.break_off(ConnectionResetError())
            elif chance.random() < odds.vanish and customer.kind != "dedupe":
                client.wire.break_off(ConnectionResetError(), chance.random() * 20)
            elif chance.random() < odds.unbind:
                client.unbind()
            elif chance.random() < odds.mute:
                client.mute = True
            elif chance.random() < odds.deaf:
                client.deaf = True
            elif (client.deaf or client.mute) and chance.random() < 0.05:
                self._hear(client)
        if chance.random() < 0.2:
            customer.connect()
        if chance.random() < 0.3:
            customer.ask()

    @staticmethod
    def _hear(client: EsmeClient) -> None:
        client.mute = client.deaf = False
        client.wire.read_again()

    def delivered(self, customer: Customer, pdu: p.DeliverSm, status: int) -> None:
        """A client has a deliver_sm, and answers it."""
        if pdu.esm_class == 0:
            self._told_of_phone(pdu)
        if pdu.esm_class != c.ESM_RECEIPT:
            return
        fields = receipt_fields(pdu)
        key = key_of(customer.terms.id_form, fields["id"])
        message = next((found for rows in self._rows() if key and (found := rows.messages.get(key))), None)
        if key is None or message is None or message.account != customer.account:
            self._wrong.append(f"a receipt of {fields['id']} came to the account {customer.account}")
            return
        if pdu.source_addr != f"+{message.destination}" or pdu.destination_addr != "Helio":
            self._wrong.append(f"the receipt of {key} spells {pdu.source_addr} {pdu.destination_addr}")
        customer.told.setdefault(key, []).append((fields["stat"], status))
        self._arrived.setdefault(key, []).append(f"message_status={fields['stat']}".encode())

    def _told_of_phone(self, pdu: p.DeliverSm) -> None:
        text = pdu.content.decode("ascii")
        for rows in self._rows():
            for key, message in rows.inbound.items():
                if message.content == text:
                    self._arrived.setdefault(key, []).append(b"")

    def written(self, wire: Wire, customer: Customer, frame: bytes) -> None:
        """The server writes a PDU to a client."""
        command, status, sequence = (int.from_bytes(frame[at : at + 4], "big") for at in (4, 8, 12))
        now = asyncio.get_running_loop().time()
        if command == c.SUBMIT_SM_RESP and status == 0:
            key = key_of(customer.terms.id_form, frame[16:-1].decode())
            if not any(key in rows.messages for rows in self._rows()):
                self._wrong.append(f"ESME_ROK was written for {key}, which is not stored")
        elif command == c.DELIVER_SM:
            wire.deliveries = {
                number: at for number, at in wire.deliveries.items() if at > now - LIMITS["ANSWER_S"]
            } | {sequence: now}
            if len(wire.deliveries) > WINDOW:
                self._wrong.append(f"{len(wire.deliveries)} deliver_sm wait for their answers, in a window of {WINDOW}")
            self._check_delivery(customer, codec.decode(frame))

    def _check_delivery(self, customer: Customer, pdu: p.Pdu) -> None:
        assert isinstance(pdu, p.DeliverSm)
        if pdu.esm_class == c.ESM_RECEIPT:
            key = key_of(customer.terms.id_form, receipt_fields(pdu)["id"])
            if any(key in rows.callbacks for rows in self._rows()):
                self._wrong.append(f"the receipt of {key} was sent again after its end was stored")

    def look(self) -> Iterator[str]:
        """Yields what is wrong now: called after each commit."""
        if self.server is None or self.services is None:
            return
        for connection in self.server._connections:
            if connection.session.unanswered > MOST_UNANSWERED:
                yield f"{connection.session.unanswered} requests wait, in a window of {WINDOW}"
            wire = connection._transport
            if isinstance(wire, Wire) and wire.beyond > MOST_BEYOND:
                yield f"{wire.beyond} octets were written to a client that does not read"

    # --- the end

    def end(self, rows: Rows) -> Iterator[str]:
        """Yields what is wrong once all is over."""
        stored: dict[str, list[int]] = {}
        for key, message in rows.messages.items():
            stored.setdefault(message.content, []).append(key)
        for customer in self.customers:
            by_text: dict[str, list[Wanted]] = {}
            for wanted in customer.wanted:
                by_text.setdefault(wanted.text, []).append(wanted)
            for text, equal in by_text.items():
                yield from self._check_messages(customer, text, equal, stored.get(text, []))
            yield from self._check_receipts(customer, rows)
        yield from self._leftovers(rows)

    @staticmethod
    def _check_messages(customer: Customer, text: str, equal: list[Wanted], keys: list[int]) -> Iterator[str]:
        """Checks messages with the same text, which the client wanted to send each on its own."""
        names = [name for wanted in equal for name in wanted.oks]
        unknown = sum(wanted.unknown for wanted in equal)
        named = {key_of(customer.terms.id_form, name) for name in names}
        if not named <= set(keys):
            yield f"{text!r} was answered with {named}, and is stored as {keys}"
        if customer.kind in STORED_ONCE and len(keys) > len(equal):
            yield f"{text!r} was wanted {len(equal)} times by {customer.name}, and is charged {len(keys)} times"
        if len(keys) > len(names) + unknown:
            yield f"{text!r} is charged {len(keys)} times, and was so {names} {unknown}"

    def _check_receipts(self, customer: Customer, rows: Rows) -> Iterator[str]:
        for key, final in rows.finals.items():
            message = rows.messages[key]
            done, told = rows.callbacks.get(key), customer.told.get(key, [])
            if message.account != customer.account or message.way is not Way.BIND or done is None:
                continue
            is_wanted = final.state is not Delivery.DELIVRD or expected_of(message).wish is not ReceiptWish.FAILURE
            if not is_wanted:
                if told:
                    yield f"{key} asks for receipts of failures, and its success was told"
                self._arrived[key] = [b"message_status=DELIVRD"]
            elif done.end is CallbackEnd.DELIVERED and not any(status == 0 for _, status in told):
                yield f"the receipt of {key} is done, and no client acknowledged it"
            elif done.end is CallbackEnd.FAILED and not any(status and status not in PUT_OFF for _, status in told):
                yield f"the receipt of {key} has failed, and no client refused it"

    def _leftovers(self, rows: Rows) -> Iterator[str]:
        assert self.server is not None
        assert self.services is not None
        live = {client.wire.protocol.id for customer in self.customers for client in customer.clients
                if client.wire.protocol is not None and client.session.bound}  # fmt: skip
        if rows.binds.keys() != live:
            yield f"the store has the binds {sorted(rows.binds)}, and there are {sorted(live)}"
        if self.services.delay._under_way or self.services.departed:
            yield f"the listener still holds {self.services.delay._under_way} {self.services.departed}"
        for connection in self.server._connections:
            if connection.session.unanswered or connection.session.in_flight:
                yield f"the bind {connection.id} still holds something"
        names = [copies for each in self.services.resubmissions._accounts.values() for copies in each.values()]
        if any(copies.under_way for copies in names):
            yield "a name of a submission is still under way"


def patched(chance: random.Random) -> dict[str, Any]:
    """Returns attributes of the connection's module in these worlds, by name."""
    return {**LIMITS, "unacknowledged": lambda wire: wire.unread, "randbits": chance.getrandbits}
