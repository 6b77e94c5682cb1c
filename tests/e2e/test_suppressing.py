"""Phones that opted out get nothing, whichever door said so and wherever their messages wait."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_inbound import Phones, whole
from tests.support.customer import Customer
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually

pytestmark = pytest.mark.slow

SUPPRESSIONS = "/account/v1/suppressions"
PHONE, OTHER = "491700000001", "447700900123"


def state_of(customer: Customer, message: dict[str, Any]) -> str:
    found: str = customer.get(f"/api/v1/messages/{message['Id']}").json["Status"]
    return found


def numbers(customer: Customer) -> list[tuple[str, str]]:
    return [(each["Number"], each["Source"]) for each in customer.get(SUPPRESSIONS).json["suppressions"]]


def test_a_customer_suppresses_a_phone(tmp_path: Path, admin: Admin, data: Path) -> None:
    account = admin.account("acme", "10")
    with SimulatorProcess(tmp_path) as simulator:
        admin.operator(simulator.port)
        with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", account["api_key"]) as customer:
            scheduled = customer.send(1, to=PHONE, content="Later", time=int(time.time()) + 3600)
            assert customer.balance() == "9"
            added = customer.request("PUT", f"{SUPPRESSIONS}/{PHONE}")
            assert (added.status, added.json["Number"], added.json["Source"]) == (200, PHONE, "api")
            assert (state_of(customer, scheduled), customer.balance()) == ("Cancelled", "10")
            fields = {"to": PHONE, "from": "Heliograph", "content": "No"}
            refused = customer.document("/api/v1/messages", fields)
            assert (refused.status, refused.json["Status"], refused.json["Field"]) == (403, "06", "to")
            both = customer.document("/api/v1/messages", fields | {"to": [PHONE, OTHER]})
            assert both.status == 200
            assert [(each["Status"], each["Rate"], each["MessageStatus"]) for each in both.json["Messages"]] == [
                ("06", 0, "Failed"),
                ("00", 1, "Sent"),
            ]
            eventually(lambda: simulator.destinations() == [OTHER], "the other one's message")
            # not killed: what has no answer yet would be sent again
            assert gateway.stop() == 0
        with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", account["api_key"]) as customer:
            assert customer.document("/api/v1/messages", fields).status == 403
            assert customer.request("DELETE", f"{SUPPRESSIONS}/{PHONE}").json == {"Status": "00"}
            assert customer.request("DELETE", f"{SUPPRESSIONS}/{PHONE}").status == 404
            customer.send(1, to=PHONE, content="Welcome back")
            eventually(lambda: simulator.destinations() == [OTHER, PHONE], "the message after it")
    assert admin.balance() == "8"
    admin.assert_books_right()


def test_what_waits_in_memory_is_withdrawn(tmp_path: Path, admin: Admin, data: Path) -> None:
    """By whom it is suppressed, and in which process, makes no difference but of a second or two."""
    account = admin.account("acme", "100")
    phones = [str(491700000000 + n) for n in range(60)]
    with SimulatorProcess(tmp_path) as simulator:
        admin.operator(simulator.port, "operator", "", "--rate", "1")
        with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", account["api_key"]) as customer:
            sent = [customer.send(1, to=phone, content="Slowly") for phone in phones]
            customer.request("PUT", f"{SUPPRESSIONS}/{phones[-1]}")
            eventually(lambda: state_of(customer, sent[-1]) == "Cancelled", "the last one's end", seconds=20)
            file = tmp_path / "optouts.csv"
            file.write_text("number,name\n" + "".join(f"{phone},x\n" for phone in phones[-4:]), encoding="utf-8")
            told = admin("suppression", "import", str(file), "--account", "acme")
            assert (told["added"], told["known"]) == (3, 1)
            for each in sent[-4:]:
                eventually(lambda each=each: state_of(customer, each) == "Cancelled", "their ends", seconds=20)  # type: ignore[misc]
            assert numbers(customer) == [(phone, "import") for phone in phones[-4:-1]] + [(phones[-1], "api")]
            assert customer.balance() == "44"
        assert not set(phones[-4:]) & set(simulator.destinations())
    admin.assert_books_right()


@pytest.mark.peer
def test_a_phone_opts_out_and_back(tmp_path: Path, admin: Admin, data: Path) -> None:
    messages = [
        whole("stop", **{"from": PHONE, "text": "Stop!"}),
        whole("again", **{"from": PHONE, "text": "STOP"}),
        whole("maybe", **{"from": OTHER, "text": "please stop that"}),
    ]
    account = admin.account("acme", "10")
    admin("number", "add", "3388", "--account", "acme")
    admin("account", "set", "acme", "stop_text=You are out.")
    with Phones(tmp_path, messages, pause_ms=50) as operator:
        admin.operator(operator.port)
        with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", account["api_key"]) as customer:
            operator.until_answered(3)
            assert numbers(customer) == [(PHONE, "message")]
            fields = {"to": PHONE, "from": "Acme", "content": "x"}
            assert customer.document("/api/v1/messages", fields).status == 403
            confirmed = eventually(operator.submitted, "the confirmation")
            assert [line.get("to") for line in confirmed] == [PHONE]
            assert customer.balance() == "9"
            pulled = customer.get("/account/v1/inbound").json["messages"]
            assert [each["Content"] for each in pulled] == ["Stop!", "STOP", "please stop that"]
            admin("suppression", "remove", PHONE, "--account", "acme")
            assert customer.send(1, to=PHONE, content="Back")["MessageStatus"] == "Sent"
    admin.assert_books_right()
