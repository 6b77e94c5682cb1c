"""The whole gateway, with message centres on foreign libraries for its operator."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Interop
from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.peers import ESMES, SCRIPTS, foreign_file, foreign_program
from tests.support.ports import free_port
from tests.support.process import Admin, GatewayProcess, Process, eventually
from tests.support.timeouts import COMMAND_S

pytestmark = [pytest.mark.slow, pytest.mark.peer, pytest.mark.interop]

MODULE = Path("/usr/share/perl5/Net/SMPP.pm")
LONG = "The quick brown fox {jumps} over the lazy dog. " * 5


class Centre(Process):
    """A message centre on a foreign library, which writes events as lines of JSON."""

    def __init__(self, folder: Path, peer: str, command: list[str]) -> None:
        super().__init__(folder, "centre", command)
        self.peer = peer
        self.port = int(json.loads(self.first_line())["port"])

    def seen(self, event: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.out.rpartition("\n")[0].splitlines()]
        return [line for line in lines if line["event"] == event]


def net_smpp(*arguments: str) -> list[str]:
    perl = foreign_program("perl")
    foreign_file(MODULE, "Perl's Net::SMPP (Debian's libnet-smpp-perl)")
    return [perl, str(SCRIPTS / "smsc.pl"), *arguments]


def smpp34() -> list[str]:
    return [str(foreign_file(ESMES, "smpp34")), str(SCRIPTS / "smsc_smpp34.py"), str(free_port())]


PERL, SMPP34 = "Perl's Net::SMPP", "PyPI `smpp34`"
CENTRES: dict[str, Callable[[], list[str]]] = {PERL: net_smpp, SMPP34: smpp34}


@pytest.fixture
def centre(peer: str, tmp_path: Path) -> Iterator[Centre]:
    with Centre(tmp_path, peer, CENTRES[peer]()) as centre:
        yield centre


# smpp34 1.5.0 does not take the answers of a client that is bound as a receiver.
@pytest.mark.parametrize(
    ("peer", "binding"),
    [
        (PERL, "transceiver"),
        (PERL, "transmitter+receiver"),
        pytest.param(SMPP34, "transceiver", marks=pytest.mark.extended),
    ],
)
def test_with_a_foreign_centre_as_the_operator(
    centre: Centre, admin: Admin, data: Path, sink: BackgroundSink, binding: str, interop: Interop
) -> None:
    account = admin.account("acme", "10")
    admin.operator(centre.port, "centre", "", "--bind", binding)
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
        eventually(lambda: len(centre.seen("answered")) == 6, "five receipts and a phone's message answered")
        assert {line["status"] for line in centre.seen("answered")} == {0}
        eventually(lambda: admin("inbound", "list", "--account", "acme")["messages"], "the phone's message")
        (phone,) = admin("inbound", "list", "--account", "acme")["messages"]
        assert gateway.stop() == 0
    found = {to: (form["message_status"], form["err"]) for to, form in ends.items()}
    assert found == dict.fromkeys(texts, ("DELIVRD", "000")) | {"447700900001": ("UNDELIV", "042")}
    assert phone["content"] == "From a phone"
    assert centre.seen("unbind")
    submits = {line["destination_addr"]: bytes.fromhex(line["text"]) for line in centre.seen("submit_sm")}
    assert submits["447700900000"] == b"Hello \x1b\x28euro \x1b\x65\x1b\x29"
    assert submits["491700000000"].decode("utf-16-be") == texts["491700000000"]
    parts = [line for line in centre.seen("submit_sm") if line["destination_addr"] == "491700000002"]
    assert {bytes.fromhex(part["text"])[4:6].hex() for part in parts} == {"0201", "0202"}
    admin.assert_books_right()
    interop(
        centre.peer, "SMSC", "gateway",
        f"bind as {binding}", "unbind", "GSM 03.38", "UCS-2", "long messages by `udh8`",
        "receipts, final states and `err`", "messages from phones",
    )  # fmt: skip


@pytest.mark.extended
def test_what_net_smpp_does_not_report_it_is_asked_for(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink, interop: Interop
) -> None:
    account = admin.account("acme", "10")
    with Centre(tmp_path, PERL, net_smpp("withhold")) as perl:
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
    interop(perl.peer, "SMSC", "gateway", "states by query_sm")
