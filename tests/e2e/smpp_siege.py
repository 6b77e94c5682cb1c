"""The SMPP server under siege: `make siege SMPP=1`.

Hostile clients are strangers with addresses of their own on loopback, or a customer with four binds. A good customer
beside them submits over a bind and sends over HTTP, one message after the other, and binds again each time. With
`--write` the table goes into docs/security.md.
"""

import base64
import contextlib
import itertools
import multiprocessing
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection
from multiprocessing.synchronize import Event
from pathlib import Path

from heliograph.smpp import codec, tlv
from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from heliograph.smpp.framer import Framer
from tests.e2e.siege import (
    GOOD,
    HALF_HELLO,
    HOSTILE,
    PAUSE_S,
    SETTLE_S,
    TIMEOUT_S,
    Attack,
    attacked,
    half_requests,
    read_options,
    row_of,
    write_table,
)
from tests.support.certificates import CertificateAuthority
from tests.support.process import Admin, GatewayProcess, SimulatorProcess

BEGIN = "<!-- siege of SMPP: written by `make siege SMPP=1 WRITE=1` -->"
END = "<!-- end of siege of SMPP -->"

BINDS = 4
"""Binds of the hostile customer: all that an account has."""

STRANGERS = 64
"""Addresses of hostile strangers."""


@dataclass
class Seen:
    """Seconds that the good customer waited: for submits, for sends over HTTP, and for binds; and what failed."""

    submits: list[float] = field(default_factory=list)
    sends: list[float] = field(default_factory=list)
    binds: list[float] = field(default_factory=list)
    failed: int = 0


class PlainClient:
    """A bind over a blocking socket."""

    def __init__(self, port: int, name: str, password: str, host: str = GOOD) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), TIMEOUT_S, source_address=(host, 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._framer = Framer()
        self._sequence = itertools.count(2)
        self.status = self._ask(codec.encode(p.BindTransmitter(1, 0, system_id=name, password=password)), 1)

    def submit(self, to: str) -> int:
        """Submits a message; returns the status of the answer."""
        sequence = next(self._sequence)
        return self._ask(codec.encode(submission(to, sequence)), sequence)

    def _ask(self, octets: bytes, sequence: int) -> int:
        self.socket.sendall(octets)
        while data := self.socket.recv(65_536):
            for frame in self._framer.feed(data):
                command, status, number = (int.from_bytes(frame[at : at + 4], "big") for at in (4, 8, 12))
                if command & c.RESPONSE_BIT and number == sequence:
                    return status
        raise ConnectionError("it was closed")


def submission(to: str, sequence: int = 1) -> p.SubmitSm:
    return p.SubmitSm(sequence, 0, source_addr="Siege", destination_addr=to, short_message=b"Hello")


# --- strangers


def junk(port: int, _: str, over: Event) -> None:
    """Strangers send PDUs without sense, as fast as they are let, and come again."""
    octets = codec.HEADER.pack(16, 0x1234, 0, 1) * 4_000

    def flood(stranger: int) -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):
                opened = socket.create_connection(
                    ("127.0.0.1", port), TIMEOUT_S, source_address=(f"127.0.7.{stranger + 1}", 0)
                )
                with opened:
                    opened.sendall(octets)
                    while opened.recv(65_536):
                        pass

    _in_threads(flood, STRANGERS)


def wrong_binds(port: int, _: str, over: Event) -> None:
    """Strangers bind with wrong passwords, without a pause, half of them by the good customer's name."""

    def guess(stranger: int) -> None:
        for number in itertools.count():
            if over.is_set():
                return
            name = "good" if number % 2 else f"nobody{number}"
            with contextlib.suppress(OSError):
                PlainClient(port, name, f"no{number}", f"127.0.7.{stranger + 1}").socket.close()

    _in_threads(guess, STRANGERS)


# --- a hostile customer


def floods(octets: Callable[[], bytes], *, reads: bool = True) -> Callable[[int, str, Event], None]:
    """Returns an attack of a customer who writes these octets over all binds, as fast as they are taken; without
    `reads` the answers are not read."""

    def attack(port: int, password: str, over: Event) -> None:
        block = octets()

        def flood(_: int) -> None:
            while not over.is_set():
                with contextlib.suppress(OSError):
                    bound = PlainClient(port, "hostile", password, HOSTILE).socket
                    if reads:
                        threading.Thread(target=_drain, args=(bound,), daemon=True).start()
                    with bound:
                        while not over.is_set():
                            bound.sendall(block)
                time.sleep(0.05)

        _in_threads(flood, BINDS)

    return attack


