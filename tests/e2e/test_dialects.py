"""What operators do that the specification leaves open or forbids, and the whole gateway before them."""

import contextlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.conftest import Interop
from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.peers import node_script
from tests.support.process import Admin, GatewayProcess, Process, SimulatorProcess, eventually

pytestmark = pytest.mark.slow

ENTITY = "1101456780000012345"

QUICK = {"HELIOGRAPH_SMPP_RECONNECT_FIRST_S": "0.1", "HELIOGRAPH_SMPP_RECONNECT_MOST_S": "0.2"}


class ForeignCentre(Process):
    """A message centre of `tests/peers`, on npm's `smpp`."""

    def __init__(self, folder: Path, script: str, *arguments: object) -> None:
        folder.mkdir(exist_ok=True)
        command, environment = node_script(script, "smpp")
        super().__init__(folder, "npm", [*command, *map(str, arguments)], environment)
        self.port = int(json.loads(self.first_line())["port"])

    def seen(self, event: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.out.rpartition("\n")[0].splitlines()]
        return [line for line in lines if line["event"] == event]


@pytest.mark.peer
@pytest.mark.interop
def test_an_operator_that_unbinds_with_messages_in_flight_gets_none_twice(
    tmp_path: Path, admin: Admin, data: Path, interop: Interop
) -> None:
    account = admin.account()
    numbers = [f"4917{n:08d}" for n in range(150)]
    with ForeignCentre(tmp_path, "unbinding.js", 40, 3, 10) as npm:
        admin.operator(npm.port, "npm", "", "--window", "10")
        admin("connector", "set", "npm", "enabled=false")
        with (
            GatewayProcess(data, settings=QUICK) as gateway,
            Customer(gateway.url, "acme", account["api_key"]) as customer,
        ):
            for number in numbers:
                customer.send(1, to=number, content="Hi")
            # all wait by now, so that the window is full again and again
            admin("connector", "set", "npm", "enabled=true")
            eventually(lambda: len(npm.seen("submit_sm")) >= 150, "all with the operator")
            assert gateway.stop() == 0
        taken = npm.seen("submit_sm")
        assert [each for each in taken if each["after_unbind"]] == []
        assert [each["status"] for each in npm.seen("unbind answered")] == [0, 0, 0]
        assert [each["in_flight"] for each in npm.seen("unbind answered")] == [0, 0, 0]
        assert [each["in_flight"] for each in npm.seen("unbind")] == [10, 10, 10]
    assert Counter(each["destination_addr"] for each in taken) == Counter(numbers)
    admin.assert_books_right()
    interop("npm `smpp`", "SMSC", "gateway", "unbind by the operator with messages in flight")


@pytest.mark.peer
def test_addresses_go_as_their_rules_say_and_receipts_find_their_messages(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink
) -> None:
    account = admin.account()
    receipt = {"dlr": "yes", "dlr_url": sink.url()}
    sent = [
        ("Helio", "447700900000"),
        ("3388", "447700900001"),
        ("447700900999", "491701234567"),
        ("Brand2", "15551234567"),
    ]
    with ForeignCentre(tmp_path, "smsc.js") as npm:
        admin.operator(npm.port, "npm")
        refused = admin.run("connector", "set", "npm", "dest_rules=49*: 1/1, 44* -> 0")
        assert refused.returncode != 0
        assert "rule 2, `44* -> 0`, would send messages to another phone" in refused.stdout + refused.stderr
        admin("connector", "set", "npm", "source_rules=3388: 3/9, 44* -> 0*: 2/1, Brand* -> BRAND: 5/1",
              "dest_rules=44* -> 0*: 2/8, 49*: 1/0")  # fmt: skip
        with running(data, account) as (_, customer):
            ids = [customer.send(1, to=to, content="Hi", **{"from": sender}, **receipt)["Id"] for sender, to in sent]
            told = [sink.receipt(message).form["message_status"] for message in ids]
        taken = npm.seen("submit_sm")
    assert told == ["DELIVRD", "UNDELIV", "DELIVRD", "DELIVRD"]
    assert {
        (each["source_addr"], *each["source"], each["destination_addr"], *each["destination"]) for each in taken
    } == {
        ("Helio", 5, 0, "07700900000", 2, 8),
        ("3388", 3, 9, "07700900001", 2, 8),
        ("07700900999", 2, 1, "491701234567", 1, 0),
        ("BRAND", 5, 1, "15551234567", 1, 1),
    }
    admin.assert_books_right()


