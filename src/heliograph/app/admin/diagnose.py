"""Work of the whole gateway that may have waited for too long, or ended without success."""

from dataclasses import dataclass

from heliograph.app.ports import ConnectorReport
from heliograph.app.records import BacklogCounts
from heliograph.app.resources.desk import Desk


@dataclass(slots=True)
class Leftovers:
    backlog: BacklogCounts
    due: dict[int, int]
    """Due time of the oldest queued message, by connector id."""
    links: list[ConnectorReport]
    """Last words of every node on its connectors."""
    unknown: int
    """Messages that ended as UNKNOWN."""


async def leftovers(desk: Desk, unknown_ms: int) -> Leftovers:
    """Counts UNKNOWN messages if they were accepted in the last `unknown_ms` milliseconds."""
    store, now = desk.store, desk.now
    return Leftovers(
        await store.upkeep.counts(now),
        await store.queue.next_due(),
        await store.network.link_states(),
        await store.upkeep.ended_unknown(now - unknown_ms),
    )
