"""Trials of the cluster of docs/high-availability.md: a fault under load, then the books of all sides."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ha.cluster import Cluster
from tests.ha.scene import HEADER, WINDOW, Scene
from tests.ha.trials import RELAYED, TRIALS

pytestmark = [pytest.mark.ha, pytest.mark.slow, pytest.mark.extended, pytest.mark.peer]

KILLED = {"kill_gateway_and_leader": 1}
"""Gateways that a trial kills: each may double a window."""


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
    with Scene(cluster, tmp_path, trial, relayed=trial in RELAYED) as scene:
        TRIALS[trial](scene)
        row = scene.close_books()
    print(f"\n{row}")
    table.append(str(row))
    assert row.lost == 0
    assert row.doubled <= WINDOW * KILLED.get(trial, 0)
