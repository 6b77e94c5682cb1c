"""The installed program on PostgreSQL: it is killed, the server is killed or out of room, and what customers were told
stays true."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.app.ports import HOLD_S
from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.load import Load
from tests.support.ports import free_port, listens
from tests.support.postgres import Server, urls
from tests.support.process import PROGRAM, Admin, GatewayProcess, Process, SimulatorProcess, eventually
from tests.support.slowness import Slowness
from tests.support.switchable_relay import SwitchableRelay

pytestmark = pytest.mark.slow

MESSAGES = 40

LARGE = 400
"""Messages with which a table may be larger than a file of a full disk: it then fails to grow before the log does."""

AWAY_S = 8.0
"""Seconds in which three tasks try the server in vain, each about once a second."""


@pytest.fixture
def sink() -> Iterator[BackgroundSink]:
    with BackgroundSink() as background:
        yield background


@pytest.fixture
def simulator(tmp_path: Path) -> Iterator[SimulatorProcess]:
    with SimulatorProcess(tmp_path, receipt_delay_ms=20) as process:
        yield process


def serving(data: Path, port: int) -> list[str]:
    return [str(PROGRAM), "serve", "--data", str(data), "--listen", f"127.0.0.1:{port}", "--json"]


def send(customer: Customer, number: int, sink: BackgroundSink) -> str | None:
    """The message's id; None if it was not accepted, or is in doubt."""
    reply = customer.form(
        "/api/v1/messages",
        {"to": f"4917{number:08d}", "from": "Heliograph", "content": "Hi", "dlr": "yes", "dlr-url": sink.url()},
    )
    if reply.status == 200:
        found: str = reply.json["Id"]
        return found
    assert reply.status in (503, 504), reply
    assert "retry-after" in reply.headers
    return None


@pytest.mark.extended
def test_the_main_job_through_kills(
    own_server: Server, simulator: SimulatorProcess, tmp_path: Path, sink: BackgroundSink
) -> None:
    settings = {"HELIOGRAPH_DATABASE_URL": own_server.url()}
    data = tmp_path / "data"
    admin = Admin(data, settings)
    account = admin.account("acme", "1000")
    admin.operator(simulator.port)
    accepted: list[str] = []
    with (
        GatewayProcess(data, settings=settings) as gateway,
        Customer(gateway.url, "acme", account["api_key"]) as customer,
    ):
        accepted += filter(None, (send(customer, number, sink) for number in range(MESSAGES)))
        assert len(accepted) == MESSAGES
        gateway.kill()

    with (
        GatewayProcess(data, settings=settings, name="second") as gateway,
        Customer(gateway.url, "acme", account["api_key"]) as customer,
    ):
        own_server.kill()
        assert send(customer, 0, sink) is None
        time.sleep(AWAY_S)
        own_server.start()
        eventually(lambda: customer.get("/health/ready").status == 200, "ready again")
        eventually(lambda: any(line["event"] == "store.recovered" for line in gateway.log()), "told that it is back")
        told = [line["event"] for line in gateway.log() if line["level"] in ("warning", "error", "critical")]
        assert 1 <= told.count("store.unavailable") <= 4
        assert len(told) <= 8, told
        for number in range(MESSAGES, 2 * MESSAGES):
            found = eventually(lambda number=number: send(customer, number, sink), "accepted again")  # type: ignore[misc]
            assert found is not None
            accepted.append(found)
        for message in accepted:
            sink.receipt(message)
        assert customer.balance() == f"{1000 - len(accepted)}"
        assert gateway.stop() == 0
    assert not list(data.glob("*.db"))
    admin.assert_books_right()


@pytest.mark.extended
def test_a_server_whose_log_has_no_room_left(
    own_server: Server, simulator: SimulatorProcess, tmp_path: Path, sink: BackgroundSink
) -> None:
    """It panics in the middle of a commit, and cannot recover. Once there is room it is started again, and everything
    goes on by itself: what was answered 200 is there, paid once and sent."""
    settings = {"HELIOGRAPH_DATABASE_URL": own_server.url()}
    data = tmp_path / "data"
    admin = Admin(data, settings)
    account = admin.account("acme", "100000")
    admin.operator(simulator.port)
    with (
        GatewayProcess(data, settings=settings) as gateway,
        Customer(gateway.url, "acme", account["api_key"]) as customer,
        Load(gateway.url, "acme", account["api_key"], connections=8, dlr_url=sink.url(), pause=0.02) as load,
    ):
        load.wait_for(LARGE)
        own_server.fill_disk()
        own_server.give_up()
        refused = len(load.refused)
        eventually(lambda: len(load.refused) > refused, "customers are told to come again")
        own_server.start()
        load.wait_for(len(load.accepted) + MESSAGES)
        load.stop()
        assert {status for status, _ in load.refused} == {503}
        ids = set(load.accepted.values())
        eventually(lambda: ids <= sink.ids(), f"receipts of all {len(ids)}", pause=0.2)
        eventually(lambda: admin("restored")["unsent"] == 0, "all are sent", pause=0.5)
        balance = customer.balance()
        assert gateway.stop() == 0
        simulator.until_left()
        sent = set(simulator.destinations())
        assert load.accepted.keys() <= sent <= load.accepted.keys() | set(load.unanswered)
        assert balance == f"{100_000 - len(sent)}"
    admin.assert_books_right()


