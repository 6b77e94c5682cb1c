"""Two gateways on one PostgreSQL route messages as one: caps, drain, failover, and orders for waiting messages."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_dialects import QUICK, ForeignCentre
from tests.support.crash import Gateways
from tests.support.customer import Customer
from tests.support.postgres import Server
from tests.support.process import Admin, SimulatorProcess, eventually
from tests.support.slowness import Slowness
from tests.support.timeouts import COMMAND_S

pytestmark = [pytest.mark.slow, pytest.mark.extended]

FOLLOWS_S = 5.0
"""Seconds within which a node follows a change of a connector."""

CAP = 30

WINDOW = 5


class Nodes:
    """Two nodes with a customer at each, and an administrator who asks the first."""

    def __init__(self, gateways: Gateways, customers: list[Customer], token: str) -> None:
        self.gateways = gateways
        self._customers = customers
        self._token = token

    def order(self, path: str, **fields: object) -> dict[str, Any]:
        """An operation of the first node's admin API."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        reply = self._customers[0].request("POST", f"/admin/v1/{path}", json.dumps(fields).encode(), headers)
        assert reply.status == 200, reply
        return reply.json

    def send(self, number: str, node: int) -> str:
        message: str = self._customers[node].send(1, to=number, content="Hi")["Id"]
        return message

    def send_all(self, numbers: list[str]) -> dict[str, str]:
        """Sends to the numbers by both nodes in turn; returns the ids."""
        return {number: self.send(number, place % 2) for place, number in enumerate(numbers)}


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[Admin]:
    """Commands on a database that nodes may share. A node takes one bind of each connector."""
    database = Server()
    database.start()
    try:
        yield Admin(
            tmp_path / "admin",
            QUICK | {"HELIOGRAPH_DATABASE_URL": database.url(), "HELIOGRAPH_NODE_MOST_BINDS": "1"},
        )
    finally:
        database.remove()


@contextmanager
def nodes(folder: Path, admin: Admin, connectors: list[str]) -> Iterator[Nodes]:
    """Runs two nodes until the end of the test, each with a bind of every connector."""
    account = admin.account()
    token = admin("admin", "token", "create", "all", "--all-scopes")["secret"]
    with Gateways(folder, admin.settings or {}, 2) as gateways, ExitStack() as stack:
        customers = [stack.enter_context(Customer(url, "acme", account["api_key"])) for url in gateways.urls]
        eventually(lambda: {_bound(admin, name) for name in connectors} == {2}, "each node has its binds", COMMAND_S)
        yield Nodes(gateways, customers, token)
        gateways.stop()
    admin.assert_books_right()


def _bound(admin: Admin, connector: str) -> int:
    links = admin("connector", "show", connector)["links"]
    return sum(link["state"]["bound"] > 0 for link in links)


def connect(admin: Admin, port: int, name: str, *more: str, **priorities: int) -> None:
    """A connector with two binds, and its routes: `_44=9` is priority 9 for the prefix 44."""
    admin("connector", "add", name, "--host", "127.0.0.1", "--port", str(port), "--system-id", "esme", "--password",
          "secret", "--binds", "2", "--window", str(WINDOW), *more)  # fmt: skip
    for prefix, priority in priorities.items():
        admin("route", "add", "--prefix", prefix[1:], "--connector", name, "--priority", str(priority))


def numbers(count: int, prefix: str) -> list[str]:
    return [f"{prefix}{n:08d}" for n in range(count)]


