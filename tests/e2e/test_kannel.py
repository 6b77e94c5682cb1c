"""Kannel on either side: its bearerbox as a client of the simulated operator, its test centre as our operator."""

import contextlib
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Interop
from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.peers import foreign_program
from tests.support.process import Admin, GatewayProcess, Process, SimulatorProcess, eventually, free_port, listens
from tests.support.timeouts import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.peer, pytest.mark.interop]

CONFIGURATION = """
group = core
admin-port = {admin}
smsbox-port = {box}
admin-password = bar
box-deny-ip = "*.*.*.*"
box-allow-ip = "127.0.0.1"

group = smsc
smsc = smpp
smsc-id = centre
host = 127.0.0.1
port = {port}
transceiver-mode = {transceiver}
smsc-username = "kannel"
smsc-password = "secret"
system-type = "VMA"
interface-version = 34
source-addr-autodetect = yes
dest-addr-ton = 1
dest-addr-npi = 1

group = smsbox
bearerbox-host = 127.0.0.1
sendsms-port = {http}

group = sendsms-user
username = tester
password = foobar
max-messages = 10
concatenation = true

group = sms-service
keyword = default
text = "No service specified"
"""


class Kannel:
    """bearerbox with an smsbox, bound to a port as a client."""

    def __init__(self, folder: Path, port: int) -> None:
        self.http = free_port()
        self.bound_to = port
        self.configuration = folder / "kannel.conf"
        self.box = free_port()
        text = CONFIGURATION.format(admin=free_port(), box=self.box, port=port, http=self.http, transceiver="true")
        self.configuration.write_text(text)

    def send(self, **fields: str) -> None:
        query = urllib.parse.urlencode({"username": "tester", "password": "foobar", **fields})
        url = f"http://127.0.0.1:{self.http}/cgi-bin/sendsms?{query}"
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            assert answer.status == 202


@pytest.fixture
def kannel(tmp_path: Path) -> Iterator[tuple[Kannel, SimulatorProcess]]:
    bearerbox, smsbox = foreign_program("bearerbox"), foreign_program("smsbox")
    with contextlib.ExitStack() as stack:
        simulator = stack.enter_context(SimulatorProcess(tmp_path, receipt_delay_ms=50))
        kannel = Kannel(tmp_path, simulator.port)
        configuration = str(kannel.configuration)
        bearer = stack.enter_context(Process(tmp_path, "bearerbox", [bearerbox, configuration]))
        bearer.until(lambda: listens(kannel.box), "bearerbox listens to smsbox")
        box = stack.enter_context(Process(tmp_path, "smsbox", [smsbox, configuration]))
        box.until(lambda: listens(kannel.http), "smsbox listens to customers")
        yield kannel, simulator


def test_bearerbox_binds_to_the_simulator_and_gets_its_receipts(
    kannel: tuple[Kannel, SimulatorProcess], sink: BackgroundSink, interop: Interop
) -> None:
    box, simulator = kannel
    told = sink.url("/told") + "?state=%d&answer=%A"
    receipt = {"dlr-mask": "19", "dlr-url": told}
    box.send(**{"from": "Kannel", "to": "447700900123", "text": "Hello {world}", **receipt})
    box.send(**{"from": "Kannel", "to": "447700909001", "text": "Not this one", **receipt})
    box.send(**{"from": "Kannel", "to": "447700900124", "text": "Привет", "coding": "2", "charset": "UTF-8"})
    box.send(**{"from": "Kannel", "to": "447700900125", "text": "x" * 200})
    eventually(lambda: len(simulator.submits()) == 5, "Kannel's messages, the long one in two parts")
    first, *_ = [pdu for pdu in simulator.submits() if pdu["destination_addr"] == "447700900123"]
    assert bytes.fromhex(first["short_message"]) == b"Hello \x1b\x28world\x1b\x29"

    def states() -> set[str]:
        targets = [urllib.parse.urlsplit(received.target) for received in sink.requests]
        return {urllib.parse.parse_qs(target.query)["state"][0] for target in targets}

    # Kannel's dlr-mask: 1 delivered, 2 undelivered, 16 refused by the centre
    eventually(lambda: states() == {"1", "2"}, "Kannel's callbacks")
    interop(
        "Kannel's bearerbox", "ESME", "simulator",
        "bind as transceiver", "GSM 03.38", "UCS-2", "long messages by `udh8`", "receipts, DELIVRD and UNDELIV",
    )  # fmt: skip


def test_its_message_centre_takes_our_messages(tmp_path: Path, admin: Admin, data: Path, interop: Interop) -> None:
    centre = foreign_program("drive_smpp")
    account = admin.account()
    port = free_port()
    configuration = Kannel(tmp_path, port).configuration
    admin.operator(port, "kannel", "", "--bind", "transmitter+receiver")
    # the centre ends by itself a few seconds after the first bind, for want of a bearerbox
    quick = {"HELIOGRAPH_SMPP_RECONNECT_FIRST_S": "0.05", "HELIOGRAPH_SMPP_RECONNECT_MOST_S": "0.1"}
    with GatewayProcess(data, settings=quick) as gateway, Customer(gateway.url, "acme", account["api_key"]) as customer:
        sent = [customer.send(1, to=f"49170123456{n}", content=f"Number {n}")["Id"] for n in range(5)]
        command = [centre, "-v", "0", "-p", str(port), "-m", "5", "-c", str(configuration)]
        with Process(tmp_path, "drive_smpp", command) as process:
            eventually(lambda: "ESME has submitted all messages to SMSC" in process.err, "all messages at the centre")
            eventually(lambda: all("Submitted" in customer.events(each) for each in sent), "its answers")
            # its deliveries, which carry TLVs of receipts and are none, are answered too
            eventually(lambda: process.err.count("of type deliver_sm_resp") == 5, "our answers to its deliveries")
            for n in range(5):
                assert f"short_message = <Number {n}>" in process.err
        assert customer.balance() == "995"
        assert gateway.stop() == 0
    admin.assert_books_right()
    interop(
        "Kannel's drive_smpp", "SMSC", "gateway",
        "bind as transmitter+receiver", "bind again after it went", "deliver_sm that is no receipt",
    )  # fmt: skip
