"""Phones that opt out, with npm's smpp as the operator, while messages to them fall due and the gateway is killed."""

import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_inbound import Phones, whole
from tests.support.crash import Gateways
from tests.support.customer import Customer
from tests.support.postgres import Server
from tests.support.process import Admin, GatewayProcess, eventually
from tests.support.slowness import Slowness

pytestmark = [pytest.mark.slow, pytest.mark.peer]

STOPS, STAYS = 40, 20
"""Phones that opt out, and that do not."""

A_LINK = 4
"""Phones that opt out over one link, while the gateway is killed."""

EACH = 3
CREDIT = 1_000
CONFIRMED = "You are out."
SPAN_S = 12.0
"""Over so many seconds messages fall due, while phones opt out."""

GRACE_S = 1.5
"""A message may reach the operator so long after the STOP's acknowledgement: it was on another link."""

NODES_GRACE_S = 4.0
"""The same where another node has the message in its memory: it follows within two seconds."""


def phone(number: int) -> str:
    return f"4917012346{number:02}"


def far(number: int, each: int) -> str:
    return f"far {number}/{each}"


def near(number: int) -> str:
    return f"near {number}"


def stops() -> list[dict[str, Any]]:
    order = list(range(STOPS))
    random.Random(3).shuffle(order)
    return [whole(f"stop {number}", **{"from": phone(number), "text": "STOP"}) for number in order]


def prepare(admin: Admin, port: int, *more: str) -> dict[str, Any]:
    admin.operator(port, "operator", "", "--option", "reconnect_most_s=0.2", *more)
    account = admin.account("acme", str(CREDIT))
    admin("account", "set", "acme", f"stop_text={CONFIRMED}")
    admin("number", "add", "3388", "--account", "acme")
    return account


def schedule(customer: Customer) -> None:
    """To each phone three messages for tomorrow, and one that falls due meanwhile."""
    for number in range(STOPS + STAYS):
        for each in range(EACH):
            customer.send(1, to=phone(number), content=far(number, each), time=int(time.time()) + 86_400)
        due = time.time() + 6 + SPAN_S * number / (STOPS + STAYS)
        customer.send(1, to=phone(number), content=near(number), time=f"{due:.3f}")


class Operator(Phones):
    """Phones of which those that opt out begin when they are told."""

    def lines(self) -> Iterator[dict[str, Any]]:
        for line in self.out.rpartition("\n")[0].splitlines():
            yield json.loads(line)

    def stopped(self) -> dict[str, int]:
        """When each STOP was acknowledged, in ms, by the phone."""
        return {
            phone(int(line["name"].split()[1])): line["at"]
            for line in self.lines()
            if line["event"] == "answered" and line["status"] == 0
        }

    def first_submits(self) -> dict[tuple[str, str], int]:
        """When each text came first to each phone, in ms."""
        found: dict[tuple[str, str], int] = {}
        for line in self.lines():
            if line["event"] == "submitted":
                found.setdefault((line["to"], line["text"]), line["at"])
        return found


def assert_nothing_after_a_stop(operator: Operator, grace_s: float) -> None:
    stopped = operator.stopped()
    late = [
        (to, text, at - stopped[to])
        for (to, text), at in operator.first_submits().items()
        if to in stopped and text != CONFIRMED and at > stopped[to] + 1_000 * grace_s
    ]
    assert late == []


def assert_settled(operator: Operator, admin: Admin, customer: Customer) -> None:
    """Everybody who stopped is suppressed, has one confirmation, and gave back the price of all that never left."""
    listed = customer.get("/account/v1/suppressions?limit=100").json["suppressions"]
    assert {each["Number"] for each in listed} == {phone(number) for number in range(STOPS)}
    for number in range(STOPS):
        fields = {"to": phone(number), "from": "Acme", "content": "no"}
        assert customer.document("/api/v1/messages", fields).status == 403
    eventually(lambda: sum(text == CONFIRMED for _, text in operator.first_submits()) == STOPS, "all confirmations")

    def is_paid() -> bool:
        sent = sum(text.startswith("near") for _, text in operator.first_submits())
        return float(customer.balance()) == CREDIT - STAYS * EACH - sent - STOPS

    eventually(is_paid, "the refunds of what other nodes had in their memory", pause=0.2)
    submits = operator.first_submits()
    assert not any(text.startswith("far") for _, text in submits)
    assert {(phone(number), near(number)) for number in range(STOPS, STOPS + STAYS)} <= submits.keys()
    admin.assert_books_right()


@contextmanager
def asking(url: str, account: dict[str, Any]) -> Iterator[Customer]:
    with Customer(url, "acme", account["api_key"]) as customer:
        yield customer


@pytest.mark.extended
def test_a_stop_holds_while_the_gateway_is_killed(tmp_path: Path, admin: Admin, data: Path) -> None:
    chance = random.Random(4)
    with Slowness() as slowness, Operator(tmp_path, stops(), pause_ms=250, most=A_LINK) as operator:
        # nothing comes from phones before all is scheduled: nobody is bound
        account = prepare(admin, operator.port, "--binds", "2")
        admin("connector", "set", "operator", "enabled=false")
        with GatewayProcess(data) as gateway, asking(gateway.url, account) as customer:
            schedule(customer)
            admin("connector", "set", "operator", "enabled=true")
            operator.until_answered(5)
            gateway.kill()
        kills = 1
        while len(operator.answered) < STOPS:
            with GatewayProcess(data) as gateway:
                goal = min(STOPS, len(operator.answered) + chance.randint(4, 2 * A_LINK))
                operator.until_answered(goal)
                gateway.kill()
                kills += 1
        assert kills >= 5
        with GatewayProcess(data) as gateway, asking(gateway.url, account) as customer:
            last = {(phone(number), near(number)) for number in range(STOPS, STOPS + STAYS)}
            eventually(lambda: last <= operator.first_submits().keys(), "what nobody stopped")
            assert_settled(operator, admin, customer)
            assert gateway.stop() == 0
        assert_nothing_after_a_stop(operator, slowness.within(GRACE_S))


@pytest.mark.extended
def test_a_stop_holds_on_every_node(tmp_path: Path) -> None:
    database = Server()
    database.start()
    settings = {"HELIOGRAPH_DATABASE_URL": database.url(), "HELIOGRAPH_NODE_MOST_BINDS": "1"}
    try:
        admin = Admin(tmp_path / "admin", settings)
        with Slowness() as slowness, Operator(tmp_path, stops(), pause_ms=250) as operator:
            account = prepare(admin, operator.port, "--binds", "2")
            admin("connector", "set", "operator", "enabled=false")
            with Gateways(tmp_path, settings, 2) as gateways, asking(gateways.urls[1], account) as customer:
                schedule(customer)
                admin("connector", "set", "operator", "enabled=true")
                operator.until_answered(12, gateways)
                gateways.kill(0)
                operator.until_answered(20, gateways)
                gateways.revive(0, wait=True)
                operator.until_answered(STOPS, gateways)
                last = {(phone(number), near(number)) for number in range(STOPS, STOPS + STAYS)}
                gateways.until(lambda: last <= operator.first_submits().keys(), "what nobody stopped")
                assert_settled(operator, admin, customer)
                gateways.stop()
            assert_nothing_after_a_stop(operator, slowness.within(NODES_GRACE_S))
    finally:
        database.remove()
