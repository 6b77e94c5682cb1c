"""Trials of the cluster of docs/high-availability.md: a fault under load, then the books of all sides."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.app.ports import HOLD_S
from tests.ha.cluster import DATABASES, Cluster, is_ready, send
from tests.ha.scene import HEADER, WINDOW, Scene
from tests.ha.trials import RELAYED, TRIALS
from tests.support.process import eventually
from tests.support.slowness import Slowness
from tests.support.timeouts import COMMAND_S

pytestmark = [pytest.mark.ha, pytest.mark.slow, pytest.mark.extended, pytest.mark.peer]

KILLED = {"kill_gateway_and_leader": 1}
"""Gateways that a trial kills: each may double a window."""

UNSEEN = {"nothing", "switchover", "rolling_restart"}
"""Trials in which no customer sees an error, if no pause is longer than `HOLD_S`."""

AGAIN_S = 1.0
"""Seconds from the first commit on the new leader to the next 200."""

HUNG_S = 3.0
"""The same if the old leader hangs: connections to it must time out before a gateway asks all servers again."""

REFUSED_S = 0.5
"""Seconds in which a request gets 503 once the outage is known."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        cluster.start()
        yield cluster


@pytest.fixture(scope="module")
def table() -> Iterator[list[str]]:
    """The rows of all trials, printed at the end."""
    rows: list[str] = []
    yield rows
    print("\n", HEADER, *rows, sep="\n")


@pytest.mark.parametrize("trial", TRIALS)
def test_trial(cluster: Cluster, tmp_path: Path, trial: str, table: list[str]) -> None:
    cluster.heal()
    with Slowness() as slowness, Scene(cluster, tmp_path, trial, relayed=trial in RELAYED) as scene:
        TRIALS[trial](scene)
        row = scene.close_books()
    print(f"\n{row}")
    table.append(str(row))
    assert row.lost == 0
    assert row.doubled <= WINDOW * KILLED.get(trial, 0)
    # a killed gateway cannot start while there is no leader
    assert row.ends == 0 or trial in KILLED
    assert (row.again or 0.0) <= slowness.within(HUNG_S if trial == "stop_leader" else AGAIN_S)
    assert row.known_refusal <= slowness.within(REFUSED_S)
    if trial in UNSEEN and row.pause < HOLD_S:
        assert (row.refused, row.unanswered) == (0, 0)


def test_restore(cluster: Cluster, tmp_path: Path) -> None:
    """The runbook: a backup taken under load replaces the database. Only messages accepted after it are missing."""
    cluster.heal()
    with Scene(cluster, tmp_path, "restore") as scene:
        before = set(scene.customers.accepted)
        cluster.dump("restore", tmp_path / "sms.dump")
        scene.flow()
        for gateway in scene.gateways:
            gateway.stop()
        at_stop = set(scene.customers.accepted)
        cluster.restore("restore", tmp_path / "sms.dump")
        scene.admin.assert_books_right()
        scene.admin("restored")
        for gateway in scene.gateways:
            gateway.start()
        scene.flow()
        scene.customers.stop()
        accepted = scene.customers.accepted
        kept = before | (accepted.keys() - at_stop)
        ids = {accepted[number] for number in kept}
        eventually(lambda: ids <= scene.sink.ids(), "receipts for all", COMMAND_S)
        assert kept <= scene.stored() <= accepted.keys()
        scene.admin.assert_books_right()


def test_rolled_back(cluster: Cluster, tmp_path: Path) -> None:
    """The runbook: a failover by force to a standby that lacks confirmed commits. Both gateways refuse it."""
    cluster.heal()
    with Scene(cluster, tmp_path, "rolled_back") as scene:
        leader, standby = cluster.leader(), cluster.synchronous()
        (behind,) = set(DATABASES) - {leader, standby}
        kept = set(scene.customers.accepted)
        cluster.until(lambda: cluster.has_all(behind), f"{behind} has what was accepted")
        receivers = cluster.walreceivers(behind)
        assert len(receivers) == 1
        send(signal.SIGSTOP, receivers)
        scene.flow(100)
        cluster.kill_database(leader)
        cluster.kill_database(standby)
        at_stop = set(scene.customers.accepted)
        send(signal.SIGKILL, receivers)
        cluster.fail_over_by_force(behind)
        cluster.start_ended()
        cluster.copy_anew(standby)
        cluster.heal()

        for gateway in scene.gateways:
            eventually(gateway.refuses_the_past, "it refuses the database", COMMAND_S)
            assert not is_ready(gateway.url)
        admin = scene.gateways[0].admin()
        assert "heliograph restored" in admin.run("doctor", "--json").stdout
        admin("restored")
        eventually(lambda: all(is_ready(gateway.url) for gateway in scene.gateways), "both go on", COMMAND_S)
        scene.flow()
        scene.customers.stop()

        accepted = scene.customers.accepted
        lost = accepted.keys() - scene.stored()
        assert lost
        assert lost <= at_stop - kept
        with scene.customer() as customer:
            for number in lost:
                customer.send(to=number, content="again", reference=number)
        assert scene.stored() == accepted.keys()
        admin.assert_books_right()
