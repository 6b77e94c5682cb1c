"""What comes to light later about parts whose outcome was unknown: late answers, and receipts of copies."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Protocol

from heliograph.app.dispatch.lane import Lane
from heliograph.app.dispatch.lane_item import Item
from heliograph.app.dispatch.unknown_outcomes import REPEAT_AFTER_MS, Doubt, Doubts
from heliograph.app.facts import Queued
from heliograph.app.ports import Accepted, Clock, Gathering, Outcome, Part, Refused, Store, Unavailable
from heliograph.app.receipts.early import report_of
from heliograph.app.receipts.matcher import Reporter
from heliograph.app.receipts.operator_ids import is_for

GUESS_MS = 1_000
"""Milliseconds between two looks at receipts that match nothing."""


class Lanes(Protocol):
    """The dispatcher, as far as it is needed here."""

    gathering: Gathering
    reporter: Reporter

    @property
    def lanes(self) -> Mapping[int, Lane]: ...

    def refuse(self, lane: Lane, item: Item, segment: int, refused: Refused) -> None: ...

    def accept(self, lane: Lane, item: Item, segment: int, operator_id: str, now: int) -> None: ...


class Hindsight:
    """Keeps the doubts, and settles them."""

    def __init__(self, owner: Lanes, clock: Clock) -> None:
        self.doubts = Doubts()
        self._owner = owner
        self._clock = clock
        self._words: list[tuple[Lane, Doubt, int, Outcome]] = []
        self._guessed_at = 0

    def on_late(self, lane: Lane, part: Part, outcome: Outcome) -> None:
        """An answer came to a part whose outcome was Unknown by then."""
        doubt = self.doubts.of(part.message.key, lane.connector)
        if doubt is None or not isinstance(outcome, Accepted | Refused):
            return
        segment = part.segment
        if segment in doubt.uncertain:
            self._words.append((lane, doubt, segment, outcome))
            self._owner.gathering.stir()
            return
        doubt.copies -= 1
        if isinstance(outcome, Accepted):
            known = doubt.answered.get(segment)
            if known:
                self._owner.reporter.also(lane.connector, outcome.operator_id, known, doubt.destination)
            elif segment not in doubt.answered and doubt.item is not None:
                doubt.late[segment] = outcome.operator_id

    def seen(self, doubt: Doubt, segment: int, outcome: Outcome) -> Outcome:
        """What a late answer to its first copy makes of the outcome of a part that was sent again: whatever happened
        to the second one, the operator has it."""
        late = doubt.late.pop(segment, None)
        if isinstance(outcome, Accepted):
            doubt.answered[segment] = outcome.operator_id
            if late is not None:
                self._owner.reporter.also(doubt.connector, late, outcome.operator_id, doubt.destination)
        elif late is not None:
            doubt.answered[segment] = late
            return Accepted(late)
        return outcome

    async def settle(self, store: Store) -> None:
        """Takes in what came to light about parts in doubt: late answers, and receipts that nothing else explains."""
        words, self._words = self._words, []
        now = self._clock.now()
        if self.doubts and not 0 <= now - self._guessed_at < GUESS_MS:
            self._guessed_at = now
            words += self._guesses(now)
        while words:
            lane, doubt, segment, outcome = words.pop(0)
            item = doubt.item
            if item is None or segment not in doubt.uncertain:
                continue
            message = item.message
            if doubt.queued and message.segments > 1 and message.wants_receipt:
                try:
                    is_open = await self._owner.reporter.load(store, message)
                except Unavailable:
                    self._words += [(lane, doubt, segment, outcome), *words]
                    raise
                if not is_open or doubt.item is not item or segment not in doubt.uncertain:
                    continue
            self._take_word(lane, doubt, item, segment, outcome)

    def _take_word(self, lane: Lane, doubt: Doubt, item: Item, segment: int, outcome: Outcome) -> None:
        """A part in doubt has its outcome after all."""
        message = item.message
        doubt.copies -= 1
        if item.to_send and segment in item.to_send:
            item.to_send.remove(segment)
            if not item.to_send:
                lane.drop(item)
        if isinstance(outcome, Refused):
            self._owner.refuse(lane, item, segment, outcome)
        elif isinstance(outcome, Accepted):
            doubt.answered[segment] = outcome.operator_id
            self._owner.accept(lane, item, segment, outcome.operator_id, self._clock.now())
        if doubt.queued and item.open and message.segments > 1:
            self._owner.reporter.leave(message.key)
        self._owner.gathering.wake()

    def _guesses(self, now: int) -> Iterable[tuple[Lane, Doubt, int, Outcome]]:
        """What receipts that match nothing say about parts in doubt.

        One to a number to which nothing is on its way, and one part in doubt that waits for word, is taken for that
        part's. Where nothing is in doubt any more, it is that of a first copy whose message was settled by the second.
        """
        for early in self._owner.reporter.early.all():
            doubts = self.doubts.at(early.connector, early.destination)
            lane = self._owner.lanes.get(early.connector)
            if not doubts or lane is None or lane.is_sending_to(doubts[0].destination):
                continue
            uncertain = [(doubt, segment) for doubt in doubts for segment in doubt.uncertain]
            if len(uncertain) == 1 and lane.unknown_wait_ms:
                item = uncertain[0][0].item
                if item is not None and is_for(report_of(early, now), early.operator_id, item.message):
                    yield lane, *uncertain[0], Accepted(early.operator_id)
            elif not uncertain and now - early.at > REPEAT_AFTER_MS:
                copied = next((doubt for doubt in doubts if doubt.copies > 0), None)
                if copied is not None:
                    copied.copies -= 1
                    self._owner.reporter.discard(early)

    def of_row(self, queued: Queued, connector: int) -> Queued:
        """The row with what came to light after it was read."""
        doubt = self.doubts.of(queued.message.key, connector) if self.doubts else None
        if doubt is None or not doubt.answered:
            return queued
        taken = {segment for segment, operator_id in doubt.answered.items() if operator_id is not None}
        return replace(queued, answered=queued.answered.union(doubt.answered), taken=queued.taken | taken)
