"""Receipts: from the operator's id to the message, from its parts' states to its final one."""

from collections.abc import Callable
from dataclasses import dataclass

from heliograph.app.facts import (
    Awaiting,
    EarlyReceipt,
    Facts,
    Final,
    Message,
    Outstanding,
    PartReceipt,
)
from heliograph.app.marks import AWAITING
from heliograph.app.ports import Clock, Gathering, Report, Store, Unavailable
from heliograph.domain.ids import first_key_at, time_of
from heliograph.domain.operator_id import variants
from heliograph.domain.receipt import Delivery, worst

KEEP_MS = 30_000
"""How long a part's receipt is awaited in memory; later it is found through its row. Milliseconds."""

KEEP_PARTS = 100_000
"""How many parts' receipts are awaited in memory at most."""

KEEP_EARLY = 20_000
"""How many early receipts are kept in memory at most; more of them only have their rows."""

REMEMBER_FINISHED = 10_000
"""How many finished operator ids a connector remembers, so that a repeated receipt is known for what it is."""

Acknowledge = Callable[[bool], None]


@dataclass(slots=True)
class Track:
    """A message that awaits receipts. `states` holds its parts that are in a final state, by number; `parts` the
    entries of those that are not, where there are several. `rowed`: the entries have rows in `awaiting` too."""

    message: Message
    states: dict[int, tuple[Delivery, str]]
    since: int
    rowed: bool
    parts: list[tuple[int, str]]


