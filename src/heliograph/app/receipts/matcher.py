"""The receipt matcher: from the operator's id to the message, from the states of its parts to its final one.

The way of a receipt. Each step runs only if the step before found nothing:

 1. `on_report`: memory is searched for a message that a reading of the receipt fits (`app.receipts.readings`).
 2. The receipt repeats one of a finished part: it is acknowledged, and changes nothing.
 3. The operator never names numbers, as earlier receipts showed: memory is searched by the id alone.
 4. The id is an alias, since the part was sent twice: steps 1 and 2 again, with the first id.
 5. `missed`: the receipt waits for `ReceiptLookup`, which searches the rows by readings of all kinds.
 6. It is kept as early (`app.receipts.early`): its message may be on its way back with the operator's answer.

A match ends the part (`settle`), and the last part ends the message (`complete`), unless another operator takes it
over (`Successor`). The facts wait for the next commit; the operator gets its acknowledgement after that.

What can go wrong: the store is away in step 5 (the operator gets an error and repeats the receipt); another message has
the same id (only the number counts then); a message that only reads like a receipt came from a phone (`on_unmarked`).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol

from heliograph.app.facts import Awaiting, EarlyReceipt, Facts, Message, MessageEnd, Outstanding, PartReceipt
from heliograph.app.ports import Clock, Gathering, Receipts, Report
from heliograph.app.receipts.awaiting import NONE_TRIED, AwaitedId, AwaitedReceipts, TrackedMessage
from heliograph.app.receipts.early import EarlyReceiptCache, report_of
from heliograph.app.receipts.habits import ID_IN_TEXT, ReceiptHabits
from heliograph.app.receipts.operator_ids import OperatorIds
from heliograph.app.receipts.readings import find_candidate, ids_agree, is_for, is_number
from heliograph.domain.message.extras import read_extras
from heliograph.domain.message.receipt import Delivery, is_final, worst

Acknowledge = Callable[[bool], None]

MOST_UNMARKED: Final = 1_000
"""Messages that read like receipts and wait for the look-up of their ids. The operator is asked to repeat further
messages. A thousand are some seconds of traffic, and some hundred kilobytes."""


class Successor(Protocol):
    """Decides whether another operator tries a message that was not delivered."""

    def is_listed(self, connector: int, state: Delivery, err: str) -> bool:
        """Returns whether another operator may try a message after this receipt."""

    def take_over(self, track: TrackedMessage, state: Delivery, err: str, now: int) -> bool:
        """Gives a message, all parts of which have ended, to another operator; returns False if it ends now. `state`
        and `err` are the worst of its parts."""


@dataclass(slots=True, eq=False)
class MissedReceipt:
    """A receipt that matched nothing in memory, and waits for a search of the rows."""

    connector: int
    report: Report
    acknowledge: Acknowledge
    otherwise: Callable[[], None] | None
    """Takes the receipt as a message from a phone; None if the operator marked it as a receipt."""
    at: int
    """The time (ms) when it came."""


class ReceiptMatcher:
    """Matches receipts with messages and brings messages to their final state."""

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
        """`finish` is called with the end of each message, in the facts that hold it. `worker`: the number of this node
        if several share a store. Receipts may then come to another node than the sending node, and rows are searched
        repeatedly."""
        self.shared = worker is not None
        self.receipts = receipts
        self.awaited = AwaitedReceipts(gathering, clock, mark, worker=worker)
        self.early = EarlyReceiptCache(gathering, clock)
        self.ids = OperatorIds()
        self.habits = ReceiptHabits()
        self.partial: dict[int, tuple[int, int]] = {}
        """Messages with some parts ended, where nodes share a store. The values are the generation of facts, and the
        time (ms), in which the last of these parts ended."""
        self.missed: list[MissedReceipt] = []
        """Marked receipts that wait for `ReceiptLookup`."""
        self.unmarked: list[MissedReceipt] = []
        """Messages that read like receipts and wait for `ReceiptLookup`."""
        self.matched = 0
        """The number of receipts, progress included, that found their message at once."""
        self.successor: Successor | None = None
        """Set by the dispatcher."""
        self._gathering = gathering
        self._clock = clock
        self._finish = finish
        self._acknowledge: list[Acknowledge] = []
        """Acknowledgements of receipts in the commit under way."""
        self._acknowledge_next: list[Acknowledge] = []
        """Acknowledgements of receipts in the facts being gathered."""
        self._turns_away = False

    # --- answers of the operator

    def taken(
        self,
        message: Message,
        segments: tuple[int, ...],
        connector: int,
        operator_id: str,
        now: int,
        tried: frozenset[int] = NONE_TRIED,
        *,
        sent_once: bool = True,
    ) -> None:
        """Awaits the receipt of a part that the operator took at `now` (ms), or of several parts that it joined.
        `tried`: other connectors that tried the message before. `sent_once`: whether the operator has no other copy of
        the part, which may arrive after a receipt of this copy."""
        track = self.awaited.track(message, now)
        if track.over:
            self.awaited.answered(track, len(segments))
            return
        track.tried = tried
        if sent_once:
            track.accepted += len(segments)
        self.ids.begin(connector, operator_id)
        self.awaited.take(track, segments, connector, operator_id, now)
        if self.early.kept:
            early = self.early.of(message, connector, operator_id)
            if early is not None:
                self.early.matched(connector, early.operator_id)
                self.habits.learn(connector, report_of(early, now), operator_id, message)
                segments = self.awaited.entries[connector][operator_id].segments
                self.settle(track, segments, connector, operator_id, early.state, early.err)

    def part_over(self, message: Message, segment: int, state: Delivery, err: str) -> None:
        """Ends a part with a wanted receipt that the operator refused, never answered, or got too late."""
        track = self.awaited.track(message, self._clock.now())
        self.awaited.answered(track)
        if not track.over:
            self.end_part(track, segment, state, err)

    def forget(self, key: int) -> None:
        """Stops awaiting anything for a message that failed as a whole."""
        self.awaited.end(key)

    async def load(self, message: Message, parts: int) -> bool:
        """Must be called before a lane takes up the last parts of a message, so many of them, with answers to others.

        A track in memory is enough on a single node. Where nodes share a store, it may lack answers that another node
        got since, and the lane's last answer would not count as the last.

        Returns False if the message is over and nothing of it is to be sent. Raises Unavailable.
        """
        awaited = self.awaited
        track = awaited.tracks.get(message.key)
        if track is None or track.over or self.shared:
            with awaited.reading() as shown:
                outstanding = await self.receipts.outstanding(message.key)
            if outstanding is None or awaited.is_over(message.key, shown):
                return False
            track = awaited.found(outstanding)
        track.held = parts
        return True

    def leave(self, key: int) -> None:
        """Notes that the lane gives a message back to the queue before all its parts are answered."""
        track = self.awaited.tracks.get(key)
        if track is not None:
            track.held = 0
            self.awaited.let_go(track)

    # --- after a start

    def restore(self, outstanding: Outstanding) -> None:
        """Takes up again a message above the mark, after a start."""
        self.awaited.restored(outstanding)

    def restore_early(self, early: EarlyReceipt) -> None:
        """Takes up again a receipt that waits for its message, after a start."""
        if not is_final(early.state):
            return
        if self.match(early.connector, report_of(early, self._clock.now())):
            self.early.matched(early.connector, early.operator_id)
        else:
            self.early.remember(early)

    # --- receipts

    def on_report(self, connector: int, report: Report, acknowledge: Acknowledge) -> None:
        """Applies a receipt that has arrived. Calls `acknowledge`, with True only after the commit that keeps it."""
        if report.other_id and not ids_agree(report):
            report = self._with_likelier_id(connector, report)
        if self.match(connector, report):  # nearly always
            self._acknowledge_next.append(acknowledge)
            self._gathering.wake()
            return
        found = self.ids.is_repeat(connector, report)
        if not found and self.habits.of[connector].names_no_number:
            found = self.match(connector, report, last_resort=True)
        if not found and (first := self.ids.resolve_alias(connector, report)) is not None:
            report = first
            found = self.match(connector, report) or self.ids.is_repeat(connector, report)
        self._acknowledge_or_look_up(found, connector, report, acknowledge, None)

    def on_unmarked(
        self, connector: int, report: Report, acknowledge: Acknowledge, otherwise: Callable[[], None]
    ) -> None:
        """Applies an unmarked message that reads like a receipt, if it is for a message of ours.

        Else calls `otherwise`, a while later, since its message may be on its way back with the operator's answer.
        """
        found = self.match(connector, report) or self.ids.is_repeat(connector, report)
        self._acknowledge_or_look_up(found, connector, report, acknowledge, otherwise)

    def _acknowledge_or_look_up(
        self,
        found: bool,
        connector: int,
        report: Report,
        acknowledge: Acknowledge,
        otherwise: Callable[[], None] | None,
    ) -> None:
        if found:
            self._acknowledge_next.append(acknowledge)
            self._gathering.wake()
        elif self._turns_away or (otherwise is not None and len(self.unmarked) >= MOST_UNMARKED):
            acknowledge(False)
        else:
            self.put_back(MissedReceipt(connector, report, acknowledge, otherwise, self._clock.now()))
            self._gathering.wake_lookups()

    def put_back(self, receipt: MissedReceipt) -> None:
        """Has a receipt wait for the next look-up."""
        (self.missed if receipt.otherwise is None else self.unmarked).append(receipt)

    def take_missed(self) -> list[MissedReceipt]:
        """Takes out the receipts that wait for a look-up."""
        receipts = self.missed + self.unmarked
        self.missed, self.unmarked = [], []
        return receipts

    def _with_likelier_id(self, connector: int, report: Report) -> Report:
        """Chooses between the two ids of a receipt by the operator's earlier receipts.

        If no number can confirm the choice, only the likelier id stays. Without evidence from earlier receipts, the ids
        may belong to two messages to this number. Both ids are then joined, so that the receipt matches nothing.
        """
        habits = self.habits.of[connector]
        has_number = is_number(report.destination) or is_number(report.other_number)
        if habits.text_counts and has_number:
            report = replace(report, text_first=True)
        elif habits.text_counts:
            habits.counts[ID_IN_TEXT] += 1
            report = replace(report, operator_id=report.other_id, other_id="")
        elif habits.parameter_counts:
            report = report if has_number else replace(report, other_id="")
        else:
            ids = report.operator_id, report.other_id
            holders = [each for name in ids for each in self.awaited.holders(connector, name)]
            if len({id(each.track) for each in holders if is_for(report, each.operator_id, each.message)}) == 2:
                report = replace(report, operator_id=" ".join(ids), other_id="")
        return report

    def add_alias(self, connector: int, operator_id: str, other: str, destination: str) -> None:
        """Makes `operator_id` an alias of `other`, since the part was sent and taken twice. A receipt under either id
        is for that part, and the first receipt counts. A restart forgets aliases."""
        if not other or operator_id == other:
            return
        self.ids.add_alias(connector, operator_id, other, destination)
        early = self.early.named(connector, operator_id, destination)
        if early is not None:
            self.discard(early)
            self.on_report(connector, Report(other, early.destination, early.state, True, early.err), _unheard)

    def discard(self, early: EarlyReceipt) -> None:
        """Removes an early receipt that adds nothing."""
        if self.early.discard(early):
            self.ids.repeated += 1
            self._gathering.wake()

    def repeated(self, early: EarlyReceipt) -> None:
        """Removes an early receipt, in memory or not, that repeats the receipt of an ended part."""
        self.early.matched(early.connector, early.operator_id)
        self.ids.repeated += 1
        self._gathering.wake()

    def keep(self, acknowledge: Acknowledge) -> None:
        """Has a receipt acknowledged when the facts being gathered, which hold it, are durable."""
        self._acknowledge_next.append(acknowledge)

    def turn_away(self) -> None:
        """Refuses unmatched receipts from now on, since the look-up of rows has stopped."""
        self._turns_away = True
        for each in self.take_missed():
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

    def match(self, connector: int, report: Report, *, spelled: bool = True, last_resort: bool = False) -> bool:
        """Applies the receipt to the part in memory that it is for; returns False if there is none.

        `spelled`, `last_resort`: see `readings`.
        """
        entries = self.awaited.entries.get(connector)
        if not entries or (self.shared and self.rows_decide(connector, report)):
            return False
        # Nearly all receipts have the id of the answer and the number as it was sent. They take a short cut to the
        # first of the readings, since the walk through these costs ten times as much.
        operator_id = report.operator_id
        entry = entries.get(operator_id)
        if entry is None or entry.track.message.destination != report.destination or report.text_first or report.came:
            found = self._candidate(connector, report, spelled=spelled, last_resort=last_resort)
            if found is None:
                return False
            entry, operator_id = found
        self.note(entry.track, entry.segments, connector, operator_id, report)
        return True

    def _candidate(
        self, connector: int, report: Report, *, spelled: bool, last_resort: bool
    ) -> tuple[AwaitedId, str] | None:
        """Walks through the readings of a receipt. Returns the awaited id and the reading that found it."""
        return find_candidate(
            report,
            lambda operator_id, _: self.awaited.holders(connector, operator_id),
            spelled=spelled,
            last_resort=last_resort,
        )

    def rows_decide(self, connector: int, report: Report) -> bool:
        """Whether only rows tell if the operator still has the message of a receipt: another node may have given it to
        another operator after the same receipt, while the memory of this node still awaits it."""
        return (
            report.state is not Delivery.DELIVRD
            and self.successor is not None
            and not self.awaited.is_own(connector)
            and self.successor.is_listed(connector, report.state, report.err)
        )

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
            for segment in segments:
                progress = PartReceipt(account, key, segment, report.state, report.err, now, owed)
                self._gathering.facts.progress.append(progress)

    def settle(
        self,
        track: TrackedMessage,
        segments: tuple[int, ...],
        connector: int,
        operator_id: str,
        state: Delivery,
        err: str,
    ) -> None:
        """Ends the parts that awaited their receipt under an id."""
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
        """Ends a part, and with the last part the message."""
        message = track.message
        now = self._clock.now()
        track.states[segment] = (state, err)
        track.dirty = self.awaited.generation
        if message.segments > 1:
            self._gathering.facts.parts.append(PartReceipt(message.account, message.key, segment, state, err, now))
        if len(track.states) == message.segments:
            self.complete(track, now)
            return
        if self.shared:
            self.partial[message.key] = self.awaited.generation, now
        if not track.held:
            self.awaited.let_go(track)

    def complete(self, track: TrackedMessage, now: int) -> None:
        """Ends a message at `now` (ms) in the worst state of its parts, all of which have ended, or gives it to another
        operator."""
        message = track.message
        states = track.states
        if len(states) == 1:
            ((state, err),) = states.values()
        else:
            state = worst(state for state, _ in states.values())
            err = dict(reversed(states.values()))[state]  # of the first part in that state
        if self.shared:
            self.partial.pop(message.key, None)
        self.awaited.end(message.key, track)
        successor = self.successor
        if state is not Delivery.DELIVRD and successor is not None and successor.take_over(track, state, err, now):
            return
        owed = bool(message.way)
        waited = now - track.taken if track.taken else -1
        connector = track.connector or message.connector
        final = MessageEnd(message.account, message.key, state, err, now, owed, False, 0, waited, message, connector)
        self._gathering.facts.finals.append(final)
        self._finish(message, final)


def _unheard(kept: bool) -> None:
    """Does nothing, because the operator got its acknowledgement when the early receipt was kept."""
