"""The database's machine is lost under load and its standby takes over: gateways follow by themselves."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

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


@pytest.fixture
def pair() -> Iterator[tuple[Server, Server]]:
    """A primary, and a standby that has each commit before it is answered."""
    primary = Server()
    primary.start()
    standby = primary.standby()
    yield primary, standby
    standby.remove()
    primary.remove()


@dataclass
class Gap:
    """Seconds from the loss to the first message that was accepted after it, and to the first that was sent."""

    accepted: float = 0.0
    sent: float = 0.0


def lose(
    pair: tuple[Server, Server],
    url: str,
    folder: Path,
    loss: Callable[[], None],
    back: Callable[[], None],
    gap_s: float,
) -> Gap:
    """Loses the primary under load, makes the standby the primary, and lets the old one come `back` as if nothing had
    been; then compares what everybody was told."""
    settings = {"HELIOGRAPH_DATABASE_URL": url}
    admin = Admin(folder / "api", settings)
    account = admin.account("acme", str(CREDIT))
    sender = settings | {"HELIOGRAPH_ROLES": "dispatch,notify,upkeep"}
    front = settings | {"HELIOGRAPH_ROLES": "api,upkeep"}
    gap = Gap()
    with (
        Slowness() as slowness,
        BackgroundSink() as sink,
        SimulatorProcess(folder, magic=False, latency_ms=2) as simulator,
    ):
        admin.operator(simulator.port, "operator", "", "--window", str(WINDOW))
        with (
            GatewayProcess(folder / "one", settings=sender, name="one") as one,
            GatewayProcess(folder / "api", settings=front, name="api") as api,
            Load(api.url, "acme", account["api_key"], connections=4, dlr_url=sink.url()) as load,
        ):
            load.wait_for(200)
            eventually(lambda: len(simulator.submits()) > 100, "it sends")
            loss()
            start, accepted, submits = time.monotonic(), len(load.accepted), len(simulator.submits())
            pair[1].promote()
            load.wait_for(accepted + 10, COMMAND_S)
            gap.accepted = time.monotonic() - start
            eventually(lambda: len(simulator.submits()) > submits + WINDOW, "it sends again", COMMAND_S)
            gap.sent = time.monotonic() - start
            assert gap.sent < slowness.within(gap_s)
            back()
            load.wait_for(len(load.accepted) + 200)
            load.stop()
            ids = set(load.accepted.values())
            eventually(lambda: ids <= sink.ids(), f"receipts for {len(ids)} messages", COMMAND_S, pause=0.2)
            assert [one.stop(), api.stop()] == [0, 0]
        simulator.until_left()
        sent = Counter(simulator.destinations())
    print(f"{len(ids)} messages, {gap}")
    assert {status for status, _ in load.refused} <= {503}
    assert set(load.accepted) <= set(sent) <= set(load.accepted) | set(load.unanswered)
    assert sum(count - 1 for count in sent.values()) <= WINDOW
    assert Decimal(admin.balance()) == CREDIT - len(sent)
    admin.assert_books_right()
    return gap


def test_its_processes_are_killed(pair: tuple[Server, Server], tmp_path: Path) -> None:
    primary, standby = pair
    lose(pair, urls(primary.port, standby.port), tmp_path, primary.kill_hard, primary.start, 10)


@pytest.mark.extended
def test_its_machine_is_gone(pair: tuple[Server, Server], tmp_path: Path) -> None:
    """Nobody says that connections are closed, and new ones are neither made nor refused; nor is the old primary told
    that it is none any more."""
    primary, standby = pair
    with SwitchableRelay(primary.port) as cable:
        lose(pair, urls(cable.port, standby.port), tmp_path, cable.unplug, cable.plug_in, 20)
