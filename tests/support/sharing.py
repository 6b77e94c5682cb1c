"""Nodes that share a store, for tests of the store alone."""

from heliograph.app.facts import Message, Submission
from heliograph.app.ports import Leases, Store
from heliograph.domain.message.ids import IdSequence
from tests.support.store import HOUR, START, Given

ONE, OTHER = 1001, 1002
LEASE = 10 * HOUR


class SharedStore(Store):
    """A store that nodes share."""

    leases: Leases


NO_DEADLINE = 1 << 62
"""For `release_dead`."""


def within(span: int) -> int:
    """For `release_dead`: those whose leases end within that time are dead, as if it were over."""
    return -span


def giving(store: Store, worker: int) -> Given:
    """Keys are this worker's."""
    given = Given(store)
    given._sequence = IdSequence(worker)
    return given


async def joined(store: Store, node: int) -> Given:
    """A node with a lease and a worker number, recovered."""
    leases = store.leases
    assert leases is not None
    assert await leases.heartbeat(node, LEASE)
    worker = await leases.lease_worker(node)
    assert worker is not None
    await store.commits.recover(worker, node)
    return giving(store, worker)


def answered(message: Message) -> Submission:
    """The operator's answer to a message of a single part."""
    return Submission(message.account, message.key, 0, 1, "id", 0, START)
