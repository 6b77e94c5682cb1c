"""Receipts: from the operator's id to the message, from its parts' states to its final one."""

from collections.abc import Callable

from heliograph.app.facts import Awaiting, EarlyReceipt, Facts, Final, Message, Outstanding, PartReceipt
from heliograph.app.notices.notice import owes_receipt
from heliograph.app.ports import Clock, Gathering, Report, Store
from heliograph.app.receipts.awaiting import Awaited, Track
from heliograph.app.receipts.early import EarlyReceipts, report_of
from heliograph.app.receipts.operator_ids import Names, forms, is_for
from heliograph.domain.receipt import Delivery, is_final, worst

NO_CODE = "001"
"""The error code of a final state that no operator gave."""

Acknowledge = Callable[[bool], None]


class Reporter:
    """Matches receipts with messages and brings messages to their final state.

    A receipt is looked for in memory first, then among the rows (`app.receipts.lookup`), then it is kept as early: its
    message may still be on its way back with the operator's answer. It is acknowledged after the commit that keeps it.
    """

    def __init__(
        self,
        gathering: Gathering,
        clock: Clock,
        finish: Callable[[Message, Final], None],
        mark: int = 0,
        *,
        worker: int | None = None,
    ) -> None:
        """`finish` is told of every final, in the facts that hold it. `worker`: the number of this one of several
        nodes: receipts may come to others, and theirs to this one, so that rows are looked at again."""
        self.shared = worker is not None
        self.awaited = Awaited(gathering, clock, mark, worker=worker)
        self.early = EarlyReceipts(gathering, clock)
        self.names = Names()
        self.partial: dict[int, tuple[int, int]] = {}
        """Messages of several parts some of which are over, where nodes share a store: in which generation of facts,
        and when, one last was."""
        self.missed: list[tuple[int, Report, Acknowledge]] = []
        """Receipts that memory did not know, with their connectors."""
        self.matched = 0
        """Receipts that found their message as they came, those of progress too."""
        self._gathering = gathering
        self._clock = clock
        self._finish = finish
        self._acknowledge: list[Acknowledge] = []
        self._acknowledge_next: list[Acknowledge] = []
        self._turns_away = False

    # --- what the operator answered

    def taken(self, message: Message, segments: tuple[int, ...], connector: int, operator_id: str) -> None:
        """The operator took a part whose receipt is wanted; or, as one, several."""
        track = self.awaited.track(message)
        self.names.begin(connector, operator_id)
        self.awaited.take(track, segments, connector, operator_id)
        if self.early:
            early = self.early.of(message, connector, operator_id)
            if early is not None:
                self.early.matched(connector, early.operator_id)
                segments = self.awaited.entries[connector][operator_id].segments
                self.settle(track, segments, connector, operator_id, early.state, early.err)

    def part_over(self, message: Message, segment: int, state: Delivery, err: str) -> None:
        """A part whose receipt was wanted came to its end without one: refused, too late, or never answered."""
        track = self.awaited.track(message)
        self.end_part(track, segment, state, err)
        self.awaited.answered(track)

    def forget(self, key: int) -> None:
        """The message failed as a whole."""
        self.awaited.end(key)

    async def load(self, store: Store, message: Message) -> bool:
        """Must be called before a lane takes up a message of several parts some of which have their answers.

        False if the message is over, and nothing of it is to be sent. Raises Unavailable.
        """
        awaited = self.awaited
        track = awaited.tracks.get(message.key)
        if track is None:
            with awaited.reading():
                outstanding = await store.receipts.outstanding(message.key)
            if outstanding is None or message.key in awaited.ended:
                return False
            track = awaited.found(outstanding)
        track.held = True
        return True

    def leave(self, key: int) -> None:
        """The lane gives up a message before all its parts are answered: it is the queue's again."""
        track = self.awaited.tracks.get(key)
        if track is not None:
            track.held = False
            self.awaited.let_go(track)

    # --- after a start

    def restore(self, outstanding: Outstanding) -> None:
        """Takes up again what is above the mark."""
        self.awaited.restored(outstanding)

    def restore_early(self, early: EarlyReceipt) -> None:
        """Takes up again a receipt that waits for its message."""
        if not is_final(early.state):
            return
        if self.apply(early.connector, report_of(early, self._clock.now())):
            self.early.matched(early.connector, early.operator_id)
        else:
            self.early.remember(early)

    # --- what came back

    def on_report(self, connector: int, report: Report, acknowledge: Acknowledge) -> None:
        """A receipt arrived."""
        found = self.apply(connector, report) or self.names.is_repeat(connector, report)
        if not found:
            renamed = self.names.by_first_name(connector, report)
            if renamed is not None:
                report = renamed
                found = self.apply(connector, report) or self.names.is_repeat(connector, report)
        if found:
            self._acknowledge_next.append(acknowledge)
            self._gathering.wake()
        elif self._turns_away:
            acknowledge(False)
        else:
            self.missed.append((connector, report, acknowledge))
            self._gathering.seek()

    def also(self, connector: int, operator_id: str, other: str, destination: str) -> None:
        """Another name of the part that the operator calls `other`: it was sent twice, and taken twice. A receipt by
        either name is that part's, and the first one counts. Forgotten by a restart."""
        if not other or operator_id == other:
            return
        self.names.also(connector, operator_id, other, destination)
        early = self.early.named(connector, operator_id, destination)
        if early is not None:
            self.discard(early)
            self.on_report(connector, Report(other, early.destination, early.state, True, early.err), _unheard)

    def discard(self, early: EarlyReceipt) -> None:
        """What the receipt tells is known."""
        if self.early.discard(early):
            self.names.repeated += 1
            self._gathering.wake()

    def keep(self, acknowledge: Acknowledge) -> None:
        """What a receipt tells is among the facts being gathered: the operator is told so when they are durable."""
        self._acknowledge_next.append(acknowledge)

    def turn_away(self) -> None:
        """From now on nobody looks among the rows: receipts that memory does not know are to be sent again."""
        self._turns_away = True
        missed, self.missed = self.missed, []
        for _, _, acknowledge in missed:
            acknowledge(False)

    # --- around a commit

    def prepare(self) -> None:
        """Right before a commit."""
        self.awaited.prepare()
        self._acknowledge += self._acknowledge_next
        self._acknowledge_next = []

    def spill(self, facts: Facts, now: int, last_key: int) -> None:
        """Once a second, right before a commit: what was awaited for long gets its row; the mark moves on."""
        self.awaited.spill(facts, now, last_key)

    def committed(self) -> None:
        """What was gathered is durable: operators are told so, and what has its row leaves memory."""
        acknowledge, self._acknowledge = self._acknowledge, []
        for each in acknowledge:
            each(True)
        self.awaited.committed()

    # --- matching

    def apply(self, connector: int, report: Report, *, literally: bool = False) -> bool:
        """Applies the receipt to the part in memory that it is for; False if there is none. `literally`: to the one
        that has its id as it is written, and no other."""
        entries = self.awaited.entries.get(connector)
        if not entries:
            return False
        # Nearly all are found as they are written: without a generator for the other ways.
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

    def note(self, track: Track, segments: tuple[int, ...], connector: int, operator_id: str, report: Report) -> None:
        """A receipt for these parts."""
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
        self, track: Track, segments: tuple[int, ...], connector: int, operator_id: str, state: Delivery, err: str
    ) -> None:
        """The parts whose receipt was awaited under an id are in their final state."""
        self.awaited.settle(track, connector, operator_id)
        self.names.finish(connector, operator_id, track.message.destination)
        for segment in segments:
            if segment in track.states:
                continue
            if track.rowed or track.mixed:
                matched = Awaiting(connector, operator_id, track.message.account, track.message.key, segment)
                self._gathering.facts.awaiting_matched.append(matched)
            self.end_part(track, segment, state, err)

    def end_part(self, track: Track, segment: int, state: Delivery, err: str) -> None:
        """One part is in its final state, and with the last of them the message."""
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

    def complete(self, track: Track) -> None:
        """Every part is in its final state, and so is the message: in the worst of them."""
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
    """Nobody waits to be told."""
