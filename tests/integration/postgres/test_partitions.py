"""Networks that divide a node from the database, while it still reaches the operator, or from the operator."""

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from heliograph.runtime.lease import LEASE_S, MARGIN_S
from tests.support.background_sink import BackgroundSink
from tests.support.load import Load
from tests.support.postgres import Server, urls
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.slowness import Slowness
from tests.support.switchable_relay import SwitchableRelay
from tests.support.timeouts import COMMAND_S

pytestmark = pytest.mark.slow

WINDOW = 10
CREDIT = 1_000_000
GAP_S = 10.0
"""Within which another node has what a lost one had."""
LEEWAY_S = 0.5
"""What passes between the end of a lease and the operator's note of what was written just before it."""
SENDER = "dispatch,notify,upkeep"


@pytest.fixture
def sink() -> Iterator[BackgroundSink]:
    with BackgroundSink() as background:
        yield background


def node(folder: Path, port: int, name: str, roles: str, most_binds: int = 0) -> GatewayProcess:
    settings = {
        "HELIOGRAPH_DATABASE_URL": urls(port),
        "HELIOGRAPH_ROLES": roles,
        "HELIOGRAPH_NODE_MOST_BINDS": str(most_binds),
    }
    return GatewayProcess(folder / name, settings=settings, name=name)


def submits(simulator: SimulatorProcess) -> list[dict[str, Any]]:
    """The lines of what came to be sent, with the time and the link."""
    lines = [line for line in simulator.seen() if line["event"] == "request"]
    return [line for line in lines if line["pdu"]["command"] == "submit_sm"]


def at(line: dict[str, Any]) -> float:
    return datetime.fromisoformat(line["at"]).timestamp()


def binds(node: GatewayProcess) -> list[int]:
    """The numbers of the binds that came up, in their order: `[1, 1, 2]` after a node with one bind got a second one.
    A link that is lost and comes back is there again."""
    return [line["bind"] for line in node.log() if line["event"] == "smpp.bound"]


def load_of(
    node: GatewayProcess,
    account: dict[str, Any],
    sink: BackgroundSink,
    most: int = CREDIT,
    first: int = 491_700_000_000,
) -> Load:
    """A hundred or so a second."""
    key = account["api_key"]
    return Load(node.url, "acme", key, connections=4, dlr_url=sink.url(), pause=0.03, most=most, first=first)


def finish(load: Load, sink: BackgroundSink) -> None:
    load.wait_for(min(len(load.accepted) + 50, 100))
    load.stop()
    ids = set(load.accepted.values())
    eventually(lambda: ids <= sink.ids(), f"receipts for {len(ids)} messages", COMMAND_S, pause=0.2)


def compare(admin: Admin, load: Load, simulator: SimulatorProcess, window: int, *more: Load) -> None:
    """What was accepted was sent, charged, and not more than a window of it twice."""
    simulator.until_left()
    sent = Counter(simulator.destinations())
    accepted = {to for each in (load, *more) for to in each.accepted}
    unanswered = {to for each in (load, *more) for to in each.unanswered}
    assert accepted <= set(sent) <= accepted | unanswered
    assert sum(count - 1 for count in sent.values()) <= window
    assert Decimal(admin.balance()) == CREDIT - len(sent)
    admin.assert_books_right()


@pytest.mark.extended
def test_a_node_cut_off_from_the_database_while_both_send(
    own_server: Server, tmp_path: Path, sink: BackgroundSink
) -> None:
    """Another one has its bind and its messages soon; and what it says when it is back changes nothing."""
    admin = Admin(tmp_path / "api", {"HELIOGRAPH_DATABASE_URL": own_server.url()})
    account = admin.account("acme", str(CREDIT))
    knobs: dict[str, Any] = {"receipt_delay_ms": 100, "latency_ms": 30, "max_binds": 2}
    with (
        Slowness() as slowness,
        SwitchableRelay(own_server.port) as cable,
        SimulatorProcess(tmp_path, magic=False, **knobs) as simulator,
    ):
        admin.operator(simulator.port, "operator", "", "--window", str(WINDOW), "--binds", "2")
        with (
            node(tmp_path, cable.port, "one", SENDER, 1) as one,
            node(tmp_path, own_server.port, "api", "api") as api,
        ):
            one.until(lambda: one.bound("operator"), "the first node is bound")
            with (
                node(tmp_path, own_server.port, "two", SENDER, 2) as two,
                load_of(api, account, sink) as load,
            ):
                two.until(lambda: two.bound("operator"), "the second node is bound")
                eventually(lambda: len({line["link"] for line in submits(simulator)}) > 1, "both send")
                # the one that bound first, whoever had a message first
                first = min(line["link"] for line in submits(simulator))
                before, cut = len(binds(two)), time.time()
                cable.unplug()
                # with another one it binds the one that it has anew
                eventually(lambda: {1, 2} <= set(binds(two)[before:]), "the other node has both binds")
                taken_over = time.time() - cut
                cable.plug_in()
                assert one.wait() == 1
                finish(load, sink)
                assert [two.stop(), api.stop()] == [0, 0]
        last = max(at(line) for line in submits(simulator) if line["link"] == first) - cut
        print(f"{len(load.accepted)} messages; the last from it after {last:.2f} s; its bind after {taken_over:.2f} s")
        assert last < slowness.within(LEASE_S - MARGIN_S + LEEWAY_S)
        assert taken_over < slowness.within(GAP_S)
        compare(admin, load, simulator, WINDOW)