@pytest.mark.extended
@pytest.mark.parametrize("how", ["refuses", "hangs", "swallows"])
def test_a_known_outage_is_answered_at_once(
    how: str, own_server: Server, simulator: SimulatorProcess, tmp_path: Path, sink: BackgroundSink
) -> None:
    """The first requests wait for HOLD_S; later ones get 503 at once, and so does the load balancer."""
    admin = Admin(tmp_path / "data", {"HELIOGRAPH_DATABASE_URL": own_server.url()})
    account = admin.account("acme", "1000")
    admin.operator(simulator.port)
    with (
        Slowness() as slowness,
        SwitchableRelay(own_server.port) as cable,
        GatewayProcess(tmp_path / "data", settings={"HELIOGRAPH_DATABASE_URL": urls(cable.port)}) as gateway,
        Customer(gateway.url, "acme", account["api_key"]) as customer,
        Customer(gateway.url, "acme", account["api_key"]) as balancer,
    ):
        accepted = [send(customer, 0, sink)]
        away = {"refuses": cable.cut, "hangs": own_server.freeze, "swallows": cable.unplug}
        back = {"refuses": cable.plug_in, "hangs": own_server.thaw, "swallows": cable.plug_in}
        away[how]()
        try:
            start = time.monotonic()
            assert send(customer, 1, sink) is None
            assert time.monotonic() - start < slowness.within(HOLD_S + 0.5)
            for number in range(2, 12):
                start = time.monotonic()
                assert send(customer, number, sink) is None
                assert time.monotonic() - start < slowness.within(0.5)
                start = time.monotonic()
                assert balancer.get("/health/ready").status == 503
                assert time.monotonic() - start < slowness.within(1.0)
                start = time.monotonic()
                assert customer.get(f"/api/v1/messages/{accepted[0]}").status == 503
                assert time.monotonic() - start < slowness.within(0.6)
                time.sleep(0.5)
        finally:
            back[how]()
        eventually(lambda: balancer.get("/health/ready").status == 200, "ready again")
        accepted.append(eventually(lambda: send(customer, 99, sink), "accepted again"))
        for message in accepted:
            assert message is not None
            sink.receipt(message)
        assert customer.balance() == "998"
        assert gateway.stop() == 0
    admin.assert_books_right()


def test_a_start_without_a_database_waits_for_it(own_server: Server, tmp_path: Path) -> None:
    """Customers and load balancers get 503 instead of no connection, and the gateway becomes ready by itself."""
    settings = {"HELIOGRAPH_DATABASE_URL": own_server.url()}
    own_server.stop()
    port = free_port()
    program = Process(tmp_path, "waiting", serving(tmp_path / "data", port), settings)
    with program, Customer(f"http://127.0.0.1:{port}", "acme", "no-key") as customer:
        eventually(lambda: "store.unavailable" in program.err, "it says what it waits for")
        eventually(lambda: listens(port), "it listens")
        assert customer.get("/health/live").status == 200
        for path in ("/health/ready", "/api/v1/messages", "/console/"):
            reply = customer.get(path)
            assert (reply.status, reply.json["Status"]) == (503, "13")
            assert int(reply.headers["retry-after"]) >= 1
        own_server.start()
        eventually(lambda: program.out, "ready")
        assert customer.get("/health/ready").status == 200
        assert "store.recovered" in program.err
        assert program.stop() == 0


def test_a_start_that_waits_for_its_database_can_be_stopped(own_server: Server, tmp_path: Path) -> None:
    own_server.stop()
    settings = {"HELIOGRAPH_DATABASE_URL": own_server.url()}
    with Process(tmp_path, "waiting", serving(tmp_path / "data", free_port()), settings) as program:
        eventually(lambda: "store.unavailable" in program.err, "it says what it waits for")
        assert program.stop() == 0


def test_a_start_without_its_database_on_the_server_ends(own_server: Server, tmp_path: Path) -> None:
    """A person has to mend this; to wait would hide it."""
    settings = {"HELIOGRAPH_DATABASE_URL": own_server.url("elsewhere")}
    with Process(tmp_path, "wrong", serving(tmp_path / "data", free_port()), settings) as program:
        assert program.wait() == 1
        assert "the gateway could not start: the database cannot be used: InvalidCatalogNameError" in program.err
