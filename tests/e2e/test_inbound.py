"""Messages from phones, from npm's smpp as the operator to the customer, also while the gateway is killed."""

import json
import random
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_main_job import assert_genuine
from tests.support.background_sink import BackgroundSink
from tests.support.crash import Gateways
from tests.support.customer import Customer
from tests.support.peers import node_script
from tests.support.postgres import Server
from tests.support.process import Admin, GatewayProcess, Process, eventually

pytestmark = [pytest.mark.slow, pytest.mark.peer]

KILLS = 3
"""Nodes of two that are killed, by turns."""


class Phones(Process):
    """npm's `smpp` as a message centre whose phones write."""

    def __init__(self, folder: Path, messages: list[dict[str, Any]], pause_ms: int = 2, most: int = 1_000_000) -> None:
        """Has phones write at most `most` messages a link: a gateway that is killed late has not taken them all."""
        plan = folder / "messages.json"
        plan.write_text(json.dumps(messages))
        command, environment = node_script("phones.js", "smpp")
        super().__init__(folder, "phones", [*command, str(plan), str(pause_ms), str(most)], environment)
        self.port = int(json.loads(self.first_line())["port"])

    def answers(self) -> list[tuple[str, int]]:
        lines = [json.loads(line) for line in self.out.rpartition("\n")[0].splitlines()]
        return [(line["name"], line["status"]) for line in lines if line["event"] == "answered"]

    def submitted(self) -> list[dict[str, Any]]:
        """What was submitted for phones: from, to and text of each."""
        lines = [json.loads(line) for line in self.out.rpartition("\n")[0].splitlines()]
        return [{key: line[key] for key in ("from", "to", "text")} for line in lines if line["event"] == "submitted"]

    def until_answered(self, count: int, gateways: Gateways | None = None) -> None:
        """Waits for so many messages to be acknowledged, and tends the gateways meanwhile."""
        wait = gateways.until if gateways else eventually
        wait(lambda: len(self.answered) >= count, f"{count} answers")

    @property
    def answered(self) -> set[str]:
        return {name for name, status in self.answers() if status == 0}


def whole(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "from": "491701", "to": "3388", "text": name} | fields


def parts(name: str, how: str, reference: int, total: int = 3, **fields: Any) -> list[dict[str, Any]]:
    return [
        whole(f"{name}/{number}", text=f"{name}/{number} ", how=how, reference=reference, total=total, number=number)
        | fields
        for number in range(1, total + 1)
    ]


def told(sink: BackgroundSink) -> dict[str, set[str]]:
    """The ids under which each text arrived."""
    ids: dict[str, set[str]] = defaultdict(set)
    for received in sink.requests:
        ids[received.form["content"]].add(received.form["id"])
    return ids


@pytest.mark.extended
def test_what_a_phone_writes_is_no_receipt_though_it_reads_like_one(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink
) -> None:
    """Neither with an id that is none of ours, nor with one of ours from another phone's number."""
    text = "id:{} sub:001 dlvrd:001 submit date:2701150800 done date:2701150801 stat:UNDELIV err:001 text:"
    ids = range(1, 6)
    messages = [whole(str(each), text=text.format(each)) for each in (*ids, "stranger")]
    with Phones(tmp_path, messages, pause_ms=1_000) as operator:
        admin.operator(operator.port)
        account = admin.account("acme", "10")
        admin("account", "set", "acme", f"inbound_url={sink.url()}")
        admin("number", "add", "3388", "--account", "acme")
        with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", account["api_key"]) as customer:
            # this operator calls what it takes 1, 2, 3, ...
            sent = [
                customer.send(1, to=f"44770090012{each}", content="Hi", dlr="yes", dlr_url=sink.url())["Id"]
                for each in ids
            ]
            eventually(lambda: len(operator.submitted()) == len(ids), "with the operator")
            eventually(lambda: len(sink.requests) == len(messages), "all told")
            assert {received.form["content"] for received in sink.requests} == {each["text"] for each in messages}
            assert all("Final" not in customer.events(each) for each in sent)
            eventually(lambda: len(operator.answered) == len(messages), "all answered")
            assert gateway.stop() == 0


