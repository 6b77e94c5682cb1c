"""The whole gateway, with a message centre on Perl's Net::SMPP for its operator."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Interop
from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.peers import SCRIPTS, foreign_file, foreign_program
from tests.support.process import Admin, GatewayProcess, Process, eventually
from tests.support.timeouts import COMMAND_S

pytestmark = [pytest.mark.slow, pytest.mark.peer, pytest.mark.interop]

MODULE = Path("/usr/share/perl5/Net/SMPP.pm")
LONG = "The quick brown fox {jumps} over the lazy dog. " * 5


class PerlCentre(Process):
    """Net::SMPP as a message centre."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        perl = foreign_program("perl")
        foreign_file(MODULE, "Perl's Net::SMPP (Debian's libnet-smpp-perl)")
        super().__init__(folder, "perl", [perl, str(SCRIPTS / "smsc.pl"), *arguments])
        self.port = int(json.loads(self.first_line())["port"])

    def seen(self, event: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.out.rpartition("\n")[0].splitlines()]
        return [line for line in lines if line["event"] == event]


@pytest.fixture
def perl(tmp_path: Path) -> Iterator[PerlCentre]:
    with PerlCentre(tmp_path) as centre:
        yield centre


@pytest.mark.parametrize("binding", ["transceiver", "transmitter+receiver"])
def test_with_net_smpp_as_the_operator(
    perl: PerlCentre, admin: Admin, data: Path, sink: BackgroundSink, binding: str, interop: Interop
) -> None:
    account = admin.account("acme", "10")
    admin.operator(perl.port, "perl", "", "--bind", binding)
    admin("number", "add", "3388", "--account", "acme")
    with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", account["api_key"]) as customer:
        receipt = {"dlr": "yes", "dlr_url": sink.url()}
        texts = {
            "447700900000": "Hello {euro €}",
            "447700900001": "Not this one",
            "491700000000": "Привет 🦊",
            "491700000002": LONG,
        }
        sent = {to: customer.send(1, to=to, content=content, **receipt)["Id"] for to, content in texts.items()}
        ends = {to: sink.receipt(message).form for to, message in sent.items()}
        eventually(lambda: len(perl.seen("answered")) == 6, "five receipts and a phone's message answered")
        assert {line["status"] for line in perl.seen("answered")} == {0}
        eventually(lambda: admin("inbound", "list", "--account", "acme")["messages"], "the phone's message")
        (phone,) = admin("inbound", "list", "--account", "acme")["messages"]
        assert gateway.stop() == 0
    found = {to: (form["message_status"], form["err"]) for to, form in ends.items()}
    assert found == dict.fromkeys(texts, ("DELIVRD", "000")) | {"447700900001": ("UNDELIV", "042")}
    assert phone["content"] == "From a phone"
    assert perl.seen("unbind")
    submits = {line["destination_addr"]: bytes.fromhex(line["text"]) for line in perl.seen("submit_sm")}
    assert submits["447700900000"] == b"Hello \x1b\x28euro \x1b\x65\x1b\x29"
    assert submits["491700000000"].decode("utf-16-be") == texts["491700000000"]
    parts = [line for line in perl.seen("submit_sm") if line["destination_addr"] == "491700000002"]
    assert [bytes.fromhex(part["text"])[4:6].hex() for part in parts] == ["0201", "0202"]
    admin.assert_books_right()
    interop(
        "Perl's Net::SMPP", "SMSC", "gateway",
        f"bind as {binding}", "unbind", "GSM 03.38", "UCS-2", "long messages by `udh8`",
        "receipts, final states and `err`", "messages from phones",
    )  # fmt: skip


@pytest.mark.extended
def test_what_net_smpp_does_not_report_it_is_asked_for(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink, interop: Interop
) -> None:
    account = admin.account("acme", "10")
    with PerlCentre(tmp_path, "withhold") as perl:
        admin.operator(perl.port, "perl")
        admin("connector", "set", "perl", "query_after_s=60")
        with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", account["api_key"]) as customer:
            receipt = {"dlr": "yes", "dlr_url": sink.url()}
            texts = {"447700900000": "Hello", "447700900001": "Not this one", "491700000002": LONG}
            sent = {to: customer.send(1, to=to, content=content, **receipt)["Id"] for to, content in texts.items()}
            ends = {to: sink.receipt(message, COMMAND_S).form for to, message in sent.items()}
            assert gateway.stop() == 0
        assert {line["source_addr"] for line in perl.seen("query_sm")} == {"Heliograph"}
        asked = sorted(line["id"] for line in perl.seen("query_sm"))
        assert asked == sorted(line["id"] for line in perl.seen("submit_sm"))
    found = {to: (form["message_status"], form["err"]) for to, form in ends.items()}
    assert found == dict.fromkeys(texts, ("DELIVRD", "000")) | {"447700900001": ("UNDELIV", "042")}
    admin.assert_books_right()
    interop("Perl's Net::SMPP", "SMSC", "gateway", "states by query_sm")
