"""Look-ups among the rows: messages of receipts that memory did not match, and messages without an end."""

from collections.abc import Iterable, Sequence
from itertools import islice

from heliograph.app.facts import EarlyReceipt, Outstanding
from heliograph.app.marks import GATHERED
from heliograph.app.ports import Clock, Gathering, Leases, Report, Unavailable
from heliograph.app.receipts.early import report_of
from heliograph.app.receipts.matcher import MissedReceipt, ReceiptMatcher
from heliograph.app.receipts.operator_ids import names_one_of
from heliograph.app.receipts.readings import ending, find_candidate, ids_of
from heliograph.domain.message.receipt import NO_CODE, Delivery, is_final

RETRY_EARLY_MS = 250
"""Milliseconds between two searches for the messages of early receipts, where nodes share a store."""

FRESH_EARLY_MS = 10_000
"""Milliseconds. Age up to which an early receipt is searched for that often. By then a message of another node has its
row."""

OTHER_PARTS_MS = 1_000
"""Milliseconds for which this node waits for the other parts of a message before it reads their rows."""

OTHER_PARTS = 100
"""Messages of several parts that a round reads completely: each costs a query."""

ENDS = 20_000
"""Ends of parts, roughly, that a step of `find_gathered` reads, so that it holds up the store for moments only."""

SPAN_MS = (1_000, 3_600_000)
"""Milliseconds. Shortest and longest span of time that a step of `find_gathered` reads."""

ENDS_AFTER_MS = 5_000
"""Milliseconds after the end of a message's last part until another node ends it. Before that a living node may do
so."""

LATE_ENDS_MS = 600_000
"""Milliseconds by which the end of a part may become durable late and still be seen by the next search."""

UNMARKED_MS = 5_000
"""Milliseconds for which an unmarked receipt waits for a message of ours. Then it counts as a phone's message."""


REPEATED_MS = 600_000
"""Milliseconds from the acceptance of a message, for which a repeated receipt for it is recognised by the rows. Each
search reads all parts of that time: at 1,000 parts a second 600,000 rows, which takes about a second."""

REPEATS_MS = (30_000, 300_000)
"""Milliseconds between two searches for repeats: the shortest pause and the longest. A search that finds none doubles
the pause: receipts of another system may come all day."""


class FoundRows:
    """Messages of a connector that a search of the rows found, by the operator's ids of their parts.

    They are indexed by the number as well. Some operators give all parts the same id, and a scan of thousands of
    messages for each receipt would block the event loop.
    """

    def __init__(self, connector: int, found: Iterable[Outstanding], shown: int) -> None:
        """`shown`: the generation of facts that the rows show, see `AwaitedReceipts.reading`."""
        self.shown = shown
        self._by_id: dict[tuple[str, str], list[Outstanding]] = {}
        """By id and ending of the number, and by id and an empty text."""
        for outstanding in found:
            number = ending(outstanding.message.destination)
            for of, operator_id in outstanding.operator_ids:
                if of == connector:
                    self._by_id.setdefault((operator_id, number), []).append(outstanding)
                    self._by_id.setdefault((operator_id, ""), []).append(outstanding)

    def holders(self, operator_id: str, number: str) -> Sequence[Outstanding]:
        """Returns the messages with this id and a number that may agree with `number`."""
        return self._by_id.get((operator_id, ending(number)), ())


