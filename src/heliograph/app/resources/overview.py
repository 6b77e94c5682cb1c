"""The overview: counts of waiting work, and the state of connectors."""

from typing import Any

from heliograph.app.records import Scope
from heliograph.app.resources.description import Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk
from heliograph.app.resources.fields import Field, Moment, Pairs, Whole


async def overview(desk: Desk) -> dict[str, Any]:
    backlog = await desk.store.upkeep.counts(desk.now)
    return {
        "scheduled": backlog.scheduled,
        "waiting": backlog.waiting,
        "deferred": sum(backlog.deferred.values()),
        "held": sum(backlog.held.values()),
        "awaiting_receipts": backlog.awaiting,
        "callbacks_pending": backlog.owed,
        "callbacks_failed": backlog.ended,
        "unmatched_receipts": backlog.orphans,
        "oldest_waiting": backlog.oldest,
        "links": {connector.name: state.summary for connector, state in desk.carrier_states()},
    }


_FIELDS = (
    Field("scheduled", Whole(), "Messages that wait for their time. Counts stop at 100,000."),
    Field("waiting", Whole(), "Messages that are due, and wait in the queue."),
    Field("deferred", Whole(), "Messages that wait for another try."),
    Field("held", Whole(), "Messages that are held: by the pumping guard, an administrator or a suspension."),
    Field("awaiting_receipts", Whole(), "Parts that await their receipt."),
    Field("callbacks_pending", Whole(), "Callbacks that wait for a try."),
    Field("callbacks_failed", Whole(), "Callbacks that are no longer tried."),
    Field("unmatched_receipts", Whole(), "Receipts that match no message."),
    Field("oldest_waiting", Moment(), "Due time of the oldest waiting message; null: none waits.", nullable=True),
    Field("links", Pairs(), "The state of each connector of this process, in a sentence."),
)

OVERVIEW = Resource(
    name="overview",
    plural="overview",
    summary="Counts of waiting work, and the state of the connectors",
    more="",
    nothing="",
    key=(),
    fields=_FIELDS,
    scopes=Scopes(Scope.READ_MESSAGES, Scope.READ_MESSAGES),
    operations=(
        Operation(
            "show",
            "GET /overview",
            overview,
            "Counts of waiting work, and the state of the connectors",
            answers=_FIELDS,
            answer_name="Overview",
            id="overview",
            is_command=False,
        ),
    ),
)