def test_a_cap_a_drain_and_orders_hold_on_both_nodes(tmp_path: Path, shared: Admin) -> None:
    with (
        SimulatorProcess(tmp_path, name="capped") as capped,
        SimulatorProcess(tmp_path, name="drained") as drained,
        SimulatorProcess(tmp_path, name="slow") as slow,
        SimulatorProcess(tmp_path, name="other") as other,
    ):
        connect(shared, capped.port, "capped", "--max-day", str(CAP), _44=9)
        connect(shared, drained.port, "drained", _45=9)
        connect(shared, slow.port, "slow", "--rate", "0.2", _46=9)
        connect(shared, other.port, "other", _44=5, _45=5)
        with nodes(tmp_path, shared, ["capped", "drained", "slow", "other"]) as both, Slowness() as slowness:
            # a cap counts the parts of both nodes
            to_cap = numbers(3 * CAP, "4477")
            both.send_all(to_cap)
            eventually(lambda: len(capped.destinations()) + len(other.destinations()) == len(to_cap), "all are sent")
            assert Counter(capped.destinations() + other.destinations()) == Counter(to_cap)
            assert len(capped.destinations()) == CAP
            submits = [line for line in capped.seen() if line.get("pdu", {}).get("command") == "submit_sm"]
            assert len({line["link"] for line in submits}) == 2, "both nodes have sent"
            eventually(lambda: shared("connector", "show", "capped")["used_day"] == CAP, "it says so", COMMAND_S)

            # a drain that one node is asked for
            both.send_all(early := numbers(10, "4577"))
            eventually(lambda: len(drained.destinations()) == len(early), "all are sent")
            both.order("connectors/drained/drain")
            asked = time.monotonic()
            late: list[str] = []
            for place, number in enumerate(numbers(200, "4578")):
                since = time.monotonic() - asked
                if since > slowness.within(FOLLOWS_S):
                    late.append(number)
                both.send(number, 1 - place % 2)
                if len(late) == 10:
                    break
                time.sleep(0.1)
            eventually(lambda: set(late) <= set(other.destinations()), "both nodes follow")
            assert not set(late) & set(drained.destinations())

            # orders for messages in the memory of both nodes, and for rows that a node claimed
            both.send_all(waiting := numbers(40, "4677"))
            eventually(slow.destinations, "the first")
            held = both.order("queue/hold", connector="slow")
            gone = len(slow.destinations())
            assert (held["silent_nodes"], held["messages"] + held["left"] + gone >= len(waiting)) == (0, True)
            assert held["messages"] >= len(waiting) - 2 * WINDOW
            waits = {each["to"] for each in shared("queue", "messages", "--limit", "1000")["messages"] if each["held"]}
            assert len(waits) == held["messages"]
            assert both.order("queue/move", connector="slow", to="other")["messages"] >= held["messages"]
            assert not waits & set(other.destinations())
            assert both.order("queue/release", connector="other")["messages"] >= held["messages"]
            eventually(lambda: waits <= set(other.destinations()), "the moved ones")
        for operator in (slow, other):
            operator.until_left()
        assert not waits & set(slow.destinations())
        assert Counter(slow.destinations() + other.destinations()).most_common(1)[0][1] == 1


@pytest.mark.peer
def test_messages_of_both_nodes_leave_an_operator_that_dies(tmp_path: Path, shared: Admin) -> None:
    to_send = numbers(240, "4917")
    with (
        ForeignCentre(tmp_path / "first", "smsc.js", 50, 0) as first,
        ForeignCentre(tmp_path / "second", "smsc.js", 50) as second,
    ):
        for name, centre, priority in (("op1", first, 9), ("op2", second, 1)):
            connect(shared, centre.port, name, _49=priority)
            shared("connector", "set", name, "failover_after_s=1")
        with nodes(tmp_path, shared, ["op1", "op2"]) as both:
            both.send_all(to_send[:120])
            eventually(lambda: len(_taken(first)) >= 20, "the first centre takes some")
            first.kill()
            both.send_all(to_send[120:])
            in_flight = 2 * WINDOW
            eventually(
                lambda: len(_taken(first) | _taken(second)) >= len(to_send) - in_flight, "the second takes the others"
            )
            with ForeignCentre(tmp_path / "again", "smsc.js", 50, 0, first.port) as again:
                eventually(
                    lambda: set(_taken(first) + _taken(second) + _taken(again)) == set(to_send), "a centre has each"
                )
        at_first, at_second, came_again = _taken(first), _taken(second), _taken(again)
    assert set((at_first + at_second).values()) == {1}
    assert not at_second.keys() & (at_first.keys() | came_again.keys()), "no message is with both operators"
    assert len(at_first.keys() & came_again.keys()) <= in_flight, "only messages in flight come again"


def _taken(centre: ForeignCentre) -> Counter[str]:
    return Counter(each["destination_addr"] for each in centre.seen("submit_sm"))