@pytest.mark.extended
def test_a_node_cut_off_from_the_database_with_messages_in_hand(
    own_server: Server, tmp_path: Path, sink: BackgroundSink
) -> None:
    """It has more of them than it may send in the time of its lease, all marked as being sent, and a link that works;
    it stops when its lease is over, and they are another node's."""
    window, rate = 60, 4
    admin = Admin(tmp_path / "api", {"HELIOGRAPH_DATABASE_URL": own_server.url()})
    account = admin.account("acme", str(CREDIT))
    with (
        Slowness() as slowness,
        SwitchableRelay(own_server.port) as cable,
        SimulatorProcess(tmp_path, magic=False) as simulator,
    ):
        admin.operator(simulator.port, "operator", "", "--window", str(window), "--rate", str(rate))
        with (
            node(tmp_path, cable.port, "one", f"api,{SENDER}") as one,
            node(tmp_path, own_server.port, "two", f"api,{SENDER}") as two,
        ):
            one.until(lambda: one.bound("operator"), "the first node is bound")
            with load_of(one, account, sink, most=100) as load:
                load.join()
            eventually(lambda: len(submits(simulator)) > 2 * rate, "it sends")
            first = submits(simulator)[0]["link"]
            cut = time.time()
            cable.unplug()
            one.until(lambda: "lease.lapsed" in one.err, "its lease lapses")
            eventually(lambda: any(line["link"] != first for line in submits(simulator)), "the other sends")
            assert time.time() - cut < slowness.within(GAP_S)
            cable.plug_in()
            assert one.wait() == 1
            admin("connector", "set", "operator", "rate=0")
            with load_of(two, account, sink, most=20, first=491_800_000_000) as more:
                more.join()
            finish(load, sink)
            finish(more, sink)
            assert two.stop() == 0
        times = {True: [0.0], False: [0.0]}
        for line in submits(simulator):
            times[line["link"] == first].append(at(line) - cut)
        print(f"{len(load.accepted)} messages; after {max(times[True]):.2f} s the last from it")
        # it goes on until its lease is over, and not beyond
        assert 1 < max(times[True]) < slowness.within(LEASE_S - MARGIN_S + LEEWAY_S)
        compare(admin, load, simulator, window, more)


@pytest.mark.extended
def test_a_node_that_was_stopped_and_goes_on(own_server: Server, tmp_path: Path, sink: BackgroundSink) -> None:
    """Another node has its bind and its messages. It writes none of them when it goes on, before it learns that."""
    admin = Admin(tmp_path / "api", {"HELIOGRAPH_DATABASE_URL": own_server.url()})
    account = admin.account("acme", str(CREDIT))
    knobs: dict[str, Any] = {"receipt_delay_ms": 100, "latency_ms": 30, "max_binds": 4}
    with SimulatorProcess(tmp_path, magic=False, **knobs) as simulator:
        admin.operator(simulator.port, "operator", "", "--window", str(WINDOW), "--binds", "4")
        with (
            node(tmp_path, own_server.port, "one", SENDER, 2) as one,
            node(tmp_path, own_server.port, "api", "api") as api,
        ):
            one.until(lambda: {1, 2} <= set(binds(one)), "the first node is bound")
            with (
                node(tmp_path, own_server.port, "two", SENDER, 4) as two,
                load_of(api, account, sink) as load,
            ):
                eventually(lambda: len({line["link"] for line in submits(simulator)}) >= 4, "both send")
                firsts = set(sorted({line["link"] for line in submits(simulator)})[:2])
                before = len(binds(two))
                os.kill(one.pid, signal.SIGSTOP)
                eventually(lambda: "node.released" in two.err, "it is given up")
                all_binds = {1, 2, 3, 4}
                eventually(lambda: all_binds <= set(binds(two)[before:]), "the other node has all binds", COMMAND_S)
                resumed = time.time()
                os.kill(one.pid, signal.SIGCONT)
                assert one.wait() == 1
                assert "task.died" not in one.err
                finish(load, sink)
                assert [two.stop(), api.stop()] == [0, 0]
        late = [line for line in submits(simulator) if line["link"] in firsts and at(line) >= resumed]
        assert late == []
        compare(admin, load, simulator, 2 * WINDOW)


def test_a_node_cut_off_from_the_operator(own_server: Server, tmp_path: Path, sink: BackgroundSink) -> None:
    """What it had written and has no answer for goes again, once the link is known to be lost; and nothing else."""
    admin = Admin(tmp_path / "one", {"HELIOGRAPH_DATABASE_URL": own_server.url()})
    account = admin.account("acme", str(CREDIT))
    settings = {
        "HELIOGRAPH_DATABASE_URL": own_server.url(),
        "HELIOGRAPH_SMPP_ENQUIRE_INTERVAL_S": "1",
        "HELIOGRAPH_SMPP_ENQUIRE_TIMEOUT_S": "1",
    }
    with SimulatorProcess(tmp_path, magic=False, latency_ms=2) as simulator, SwitchableRelay(simulator.port) as cable:
        admin.operator(cable.port, "operator", "", "--window", str(WINDOW))
        with (
            GatewayProcess(tmp_path / "one", settings=settings, name="one") as one,
            load_of(one, account, sink) as load,
        ):
            one.until(lambda: len(submits(simulator)) > 100, "it sends")
            cable.unplug()
            load.wait_for(len(load.accepted) + 50)
            one.until(lambda: "smpp.not_bound" in one.err, "the link is lost")
            cable.plug_in()
            finish(load, sink)
            assert one.stop() == 0
        compare(admin, load, simulator, WINDOW)
