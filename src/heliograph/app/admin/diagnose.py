"""Work of the whole gateway that waited for too long or ended without success, and commits that the store lost."""

from dataclasses import dataclass

from heliograph.app.ports import ConnectorReport
from heliograph.app.records import BacklogCounts
from heliograph.app.resources.desk import Desk
from heliograph.domain.past import KnownPast, PastState, compare, describe_loss


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


async def describe_missing(desk: Desk, known: KnownPast | None) -> str:
    """Describes the loss that a data directory finds in the store; empty if it finds none, or a person accepted it.
    `known`: None if the directory has seen no past."""
    if known is None:
        return ""
    found = await desk.store.past.find(known)
    return describe_loss(known, found) if compare(known, found, desk.now) is PastState.LOST else ""


async def accept_loss(desk: Desk, fork: int, loss: str) -> None:
    """Lets all gateways go on upon the store as it is. `fork`: a new random number. `loss`: what is known about it."""
    details = {"fork": f"{fork:x}"} | ({"loss": loss} if loss else {})
    await desk.audited("store.accept_past", "store", details).past.accept(fork, desk.now)
