"""Several nodes on one database, with roles of their own, one of which dies."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from heliograph.adapters.store.postgres import PostgresStore
from heliograph.app.facts import Facts, PartReceipt, Submission
from heliograph.domain.message.ids import to_hex
from heliograph.domain.message.receipt import Delivery
from tests.support.background_sink import BackgroundSink
from tests.support.crash import kill_under_load
from tests.support.customer import Customer
from tests.support.load import Load
from tests.support.postgres import Server
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.slowness import Slowness
from tests.support.store import Given
from tests.support.timeouts import COMMAND_S

pytestmark = pytest.mark.slow

WINDOW = 10
CREDIT = 1_000_000
GAP_S = 10.0
SENDER = "dispatch,notify,upkeep"
LONG_TO, LONG_ONES, LONG_PARTS = "447700900123", 20, 3


@pytest.fixture
def sink() -> Iterator[BackgroundSink]:
    with BackgroundSink() as background:
        yield background


def node(folder: Path, url: str, name: str, roles: str, most_binds: int = 0) -> GatewayProcess:
    settings = {
        "HELIOGRAPH_DATABASE_URL": url,
        "HELIOGRAPH_ROLES": roles,
        "HELIOGRAPH_NODE_MOST_BINDS": str(most_binds),
    }
    return GatewayProcess(folder / name, settings=settings, name=name)


def took(look: Callable[[], bool], what: str) -> None:
    """Waits until it is so, which takes less than GAP_S."""
    began = time.monotonic()
    with Slowness() as slowness:
        eventually(look, what)
    assert time.monotonic() - began < slowness.within(GAP_S), what


def wait_for_full_window(url: str) -> None:
    """Waits until the window to an operator that answers no more is full, and the node has read all that it answered
    before: between two looks no answer came."""
    full = f'heliograph_connector_in_flight{{connector="operator"}} {WINDOW}'
    looks: list[list[str]] = [[]]

    def rests(customer: Customer) -> bool:
        page = customer.get("/metrics").body.decode().splitlines()
        looks.append([line for line in page if line.startswith(("heliograph_submit_seconds", full))])
        return full in looks[-1] and looks[-1] == looks[-2]

    with Customer(url, "", "") as customer:
        eventually(lambda: rests(customer), "its window is full", pause=0.1)


def send_long_ones(url: str, key: str, sink: BackgroundSink) -> None:
    """Messages of several parts, the receipts of which come to several nodes; until they are there."""
    form = {"to": LONG_TO, "from": "Heliograph", "content": "x" * 400, "dlr": "yes", "dlr-url": sink.url()}
    with Customer(url, "acme", key) as customer:
        ids = [customer.form("/api/v1/messages", form).json["Id"] for _ in range(LONG_ONES)]
    for each in ids:
        sink.receipt(each)


@pytest.mark.parametrize(
    ("binds", "most"),
    [
        pytest.param(2, 1, id="both send"),
        pytest.param(1, 0, id="one stands by", marks=pytest.mark.extended),
    ],
)
def test_a_node_that_sends_dies_under_load(
    own_server: Server, tmp_path: Path, sink: BackgroundSink, binds: int, most: int
) -> None:
    url = own_server.url()
    admin = Admin(tmp_path / "api", {"HELIOGRAPH_DATABASE_URL": url})
    account = admin.account("acme", str(CREDIT))
    # half of the receipts come by the other node's bind, some of them before the answer's own commit
    knobs: dict[str, Any] = {
        "receipt_delay_ms": 5,
        "latency_ms": 2,
        "max_binds": binds,
        "receipt_other_bind_share": 0.5,
    }
    with SimulatorProcess(tmp_path, magic=False, **knobs) as simulator:
        admin.operator(simulator.port, "operator", "", "--window", str(WINDOW), "--binds", str(binds))
        with (
            node(tmp_path, url, "one", SENDER, most) as one,
            node(tmp_path, url, "api", "api") as api,
        ):
            eventually(lambda: one.bound("operator"), "the first node is bound")
            with (
                node(tmp_path, url, "two", SENDER, most) as two,
                Load(api.url, "acme", account["api_key"], connections=4, dlr_url=sink.url()) as load,
            ):
                if binds > 1:
                    eventually(lambda: two.bound("operator"), "the second node is bound")
                send_long_ones(api.url, account["api_key"], sink)
                load.wait_for(300)
                one.kill()
                submits = len(simulator.submits())
                took(lambda: len(simulator.submits()) > submits + 100, "others send")
                load.wait_for(len(load.accepted) + 100)
                load.stop()
                ids = set(load.accepted.values())
                eventually(lambda: ids <= sink.ids(), f"receipts for {len(ids)} messages", COMMAND_S, pause=0.2)
                assert two.bound("operator")
                assert [two.stop(), api.stop()] == [0, 0]
        simulator.until_left()
        sent = Counter(simulator.destinations())
        answers = [line["pdu"] for line in simulator.seen() if line["event"] == "answer"]
        assert {pdu["status"] for pdu in answers if pdu["command"].startswith("bind_")} == {"ESME_ROK"}
    assert sent.pop(LONG_TO) == LONG_ONES * LONG_PARTS
    assert set(load.accepted) <= set(sent) <= set(load.accepted) | set(load.unanswered)
    assert sum(count - 1 for count in sent.values()) <= WINDOW
    assert Decimal(admin.balance()) == CREDIT - len(sent) - LONG_ONES * LONG_PARTS
    admin.assert_books_right()


@pytest.mark.extended
def test_receipts_of_what_a_node_sent_alone_come_to_one_that_joins_it(
    own_server: Server, tmp_path: Path, sink: BackgroundSink
) -> None:
    """The first one has the operator's only bind, and awaits in memory; then the operator allows a second one, which
    another node takes, and by which all receipts come."""
    url, messages = own_server.url(), 20
    admin = Admin(tmp_path / "one", {"HELIOGRAPH_DATABASE_URL": url})
    account = admin.account("acme", str(CREDIT))
    knobs: dict[str, Any] = {"receipt_delay_ms": 8_000, "max_binds": 2, "receipt_other_bind_share": 1.0}
    with SimulatorProcess(tmp_path, magic=False, **knobs) as simulator:
        admin.operator(simulator.port, "operator")
        with node(tmp_path, url, "one", f"api,{SENDER}", 1) as one:
            eventually(lambda: one.bound("operator"), "the first node is bound")
            form = {"to": "447700900123", "from": "Heliograph", "content": "Hi", "dlr": "yes", "dlr-url": sink.url()}
            with Customer(one.url, "acme", account["api_key"]) as customer:
                ids = [customer.form("/api/v1/messages", form).json["Id"] for _ in range(messages)]
            eventually(lambda: len(simulator.submits()) >= messages, "all are sent")
            assert admin.run("connector", "set", "operator", "binds=2").returncode == 0
            with node(tmp_path, url, "two", SENDER, 1) as two:
                eventually(lambda: two.bound("operator"), "the second node is bound")
                for each in ids:
                    sink.receipt(each)
                assert [one.stop(), two.stop()] == [0, 0]
    admin.assert_books_right()


@pytest.mark.parametrize("rates", ["rate=30", "rates=00:00-12:00 30, 12:00-24:00 30"])
@pytest.mark.extended
def test_a_rate_holds_over_all_nodes(own_server: Server, tmp_path: Path, rates: str) -> None:
    """Three nodes with a bind each send as fast as they may, and together not faster than the operator allows."""
    rate, messages = 30, 240
    url = own_server.url()
    admin = Admin(tmp_path / "api", {"HELIOGRAPH_DATABASE_URL": url})
    account = admin.account("acme", str(CREDIT))
    with SimulatorProcess(tmp_path, magic=False, max_binds=3) as simulator, ExitStack() as stack:
        admin.operator(simulator.port, "operator", "", "--rate", "1000", "--binds", "3")
        admin("connector", "set", "operator", rates)
        nodes = [stack.enter_context(node(tmp_path, url, name, SENDER, 1)) for name in ("one", "two", "three")]
        for each in nodes:
            each.until(lambda each=each: each.bound("operator"), "it is bound")  # type: ignore[misc]
        api = stack.enter_context(node(tmp_path, url, "api", "api"))
        # over some seconds, faster than they are sent: in one moment the first node that looks would claim them all
        with (
            Slowness() as slowness,
            Load(api.url, "acme", account["api_key"], connections=4, most=messages, pause=0.05) as load,
        ):
            load.join()
            eventually(lambda: len(simulator.submits()) >= messages, "all are sent", pause=0.2)
        assert [each.stop() for each in (*nodes, api)] == [0] * 4
        simulator.until_left()
        lines = [line for line in simulator.seen() if line["event"] == "request"]
    sent = [line for line in lines if line["pdu"]["command"] == "submit_sm"]
    # which of them claims how much of so little is nobody's promise; that more than one does is what is tried here
    assert len({line["link"] for line in sent}) > 1
    times = sorted(datetime.fromisoformat(line["at"]).timestamp() for line in sent)
    span = 2.0
    most = max(sum(start <= at < start + span for at in times) for start in times)
    # an operator that has no time for a while notes at once what came meanwhile
    assert most <= rate * slowness.within(span) * 1.2 + 3


@pytest.mark.extended
def test_three_nodes_are_killed_by_turns(own_server: Server, tmp_path: Path) -> None:
    """The short form of `make crash STORE=postgres NODES=3`."""
    toll = kill_under_load(tmp_path, 2, {"HELIOGRAPH_DATABASE_URL": own_server.url()}, nodes=3)
    assert toll.faults() == []
    assert toll.receipts == toll.answered <= toll.taken


@pytest.mark.extended
def test_a_node_that_was_given_up_sends_nothing_and_ends(
    own_server: Server, tmp_path: Path, sink: BackgroundSink
) -> None:
    """It is stopped for longer than its lease lasts, and then goes on. What it is just about to write no look at a
    lease could hold back: it is stopped while it has nothing to write, as its window is full."""
    url = own_server.url()
    admin = Admin(tmp_path / "api", {"HELIOGRAPH_DATABASE_URL": url})
    account = admin.account("acme", str(CREDIT))
    with SimulatorProcess(tmp_path, magic=False, latency_ms=2) as simulator:
        admin.operator(simulator.port, "operator", "", "--window", str(WINDOW))
        with (
            node(tmp_path, url, "one", SENDER) as one,
            node(tmp_path, url, "api", "api,notify,upkeep") as api,
            Load(api.url, "acme", account["api_key"], connections=4, dlr_url=sink.url()) as load,
        ):
            with Customer(one.url, "acme", account["api_key"]) as customer:
                assert customer.get("/health/ready").status == 200
                form = {"to": "447700900123", "from": "Heliograph", "content": "Hi"}
                assert {customer.form("/api/v1/messages", form).status for _ in range(2)} == {404}
                assert customer.get("/console").status == 404
            load.wait_for(100)
            eventually(lambda: len(simulator.submits()) > 50, "it sends")
            os.kill(simulator.pid, signal.SIGSTOP)
            wait_for_full_window(one.url)
            os.kill(one.pid, signal.SIGSTOP)
            os.kill(simulator.pid, signal.SIGCONT)
            took(lambda: "node.released" in api.err, "it is given up")
            submits = len(simulator.submits())
            os.kill(one.pid, signal.SIGCONT)
            assert one.wait() == 1
            assert len(simulator.submits()) == submits
            load.stop()
            with node(tmp_path, url, "two", SENDER) as two:
                ids = set(load.accepted.values())
                eventually(lambda: ids <= sink.ids(), f"receipts for {len(ids)} messages", COMMAND_S, pause=0.2)
                assert [two.stop(), api.stop()] == [0, 0]
        simulator.until_left()
        sent = Counter(simulator.destinations())
    assert sum(count - 1 for count in sent.values()) <= WINDOW
    admin.assert_books_right()


@pytest.mark.extended
async def test_a_message_of_which_a_dead_node_had_the_last_receipt_ends(
    own_server: Server, tmp_path: Path, sink: BackgroundSink
) -> None:
    """It died between that commit and the look at what the others had written."""
    url = own_server.url()
    admin = Admin(tmp_path / "one", {"HELIOGRAPH_DATABASE_URL": url})
    admin.account("acme", str(CREDIT))
    store = await PostgresStore.open(url)
    dead, now = 99, int(time.time() * 1000)
    assert await store.leases.heartbeat(dead, 0)
    given = Given(store, now - 60_000)
    message = await given.sent(1, segments=2, wants_receipt=True, callback_url=sink.url(), expires=now + 3_600_000)
    await store.commits.record(
        Facts(
            submissions=[
                Submission(message.account, message.key, part, 1, f"id{part}", 0, now - 50_000) for part in range(2)
            ],
            parts=[
                PartReceipt(message.account, message.key, part, Delivery.DELIVRD, "000", now - 40_000)
                for part in range(2)
            ],
        )
    )
    with node(tmp_path, url, "one", "api,notify,upkeep") as one:
        one.until(lambda: "node.released" in one.err, "the dead node is given up")
        one.until(lambda: sink.ids(), "its message ends, and the customer is told")
        assert one.stop() == 0
    assert sink.ids() == {to_hex(message.key, message.tail)}
    assert await store.upkeep.audit() == []
    await store.close()


@pytest.mark.extended
def test_when_the_database_is_away_for_long_a_node_waits_and_goes_on(
    own_server: Server, tmp_path: Path, sink: BackgroundSink
) -> None:
    admin = Admin(tmp_path / "api", {"HELIOGRAPH_DATABASE_URL": own_server.url()})
    account = admin.account("acme", str(CREDIT))
    with SimulatorProcess(tmp_path, magic=False, latency_ms=2) as simulator:
        admin.operator(simulator.port, "operator", "", "--window", str(WINDOW))
        with (
            node(tmp_path, own_server.url(), "one", "api,dispatch,notify,upkeep") as one,
            Load(one.url, "acme", account["api_key"], connections=4, dlr_url=sink.url()) as load,
        ):
            load.wait_for(100)
            own_server.kill()
            took(lambda: "lease.lapsed" in one.err, "its lease lapses")
            submits = len(simulator.submits())
            own_server.start()
            load.wait_for(len(load.accepted) + 100)
            one.until(lambda: len(simulator.submits()) > submits + 100, "it sends again")
            load.stop()
            ids = set(load.accepted.values())
            eventually(lambda: ids <= sink.ids(), f"receipts for {len(ids)} messages", COMMAND_S, pause=0.2)
            assert one.stop() == 0
        simulator.until_left()
        sent = Counter(simulator.destinations())
    assert sum(count - 1 for count in sent.values()) <= WINDOW
    admin.assert_books_right()
