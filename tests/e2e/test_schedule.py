"""What is to go later goes when it is due, whatever happened in between."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.background_sink import BackgroundSink
from tests.support.crash import Gateways
from tests.support.customer import Customer
from tests.support.postgres import Server
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.slowness import Slowness
from tests.support.timeouts import COMMAND_S

pytestmark = pytest.mark.slow

PROMPT_S = 1.0
"""A message is claimed within so many seconds of its time."""

RESUMED_S = 2.5
"""So many seconds after an account is suspended or resumed its messages heed it, on every node."""


def submitted_at(simulator: SimulatorProcess, destination: str) -> float:
    """When the operator got the message, in seconds since the epoch."""

    def look() -> list[dict[str, Any]]:
        requests = [line for line in simulator.seen() if line["event"] == "request"]
        return [line for line in requests if line["pdu"].get("destination_addr") == destination]

    [line] = eventually(look, f"a message to {destination}")
    return datetime.fromisoformat(line["at"]).timestamp()


def in_seconds(seconds: float) -> float:
    """A time in whole milliseconds, as the API takes it and the simulator tells it."""
    return round(time.time() + seconds, 3)


def local(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%S")


@pytest.fixture
def slowness() -> Iterator[Slowness]:
    with Slowness() as slowness:
        yield slowness


def test_due_rescheduled_and_cancelled(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink, slowness: Slowness
) -> None:
    account = admin.account("acme", "10")
    with SimulatorProcess(tmp_path, receipt_delay_ms=20) as simulator:
        admin.operator(simulator.port)
        with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", account["api_key"]) as customer:
            due, moved, far = in_seconds(9), in_seconds(10), int(time.time()) + 3600
            first = customer.send(1, to="491700000001", content="Due", time=f"{due:.3f}", dlr="1", dlr_url=sink.url())
            assert first["MessageStatus"] == "Scheduled"
            second = customer.send(1, to="491700000002", content="Moved", time=far)
            third = customer.send(1, to="491700000003", content="Cancelled", time=local(far))
            together = customer.document(
                "/api/v1/messages",
                {"to": "491700000004,491700000005", "from": "Heliograph", "content": "Both", "time": far},
            ).json
            assert customer.balance() == "5"

            reply = customer.document(f"/api/v1/messages/{second['Id']}", {"time": moved}, "PUT")
            assert (reply.status, reply.json["MessageStatus"]) == (200, "Scheduled")
            for cancelled in (third, together):
                assert customer.request("DELETE", f"/api/v1/messages/{cancelled['Id']}").json == {"Status": "00"}
            assert customer.request("DELETE", f"/api/v1/messages/{third['Id']}").status == 409
            assert customer.balance() == "8"

            assert 0 <= submitted_at(simulator, "491700000001") - due < slowness.within(PROMPT_S)
            assert 0 <= submitted_at(simulator, "491700000002") - moved < slowness.within(PROMPT_S)
            assert sink.receipt(first["Id"]).form["message_status"] == "DELIVRD"
            for each, status in ((first, "Sent"), (second, "Sent"), (third, "Cancelled")):
                path = f"/api/v1/messages/{each['Id']}"
                # what the operator has is sent once its answer is here
                eventually(lambda path=path, status=status: customer.get(path).json["Status"] == status, status)  # type: ignore[misc]
            assert customer.document(f"/api/v1/messages/{first['Id']}", {"time": far}, "PUT").status == 409
            assert customer.balance() == "8"
            assert gateway.stop() == 0
        assert simulator.stop() == 0
        assert sorted(simulator.destinations()) == ["491700000001", "491700000002"]
    assert "Cancelled" not in {received.form["text"] for received in sink.requests}
    admin.assert_books_right()


@pytest.mark.parametrize("ends", ["stopped", "killed"])
@pytest.mark.extended
def test_what_fell_due_while_the_gateway_was_down_goes_at_once(
    tmp_path: Path, admin: Admin, data: Path, slowness: Slowness, ends: str
) -> None:
    account = admin.account("acme", "10")
    with SimulatorProcess(tmp_path) as simulator:
        admin.operator(simulator.port)
        with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", account["api_key"]) as customer:
            missed, later = in_seconds(6), in_seconds(13)
            customer.send(1, to="491700000001", content="Missed", time=f"{missed:.3f}")
            customer.send(1, to="491700000002", content="Later", time=f"{later:.3f}")
            cancelled = customer.send(1, to="491700000003", content="Never", time=f"{later:.3f}")
            assert customer.request("DELETE", f"/api/v1/messages/{cancelled['Id']}").status == 200
            if ends == "stopped":
                assert gateway.stop() == 0
            else:
                gateway.kill()
        eventually(lambda: time.time() > missed, "the time of the first")
        with GatewayProcess(data) as gateway:
            ready = time.time()
            assert submitted_at(simulator, "491700000001") - ready < slowness.within(2 * PROMPT_S)
            sent = submitted_at(simulator, "491700000002")
            assert later <= sent < max(later, ready) + slowness.within(PROMPT_S)
            assert gateway.stop() == 0
        assert simulator.stop() == 0
        assert sorted(simulator.destinations()) == ["491700000001", "491700000002"]
    assert admin.balance() == "8"
    admin.assert_books_right()


@pytest.mark.extended
def test_what_is_due_of_a_suspended_account_waits(tmp_path: Path, admin: Admin, data: Path, slowness: Slowness) -> None:
    account, other = admin.account("acme", "10"), admin.account("other", "10")
    with SimulatorProcess(tmp_path) as simulator:
        admin.operator(simulator.port)
        with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", account["api_key"]) as customer:
            due = in_seconds(9)
            held = customer.send(to="491700000001", content="Held", time=f"{due:.3f}")
            admin("account", "suspend", "acme")
            with Customer(gateway.url, "other", other["api_key"]) as neighbour:
                neighbour.send(to="491700000002", content="Goes", time=f"{due + 0.5:.3f}")
            submitted_at(simulator, "491700000002")
            time.sleep(1)
            assert simulator.destinations() == ["491700000002"]
            assert "Its account is suspended" in admin("message", "show", held["Id"])["explanation"]
            assert admin.balance("acme") == "9"
            admin("account", "resume", "acme")
            resumed = time.time()
            assert submitted_at(simulator, "491700000001") - resumed < slowness.within(RESUMED_S)


@pytest.mark.extended
def test_what_is_in_a_nodes_memory_waits_while_its_account_is_suspended(tmp_path: Path, slowness: Slowness) -> None:
    database = Server()
    database.start()
    settings = {"HELIOGRAPH_DATABASE_URL": database.url(), "HELIOGRAPH_NODE_MOST_BINDS": "1"}
    try:
        admin = Admin(tmp_path / "admin", settings)
        account = admin.account("acme", "1000")
        with SimulatorProcess(tmp_path) as simulator:
            # so slow that there are some in memory when the account is suspended, however long that takes
            admin.operator(simulator.port, "operator", "", "--binds", "2", "--rate", "10")
            with Gateways(tmp_path, settings, 2) as gateways:
                for url in gateways.urls:
                    with Customer(url, "acme", account["api_key"]) as customer:
                        numbers = [f"4917012346{number:03}" for number in range(200)]
                        customer.send(to=numbers, content=url[-1])
                gateways.until(lambda: len(simulator.destinations()) > 10, "the first ones")
                admin("account", "suspend", "acme")
                time.sleep(slowness.within(RESUMED_S))
                sent = len(simulator.destinations())
                time.sleep(3)
                assert len(simulator.destinations()) == sent < 300
                admin("account", "resume", "acme")
                before = time.time()
                eventually(lambda: len(simulator.destinations()) > sent, "the next one", pause=0.05)
                assert time.time() - before < slowness.within(RESUMED_S)
                admin("connector", "set", "operator", "rate=0")
                gateways.until(lambda: len(simulator.destinations()) == 400, "all", COMMAND_S)
                gateways.stop()
            assert admin.balance("acme") == "600"
            admin.assert_books_right()
    finally:
        database.remove()
