"""Look-ups among the rows: messages of receipts that memory did not match, and messages whose end nobody saw."""

from collections.abc import Iterable
from itertools import islice

from heliograph.app.facts import EarlyReceipt, Message, Outstanding
from heliograph.app.marks import GATHERED
from heliograph.app.ports import Clock, Gathering, Leases, Report, Unavailable
from heliograph.app.receipts.early import report_of
from heliograph.app.receipts.matcher import Acknowledge, ReceiptMatcher, UnmarkedReceipt
from heliograph.app.receipts.numbers import ending
from heliograph.app.receipts.operator_ids import is_certain, is_for, is_for_alone, names, readings
from heliograph.domain.message.receipt import NO_CODE, Delivery, is_final

RETRY_EARLY_MS = 250
"""The pause between two looks for the messages of early receipts, where nodes share a store. Milliseconds."""

FRESH_EARLY_MS = 10_000
"""The age (ms) up to which an early receipt is looked for that often: by then a message of another node has its row."""

OTHER_PARTS_MS = 1_000
"""The time (ms) for which this node waits for the other parts of a message before it asks the rows for them."""

OTHER_PARTS = 100
"""The most messages that are looked for so at once."""

ENDS = 20_000
"""The number of ends of parts, roughly, that one step of `find_gathered` reads."""

SPAN_MS = (1_000, 3_600_000)
"""Shortest and longest span of time (ms) that one step of `find_gathered` reads."""

ENDS_AFTER_MS = 5_000
"""The time (ms) after the end of its last part at which a message is taken up: before that a living node may do so."""

LATE_ENDS_MS = 600_000
"""The delay (ms) with which the end of a part may become durable and still be seen by the next look."""

UNMARKED_MS = 5_000
"""The time (ms) for which what reads like a receipt waits for a message of ours, before it is taken as a phone's."""

Missed = tuple[Report, Acknowledge]

Found = dict[tuple[str, str], list[Outstanding]]
"""Messages by operator's id and ending of their number, and by the id and an empty text."""