def test_phones_write_to_customers(tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink) -> None:
    messages = [whole("Guten Tag 🦊"), whole("PIZZA, two"), whole("to nobody", to="4000")]
    long = parts("eight", "udh8", 7) + parts("sixteen", "udh16", 7007, 4) + parts("sar", "sar", 99, 2)
    random.Random(5).shuffle(long)
    with Phones(tmp_path, messages + long) as operator:
        admin.operator(operator.port, "op1", "", "--binds", "2")
        account = admin.account("acme", "10", "--timezone", "Asia/Tokyo")
        admin.account("pizzeria", "10")
        admin("account", "set", "acme", f"inbound_url={sink.url()}")
        added = admin("number", "add", "+3388", "--account", "acme")
        admin("number", "add", "3388", "--account", "pizzeria", "--keyword", "Pizza", "--connector", "op1", "--force")
        with GatewayProcess(data) as gateway:
            eventually(lambda: len(operator.answered) == len(messages) + len(long), "all answered")
            eventually(lambda: len(sink.requests) == 4, "all told")
            assert all(status == 0 for _, status in operator.answers())
            assert all(len(ids) == 1 for ids in told(sink).values())
            forms = {received.form["content"]: received for received in sink.requests}
            assert forms.keys() == {
                "Guten Tag 🦊",
                "eight/1 eight/2 eight/3 ",
                "sixteen/1 sixteen/2 sixteen/3 sixteen/4 ",
                "sar/1 sar/2 ",
            }
            received = forms["sar/1 sar/2 "]
            assert_genuine(received, account["signing_secret"])
            form = received.form
            assert (form["from"], form["to"], form["parts"], form["complete"]) == ("491701", "3388", "2", "yes")
            assert (form["coding"], form["keyword"]) == ("8", "")
            assert bytes.fromhex(form["binary"]).decode("utf-16-be") == "sar/1 sar/2 "

            (unrouted,) = admin("inbound", "list", "--unrouted")["messages"]
            assert (unrouted["content"], unrouted["account"]) == ("to nobody", None)
            (pizza,) = admin("inbound", "list", "--account", "pizzeria")["messages"]
            assert (pizza["keyword"], pizza["content"], pizza["callback"]) == ("pizza", "PIZZA, two", "none")
            admin("inbound", "route", unrouted["id"], "--account", "acme")
            eventually(lambda: len(sink.requests) == 5, "told what was routed later")
            assert sink.requests[-1].form["content"] == "to nobody"
            eventually(lambda: admin("inbound", "show", unrouted["id"])["callback"] == "delivered", "noted")
            admin("number", "remove", str(added["id"]))
            assert len(admin("number", "list")["numbers"]) == 1
            assert gateway.stop() == 0
    admin.assert_books_right()


def test_no_message_is_lost_or_doubled_when_the_gateway_is_killed(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink
) -> None:
    chance = random.Random(11)
    messages = [whole(f"m{number}", **{"from": f"4917{number % 40:02}"}) for number in range(1_000)]
    for number in range(150):
        how = ("udh8", "udh16", "sar")[number % 3]
        sender = f"4918{number % 20:02}"
        messages += parts(f"p{number}", how, number, chance.choice([2, 3, 5]), **{"from": sender})
    chance.shuffle(messages)
    with Phones(tmp_path, messages, most=120) as operator:
        admin.operator(operator.port, "op1", "", "--binds", "3", "--option", "reconnect_most_s=0.2")
        admin.account("acme", "10")
        admin("account", "set", "acme", f"inbound_url={sink.url()}")
        admin("number", "add", "3388", "--account", "acme")
        kills = 0
        while len(operator.answered) < len(messages) and kills < 40:
            with GatewayProcess(data) as gateway:
                before = len(operator.answered)
                # Two of the three links, with 120 messages each, are enough.
                operator.until_answered(min(len(messages), before + chance.randint(100, 200)))
                gateway.kill()
                kills += 1
        assert kills >= 4
        with GatewayProcess(data) as gateway:
            expected = 1_000 + 150
            eventually(lambda: len(told(sink)) == expected, "all told")
            assert gateway.stop() == 0
    assert {name for name in told(sink) if name.startswith("m")} == {f"m{number}" for number in range(1_000)}
    assert {text: ids for text, ids in told(sink).items() if len(ids) > 1} == {}
    assert all(received.form["complete"] == "yes" for received in sink.requests)
    found = admin("inbound", "list", "--limit", "1000")["messages"]
    assert len({each["id"] for each in found}) == 1000
    admin.assert_books_right()


@pytest.mark.extended
def test_no_message_is_lost_when_one_of_two_nodes_is_killed(tmp_path: Path, sink: BackgroundSink) -> None:
    """The operator sends to the other node at once what the dead one had not answered; parts come over both."""
    chance = random.Random(12)
    messages = [whole(f"m{number}", **{"from": f"4917{number % 40:02}"}) for number in range(600)]
    for number in range(150):
        messages += parts(f"p{number}", "udh16", number, chance.choice([2, 3, 5]), **{"from": f"4918{number % 20:02}"})
    chance.shuffle(messages)
    database = Server()
    database.start()
    settings = {"HELIOGRAPH_DATABASE_URL": database.url(), "HELIOGRAPH_NODE_MOST_BINDS": "1"}
    try:
        admin = Admin(tmp_path / "admin", settings)
        with Phones(tmp_path, messages, pause_ms=4) as operator:
            admin.operator(operator.port, "operator", "", "--binds", "2", "--option", "reconnect_most_s=0.2")
            admin.account("acme", "10")
            admin("account", "set", "acme", f"inbound_url={sink.url()}")
            admin("number", "add", "3388", "--account", "acme")
            with Gateways(tmp_path, settings, 2) as gateways:
                for turn in range(KILLS):
                    before = len(operator.answered)
                    want = min(len(messages), before + chance.randint(150, 250))
                    operator.until_answered(want, gateways)
                    gateways.kill(turn % 2)
                    time.sleep(0.5)
                    gateways.revive(turn % 2, wait=True)
                operator.until_answered(len(messages), gateways)
                gateways.until(lambda: len(told(sink)) == 750, "all told")
                gateways.stop()
        # what a node was about to commit when it was killed may come twice: docs/reliability.md
        doubled = {text: ids for text, ids in told(sink).items() if len(ids) > 1}
        assert len(doubled) <= KILLS, doubled
        assert all(received.form["complete"] == "yes" for received in sink.requests)
        admin.assert_books_right()
    finally:
        database.remove()