def _drain(bound: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while bound.recv(1 << 20):
            pass


def _multi() -> bytes:
    """submit_multi with 254 destinations of nonsense, and a text of 1,500 characters."""
    destinations = tuple(p.Address(1, 1, str(number)) for number in range(254))
    payload = ((tlv.MESSAGE_PAYLOAD, b"x" * 1_500),)
    return b"".join(
        codec.encode(p.SubmitMulti(number, 0, payload, source_addr="Siege", destinations=destinations))
        for number in range(1, 9)
    )


def _refused() -> bytes:
    return codec.encode(submission("12", 7)) * 500


def _good() -> bytes:
    return codec.encode(submission("447700900123", 7)) * 500


def _queries() -> bytes:
    return codec.encode(p.QuerySm(7, message_id="019e2b1c-5f3a-7000-8c1d-e1f5a0b7c3d2")) * 500


def _answers() -> bytes:
    return codec.encode(p.DeliverSmResp(7, 0)) * 1_000


def _enquiries() -> bytes:
    return codec.encode(p.EnquireLink(7)) * 1_000


def slow(port: int, password: str, over: Event) -> None:
    """Writes a submit_sm of 64 KiB an octet at a time over all binds."""
    octets = codec.encode(
        p.SubmitSm(7, 0, ((tlv.MESSAGE_PAYLOAD, b"x" * 65_000),), source_addr="Siege", destination_addr="12")
    )
    bound = [PlainClient(port, "hostile", password, HOSTILE).socket for _ in range(BINDS)]
    for at in range(len(octets)):
        if over.is_set():
            return
        for each in bound:
            with contextlib.suppress(OSError):
                each.sendall(octets[at : at + 1])
        time.sleep(0.001)


def _in_threads(work: Callable[[int], None], count: int) -> None:
    threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def _nothing(port: int, _: str, over: Event) -> None:
    """Does nothing."""


HALF_BIND = codec.encode(p.BindTransmitter(1, 0, system_id="good", password="x"))[:20]

ATTACKS = [
    Attack("no attack", _nothing),
    Attack("4,200 connections with half a bind each", partial(half_requests, half=HALF_BIND)),
    Attack("4,200 TLS handshakes that never end", partial(half_requests, half=HALF_HELLO), by_tls=True),
    Attack("64 addresses that send PDUs without sense", junk),
    Attack("64 addresses that bind with wrong passwords", wrong_binds),
    Attack("customer: submit_multi with 254 bad numbers each", floods(_multi)),
    Attack("customer: submit_sm to bad numbers", floods(_refused)),
    Attack("customer: good submit_sm without a pause", floods(_good)),
    Attack("customer: query_sm without a pause", floods(_queries)),
    Attack("customer: answers to nothing", floods(_answers)),
    Attack("customer: enquire_link, reading no answer", floods(_enquiries, reads=False)),
    Attack("customer: one octet a millisecond", slow),
]


def watch(port: int, http_port: int, password: str, authorization: str, seconds: float) -> Seen:
    """Measures what the good customer sees."""
    seen = Seen()
    http = HTTPConnection("127.0.0.1", http_port, timeout=TIMEOUT_S, source_address=(GOOD, 0))
    headers = {"Authorization": authorization, "Content-Type": "application/json"}
    bound = PlainClient(port, "good", password)

    def timed(times: list[float], call: Callable[[], bool]) -> None:
        begun = time.perf_counter()
        try:
            seen.failed += not call()
        except OSError:
            seen.failed += 1
        times.append(time.perf_counter() - begun)
        time.sleep(PAUSE_S)

    def send() -> bool:
        http.request("POST", "/api/v1/messages", b'{"to":"447700900123","from":"Good","content":"Hello"}', headers)
        answer = http.getresponse()
        answer.read()
        return answer.status == 200

    def bind() -> bool:
        fresh = PlainClient(port, "good", password)
        fresh.socket.close()
        return fresh.status in (0, c.CommandStatus.ESME_RALYBND)  # the end of the one before may be under way

    until = time.monotonic() + seconds
    while time.monotonic() < until:
        timed(seen.submits, lambda: bound.submit("447700900123") == 0)
        timed(seen.sends, send)
        timed(seen.binds, bind)
    return seen


def row(attack: Attack, seen: Seen) -> str:
    return row_of(attack, (seen.submits, seen.sends, seen.binds), seen.failed)


HEAD = (
    "| attack | submit_sm: median, ms | submit_sm: p99 | HTTP: median, ms | HTTP: p99 | bind: median, ms | bind: p99"
    " | failed |\n|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    given = read_options("make siege SMPP=1", __doc__)
    multiprocessing.set_start_method("fork")
    found: list[str] = []
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory(prefix="siege-") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        admin = Admin(folder / "data")
        key = admin.account("good", "1000000")["api_key"]
        admin.account("hostile", "1000000")
        good, hostile = (admin("account", "smpp-password", who)["smpp_password"] for who in ("good", "hostile"))
        admin.operator(stack.enter_context(SimulatorProcess(folder, magic=False, logged=False)).port)
        shown = CertificateAuthority(folder).issue()
        settings = {
            "HELIOGRAPH_SMPP_SERVER_LISTEN": "127.0.0.1:0",
            "HELIOGRAPH_SMPP_SERVER_TLS_LISTEN": "127.0.0.1:0",
            "HELIOGRAPH_SMPP_SERVER_CERT_FILE": str(shown.certificate),
            "HELIOGRAPH_SMPP_SERVER_KEY_FILE": str(shown.key),
        }
        gateway = stack.enter_context(GatewayProcess(folder / "data", settings=settings, anew=True))
        port, tls_port = (int(address.rpartition(":")[2]) for address in (gateway.smpp, gateway.smpp_tls))
        authorization = "Basic " + base64.b64encode(f"good:{key}".encode()).decode()
        for attack in (each for each in ATTACKS if given.only in each.name):
            with attacked(attack, tls_port if attack.by_tls else port, hostile):
                time.sleep(SETTLE_S)
                found.append(row(attack, watch(port, gateway.port, good, authorization, given.seconds)))
            print(found[-1], flush=True)
    if given.write:
        write_table(BEGIN, END, [HEAD, *found])


if __name__ == "__main__":
    main()
