"""The receipt matcher: from the operator's id to the message, from the states of its parts to its final one."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from heliograph.app.facts import Awaiting, EarlyReceipt, Facts, Message, MessageEnd, Outstanding, PartReceipt
from heliograph.app.ports import Clock, Gathering, Receipts, Report
from heliograph.app.receipts.awaiting import AwaitedReceipts, TrackedMessage
from heliograph.app.receipts.early import EarlyReceiptCache, report_of
from heliograph.app.receipts.habits import ID_IN_TEXT, OperatorHabits, ReceiptHabits
from heliograph.app.receipts.numbers import is_number
from heliograph.app.receipts.operator_ids import (
    OperatorIds,
    has_one_id,
    is_certain,
    is_for,
    is_for_alone,
    names,
    readings,
)
from heliograph.domain.message.extras import read_extras
from heliograph.domain.message.receipt import Delivery, is_final, worst

Acknowledge = Callable[[bool], None]

MOST_UNMARKED = 1_000
"""The most messages that read like receipts and wait to be told apart; what comes beyond is put off."""


@dataclass(slots=True, eq=False)
class UnmarkedReceipt:
    """A message that reads like a receipt but is not marked as one. `otherwise` takes it as a phone's; `at` is when it
    came, in ms."""

    connector: int
    report: Report
    acknowledge: Acknowledge
    otherwise: Callable[[], None]
    at: int


class ReceiptMatcher:
    """Matches receipts with messages and brings messages to their final state.

    A receipt is looked for in memory first, then among the rows (`app.receipts.lookup`), then it is kept as early: its
    message may still be on its way back with the operator's answer. It is acknowledged after the commit that keeps it.

    What is not marked as a receipt is one only if it is for a message of ours; else it came from a phone.
    """

    def __init__(
        self,
        gathering: Gathering,
        clock: Clock,
        receipts: Receipts,
        finish: Callable[[Message, MessageEnd], None],
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
        self.habits = ReceiptHabits()
        self.partial: dict[int, tuple[int, int]] = {}
        """Messages with some parts ended, where nodes share a store: in which generation of facts, and when (ms), the
        last of these ended."""
        self.missed: list[tuple[int, Report, Acknowledge]] = []
        """Receipts that memory did not match, with their connectors, for `ReceiptLookup`."""
        self.unmarked: list[UnmarkedReceipt] = []
        """Receipts of that kind that memory did not match, for `ReceiptLookup`."""
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
                self.habits.learn(connector, report_of(early, self._clock.now()), operator_id, message)
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
        habits = self.habits.of(connector)
        if report.other_id:
            report = self._rightly_named(connector, report, habits)
        found = self.apply(connector, report) or self.ids.is_repeat(connector, report)
        if not found and habits.names_nobody:
            found = self.apply_alone(connector, report)
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

    def on_unmarked(
        self, connector: int, report: Report, acknowledge: Acknowledge, otherwise: Callable[[], None]
    ) -> None:
        """Applies what reads like a receipt but is not marked as one, if it is for a message of ours; else calls
        `otherwise`, a while later, since its message may be on its way back with the operator's answer."""
        if self.apply(connector, report) or self.ids.is_repeat(connector, report):
            self._acknowledge_next.append(acknowledge)
            self._gathering.wake()
        elif self._turns_away or len(self.unmarked) >= MOST_UNMARKED:
            acknowledge(False)
        else:
            self.unmarked.append(UnmarkedReceipt(connector, report, acknowledge, otherwise, self._clock.now()))
            self._gathering.seek()

    def _rightly_named(self, connector: int, report: Report, habits: OperatorHabits) -> Report:
        """Says which of two ids is likelier, if the operator's earlier receipts tell; where no number can confirm it,
        leaves only that one. Where they do not, and the ids are two messages' to this number, drops both: the receipt
        is kept as one that matches nothing."""
        if has_one_id(report):
            return report
        named = is_number(report.destination) or is_number(report.other_number)
        if habits.text_counts:
            if named:
                return replace(report, text_first=True)
            habits.counts[ID_IN_TEXT] += 1
            return replace(report, operator_id=report.other_id, other_id="")
        if habits.tlv_ids and ID_IN_TEXT not in habits.counts:
            return report if named else replace(report, other_id="")
        entries = self.awaited.entries.get(connector)
        if not entries:
            return report
        one, other = entries.get(report.operator_id), entries.get(report.other_id)
        if one is None or other is None or one.track is other.track:
            return report
        both = is_for(report, report.operator_id, one.track.message) and is_for(
            report, report.other_id, other.track.message
        )
        return replace(report, operator_id=f"{report.operator_id} {report.other_id}", other_id="") if both else report

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
        unmarked, self.unmarked = self.unmarked, []
        for each in unmarked:
            each.acknowledge(False)

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
        written = report.other_id if report.text_first else report.operator_id
        entry = entries.get(written)
        if entry is not None and is_for(report, written, entry.track.message):
            if not self._is_clear(connector, report, written, entry.track.message):
                return False
            self.note(entry.track, entry.segments, connector, written, report)
            return True
        if literally and not report.other_id:
            return False
        for form in readings(report, literally=literally):
            entry = entries.get(form)
            if entry is not None and is_for(report, form, entry.track.message):
                if not self._is_clear(connector, report, form, entry.track.message):
                    return False
                self.note(entry.track, entry.segments, connector, form, report)
                return True
        return False

    def _is_clear(self, connector: int, report: Report, form: str, message: Message) -> bool:
        """Tells whether a receipt that has the id of `message` is for no other one in memory: by the number, by the
        length of the id, or since no other message has it in another notation."""
        if is_certain(form) or names(report, message.destination):
            return True
        entries = self.awaited.entries.get(connector, {})
        having = (entries.get(each) for each in readings(report))
        return all(each is None or each.track.message is message for each in having)

    def apply_alone(self, connector: int, report: Report) -> bool:
        """Applies the receipt to the part in memory that has exactly its id, though its addresses do not name the
        number; returns False if there is none. Requires that `apply` found none."""
        entry = self.awaited.entries.get(connector, {}).get(report.operator_id)
        form = report.operator_id
        if (
            entry is None
            or not is_for_alone(report, form, entry.track.message)
            or not self._is_clear(connector, report, form, entry.track.message)
        ):
            return False
        self.note(entry.track, entry.segments, connector, report.operator_id, report)
        return True

    def note(
        self, track: TrackedMessage, segments: tuple[int, ...], connector: int, operator_id: str, report: Report
    ) -> None:
        """Notes a receipt for these parts: an end, or progress."""
        if not report.asked:
            self.matched += 1
            self.habits.learn(connector, report, operator_id, track.message)
        if report.final:
            self.settle(track, segments, connector, operator_id, report.state, report.err)
        else:
            now = self._clock.now()
            message = track.message
            account, key = message.account, message.key
            owed = bool(message.extras) and read_extras(message.extras).progress and bool(message.way)
            self._gathering.facts.progress.extend(
                PartReceipt(account, key, segment, report.state, report.err, now, owed) for segment in segments
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
        track.connector = connector
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
        owed = bool(message.way)
        now = self._clock.now()
        waited = now - track.taken if track.taken else -1
        final = MessageEnd(
            message.account,
            message.key,
            state,
            err,
            now,
            owed,
            waited=waited,
            message=message,
            connector=track.connector or message.connector,
        )
        self._gathering.facts.finals.append(final)
        self._finish(message, final)


def _unheard(kept: bool) -> None:
    """Acknowledges nothing: the operator was told long ago."""