class ReceiptLookup:
    """Finds the messages of missed receipts among the rows, and applies the receipts."""

    def __init__(self, matcher: ReceiptMatcher, gathering: Gathering, clock: Clock, gathered: int = 0) -> None:
        """`gathered` is the durable mark of that name."""
        self._matcher = matcher
        self._awaited = matcher.awaited
        self._receipts = matcher.receipts
        self._gathering = gathering
        self._clock = clock
        self._gathered = gathered
        self._overdue_beyond = 0
        """The key that `give_up` goes on from."""
        self._looked = 0
        """The time (ms) up to which `find_gathered` has read; 0 when it begins."""
        self._until = 0
        """The time (ms) at which `find_gathered` ends."""
        self._span = SPAN_MS[0]
        self._unended: list[int] = []
        """The messages that `find_gathered` found last."""
        self._retried_at = 0
        self._repeats_at = 0
        """The time (ms) of the last search for repeats."""
        self._repeats_pause = REPEATS_MS[0]
        self._repeats_beyond = 0
        """The time (ms) of the youngest receipt that has been searched for."""

    async def look_up(self) -> None:
        """Searches the rows for the messages of missed receipts; keeps the others as early receipts.

        Refuses receipts while the store is unavailable: the operator sends them again. Where nodes share a store,
        receipts wait instead. Some operators take any answer as the end, and send again only receipts without an
        answer: the store comes back within seconds, or the lease lapses and the bind is taken down.
        """
        by_connector: dict[int, list[MissedReceipt]] = {}
        for receipt in self._matcher.take_missed():
            by_connector.setdefault(receipt.connector, []).append(receipt)
        try:
            while by_connector:
                connector = next(iter(by_connector))
                # Most ids are written as in the answer, and there are a dozen other notations.
                for spelled in (False, True):
                    if waiting := by_connector[connector]:
                        by_connector[connector] = await self._look_up_all(connector, waiting, spelled=spelled)
                        self._gathering.wake()
                del by_connector[connector]
        finally:
            for rest in by_connector.values():
                for receipt in rest:
                    self._matcher.put_back(receipt)

    async def _look_up_all(
        self, connector: int, receipts: Sequence[MissedReceipt], *, spelled: bool
    ) -> list[MissedReceipt]:
        """Searches the rows once. Returns the receipts to look up in other notations (`spelled`)."""
        matcher = self._matcher
        ids = {each for receipt in receipts for each in ids_of(receipt.report, spelled=spelled)}
        left: list[MissedReceipt] = []
        with self._awaited.reading() as shown:
            try:
                rows = FoundRows(connector, await self._receipts.find(connector, sorted(ids)), shown)
            except Unavailable:
                for receipt in receipts:
                    if matcher.shared:
                        matcher.put_back(receipt)
                    else:
                        receipt.acknowledge(False)
                return left
            for receipt in receipts:
                if self._match(connector, receipt.report, rows, spelled=spelled):
                    matcher.keep(receipt.acknowledge)
                elif not spelled:
                    left.append(receipt)
                else:
                    self._apply_unmatched(connector, receipt, rows)
        return left

    def _apply_unmatched(self, connector: int, receipt: MissedReceipt, rows: FoundRows) -> None:
        """Decides about a receipt for which neither memory nor rows have a message that its readings fit."""
        matcher, report = self._matcher, receipt.report
        known = matcher.ids.is_repeat(connector, report) or self._match(connector, report, rows, last_resort=True)
        if receipt.otherwise is not None and not known:
            if 0 <= self._clock.now() - receipt.at < UNMARKED_MS:
                matcher.put_back(receipt)
            else:
                receipt.otherwise()
            return
        # An answer about a message that has ended meanwhile is no receipt that waits for its message.
        if not known and not report.asked:
            matcher.early.keep(connector, report)
        matcher.keep(receipt.acknowledge)

    async def look_again(self) -> None:
        """Reads rows that other nodes may have written meanwhile: the other parts of a message, or the message of an
        early receipt. Raises Unavailable."""
        matcher, awaited = self._matcher, self._awaited
        now = self._clock.now()
        if matcher.unmarked or matcher.missed:
            self._gathering.wake_lookups()
        ripe = (
            key
            for key, (generation, at) in matcher.partial.items()
            if generation <= awaited.durable and not 0 <= now - at < OTHER_PARTS_MS
        )
        await self._read_other_parts(list(islice(ripe, OTHER_PARTS)))
        if matcher.shared and matcher.early.kept and not 0 <= now - self._retried_at < RETRY_EARLY_MS:
            self._retried_at = now
            await self.reconsider([each for each in matcher.early.all() if now - each.at < FRESH_EARLY_MS])

    async def finish(self) -> None:
        """Reads the other parts of messages of which this node ended a part, without waiting `OTHER_PARTS_MS`.

        Must be called at a planned end, after the last commit of receipts. The other nodes may have read the rows
        before that commit, and do not read them again. Raises Unavailable.
        """
        partial, durable = self._matcher.partial, self._awaited.durable
        await self._read_other_parts([key for key, (generation, _) in partial.items() if generation <= durable])

    async def _read_other_parts(self, keys: Iterable[int]) -> None:
        """Ends each of these messages if its rows have the ends of all parts. Raises Unavailable."""
        matcher, awaited = self._matcher, self._awaited
        for key in keys:
            waiting = matcher.partial.pop(key, None)
            if waiting is None:
                continue
            try:
                with awaited.reading() as shown:
                    outstanding = await self._receipts.outstanding(key)
            except Unavailable:
                matcher.partial.setdefault(key, waiting)
                raise
            if outstanding is None or awaited.is_over(key, shown):
                continue
            track = awaited.found(outstanding)
            if len(track.states) == track.message.segments:
                matcher.complete(track, self._clock.now())
                self._gathering.wake()

    async def reconsider(self, early: Iterable[EarlyReceipt]) -> None:
        """Searches the rows for the messages of early receipts. Raises Unavailable."""
        by_connector: dict[int, list[EarlyReceipt]] = {}
        for each in early:
            if is_final(each.state):
                by_connector.setdefault(each.connector, []).append(each)
        for connector, receipts in by_connector.items():
            now = self._clock.now()
            ids = {form for each in receipts for form in ids_of(report_of(each, now))}
            with self._awaited.reading() as shown:
                rows = FoundRows(connector, await self._receipts.find(connector, sorted(ids)), shown)
                now = self._clock.now()
                for each in receipts:
                    report = report_of(each, now)
                    if self._match(connector, report, rows) or self._match(connector, report, rows, last_resort=True):
                        self._matcher.early.matched(connector, each.operator_id)
                        self._gathering.wake()

    async def drop_repeats(self, early: Iterable[EarlyReceipt]) -> None:
        """Discards early receipts of parts that have ended in the same state: a repeat, because the answer to the first
        receipt was lost. Another node has kept that one, or an earlier run. Raises Unavailable.

        A receipt is searched for once, and not before FRESH_EARLY_MS: a message that is on its way is no repeat's.
        """
        now = self._clock.now()
        if 0 <= now - self._repeats_at < self._repeats_pause:
            return
        by_connector: dict[int, list[EarlyReceipt]] = {}
        for each in early:
            if (
                self._repeats_beyond < each.at
                and FRESH_EARLY_MS <= now - each.at < REPEATED_MS
                and is_final(each.state)
            ):
                by_connector.setdefault(each.connector, []).append(each)
        found = False
        for connector, receipts in by_connector.items():
            ids = {form for each in receipts for form in ids_of(report_of(each, now))}
            since = min(each.at for each in receipts) - REPEATED_MS
            ended = await self._receipts.ended(connector, sorted(ids), since, max(each.at for each in receipts) + 1)
            parts = {(part.operator_id, part.state): part.destination for part in ended}
            for each in receipts:
                of_state = {name: number for (name, state), number in parts.items() if state is each.state}
                if of_state and names_one_of(report_of(each, now), of_state):
                    self._matcher.repeated(each)
                    found = True
        if by_connector:
            self._repeats_at = now
            self._repeats_beyond = max(each.at for receipts in by_connector.values() for each in receipts)
            shortest, longest = REPEATS_MS
            self._repeats_pause = shortest if found else min(2 * self._repeats_pause, longest)

    async def find_gathered(self, leases: Leases, oldest: int) -> bool:
        """Ends messages that are still open although all of their parts have ended: the node of the last receipt died
        right after it.

        Each call reads a span of time, from the mark on, but not before `oldest`. Returns False after the last span.
        Raises Unavailable.

        The mark passes a span with or after the facts that end the messages found in it.
        """
        if any(key in self._matcher.partial for key in self._unended):
            return True
        if self._looked == 0:
            self._until = self._clock.now() - ENDS_AFTER_MS
            start = max(oldest, min(self._gathered, self._until - LATE_ENDS_MS))
        else:
            start = self._looked
            if start - LATE_ENDS_MS > self._gathered:
                self._gathered = self._gathering.facts.marks[GATHERED] = start - LATE_ENDS_MS
                self._gathering.wake()
            if start >= self._until:
                self._looked = 0
                return False
        shortest, longest = SPAN_MS
        end = min(start + self._span, self._until)
        self._unended, ends = await leases.gathered(start, end)
        for key in self._unended:
            self._matcher.partial.setdefault(key, (self._awaited.durable, 0))
        self._looked = end
        if ends > ENDS:
            self._span = max(shortest, self._span // 2)
        elif ends < ENDS // 2:
            self._span = min(longest, self._span * 2)
        return True

    async def give_up(self, expired: int, limit: int) -> bool:
        """Ends messages as UNKNOWN if their validity ended before `expired` (ms) and their receipts never came.

        Looks at `limit` messages that await receipts; the next call goes on from there. Returns whether some are left.
        """
        matcher, awaited = self._matcher, self._awaited
        with awaited.reading() as shown:
            overdue, ended, beyond = await self._receipts.overdue(expired, self._overdue_beyond, limit)
            for outstanding in overdue:
                if awaited.is_over(outstanding.message.key, shown):
                    continue
                track = awaited.found(outstanding)
                if track.held:
                    continue  # its last parts are about to expire
                track.taken = 0
                for (connector, operator_id), segments in outstanding.operator_ids.items():
                    matcher.settle(track, segments, connector, operator_id, Delivery.UNKNOWN, NO_CODE)
                # parts without an answer to come
                for segment in range(track.message.segments):
                    if segment not in track.states:
                        matcher.end_part(track, segment, Delivery.UNKNOWN, NO_CODE)
        if overdue:
            self._gathering.wake()
        if ended:
            await self._receipts.forget_awaited(ended)
        self._overdue_beyond = beyond or 0
        return beyond is not None

    def _match(
        self, connector: int, report: Report, rows: FoundRows, *, spelled: bool = True, last_resort: bool = False
    ) -> bool:
        """Applies a receipt to memory as it is now, or to the rows; returns False if it fits no message.

        `spelled`, `last_resort`: see `readings`.
        """
        if self._matcher.match(connector, report, spelled=spelled, last_resort=last_resort):
            return True
        found = find_candidate(report, rows.holders, spelled=spelled, last_resort=last_resort)
        if found is not None and not self._awaited.is_over(found[0].message.key, rows.shown):
            outstanding, operator_id = found
            track = self._awaited.found(outstanding)
            segments = tuple(n for n in outstanding.operator_ids[connector, operator_id] if n not in track.states)
            if segments:
                self._matcher.note(track, segments, connector, operator_id, report)
        return found is not None
