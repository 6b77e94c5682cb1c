"""A customer's request becomes a submit_sm at an operator; the operator's receipt becomes a POST to the customer."""

import contextlib
import json
import re
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Interop
from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.peers import ROOT, node_script
from tests.support.process import Admin, GatewayProcess, Process, SimulatorProcess, eventually
from tests.support.sink import Received
from tests.support.slowness import Slowness

pytestmark = pytest.mark.slow

LONG = "The quick brown fox {jumps} over the lazy dog. " * 5
"""235 characters, 245 septets: two segments."""

Genuine = Callable[[str, dict[str, str], bytes], bool]


def documented_check() -> Genuine:
    """The sample code of the page that customers read."""
    page = (ROOT / "docs" / "receipts.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    genuine: Genuine = names["genuine"]
    return genuine


def assert_genuine(received: Received, secret: str) -> None:
    genuine = documented_check()
    assert genuine(secret, received.headers, received.body)
    assert not genuine(secret, received.headers, received.body + b"x")
    assert not genuine("whsec_" + "A" * 43 + "=", received.headers, received.body)


def ledger(admin: Admin) -> list[tuple[str, Decimal]]:
    entries = admin("account", "ledger", "acme", "--limit", "1000")["entries"]
    return [(entry["kind"], Decimal(entry["amount"])) for entry in entries]


class NpmCentre(Process):
    """npm's `smpp` as a message centre."""

    def __init__(self, folder: Path) -> None:
        command, environment = node_script("smsc.js", "smpp")
        super().__init__(folder, "npm", command, environment)
        self.port = int(json.loads(self.first_line())["port"])

    def seen(self, event: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.out.rpartition("\n")[0].splitlines()]
        return [line for line in lines if line["event"] == event]


@pytest.fixture
def npm(tmp_path: Path) -> Iterator[NpmCentre]:
    with NpmCentre(tmp_path) as centre:
        yield centre


@pytest.mark.peer
@pytest.mark.interop
@pytest.mark.parametrize("binding", ["transceiver", "transmitter+receiver"])
def test_with_npm_smpp_as_the_operator(
    npm: NpmCentre, admin: Admin, data: Path, sink: BackgroundSink, binding: str, interop: Interop
) -> None:
    account = admin.account("acme", "10", "--timezone", "Asia/Tokyo")
    admin.operator(npm.port, "npm", "", "--bind", binding)
    admin("price", "set", "--prefix", "44", "--price", "0.035")
    with GatewayProcess(data) as gateway, contextlib.ExitStack() as stack:
        v1 = stack.enter_context(Customer(gateway.url, "acme", account["api_key"]))
        v2 = stack.enter_context(Customer(gateway.url, "acme", account["password"]))
        receipt = {"dlr": "yes", "dlr_url": sink.url()}

        first = v2.send(2, to="447700900000", content="Grüße {€}", **receipt)
        assert first["Rate"] == 0.035
        undelivered = v2.send(2, to="447700900001", content="Hi", **receipt)
        unicode = v2.send(2, to="491700000000", content="Привет 🦊", **receipt)
        long = v1.send(1, to="491700000002", content=LONG, **receipt)
        assert long["Rate"] == 2
        for sent in (first, undelivered, unicode, long):
            received = sink.receipt(sent["Id"])
            assert_genuine(received, account["signing_secret"])
        form = sink.receipt(first["Id"]).form
        assert (form["message_status"], form["err"], form["text"]) == ("DELIVRD", "000", "Grüße {€}")
        form = sink.receipt(undelivered["Id"]).form
        assert (form["message_status"], form["err"]) == ("UNDELIV", "042")
        # one for each message, though the long one has two parts
        assert len(sink.requests) == 4

        eventually(lambda: len(npm.seen("receipt answered")) == 5, "npm's receipts answered")
        assert {line["status"] for line in npm.seen("receipt answered")} == {0}
        assert v1.balance() == "6.93"
        assert gateway.stop() == 0
    binds = npm.seen(f"bind_{binding.split('+')[0]}")
    assert [(line["system_id"], line["password"]) for line in binds] == [("esme", "secret")]
    assert npm.seen("unbind")
    submits = {line["destination_addr"]: line for line in npm.seen("submit_sm")}
    assert submits["491700000000"]["text"] == "Привет 🦊"
    assert submits["491700000000"]["data_coding"] == 8
    parts = [line for line in npm.seen("submit_sm") if line["destination_addr"] == "491700000002"]
    assert [part["udh"][-4:] for part in parts] == ["0201", "0202"]
    assert "".join(part["text"] for part in parts) == LONG
    assert sorted(ledger(admin)) == sorted(
        [
            ("top-up", Decimal(10)),
            *[("charge", Decimal("-0.035"))] * 2,
            ("charge", Decimal(-1)),
            ("charge", Decimal(-2)),
        ]
    )
    admin.assert_books_right()
    interop(
        "npm `smpp`", "SMSC", "gateway",
        f"bind as {binding}", "unbind", "GSM 03.38", "UCS-2", "long messages by `udh8`",
        "receipts, final states and `err`",
    )  # fmt: skip


@pytest.mark.peer
@pytest.mark.interop
@pytest.mark.parametrize(
    ("concatenation", "header", "places"),
    [
        ("udh16", True, [("short_message", None)] * 4),
        ("sar", False, [("short_message", n) for n in (1, 2, 3, 4)]),
        ("payload", True, [("message_payload", None)] * 4),
        ("whole", False, [("message_payload", None)]),
    ],
)
@pytest.mark.extended
def test_every_way_to_send_a_long_message_is_read_alike(
    npm: NpmCentre, admin: Admin, data: Path, sink: BackgroundSink, concatenation: str, header: bool,
    places: list[tuple[str, int | None]], interop: Interop,
) -> None:  # fmt: skip
    account = admin.account("acme", "10")
    admin.operator(npm.port, "npm")
    admin("connector", "set", "npm", f"concatenation={concatenation}")
    content = "Grüße {€} " * 40
    with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", account["api_key"]) as customer:
        sent = customer.send(1, to="491700000002", content=content, dlr="yes", dlr_url=sink.url())
        assert sent["Rate"] == 4
        assert sink.receipt(sent["Id"]).form["message_status"] == "DELIVRD"
        submitted = [each for each in customer.events(sent["Id"]) if each == "Submitted"]
        assert len(submitted) == 4, "each segment that was paid for has left"
        assert customer.balance() == "6"
        assert gateway.stop() == 0
    submits = npm.seen("submit_sm")
    assert [(line["where"], line["sar"][2]) for line in submits] == places
    assert {line["udh"] is not None for line in submits} == {header}
    assert "".join(line["text"] for line in submits) == content
    admin.assert_books_right()
    interop("npm `smpp`", "SMSC", "gateway", f"long messages by `{concatenation}`")


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[SimulatorProcess]:
    with SimulatorProcess(tmp_path, receipt_delay_ms=20) as process:
        yield process


@pytest.mark.interop
def test_with_the_simulated_operator(
    simulator: SimulatorProcess, admin: Admin, data: Path, sink: BackgroundSink, interop: Interop
) -> None:
    account = admin.account("acme", "20")
    admin.operator(simulator.port)
    with GatewayProcess(data) as gateway, contextlib.ExitStack() as stack:
        v1 = stack.enter_context(Customer(gateway.url, "acme", account["api_key"]))
        v2 = stack.enter_context(Customer(gateway.url, "acme", account["password"]))
        assert v1.get("/health/ready").status == 200

        # what needs no receipt, by form and by JSON, to one and to several
        plain = v1.send(1, to="491700000001", content="Hello")
        assert plain["MessageStatus"] == "Sent"
        batch = v1.document(
            "/api/v1/messages",
            {"to": ["491700000002", "491700000003", "491700000002"], "from": "12345", "content": "To%20both"},
        ).json
        assert [each["To"] for each in batch["Messages"]] == ["491700000002", "491700000003"]
        assert (batch["Status"], batch["Rate"]) == ("00", 2)

        # each kind of end, with a receipt
        expected = {
            "491700000004": ("DELIVRD", "000"),
            "491700009001": ("UNDELIV", "001"),
            "491700009002": ("EXPIRED", "002"),
            "491700009007": ("REJECTD", "011"),
            "491700009010": ("DELIVRD", "000"),
            "491700009011": ("DELIVRD", "000"),
            "491700009012": ("DELIVRD", "000"),
        }
        sent = {to: v2.send(2, to=to, content="With", dlr="1", dlr_url=sink.url())["Id"] for to in expected}
        ends = {to: sink.receipt(message).form for to, message in sent.items()}
        assert {to: (form["message_status"], form["err"]) for to, form in ends.items()} == expected
        for received in sink.requests:
            assert_genuine(received, account["signing_secret"])
        # two messages at once to one receiver: each has its own
        assert len({received.headers["webhook-id"] for received in sink.requests}) == len(expected)

        # the refused one was given back; its record and its history say so
        refused = sent["491700009007"]
        assert v1.get(f"/api/v1/messages/{refused}").json["Status"] == "Failed"
        delivered = sent["491700000004"]
        assert v1.get(f"/api/v1/messages/{delivered}").json["Status"] == "Sent"
        eventually(lambda: "Callback" in v1.events(delivered), "the callback in the history")
        assert v1.events(delivered) == ["Accepted", "Charged", "Submitted", "Final", "Callback"]
        assert "Refunded" in v1.events(refused)
        assert v1.balance() == str(20 - 3 - 6)

        listed = v1.get("/api/v1/messages?limit=100").json
        assert listed["count"] == 3 + len(expected)
        assert v1.get(f"/api/v1/messages/{batch['Id']}").json["count"] == 2
        assert gateway.stop() == 0
    assert simulator.stop() == 0
    submitted = {pdu["destination_addr"]: pdu for pdu in simulator.submits()}
    assert bytes.fromhex(submitted["491700000002"]["short_message"]) == b"To both"
    # nobody is told of its end, which is known all the same
    assert submitted["491700000001"]["registered_delivery"] == 1
    assert submitted["491700000004"]["registered_delivery"] & 1
    assert len(simulator.submits()) == 3 + len(expected)
    amounts = ledger(admin)
    assert sum(amount for _, amount in amounts) == Decimal(admin.balance()) == 11
    assert sorted(kind for kind, _ in amounts) == ["charge"] * (2 + len(expected)) + ["refund", "top-up"]
    admin.assert_books_right()
    interop(
        "our simulator", "SMSC", "gateway",
        "refusals", "receipts early, twice and on the way", "receipts, final states and `err`",
    )  # fmt: skip


def test_the_same_reference_again_sends_nothing_again(simulator: SimulatorProcess, admin: Admin, data: Path) -> None:
    account = admin.account("acme", "5")
    admin.operator(simulator.port)
    with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", account["api_key"]) as customer:
        fields = {"to": "491700000001", "content": "Once", "reference": "order-1"}
        first = customer.send(1, **fields)
        assert customer.send(1, **fields) == first
        gateway.kill()
    with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", account["api_key"]) as customer:
        assert customer.send(1, **fields) == first
        assert customer.balance() == "4"
        other = customer.form("/api/v1/messages", {**fields, "from": "Heliograph", "content": "Another"})
        assert (other.status, other.json["Status"]) == (409, "09")
        eventually(lambda: simulator.destinations(), "the message")
        assert gateway.stop() == 0
    assert simulator.stop() == 0
    # what was in doubt at the kill may have been sent twice, and no more
    assert len(simulator.destinations()) <= 2


def test_a_lonely_message_has_its_receipt_at_once(
    simulator: SimulatorProcess, admin: Admin, data: Path, sink: BackgroundSink
) -> None:
    account = admin.account()
    admin.operator(simulator.port)
    with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", account["password"]) as customer:
        # nothing else is going on that could carry it along
        sent = customer.send(2, to="491700000001", content="Alone", dlr="1", dlr_url=sink.url())
        began = time.monotonic()
        with Slowness() as slowness:
            assert sink.receipt(sent["Id"]).form["message_status"] == "DELIVRD"
        assert time.monotonic() - began < slowness.within(5)
        assert gateway.stop() == 0
