"""Leases, as far as one node can tell."""

from heliograph.app.ports import Leases
from heliograph.domain.ids import WORKERS
from tests.support.store import NODE, SECOND, START


async def test_a_node_by_itself_has_all_that_it_asks_for(store: Leases) -> None:
    assert await store.heartbeat(NODE, START + SECOND)
    assert await store.heartbeat(NODE, START + 2 * SECOND)
    assert await store.release_dead(START + SECOND) == []
    worker = await store.lease_worker(NODE)
    assert worker is not None
    assert 0 <= worker < WORKERS
    assert await store.lease_binds(1, NODE, 4, 2) == [0, 1]
    assert await store.lease_binds(1, NODE, 4, 9) == [0, 1, 2, 3]
    assert await store.lease_binds(1, NODE, 2, 9) == [0, 1]
    assert await store.lease_binds(1, NODE, 4, 0) == []