class ReceiptLookup:
    """Finds among the rows what the matcher does not know, and has it applied."""

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
        """The time (ms) up to which `find_gathered` has come; 0 when it begins."""
        self._until = 0
        """The time (ms) at which `find_gathered` ends."""
        self._span = SPAN_MS[0]
        self._unended: list[int] = []
        """The messages that `find_gathered` found last."""
        self._retried_at = 0

    async def look_up(self) -> None:
        """Looks among the rows for the messages of missed receipts; keeps the others as early receipts.

        Refuses the receipts that cannot be looked for, since the store is unavailable: the operator sends them again.
        """
        await self._look_up_unmarked()
        matcher = self._matcher
        missed, matcher.missed = matcher.missed, []
        by_connector: dict[int, list[Missed]] = {}
        for connector, report, acknowledge in missed:
            by_connector.setdefault(connector, []).append((report, acknowledge))
        try:
            while by_connector:
                connector = next(iter(by_connector))
                # Most ids are spelt as in the answer, and there are a dozen other spellings.
                for literally in (True, False):
                    waiting = by_connector[connector]
                    ids = {form for report, _ in waiting for form in readings(report, literally=literally)}
                    with self._awaited.reading():
                        try:
                            found = await self._receipts.find(connector, sorted(ids))
                        except Unavailable:
                            for _, acknowledge in waiting:
                                acknowledge(False)
                            by_connector[connector] = []
                        else:
                            by_connector[connector] = self._sort_out(connector, waiting, found, literally=literally)
                    self._gathering.wake()
                    if not by_connector[connector]:
                        break
                del by_connector[connector]
        finally:
            matcher.missed += [(connector, *each) for connector, rest in by_connector.items() for each in rest]

    async def _look_up_unmarked(self) -> None:
        """Looks among the rows for the messages of what reads like receipts. Those that have none for long enough came
        from phones."""
        matcher = self._matcher
        unmarked, matcher.unmarked = matcher.unmarked, []
        by_connector: dict[int, list[UnmarkedReceipt]] = {}
        for each in unmarked:
            by_connector.setdefault(each.connector, []).append(each)
        try:
            while by_connector:
                connector, waiting = next(iter(by_connector.items()))
                ids = {form for each in waiting for form in readings(each.report)}
                with self._awaited.reading():
                    try:
                        found = await self._receipts.find(connector, sorted(ids))
                    except Unavailable:
                        for each in waiting:
                            each.acknowledge(False)
                    else:
                        self._tell_apart(connector, waiting, index_by_id(connector, found))
                self._gathering.wake()
                del by_connector[connector]
        finally:
            for rest in by_connector.values():
                matcher.unmarked += rest

    def _tell_apart(self, connector: int, waiting: Iterable[UnmarkedReceipt], by_id: Found) -> None:
        matcher, now = self._matcher, self._clock.now()
        for each in waiting:
            report = each.report
            if (
                matcher.apply(connector, report)
                or self._apply_rows(connector, report, by_id)
                or matcher.ids.is_repeat(connector, report)
            ):
                matcher.keep(each.acknowledge)
            elif 0 <= now - each.at < UNMARKED_MS:
                matcher.unmarked.append(each)
            else:
                each.otherwise()

    async def look_again(self) -> None:
        """Looks for what other nodes may have written meanwhile: the other parts of a message, or the message of a
        receipt that came too early. Raises Unavailable."""
        matcher, awaited = self._matcher, self._awaited
        now = self._clock.now()
        if matcher.unmarked:
            self._gathering.seek()
        ripe = (
            key
            for key, (generation, at) in matcher.partial.items()
            if generation <= awaited.durable and not 0 <= now - at < OTHER_PARTS_MS
        )
        for key in list(islice(ripe, OTHER_PARTS)):
            waiting = matcher.partial.pop(key, None)
            if waiting is None:
                continue
            try:
                with awaited.reading():
                    outstanding = await self._receipts.outstanding(key)
            except Unavailable:
                matcher.partial.setdefault(key, waiting)
                raise
            if outstanding is None or key in awaited.ended:
                continue
            track = awaited.found(outstanding)
            if len(track.states) == track.message.segments:
                matcher.complete(track)
                self._gathering.wake()
        if matcher.shared and matcher.early and not 0 <= now - self._retried_at < RETRY_EARLY_MS:
            self._retried_at = now
            await self.reconsider([each for each in matcher.early.all() if now - each.at < FRESH_EARLY_MS])

    async def reconsider(self, early: Iterable[EarlyReceipt]) -> None:
        """Looks among the rows for the messages of receipts that are kept as early. Raises Unavailable."""
        by_connector: dict[int, list[EarlyReceipt]] = {}
        for each in early:
            if is_final(each.state):
                by_connector.setdefault(each.connector, []).append(each)
        for connector, receipts in by_connector.items():
            now = self._clock.now()
            ids = {form for each in receipts for form in readings(report_of(each, now))}
            with self._awaited.reading():
                found = await self._receipts.find(connector, sorted(ids))
                by_id = index_by_id(connector, found)
                now = self._clock.now()
                for each in receipts:
                    report = report_of(each, now)
                    if (
                        self._matcher.apply(connector, report)
                        or self._apply_rows(connector, report, by_id)
                        or self._apply_alone(connector, report, by_id)
                    ):
                        self._matcher.early.matched(connector, each.operator_id)
                        self._gathering.wake()

    async def find_gathered(self, leases: Leases, oldest: int) -> bool:
        """Takes up messages whose parts have all ended but which nobody has ended: the node that took the last receipt
        died right after. Reads one span of time a call, from the mark on, but not before `oldest`; returns False when
        it has come to the time when it began. Raises Unavailable.

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
        """Ends messages as UNKNOWN whose validity was over before `expired` and whose receipts never came.

        Looks at `limit` of those that await receipts, and goes on there the next time; returns whether some are left.
        """
        matcher, awaited = self._matcher, self._awaited
        with awaited.reading():
            overdue, beyond = await self._receipts.overdue(expired, self._overdue_beyond, limit)
            for outstanding in overdue:
                if outstanding.message.key in awaited.ended:
                    continue
                track = awaited.found(outstanding)
                if track.held:
                    continue  # its last parts are about to expire
                track.taken = 0
                for (connector, operator_id), segments in outstanding.operator_ids.items():
                    matcher.settle(track, segments, connector, operator_id, Delivery.UNKNOWN, NO_CODE)
                # Parts whose answer nobody waits for any more.
                for segment in range(track.message.segments):
                    if segment not in track.states:
                        matcher.end_part(track, segment, Delivery.UNKNOWN, NO_CODE)
        if overdue:
            self._gathering.wake()
        self._overdue_beyond = beyond or 0
        return beyond is not None

    # --- inside

    def _sort_out(
        self, connector: int, reports: Iterable[Missed], found: Iterable[Outstanding], *, literally: bool
    ) -> list[Missed]:
        """Applies receipts to memory as it is now, or to the messages `found`. Returns the others where only literal
        ids counted (`literally`), else keeps them as early."""
        matcher = self._matcher
        by_id = index_by_id(connector, found)
        left: list[Missed] = []
        for report, acknowledge in reports:
            if matcher.apply(connector, report, literally=literally) or self._apply_rows(
                connector, report, by_id, literally=literally
            ):
                matcher.keep(acknowledge)
            elif literally:
                left.append((report, acknowledge))
            else:
                known = matcher.ids.is_repeat(connector, report) or self._apply_alone(connector, report, by_id)
                # An answer about a message that has ended meanwhile is no receipt that waits for its message.
                if not known and not report.asked:
                    matcher.early.keep(connector, report)
                matcher.keep(acknowledge)
        return left

    def _apply_rows(self, connector: int, report: Report, by_id: Found, *, literally: bool = False) -> bool:
        numbers = [ending(report.destination)]
        if report.other_number:
            numbers.append(ending(report.other_number))
        for form in readings(report, literally=literally):
            for number in numbers:
                for outstanding in by_id.get((form, number), ()):
                    if is_for(report, form, outstanding.message):
                        if not self._is_clear(report, form, outstanding.message, by_id, literally=literally):
                            return False
                        self._note(connector, report, form, outstanding)
                        return True
        return False

    def _apply_alone(self, connector: int, report: Report, by_id: Found) -> bool:
        """Applies a receipt that does not name the number to the one message that has exactly its id."""
        if self._matcher.apply_alone(connector, report):
            return True
        form = report.operator_id
        having = by_id.get((form, ""), [])
        if (
            len(having) != 1
            or not is_for_alone(report, form, having[0].message)
            or not self._is_clear(report, form, having[0].message, by_id)
        ):
            return False
        self._note(connector, report, form, having[0])
        return True

    def _is_clear(self, report: Report, form: str, message: Message, by_id: Found, *, literally: bool = False) -> bool:
        """Tells whether a receipt that has the id of `message` is for no other one of the rows: by the number, by the
        length of the id, or since no other message has it in another notation, which `by_id` may not tell yet
        (`literally`)."""
        if is_certain(form) or names(report, message.destination):
            return True
        return not literally and all(
            each.message.key == message.key for other in readings(report) for each in by_id.get((other, ""), ())
        )

    def _note(self, connector: int, report: Report, form: str, outstanding: Outstanding) -> None:
        if outstanding.message.key not in self._awaited.ended:
            track = self._awaited.found(outstanding)
            segments = tuple(n for n in outstanding.operator_ids[connector, form] if n not in track.states)
            if segments:
                self._matcher.note(track, segments, connector, form, report)


def index_by_id(connector: int, found: Iterable[Outstanding]) -> Found:
    """Indexes messages by id and number: some operators give all parts one id, and scanning thousands for each receipt
    would hold up everybody."""
    by_id: Found = {}
    for outstanding in found:
        number = ending(outstanding.message.destination)
        for of, operator_id in outstanding.operator_ids:
            if of == connector:
                by_id.setdefault((operator_id, number), []).append(outstanding)
                by_id.setdefault((operator_id, ""), []).append(outstanding)
    return by_id
