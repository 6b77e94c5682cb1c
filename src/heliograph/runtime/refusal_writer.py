"""Writing down refused requests: some seconds of them in a transaction, and now and then a line in the log."""

from typing import Final

from heliograph.app.observing.refusals import KEPT, MOST_KINDS, RefusalBatch, Refusals
from heliograph.app.ports import Clock, Journal, RefusedRequests, Unavailable
from heliograph.app.records import RefusedRequest
from heliograph.domain.error import Reason
from heliograph.runtime.tasks import Background, Watch, every

WRITE_S: Final = 5.0
"""Seconds between two writes; a crash loses the refusals since the last write."""

KINDS: Final = 100
"""Pairs of account and reason in a transaction."""

SAY_S: Final = 60.0
"""Seconds between two log lines about an account and reason."""

LINES: Final = 20
"""Most log lines of a round; further pairs get their line in a later round."""

Kind = tuple[int, Reason]


class RefusalWriter:
    """Writes and logs the refusals that were noted."""

    def __init__(self, refusals: Refusals, store: RefusedRequests, clock: Clock, journal: Journal) -> None:
        """The writer does nothing until `start`."""
        self._refusals = refusals
        self._store = store
        self._clock = clock
        self._journal = journal
        self._task = Background("refusals", every(WRITE_S, self.write))
        self._batch = RefusalBatch()
        self._unsaid: dict[Kind, tuple[int, RefusedRequest, str]] = {}
        """Refusals not yet logged: their number, the last request, the account's name."""
        self._said: dict[Kind, float] = {}

    def start(self, watch: Watch) -> None:
        """Starts to write every WRITE_S."""
        self._task.start(watch)

    async def stop(self) -> None:
        """Stops, and writes the rest if the store is available."""
        await self._task.stop()
        await self.write()

    async def write(self) -> None:
        """Writes the refusals since the last call. If the store is unavailable they are written later."""
        fresh, batch = self._refusals.take(), self._batch
        self._hear(fresh)
        self._say()
        batch.merge(fresh)
        kinds = sorted(batch.latest)
        for start in range(0, len(kinds), KINDS):
            some = set(kinds[start : start + KINDS])
            counts = [each for each in batch.counts.values() if (each.account, each.reason) in some]
            try:
                await self._store.add(counts, [each for kind in some for each in batch.latest[kind]], KEPT)
            except Unavailable:
                return  # unwritten refusals stay in the batch
            for kind in some:
                del batch.latest[kind]
            for each in counts:
                del batch.counts[each.account, each.reason, each.hour]
        self._batch = RefusalBatch()

    def _hear(self, batch: RefusalBatch) -> None:
        """Counts new refusals for the log."""
        for count in batch.counts.values():
            kind = (count.account, count.reason)
            known = self._unsaid.get(kind)
            if known is None and len(self._unsaid) >= MOST_KINDS:
                continue
            number = count.requests + (0 if known is None else known[0])
            self._unsaid[kind] = (number, batch.latest[kind][-1], batch.names.get(count.account, ""))

    def _say(self) -> None:
        now = self._clock.monotonic()
        self._said = {kind: at for kind, at in self._said.items() if now - at < SAY_S}
        due = [kind for kind in self._unsaid if kind not in self._said]
        for kind in due[:LINES]:
            number, last, account = self._unsaid.pop(kind)
            self._said[kind] = now
            self._journal.log(
                "info",
                "http.refused",
                account=account,
                reason=last.reason.value,
                requests=number,
                status=last.status,
                path=last.path,
                field=last.field,
                problem=last.message,
                address=last.address,
                request_id=last.request_id,
            )
