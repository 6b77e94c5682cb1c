"""Recovery: finds the work in flight at the end of the last process, by the rows that are missing above the marks. For
example, a message without a submission was not sent."""

from collections.abc import Mapping

from heliograph.adapters.store.shared.notices import inbound_notice_of, notice_of
from heliograph.adapters.store.shared.queue import queued_of
from heliograph.adapters.store.shared.receipts import orphans, outstanding_of
from heliograph.adapters.store.shared.steps import Q, Steps
from heliograph.app.facts import Queued
from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH, Recovery, attempted

EARLY_LIMIT = 20_000
"""Most early receipts that a recovery returns, the newest first."""


def recovery(worker: int) -> Steps[Recovery]:
    """Returns the work that the worker's fast lane owes. `last_key` is the highest key of any worker: keys given later
    must be above it."""
    rows = yield Q.marks(worker=worker)
    marks: dict[str, int] = {name: value for name, value in rows}  # noqa: C416 - rows are tuples of anything
    unsent = yield Q.unsent(mark=marks.get(DISPATCH, 0), worker=worker)
    outstanding = yield Q.unanswered(mark=marks.get(AWAITING, 0), worker=worker)
    owed = yield Q.untold(mark=marks.get(CALLBACK, 0), worker=worker)
    owed_inbound = yield Q.untold_inbound(mark=marks.get(CALLBACK, 0), worker=worker)
    ((unanswered,),) = yield Q.unanswered_inbound()
    ((last_key,),) = yield Q.last_key()
    early = yield from orphans(EARLY_LIMIT)
    queued = {key: key <= marks.get(attempted(connector), 0) for key, connector in unsent}
    return Recovery(
        last_key=last_key,
        marks=marks,
        unsent=(yield from _unsent(queued)),
        outstanding=(yield from outstanding_of([key for (key,) in outstanding])),
        owed=[*map(notice_of, owed), *map(inbound_notice_of, owed_inbound)],
        unanswered=bool(unanswered),
        early=early[::-1],
    )


def _unsent(attempted: Mapping[int, bool]) -> Steps[list[Queued]]:
    """Returns the messages of these keys. Their recipients may have opted out since they were accepted."""
    if not attempted:
        return []
    found = yield from queued_of(attempted, queued=False)
    suppressed = {key for (key,) in (yield Q.suppressed_unsent(keys=list(attempted)))}
    for each in found:
        each.suppressed = each.message.key in suppressed and not each.attempted
    return found
