"""Kannel on either side: its bearerbox as a client of the simulated operator, its test centre as our operator."""

import contextlib
import urllib.parse
import urllib.request
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from tests.conftest import Interop
from tests.e2e.test_inbound import Phones, parts, whole
from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.peers import foreign_program
from tests.support.ports import free_port, listens
from tests.support.process import Admin, GatewayProcess, Process, SimulatorProcess, eventually
from tests.support.sink import Answer
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
smsc-username = "{username}"
smsc-password = "{password}"
system-type = "VMA"
interface-version = 34
reconnect-delay = 1
throughput = 50
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
{service}
"""

GET_URL = 'get-url = "{url}?from=%p&to=%P&content=%b&coding=%c&keyword=%k"\ncatch-all = true'
"""What Kannel tells of a message from a phone, by the names of our fields."""


class Kannel:
    """bearerbox with an smsbox, bound to a port as a client."""

    def __init__(
        self,
        folder: Path,
        port: int,
        service: str = 'text = "No service specified"',
        username: str = "kannel",
        password: str = "secret",
    ) -> None:
        """`service` is the line of its sms-service that says what becomes of messages from phones."""
        self.http = free_port()
        self.bound_to = port
        self.configuration = folder / "kannel.conf"
        self.box = free_port()
        text = CONFIGURATION.format(
            admin=free_port(),
            box=self.box,
            port=port,
            http=self.http,
            transceiver="true",
            service=service,
            username=username,
            password=password,
        )
        self.configuration.write_text(text)

    @contextlib.contextmanager
    def running(self, folder: Path) -> Iterator[None]:
        bearerbox, smsbox = foreign_program("bearerbox"), foreign_program("smsbox")
        configuration = str(self.configuration)
        with Process(folder, "bearerbox", [bearerbox, configuration]) as bearer:
            bearer.until(lambda: listens(self.box), "bearerbox listens to smsbox")
            with Process(folder, "smsbox", [smsbox, configuration]) as box:
                # It listens before it is connected, and a request in between makes it panic.
                box.until(lambda: "Connected to bearerbox" in box.err, "smsbox is connected to bearerbox")
                box.until(lambda: listens(self.http), "smsbox listens to customers")
                yield

    def send(self, **fields: str) -> None:
        query = urllib.parse.urlencode({"username": "tester", "password": "foobar", **fields})
        url = f"http://127.0.0.1:{self.http}/cgi-bin/sendsms?{query}"
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            assert answer.status == 202


def kannel_fields(query: str) -> dict[str, str]:
    """What a receiver makes of a get-url: the text is in UTF-16 where %c is 2, else in UTF-8."""
    fields = dict(urllib.parse.parse_qsl(query, encoding="latin-1"))
    charset = "utf-16-be" if fields["coding"] == "2" else "utf-8"
    return fields | {"content": fields["content"].encode("latin-1").decode(charset)}


@pytest.fixture
def kannel(tmp_path: Path) -> Iterator[tuple[Kannel, SimulatorProcess]]:
    with SimulatorProcess(tmp_path, receipt_delay_ms=50) as simulator:
        kannel = Kannel(tmp_path, simulator.port)
        with kannel.running(tmp_path):
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


def test_bearerbox_binds_to_the_gateway(tmp_path: Path, sink: BackgroundSink, interop: Interop) -> None:
    """Kannel sends over our SMPP server, and gets its receipts and phones' messages there."""
    settings = {"HELIOGRAPH_SMPP_SERVER_LISTEN": "127.0.0.1:0"}
    with GatewayProcess(tmp_path / "data", dev=True, settings=settings) as gateway:
        own = Admin(tmp_path / "data")
        own("account", "set", "demo", "inbound_way=bind")
        port = int(gateway.smpp.rpartition(":")[2])
        box = Kannel(tmp_path, port, GET_URL.format(url=sink.url("/phones")), "demo", "demosmpp")
        with box.running(tmp_path):
            receipt = {"dlr-mask": "19", "dlr-url": sink.url("/receipts") + "?state=%d&answer=%A"}
            box.send(**{"from": "Kannel", "to": "447700900123", "text": "Hello {world}", **receipt})
            box.send(**{"from": "Kannel", "to": "447700909001", "text": "Not this one", **receipt})
            box.send(**{"from": "Kannel", "to": "12", "text": "Refused", **receipt})
            box.send(**{"from": "Kannel", "to": "447700900124", "text": "Привет", "coding": "2", "charset": "UTF-8"})
            box.send(**{"from": "Kannel", "to": "447700900125", "text": "x" * 200})
            box.send(**{"from": "3388", "to": "447700909024", "text": "Will you write back?"})

            def queries(path: str) -> list[str]:
                targets = [urllib.parse.urlsplit(received.target) for received in sink.requests]
                return [target.query for target in targets if target.path == path]

            def states() -> list[str]:
                return sorted(urllib.parse.parse_qs(query)["state"][0] for query in queries("/receipts"))

            # Kannel's dlr-mask: 1 delivered, 2 undelivered, 16 refused by the centre
            eventually(lambda: states() == ["1", "16", "2"], "Kannel's callbacks")
            eventually(lambda: queries("/phones"), "the phone's answer")
        phone = kannel_fields(queries("/phones")[0])
        assert (phone["from"], phone["to"]) == ("+447700909024", "3388")
        with Customer(gateway.url, "demo", "demo-api-key") as customer:
            sent = customer.get("/api/v1/messages").json["messages"]
        texts = {"Hello {world}", "Not this one", "Привет", "x" * 153, "x" * 47, "Will you write back?"}
        assert texts <= {each["Content"] for each in sent}  # smsbox answers phones with a text of its own
    interop(
        "Kannel's bearerbox", "ESME", "gateway",
        "bind as transceiver", "GSM 03.38", "UCS-2", "long messages by `udh8`", "receipts, DELIVRD and UNDELIV",
        "refusals", "messages from phones",
    )  # fmt: skip


