"""The receipt matcher: from the operator's id to the message, from the states of its parts to its final one."""

from collections.abc import Callable

from heliograph.app.facts import Awaiting, EarlyReceipt, Facts, Final, Message, Outstanding, PartReceipt
from heliograph.app.notice import owes_receipt
from heliograph.app.ports import Clock, Gathering, Receipts, Report
from heliograph.app.receipts.awaiting import AwaitedReceipts, TrackedMessage
from heliograph.app.receipts.early import EarlyReceiptCache, report_of
from heliograph.app.receipts.operator_ids import OperatorIds, forms, is_for
from heliograph.domain.receipt import Delivery, is_final, worst

Acknowledge = Callable[[bool], None]


class ReceiptMatcher:
    """Matches receipts with messages and brings messages to their final state.

    A receipt is looked for in memory first, then among the rows (`app.receipts.lookup`), then it is kept as early: its
    message may still be on its way back with the operator's answer. It is acknowledged after the commit that keeps it.
    """

    def __init__(
        self,
        gathering: Gathering,
        clock: Clock,
        receipts: Receipts,
        finish: Callable[[Message, Final], None],
        mark: int = 0,
        *,
        worker: int | None = None,
    ) -> None:
        """`finish` is told of every final, in the facts that hold it. `worker` is the number of this node where several
        share a store: receipts may then come to another node than the one that sent, and rows are looked at again."""
        self.shared = worker is not None
        self.receipts = receipts
        self.awaited = AwaitedReceipts(gathering, clock, mark, worker=worker)
        self.early = EarlyReceiptCache(gathering, clock)
        self.ids = OperatorIds()
        self.partial: dict[int, tuple[int, int]] = {}
        """Messages with some parts ended, where nodes share a store: in which generation of facts, and when (ms), the
        last of these ended."""
        self.missed: list[tuple[int, Report, Acknowledge]] = []
        """Receipts that memory did not match, with their connectors, for `ReceiptLookup`."""
        self.matched = 0
        """The number of receipts, progress included, that found their message at once."""
        self._gathering = gathering
        self._clock = clock
        self._finish = finish
        self._acknowledge: list[Acknowledge] = []
        self._acknowledge_next: list[Acknowledge] = []
        self._turns_away = False

    # --- what the operator answered

    def taken(self, message: Message, segments: tuple[int, ...], connector: int, operator_id: str) -> None:
        """Takes up a part that the operator took and whose receipt is wanted, or several that it took as one."""
        track = self.awaited.track(message)
        self.ids.begin(connector, operator_id)
        self.awaited.take(track, segments, connector, operator_id)
        if self.early:
            early = self.early.of(message, connector, operator_id)
            if early is not None:
                self.early.matched(connector, early.operator_id)
                segments = self.awaited.entries[connector][operator_id].segments
                self.settle(track, segments, connector, operator_id, early.state, early.err)

    def part_over(self, message: Message, segment: int, state: Delivery, err: str) -> None:
        """Ends a part whose receipt was wanted, but which the operator refused, never answered, or got too late."""
        track = self.awaited.track(message)
        self.end_part(track, segment, state, err)
        self.awaited.answered(track)

    def forget(self, key: int) -> None:
        """Stops awaiting anything for a message that failed as a whole."""
        self.awaited.end(key)

    async def load(self, message: Message) -> bool:
        """Must be called before a lane takes up a message of several parts some of which have their answers.

        Returns False if the message is over and nothing of it is to be sent. Raises Unavailable.
        """
        awaited = self.awaited
        track = awaited.tracks.get(message.key)
        if track is None:
            with awaited.reading():
                outstanding = await self.receipts.outstanding(message.key)
            if outstanding is None or message.key in awaited.ended:
                return False
            track = awaited.found(outstanding)
        track.held = True
        return True

    def leave(self, key: int) -> None:
        """Notes that the lane gives a message back to the queue before all its parts are answered."""
        track = self.awaited.tracks.get(key)
        if track is not None:
            track.held = False
            self.awaited.let_go(track)

    # --- after a start

    def restore(self, outstanding: Outstanding) -> None:
        """Takes up again a message above the mark, after a start."""
        self.awaited.restored(outstanding)

    def restore_early(self, early: EarlyReceipt) -> None:
        """Takes up again a receipt that waits for its message, after a start."""
        if not is_final(early.state):
            return
        if self.apply(early.connector, report_of(early, self._clock.now())):
            self.early.matched(early.connector, early.operator_id)
        else:
            self.early.remember(early)

    # --- what came back

    def on_report(self, connector: int, report: Report, acknowledge: Acknowledge) -> None:
        """Applies a receipt that has arrived. Calls `acknowledge`, with True only after the commit that keeps it."""
        found = self.apply(connector, report) or self.ids.is_repeat(connector, report)
        if not found:
            resolved = self.ids.resolve_alias(connector, report)
            if resolved is not None:
                report = resolved
                found = self.apply(connector, report) or self.ids.is_repeat(connector, report)
        if found:
            self._acknowledge_next.append(acknowledge)
            self._gathering.wake()
        elif self._turns_away:
            acknowledge(False)
        else:
            self.missed.append((connector, report, acknowledge))
            self._gathering.seek()

    def add_alias(self, connector: int, operator_id: str, other: str, destination: str) -> None:
        """Makes `operator_id` an alias of `other`: the part was sent and taken twice. A receipt under either id is for
        that part, and the first one counts. A restart forgets aliases."""
        if not other or operator_id == other:
            return
        self.ids.add_alias(connector, operator_id, other, destination)
        early = self.early.named(connector, operator_id, destination)
        if early is not None:
            self.discard(early)
            self.on_report(connector, Report(other, early.destination, early.state, True, early.err), _unheard)

    def discard(self, early: EarlyReceipt) -> None:
        """Removes an early receipt that tells nothing new."""
        if self.early.discard(early):
            self.ids.repeated += 1
            self._gathering.wake()

    def keep(self, acknowledge: Acknowledge) -> None:
        """Has a receipt acknowledged when the facts being gathered, which hold it, are durable."""
        self._acknowledge_next.append(acknowledge)

    def turn_away(self) -> None:
        """Refuses unmatched receipts from now on, since the look-up of rows has stopped."""
        self._turns_away = True
        missed, self.missed = self.missed, []
        for _, _, acknowledge in missed:
            acknowledge(False)

    # --- around a commit

    def prepare(self) -> None:
        """Must be called right before a commit."""
        self.awaited.prepare()
        self._acknowledge += self._acknowledge_next
        self._acknowledge_next = []

    def spill(self, facts: Facts, now: int, last_key: int) -> None:
        """See `AwaitedReceipts.spill`."""
        self.awaited.spill(facts, now, last_key)

    def committed(self) -> None:
        """Must be called right after a commit: acknowledges the receipts that it made durable."""
        acknowledge, self._acknowledge = self._acknowledge, []
        for each in acknowledge:
            each(True)
        self.awaited.committed()

    # --- matching

    def apply(self, connector: int, report: Report, *, literally: bool = False) -> bool:
        """Applies the receipt to the part in memory that it is for; returns False if there is none. `literally`: only
        the id as it is written counts."""
        entries = self.awaited.entries.get(connector)
        if not entries:
            return False
        # Nearly all ids are found as they are written: that needs no generator of spellings.
        entry = entries.get(report.operator_id)
        if entry is not None and is_for(report, report.operator_id, entry.track.message):
            self.note(entry.track, entry.segments, connector, report.operator_id, report)
            return True
        if literally:
            return False
        for form in forms(report.operator_id):
            entry = entries.get(form)
            if entry is not None and is_for(report, form, entry.track.message):
                self.note(entry.track, entry.segments, connector, form, report)
                return True
        return False

    def note(
        self, track: TrackedMessage, segments: tuple[int, ...], connector: int, operator_id: str, report: Report
    ) -> None:
        """Notes a receipt for these parts: an end, or progress."""
        self.matched += 1
        if report.final:
            self.settle(track, segments, connector, operator_id, report.state, report.err)
        else:
            now = self._clock.now()
            account, key = track.message.account, track.message.key
            self._gathering.facts.progress.extend(
                PartReceipt(account, key, segment, report.state, report.err, now) for segment in segments
            )

    def settle(
        self,
        track: TrackedMessage,
        segments: tuple[int, ...],
        connector: int,
        operator_id: str,
        state: Delivery,
        err: str,
    ) -> None:
        """Ends the parts whose receipt was awaited under an id."""
        self.awaited.settle(track, connector, operator_id)
        self.ids.finish(connector, operator_id, track.message.destination)
        for segment in segments:
            if segment in track.states:
                continue
            if track.rowed or track.mixed:
                matched = Awaiting(connector, operator_id, track.message.account, track.message.key, segment)
                self._gathering.facts.awaiting_matched.append(matched)
            self.end_part(track, segment, state, err)

    def end_part(self, track: TrackedMessage, segment: int, state: Delivery, err: str) -> None:
        """Ends one part, and with the last of them the message."""
        message = track.message
        now = self._clock.now()
        track.states[segment] = (state, err)
        track.dirty = self.awaited.generation
        if message.segments > 1:
            self._gathering.facts.parts.append(PartReceipt(message.account, message.key, segment, state, err, now))
        if len(track.states) == message.segments:
            self.complete(track)
            return
        if self.shared:
            self.partial[message.key] = self.awaited.generation, now
        if not track.held:
            self.awaited.let_go(track)

    def complete(self, track: TrackedMessage) -> None:
        """Ends a message whose parts have all ended: in the worst of their states."""
        message = track.message
        states = track.states
        if len(states) == 1:
            ((state, err),) = states.values()
        else:
            state = worst(state for state, _ in states.values())
            err = next(err for part_state, err in states.values() if part_state is state)
        self.partial.pop(message.key, None)
        self.awaited.end(message.key, track)
        owed = owes_receipt(message)
        now = self._clock.now()
        waited = now - track.taken if track.taken else -1
        final = Final(message.account, message.key, state, err, now, owed, waited=waited)
        self._gathering.facts.finals.append(final)
        self._finish(message, final)


def _unheard(kept: bool) -> None:
    """Acknowledges nothing: the operator was told long ago."""