@pytest.mark.peer
def test_texts_go_with_the_tlvs_of_their_registered_templates(tmp_path: Path, admin: Admin, data: Path) -> None:
    account = admin.account()
    table = tmp_path / "templates.csv"
    table.write_text(
        "Template Name,Header,Content,Template ID\n"
        'Code,HELIO,"Your code is {#numeric#}. Valid for {#var#}.",1107161234567890123\n'
        "Long,HELIO,Terms: {#url#} and {#url#},1107161234567890124\n"
    )
    with ForeignCentre(tmp_path, "smsc.js") as npm:
        admin.operator(npm.port, "npm")
        warned = admin("connector", "set", "npm", "templates=required")["warnings"]
        assert "there is none: heliograph template add" in warned[0]
        assert admin("template", "import", str(table), "--tlv", f"entity={ENTITY}")["added"] == 2
        assert "the TLVs of 2 of 2 templates do not pass" in admin.run("doctor").stdout
        tlvs = "tlvs=entity=0x1400/text, template=0x1401/text, user_message_reference"
        assert admin("connector", "set", "npm", tlvs)["warnings"] == []
        assert admin("template", "check", "--sender", "HELIO", "--text", "Your code is 1. Valid for 1 h.")["fits"]
        with running(data, account) as (_, customer):
            code = {"to": "447700900000", "sender": "HELIO", "content": "Your code is 1234. Valid for 5 minutes."}
            customer.send(1, **code, tlv_user_message_reference="77")
            customer.send(1, **code | {"content": "Terms: https://example.com/" + "x" * 150 + " and b"})
            eventually(lambda: len(npm.seen("submit_sm")) >= 3, "all parts with the operator")
            balance = admin.balance()
            refused = [
                customer.form("/api/v1/messages", {"to": code["to"], "from": sender, "content": text})
                for text, sender in (("Your code is abcd. Valid for 5 minutes.", "HELIO"), ("Hi", "OTHER"))
            ]
            assert admin.balance() == balance
        first, *parts = npm.seen("submit_sm")
    assert [(each.status, each.json["Field"]) for each in refused] == [(400, "content"), (400, "from")]
    assert "The nearest is Code: at character 14 the template has {#numeric#}" in refused[0].json["Message"]
    assert (first["registered"], first["user_message_reference"]) == ([ENTITY, "1107161234567890123"], 77)
    assert [each["registered"] for each in parts] == [[ENTITY, "1107161234567890124"]] * 2
    admin.assert_books_right()


@contextlib.contextmanager
def running(data: Path, account: dict[str, Any]) -> Iterator[tuple[GatewayProcess, Customer]]:
    with (
        GatewayProcess(data, settings=QUICK) as gateway,
        Customer(gateway.url, "acme", account["api_key"]) as customer,
    ):
        yield gateway, customer
        assert gateway.stop() == 0


DIALECTS: dict[str, tuple[dict[str, Any], str]] = {
    "addresses not swapped": (
        {"receipt_addresses": "unswapped"},
        "the recipient in destination_addr: addresses not swapped",
    ),
    "addresses masked": ({"receipt_addresses": "masked"}, "addresses without the recipient's number"),
    "no addresses": ({"receipt_addresses": "empty"}, "addresses without the recipient's number"),
    **{
        f"esm_class {esm_class:#04x}": (
            {"receipt_esm_class": esm_class},
            "esm_class does not say that it is a receipt",
        )
        for esm_class in (0x00, 0x03, 0x08, 0x10)
    },
    "neither marked nor swapped": (
        {"receipt_esm_class": 0, "receipt_addresses": "unswapped"},
        "esm_class does not say that it is a receipt",
    ),
    "0x before the id": (
        {"answer_id": "hex", "receipt_id": "prefixed_hex", "receipt_form": "text"},
        "the id with 0x where the answer has none, or the other way round",
    ),
    "spaces after the id": (
        {"answer_id": "padded", "receipt_id": "padded", "receipt_form": "text"},
        "as the specification says",
    ),
    "a UUID without dashes": (
        {"answer_id": "uuid", "receipt_id": "bare_uuid", "receipt_form": "text"},
        "the id with dashes where the answer has none, or the other way round",
    ),
    "receipted_message_id wrong": (
        {"receipt_tlv_id": "wrong"},
        "the right id in the text, another id in receipted_message_id",
    ),
}