def test_bearerbox_pays_once_and_has_all_receipts_over_a_kill(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink, interop: Interop
) -> None:
    """Kannel submits what was not answered once more, when it has bound again: equal octets, which are paid once."""
    port, numbers = free_port(), range(60)
    settings = {"HELIOGRAPH_SMPP_SERVER_LISTEN": f"127.0.0.1:{port}"}
    admin.account("acme", "1000")
    password = admin("account", "smpp-password", "acme")["smpp_password"]
    admin("account", "set", "acme", "smpp_dedupe_s=600")
    with SimulatorProcess(tmp_path, receipt_delay_ms=200) as operator:
        admin.operator(operator.port)
        with GatewayProcess(data, settings=settings) as gateway:
            box = Kannel(tmp_path, port, username="acme", password=password)
            with box.running(tmp_path):
                for number in numbers:
                    receipt = {"dlr-mask": "19", "dlr-url": sink.url("/receipts") + f"?number={number}&state=%d"}
                    box.send(
                        **{"from": "Kannel", "to": f"4477009001{number:02}", "text": f"Number {number}", **receipt}
                    )
                eventually(lambda: len(operator.submits()) >= len(numbers) // 3, "the first messages")
                gateway.kill()
                with GatewayProcess(data, settings=settings, name="again") as again:

                    def told() -> list[dict[str, str]]:
                        queries = [urllib.parse.urlsplit(received.target).query for received in sink.requests]
                        return [dict(urllib.parse.parse_qsl(query)) for query in queries]

                    eventually(lambda: {int(each["number"]) for each in told()} == set(numbers), "all receipts")
                    assert {each["state"] for each in told()} == {"1"}
                    assert again.stop() == 0
    assert Decimal(admin.balance()) == 1000 - len(numbers)
    admin.assert_books_right()
    interop("Kannel's bearerbox", "ESME", "gateway", "SIGKILL of the gateway: each message charged once, all receipts")


def test_one_receiver_reads_messages_from_phones_of_either_gateway(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink, interop: Interop
) -> None:
    """The fields of Kannel's get-url have what ours have, by docs/migrating-from-kannel.md, and the answer replies."""
    messages = [
        whole("pizza", text="PIZZA with €5 {olives}", gsm=True, **{"from": "491701234561"}),
        whole("fox", text="Guten Tag 🦊", **{"from": "491701234562"}),
        *parts("long", "udh8", 7, 3, **{"from": "491701234563"}),
    ]
    sink.sink.default = Answer(200, {"Content-Type": "text/plain; charset=UTF-8"}, "Grüße".encode())
    kept: list[list[tuple[str, ...]]] = []
    replies: list[list[tuple[str, ...]]] = []

    def noted(operator: Phones, fields: list[dict[str, str]]) -> None:
        kept.append(sorted(tuple(each[name] for name in ("from", "to", "content")) for each in fields))
        replies.append(sorted(tuple(each.values()) for each in operator.submitted()))

    with Phones(tmp_path, messages, pause_ms=50) as operator:
        kannel = Kannel(tmp_path, operator.port, GET_URL.format(url=sink.url("/kannel")))
        with kannel.running(tmp_path):
            eventually(lambda: len(operator.submitted()) == 3, "Kannel's replies")
        queries = [urllib.parse.urlsplit(received.target).query for received in sink.requests]
        noted(operator, [kannel_fields(query) for query in queries])
    told = len(sink.requests)
    with Phones(tmp_path, messages, pause_ms=50) as operator:
        admin.operator(operator.port)
        admin.account("acme", "10")
        admin("account", "set", "acme", f"inbound_url={sink.url('/ours')}", "inbound_reply=body")
        admin("number", "add", "3388", "--account", "acme")
        with GatewayProcess(data) as gateway:
            eventually(lambda: len(operator.submitted()) == 3, "our replies")
            assert gateway.stop() == 0
        noted(operator, [received.form for received in sink.requests[told:]])
    assert kept[0] == kept[1]
    assert replies[0] == replies[1]
    interop(
        "Kannel's smsbox", "receiver", "gateway",
        "messages from phones as its get-url has them", "replies in the answer",
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
