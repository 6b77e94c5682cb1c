"""What was answered 200 is on disk, paid once, and goes out, whatever becomes of the process."""

import os
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from tests.support.background_sink import BackgroundSink
from tests.support.crash import CREDIT, WINDOW, kill_under_load, wait_for_all
from tests.support.load import Load
from tests.support.ports import free_port
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.timeouts import COMMAND_S

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("TEST_KILLS", "3"))
"""How often the gateway is killed under load; `make crash KILLS=50` prints what came of it."""


@pytest.mark.timeout(600 + 60 * KILLS)
def test_killed_under_load(tmp_path: Path) -> None:
    toll = kill_under_load(tmp_path, KILLS)
    assert toll.faults() == []
    assert toll.answered >= 150 * KILLS
    assert toll.receipts == toll.answered <= toll.taken


@pytest.mark.extended
@pytest.mark.timeout(600 + 60 * KILLS)
def test_killed_under_smpp_load(tmp_path: Path) -> None:
    """Messages without an answer are submitted again with their reference: none is lost, none is charged twice."""
    toll = kill_under_load(tmp_path, KILLS, smpp=True)
    assert toll.faults() == []
    assert toll.answered >= 150 * KILLS
    assert toll.receipts == toll.answered == toll.taken
    assert toll.submitted_again


def test_a_stop_under_load_loses_nothing_and_repeats_nothing(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink
) -> None:
    account = admin.account("acme", str(CREDIT))
    port = free_port()
    with SimulatorProcess(tmp_path, magic=False, receipt_delay_ms=200, latency_ms=50) as simulator:
        admin.operator(simulator.port, "operator", "", "--window", str(WINDOW))
        with Load(f"http://127.0.0.1:{port}", "acme", account["api_key"], connections=8, dlr_url=sink.url()) as load:
            for _ in range(2):
                with GatewayProcess(data, port=port) as gateway:
                    load.wait_for(len(load.accepted) + 150)
                    assert gateway.stop() == 0
            load.stop()
            # a stopped gateway has answered everything that it took
            with GatewayProcess(data, port=port) as gateway:
                wait_for_all(load, simulator, sink)
                assert gateway.stop() == 0
        assert simulator.stop() == 0
        sent = Counter(simulator.destinations())
    assert set(sent.values()) == {1}
    assert Decimal(admin.balance()) == CREDIT - len(sent)
    admin.assert_books_right()


def test_receipts_that_came_while_the_customer_was_away_are_posted_after_a_kill(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink
) -> None:
    account = admin.account("acme", str(CREDIT))
    away = free_port()
    with SimulatorProcess(tmp_path, magic=False, receipt_delay_ms=10) as simulator:
        admin.operator(simulator.port)
        with GatewayProcess(data) as gateway:
            dead = f"http://127.0.0.1:{away}/dlr"
            with Load(gateway.url, "acme", account["api_key"], connections=4, most=50, dlr_url=dead) as load:
                load.join()
            assert len(load.accepted) == 50
            eventually(lambda: admin("callbacks", "status")["pending"] == 50, "50 receipts owed", pause=0.2)
            gateway.kill()
        with BackgroundSink(port=away) as late, GatewayProcess(data) as gateway:
            # those that were tried again and again meanwhile are not due at once
            eventually(lambda: set(load.accepted.values()) <= late.ids(), "the receipts", COMMAND_S)
            eventually(
                lambda: admin("callbacks", "status") == {"pending": 0, "failed": 0, "receivers": []},
                "none owed",
                pause=0.2,
            )
            assert gateway.stop() == 0