class Reporter:
    """Matches receipts with messages and brings messages to their final state.

    A receipt is looked for in memory first, then (`look_up`) among the rows, then it is kept as early: its message
    may still be on its way back with the operator's answer. It is acknowledged after the commit that keeps it.
    """

    def __init__(
        self, gathering: Gathering, clock: Clock, finish: Callable[[Message, Final], None], mark: int = 0
    ) -> None:
        """`finish` is told of every final, in the facts that hold it."""
        self._gathering = gathering
        self._clock = clock
        self._finish = finish
        self.mark = mark
        self._entries: dict[int, dict[str, tuple[Track, int]]] = {}
        self._tracks: dict[int, Track] = {}
        self._early: dict[tuple[int, str], EarlyReceipt] = {}
        self._finished: dict[int, dict[str, None]] = {}
        self._acknowledge: list[Acknowledge] = []
        self._acknowledge_next: list[Acknowledge] = []
        self._spilling: list[tuple[int, str]] = []
        self._unsettled: list[int] = []
        self._unsettled_committing: list[int] = []
        self._unsettled_next: list[int] = []
        self.misses: list[tuple[int, Report, Acknowledge]] = []

    # --- what was taken

    def taken(self, message: Message, segment: int, connector: int, operator_id: str, first: bool) -> None:
        """The operator took a part whose receipt is wanted. `first`: no part of the message had an answer before."""
        now = self._clock.now()
        key = message.key
        facts = self._gathering.facts
        track = self._tracks.get(key) if message.segments > 1 else None
        rowed = key <= self.mark or now - time_of(key) > KEEP_MS
        if track is None and not first:
            # Its other parts' states are in rows only: the receipt goes that way too.
            facts.awaiting.append(Awaiting(connector, operator_id, key, segment))
        else:
            if track is None:
                track = Track(message, {}, now, rowed, [])
                if message.segments > 1:
                    self._tracks[key] = track
            if track.rowed:
                facts.awaiting.append(Awaiting(connector, operator_id, key, segment))
            self._enter(track, segment, connector, operator_id)
        if self._early:
            self._match_early(connector, operator_id)

    def restore(self, outstanding: Outstanding, rowed: bool) -> None:
        """Takes up again what the rows know."""
        message = outstanding.message
        track = self._tracks.get(message.key)
        if track is None:
            since = self._clock.now() if rowed else min(self._clock.now(), time_of(message.key))
            track = Track(message, dict(outstanding.states), since, rowed, [])
            if message.segments > 1:
                self._tracks[message.key] = track
        for (connector, operator_id), segment in outstanding.operator_ids.items():
            if segment not in track.states and operator_id not in self._entries.get(connector, ()):
                self._enter(track, segment, connector, operator_id)

    def restore_early(self, early: EarlyReceipt) -> None:
        """Takes up again a receipt that waits for its message."""
        self._early[early.connector, early.operator_id] = early

    # --- what came back

    def on_report(self, connector: int, report: Report, acknowledge: Acknowledge) -> None:
        """A receipt arrived."""
        if self._apply(connector, report) or self._is_repeat(connector, report):
            self._acknowledge_next.append(acknowledge)
            self._gathering.wake()
        else:
            self.misses.append((connector, report, acknowledge))
            self._gathering.stir()

    def part_over(self, message: Message, segment: int, state: Delivery, err: str, first: bool) -> None:
        """A part came to its end without a receipt: refused, or never answered. `first` as in `taken`."""
        track = self._tracks.get(message.key)
        if track is None and first:
            track = Track(message, {}, self._clock.now(), False, [])
            if message.segments > 1:
                self._tracks[message.key] = track
        if track is not None:
            self._end(track, segment, state, err)
            return
        now = self._clock.now()
        self._gathering.facts.parts.append(PartReceipt(message.key, segment, state, err, now))
        self._unsettled_next.append(message.key)

    async def look_up(self, store: Store) -> None:
        """Looks for the receipts that memory did not know among the rows; what is not there either is kept as early."""
        misses, self.misses = self.misses, []
        by_connector: dict[int, list[tuple[Report, Acknowledge]]] = {}
        for connector, report, acknowledge in misses:
            by_connector.setdefault(connector, []).append((report, acknowledge))
        for connector, reports in by_connector.items():
            ids = {form for report, _ in reports for form in (report.operator_id, *variants(report.operator_id))}
            try:
                found = await store.find_outstanding(connector, sorted(ids))
            except Unavailable:
                for _, acknowledge in reports:
                    acknowledge(False)
                continue
            for outstanding in found:
                self.restore(outstanding, rowed=True)
            for report, acknowledge in reports:
                if not self._apply(connector, report) and not self._is_repeat(connector, report):
                    self._keep_early(connector, report)
                self._acknowledge_next.append(acknowledge)
        await self._settle_committed(store)
        self._gathering.wake()

    async def _settle_committed(self, store: Store) -> None:
        """Ends messages whose last part was over while the states of the others were only in rows."""
        while self._unsettled:
            outstanding = await store.outstanding(self._unsettled[0])
            key = self._unsettled.pop(0)
            if outstanding is not None and key not in self._tracks:
                self.restore(outstanding, rowed=True)
                if len(outstanding.states) == outstanding.message.segments:
                    self._complete(self._tracks[key])

    @property
    def has_work(self) -> bool:
        """Whether `look_up` has something to do."""
        return bool(self.misses or self._unsettled)

    async def give_up(self, store: Store, before: int, limit: int) -> int:
        """Ends messages accepted before `before` whose receipts never came: UNKNOWN. Returns how many."""
        overdue = await store.overdue(before, limit)
        for outstanding in overdue:
            self.restore(outstanding, rowed=True)
            for (connector, operator_id), segment in outstanding.operator_ids.items():
                entry = self._entries.get(connector, {}).get(operator_id)
                if entry is not None and entry[1] == segment:
                    self._settle(connector, operator_id, entry[0], segment, Delivery.UNKNOWN, "001")
        self._gathering.wake()
        return len(overdue)

    # --- around a commit

    def prepare(self) -> None:
        """Right before a commit."""
        self._acknowledge += self._acknowledge_next
        self._acknowledge_next = []
        self._unsettled_committing += self._unsettled_next
        self._unsettled_next = []

    def spill(self, facts: Facts, now: int) -> None:
        """Once a second, right before a commit: what was awaited in memory for long gets its row; the mark moves on."""
        cutoff = now - KEEP_MS
        for connector, entries in self._entries.items():
            surplus = len(entries) - KEEP_PARTS
            for operator_id, (track, segment) in entries.items():
                surplus -= 1
                if track.since > cutoff and surplus < 0:
                    break
                self._spill_track(facts, track, (connector, operator_id, segment))
        mark = first_key_at(cutoff - KEEP_MS)
        if mark > self.mark:
            self.mark = facts.marks[AWAITING] = mark

    def committed(self) -> None:
        """What was gathered is durable: operators are told so, and what has its row leaves memory."""
        acknowledge, self._acknowledge = self._acknowledge, []
        for each in acknowledge:
            each(True)
        for connector, operator_id in self._spilling:
            entry = self._entries[connector].pop(operator_id, None)
            if entry is not None:
                self._tracks.pop(entry[0].message.key, None)
        self._spilling = []
        if self._unsettled_committing:
            self._unsettled += self._unsettled_committing
            self._unsettled_committing = []
            self._gathering.stir()

    def awaited(self) -> int:
        """How many parts' receipts are awaited in memory."""
        return sum(map(len, self._entries.values()))

    # --- inside

    def _enter(self, track: Track, segment: int, connector: int, operator_id: str) -> None:
        entries = self._entries.get(connector)
        if entries is None:
            entries = self._entries[connector] = {}
        entries[operator_id] = (track, segment)
        if track.message.segments > 1:
            track.parts.append((connector, operator_id))

    def _spill_track(self, facts: Facts, track: Track, only: tuple[int, str, int]) -> None:
        """All entries of a message leave memory together, so that there are never two truths about its parts."""
        entries = [only]
        if track.message.segments > 1:
            entries = [
                (connector, operator_id, entry[1])
                for connector, operator_id in track.parts
                if (entry := self._entries[connector].get(operator_id)) is not None and entry[0] is track
            ]
        if not track.rowed:
            track.rowed = True
            for connector, operator_id, segment in entries:
                facts.awaiting.append(Awaiting(connector, operator_id, track.message.key, segment))
        self._spilling += [(connector, operator_id) for connector, operator_id, _ in entries]

    def _is_repeat(self, connector: int, report: Report) -> bool:
        return report.operator_id in self._finished.get(connector, ())

    def _apply(self, connector: int, report: Report) -> bool:
        """Applies the receipt to the part in memory that it is for; False if there is none."""
        entries = self._entries.get(connector)
        if not entries:
            return False
        operator_id = report.operator_id
        entry = entries.get(operator_id)
        if entry is None or not _agrees(report.destination, entry[0].message.destination):
            entry = None
            for form in variants(operator_id):
                other = entries.get(form)
                if (
                    other is not None
                    and report.destination
                    and _agrees(report.destination, other[0].message.destination)
                ):
                    entry, operator_id = other, form
                    break
            if entry is None:
                return False
        track, segment = entry
        if not report.final:
            self._gathering.facts.progress.append(
                PartReceipt(track.message.key, segment, report.state, report.err, self._clock.now())
            )
            return True
        self._settle(connector, operator_id, track, segment, report.state, report.err)
        return True

    def _settle(self, connector: int, operator_id: str, track: Track, segment: int, state: Delivery, err: str) -> None:
        """A part whose receipt was awaited is in its final state."""
        del self._entries[connector][operator_id]
        finished = self._finished.setdefault(connector, {})
        finished[operator_id] = None
        if len(finished) > REMEMBER_FINISHED:
            for forgotten in list(finished)[: REMEMBER_FINISHED // 10]:
                del finished[forgotten]
        if track.rowed:
            self._gathering.facts.awaiting_matched.append((connector, operator_id))
        self._end(track, segment, state, err)

    def _end(self, track: Track, segment: int, state: Delivery, err: str) -> None:
        message = track.message
        now = self._clock.now()
        track.states[segment] = (state, err)
        if message.segments > 1:
            self._gathering.facts.parts.append(PartReceipt(message.key, segment, state, err, now))
        if len(track.states) == message.segments:
            self._complete(track)

    def _complete(self, track: Track) -> None:
        """Every part is in its final state, and so is the message: in the worst of them."""
        message = track.message
        state = worst(state for state, _ in track.states.values())
        err = next(err for part_state, err in track.states.values() if part_state is state)
        self._tracks.pop(message.key, None)
        owed = message.wants_receipt and bool(message.callback_url)
        final = Final(message.key, state, err, self._clock.now(), owed)
        self._gathering.facts.finals.append(final)
        self._finish(message, final)

    def _keep_early(self, connector: int, report: Report) -> None:
        early = EarlyReceipt(
            connector, report.operator_id, report.destination, report.state, report.err, self._clock.now()
        )
        self._gathering.facts.early.append(early)
        if report.final and len(self._early) < KEEP_EARLY:
            self._early[connector, report.operator_id] = early

    def _match_early(self, connector: int, operator_id: str) -> None:
        for form in (operator_id, *variants(operator_id)):
            early = self._early.get((connector, form))
            if early is None:
                continue
            report = Report(form, early.destination, early.state, True, early.err)
            if self._apply(connector, report):
                del self._early[connector, form]
                self._gathering.facts.early_matched.append((connector, form))
            return


def _agrees(reported: str, destination: str) -> bool:
    """Whether the number in a receipt is the message's: operators add or drop `+`, `00` and country codes."""
    if not reported or reported == destination:
        return True
    digits = reported.lstrip("+").lstrip("0")
    return len(digits) >= 7 and (destination.endswith(digits) or digits.endswith(destination))