@pytest.mark.extended
@pytest.mark.parametrize("dialect", DIALECTS)
def test_receipts_of_every_dialect_find_their_messages(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink, dialect: str
) -> None:
    knobs, shown = DIALECTS[dialect]
    account = admin.account()
    with SimulatorProcess(tmp_path, undelivered_share=0.5, seed=3, **knobs) as simulator:
        admin.operator(simulator.port)
        with running(data, account) as (_, customer):
            receipt = {"dlr": "yes", "dlr_url": sink.url()}
            numbers = [f"4917{n:08d}" for n in range(20)]
            sent = {number: customer.send(1, to=number, content="Hi", **receipt)["Id"] for number in numbers}
            told = {number: sink.receipt(message).form["message_status"] for number, message in sent.items()}
            eventually(
                lambda: f": {shown}" in admin.run("connector", "show", "operator").stdout,
                "what it has learnt",
                pause=0.5,
            )
        simulator.until_left()
        written = [line for line in simulator.seen() if line["event"] == "receipt"]
    assert told == {line["source_addr"]: line["state"] for line in written}
    assert set(told.values()) == {"DELIVRD", "UNDELIV"}
    assert admin("receipts", "unmatched")["receipts"] == []
    assert admin("inbound", "list")["messages"] == []


@pytest.mark.parametrize(
    ("said", "told", "words"),
    [
        ("0x22", "001", "UNDELIV 001, the operator's code 0x22"),
        ("ABSENT", "001", "UNDELIV 001, the operator's code ABSENT"),
        ("1073", "073", "UNDELIV 073, the operator's code 1073"),
        ("001", "001", "UNDELIV 001"),
        ("", "001", "UNDELIV 001, no operator's code"),
    ],
)
@pytest.mark.extended
def test_what_the_operator_said_and_what_the_customer_is_told_are_two_things(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink, said: str, told: str, words: str
) -> None:
    account = admin.account()
    knobs: dict[str, Any] = {"receipt_err": said} if said else {"receipt_text": "no_err"}
    with SimulatorProcess(tmp_path, undelivered_share=1, receipt_form="text", **knobs) as simulator:
        admin.operator(simulator.port)
        with running(data, account) as (_, customer):
            sent = customer.send(1, to="491700000000", content="Hi", dlr="yes", dlr_url=sink.url())["Id"]
            received = sink.receipt(sent)
            assert (received.form["message_status"], received.form["err"]) == ("UNDELIV", told)
            assert received.headers.get("heliograph-operator-code", "") == said
            history = customer.get(f"/api/v1/messages/{sent}/events").json["events"]
            assert next(each["Detail"] for each in history if each["Event"] == "Final") == words
        shown = admin("message", "show", sent)
        assert (shown["err"], shown["operator_code"]) == (told, said)
        assert (f"The operator's code is {said};" in shown["explanation"]) == bool(said)
        assert ("The operator did not give a code" in shown["explanation"]) != bool(said)
        found = admin("message", "find", "491700000000")["messages"][0]
        assert (found["err"], found["operator_code"]) == (told, said)


@pytest.mark.parametrize(
    ("alphabet", "content", "segments"),
    [("latin1", "Price: 5 € " + "x" * 100, 2), ("ascii", "Grüße " * 40, 4), ("latin1", "Grüße " * 20, 1)],
)
@pytest.mark.extended
def test_no_letter_is_lost_on_the_way_to_an_operator_with_another_alphabet(
    tmp_path: Path, admin: Admin, data: Path, alphabet: str, content: str, segments: int
) -> None:
    account = admin.account("acme", "10")
    with SimulatorProcess(tmp_path, alphabet={"latin1": "latin-1"}.get(alphabet, alphabet)) as simulator:
        admin.operator(simulator.port)
        admin("connector", "set", "operator", f"alphabet={alphabet}")
        with running(data, account) as (_, customer):
            message = {"to": "491700000000", "from": "Helio", "content": content}
            quote = customer.form("/api/v1/messages/quote", message).json
            assert quote["Segments"] == segments
            assert customer.send(1, to="491700000000", content=content)["Rate"] == segments
            eventually(lambda: len(simulator.submits()) == segments, "all parts")
            assert customer.balance() == str(10 - segments)
        parts = simulator.submits()
    octets = [bytes.fromhex(part["short_message"])[6 if segments > 1 else 0 :] for part in parts]
    codec = {"GSM-7": "latin-1", "UCS-2": "utf-16-be"}[quote["Encoding"]]
    assert "".join(each.decode(codec) for each in octets) == content
    assert {part["data_coding"] for part in parts} == {8 if codec == "utf-16-be" else 0}
    admin.assert_books_right()


