"""Leases, as far as one node can tell."""

import pytest

from heliograph.app.ports import SingleJob, Store
from heliograph.domain.message.ids import WORKERS
from tests.support.sharing import NO_DEADLINE
from tests.support.store import HOUR, NODE, OPENERS


@pytest.mark.parametrize("opener", OPENERS, indirect=True)
async def test_a_node_by_itself_has_all_that_it_asks_for(store: Store) -> None:
    leases = store.leases
    if leases is None:
        return  # an embedded store has one node
    assert await leases.heartbeat(NODE, HOUR)
    assert await leases.heartbeat(NODE, 2 * HOUR)
    assert await leases.release_dead(NO_DEADLINE) == []
    worker = await leases.lease_worker(NODE)
    assert worker is not None
    assert 0 <= worker < WORKERS
    assert await leases.lease_binds(1, NODE, 4, 2) == [0, 1]
    assert await leases.lease_binds(1, NODE, 4, 9) == [0, 1, 2, 3]
    assert await leases.lease_binds(1, NODE, 2, 9) == [0, 1]
    assert await leases.lease_binds(1, NODE, 4, 0) == []
    assert await leases.lease_job(SingleJob.ALERTS, NODE)
    assert await leases.lease_job(SingleJob.ALERTS, NODE)
