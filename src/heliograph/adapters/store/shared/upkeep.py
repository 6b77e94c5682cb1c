"""`app.ports.Upkeep`: housekeeping, counts, and the proof of the books."""

from collections.abc import Sequence

from heliograph.adapters.store.shared.lists import StoredLists
from heliograph.adapters.store.shared.steps import (
    Operations,
    Q,
    Query,
    Row,
    Steps,
    browse,
    first,
    listing,
    lookup,
    scan,
    write,
)
from heliograph.app.admin.ledger_checks import CHECKS, format_finding
from heliograph.app.records import COUNTED, BacklogCounts, RestorePoint, ToldWorry
from heliograph.domain.limits.gate import Holder
from heliograph.domain.message.ids import first_key_at, time_of

SETTLED_MS = 30_000
"""Milliseconds. All ids older than this are committed: nodes make ids by their own clocks and commit later. More than
the sum of a lease, the difference of two clocks, and the longest statement."""

MOST_FINDINGS = 1_000
"""Most findings of a check that the audit lists."""


class StoredUpkeep(Operations):
    async def index_numbers(self, now: int, size: int) -> int:
        before = first_key_at(now - SETTLED_MS)
        if await self._next_block(before, size) is None:
            return 0  # and nothing waited
        return await self._add_block(before, size)

    @browse
    def _next_block(self, before: int, size: int) -> Steps[tuple[int, int, int] | None]:
        return (yield from _next_block(before, size))

    @write
    def _add_block(self, before: int, size: int) -> Steps[int]:
        found = yield from _next_block(before, size)
        if found is None:
            return 0
        block, start, end = found
        # a second node waits here for the first, and then has nothing to do
        if not (yield Q.add_block(block=block, first=start, last=end)):
            return 0
        yield Q.fill_block(block=block, first=start, last=end)
        yield Q.lock_blocks()
        yield Q.fill_content(block=block, first=start, last=end)
        return size

    async def tidy_lists(self) -> None:
        await StoredLists(self.runner).tidy()

    @write
    def probe(self) -> Steps[None]:
        yield Q.probe()

    @lookup
    def hazards(self) -> Steps[list[str]]:
        """Returns a warning for each server setting that endangers durability and that no connection can override."""
        found = yield from first(Q.server_syncs())
        if found is not None and found[0] == "off":
            return ["the database's server does not sync its writes (fsync = off): a power loss may lose all data"]
        return []

    @lookup
    def backlog(self) -> Steps[dict[str, int]]:
        """Counts the backlog. `queued` counts the rows of the queue that are not scheduled messages."""
        ((scheduled, queued, callbacks, callbacks_failed, orphans, awaiting),) = yield Q.backlog()
        return {
            "scheduled": scheduled,
            "queued": queued - scheduled,
            "callbacks": callbacks,
            "callbacks_failed": callbacks_failed,
            "orphans": orphans,
            "awaiting": awaiting,
        }

    @browse
    def counts(self, now: int) -> Steps[BacklogCounts]:
        ((scheduled, waiting, oldest, awaiting, owed, ended, orphans),) = yield Q.counts(now=now, most=COUNTED)
        deferred = yield Q.deferred(now=now, most=COUNTED)
        held = yield Q.held(most=COUNTED)
        return BacklogCounts(
            scheduled=scheduled,
            waiting=waiting,
            oldest=oldest,
            deferred=dict(deferred),
            awaiting=awaiting,
            owed=owed,
            ended=ended,
            orphans=orphans,
            held={holder: count for holder, count in zip(Holder, held[0], strict=True) if count},
        )

    @listing
    def ended_unknown(self, since: int) -> Steps[int]:
        ((count,),) = yield Q.ended_unknown(since=first_key_at(since))
        return int(count)

    @scan
    def reach(self) -> Steps[RestorePoint]:
        ((key, *times),) = yield Q.newest()
        ((scheduled, unsent, awaiting, owed),) = yield Q.reach()
        known = [at for at in times if at is not None]
        latest = max(known if key is None else [*known, time_of(key)], default=None)
        return RestorePoint(latest, scheduled=scheduled, unsent=unsent, awaiting=awaiting, owed=owed)

    @scan
    def damage(self) -> Steps[list[str]]:
        rows = yield Q.damage(most=MOST_FINDINGS)
        return [sentence for (sentence,) in rows]

    @lookup
    def told_worries(self) -> Steps[list[ToldWorry]]:
        rows = yield Q.told_worries()
        return [ToldWorry(*row) for row in rows]

    @write
    def keep_told(self, told: Sequence[ToldWorry]) -> Steps[None]:
        yield Q.forget_told()
        for each in told:
            yield Q.keep_told(topic=each.topic, subject=each.subject, problem=each.problem, since=each.since)

    @scan
    def audit(self) -> Steps[list[str]]:
        return (yield from audit_findings())


def audit_findings() -> Steps[list[str]]:
    """Returns a sentence for each wrong balance, charge or refund."""
    found: list[str] = []
    for check in CHECKS:
        rows = yield Query(f"audit_{check}", {"most": MOST_FINDINGS})
        found += [format_finding(check, row) for row in rows]
    return found


def reached() -> Steps[int]:
    """The key up to which messages are in blocks."""
    found = yield from first(Q.last_block())
    return 0 if found is None else int(found[1])


def _next_block(before: int, size: int) -> Steps[tuple[int, int, int] | None]:
    """Returns number, first key and last key of the block that could be written now."""
    last: Row = (yield from first(Q.last_block())) or (0, 0)
    end = yield from first(Q.end_of_block(beyond=last[1], before=before, rest=size - 1))
    return None if end is None else (last[0] + 1, last[1] + 1, end[0])