def test_what_was_charged_for_another_alphabet_is_refunded_rather_than_sent_without_its_letters(
    tmp_path: Path, admin: Admin, data: Path
) -> None:
    account = admin.account("acme", "10")
    with SimulatorProcess(tmp_path) as simulator:
        admin.operator(simulator.port)
        admin("connector", "set", "operator", "enabled=false")
        with running(data, account) as (_, customer):
            sent = customer.send(1, to="491700000000", content="€" + "x" * 150)["Id"]
            assert customer.balance() == "9"
            admin("connector", "set", "operator", "alphabet=latin1", "enabled=true")
            eventually(lambda: customer.balance() == "10", "the refund")
            assert {"NotSent", "Refunded"} <= set(customer.events(sent))
            shown = admin("message", "show", sent)
            assert "it cannot be written for the operator behind operator" in shown["explanation"]
        simulator.until_left()
        assert simulator.submits() == []
    admin.assert_books_right()


@pytest.mark.peer
@pytest.mark.interop
def test_what_a_request_asks_for_reaches_the_operator_and_states_on_the_way_the_customer(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink, interop: Interop
) -> None:
    account = admin.account()
    with ForeignCentre(tmp_path, "smsc.js", 400) as npm:
        options = ("tlvs=ref=user_message_reference", "latin1_coding=3", "national=turkish, hindi/single")
        admin.operator(npm.port, "npm", "", *(word for each in options for word in ("--option", each)))
        admin("account", "set", "acme", "smart=on")
        with running(data, account) as (_, customer):
            wishes = {"udh": "0605040B8423F0", "coding": "0xF5", "priority": "2", "validity": "600", "tlv_ref": "258"}
            customer.send(1, to="491701234562", type="binary", content="0106", **wishes)
            texts = ("ë" * 100, "ğ" * 100, "\u201cIt\u2019s\u201d \u2026 now" + "!" * 80, "ğ" * 200)
            for text in texts:
                customer.send(1, to="491701234563", content=text)
            told = customer.send(1, to="491701234564", content="Hi", progress="yes", dlr="yes", dlr_url=sink.url("/r"))
            eventually(lambda: len(npm.seen("submit_sm")) == 7, "all with the operator")
            eventually(lambda: len(sink.requests) == 2, "both states told")
            refused = customer.form(
                "/api/v1/messages", {"to": "491701234562", "from": "Test", "content": "x", "tlv_0x1400": "1"}
            )
    binary, latin, turkish, plain, *_, asked = npm.seen("submit_sm")
    assert (binary["esm_class"], binary["data_coding"], binary["priority_flag"]) == (0x40, 0xF5, 2)
    assert (binary["udh"], binary["text"], binary["user_message_reference"]) == ("05040b8423f0", "0106", 258)
    assert binary["validity_period"]
    assert (latin["data_coding"], latin["text"]) == (3, "ë" * 100)
    assert (turkish["data_coding"], turkish["udh"]) == (0, "250101")
    assert plain["text"] == '"It\'s" ... now' + "!" * 80
    assert asked["registered_delivery"] == 0x11
    states = [parse_qs(each.body.decode()) for each in sink.requests]
    # two callbacks may overtake each other
    assert sorted(each["message_status"][0] for each in states) == ["DELIVRD", "ENROUTE"]
    assert {each["id"][0].replace("-", "") for each in states} == {told["Id"]}
    assert len({each.headers["webhook-id"] for each in sink.requests}) == 2
    assert refused.status == 400
    admin.assert_books_right()
    interop("npm `smpp`", "SMSC", "gateway", "Latin-1, a national table, a header, TLVs, intermediate notifications")
