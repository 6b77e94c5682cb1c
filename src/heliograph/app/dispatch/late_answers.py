"""Late answers and receipts that settle parts with an unknown outcome.

 1. A part was written and not answered in time: its outcome is unknown (`app.dispatch.unknown_outcomes`). It is paused,
    or sent again at once.
 2. The answer comes late (`on_late`), or a receipt comes that matches no message (`_guesses`).
 3. `settle` applies it to the part, which is then not sent again. If the part was already sent and answered again, the
    late id becomes an alias of the second id.

What can go wrong: two parts to the same number are unknown, so that a receipt may be either's. It is then left alone.
"""

from collections.abc import Iterable

from heliograph.app.dispatch.lane import Lane
from heliograph.app.dispatch.lane_item import LaneItem
from heliograph.app.dispatch.outcomes import PartOutcomes
from heliograph.app.dispatch.unknown_outcomes import REPEAT_AFTER_MS, UnknownOutcome
from heliograph.app.ports import Accepted, Clock, Outcome, Part, Refused, Unavailable
from heliograph.app.receipts.early import report_of
from heliograph.app.receipts.readings import is_for

GUESS_MS = 1_000
"""Milliseconds between two looks at unmatched receipts: each walks through all of them."""


class LateAnswers:
    """Settles parts with an unknown outcome by late answers and unmatched receipts."""

    def __init__(self, outcomes: PartOutcomes, lanes: dict[int, Lane], clock: Clock) -> None:
        """`lanes`: the lanes of all connectors, by id."""
        self._outcomes = outcomes
        self._unknown = outcomes.unknown
        self._gathering = outcomes.gathering
        self._matcher = outcomes.matcher
        self._lanes = lanes
        self._clock = clock
        self._found: list[tuple[Lane, UnknownOutcome, int, Outcome]] = []
        self._guessed_at = 0

    def on_late(self, lane: Lane, part: Part, outcome: Outcome) -> None:
        """Takes the late answer to a part, which already had the outcome Unknown."""
        unknown = self._unknown.of(part.message.key, lane.connector)
        if unknown is None or not isinstance(outcome, Accepted | Refused):
            return
        segment = part.segment
        if segment in unknown.uncertain:
            self._found.append((lane, unknown, segment, outcome))
            self._gathering.wake_feeder()
            return
        unknown.copies -= 1
        if isinstance(outcome, Accepted):
            known = unknown.answered.get(segment)
            if known:
                self._matcher.add_alias(lane.connector, outcome.operator_id, known, unknown.destination)
            elif segment not in unknown.answered and unknown.item is not None:
                unknown.late[segment] = outcome.operator_id

    async def settle(self) -> None:
        """Applies late answers and unmatched receipts to parts with an unknown outcome. Raises Unavailable; the next
        call then applies the rest."""
        found, self._found = self._found, []
        now = self._clock.now()
        if self._unknown.by_key and not 0 <= now - self._guessed_at < GUESS_MS:
            self._guessed_at = now
            found += self._guesses(now)
        while found:
            lane, unknown, segment, outcome = found.pop(0)
            item = unknown.item
            if item is None or segment not in unknown.uncertain:
                continue
            if self._matcher.shared and unknown.queued and isinstance(outcome, Refused) and now >= unknown.until:
                continue  # another node may have sent the part again, which the operator may have taken
            message = item.message
            if unknown.queued and message.segments > 1 and message.wants_receipt:
                try:
                    is_open = await self._matcher.load(message, item.open)
                except Unavailable:
                    self._found += [(lane, unknown, segment, outcome), *found]
                    raise
                if not is_open or unknown.item is not item or segment not in unknown.uncertain:
                    continue
            self._apply(lane, unknown, item, segment, outcome)

    def _apply(self, lane: Lane, unknown: UnknownOutcome, item: LaneItem, segment: int, outcome: Outcome) -> None:
        """Settles a part with an unknown outcome by the outcome that was found."""
        message = item.message
        unknown.copies -= 1
        if item.to_send and segment in item.to_send:
            item.to_send.remove(segment)
            if not item.to_send:
                lane.drop(item)
        if isinstance(outcome, Refused):
            self._outcomes.refuse(lane, item, segment, outcome)
        elif isinstance(outcome, Accepted):
            unknown.answered[segment] = outcome.operator_id
            self._outcomes.accept(lane, item, segment, outcome.operator_id, self._clock.now())
        if unknown.queued and item.open and message.segments > 1:
            self._matcher.leave(message.key)
        self._gathering.wake()

    def _guesses(self, now: int) -> Iterable[tuple[Lane, UnknownOutcome, int, Outcome]]:
        """Yields the outcomes that unmatched receipts suggest for parts with an unknown outcome.

        A receipt is taken for a part under three conditions: it is the only part to the number with an unknown outcome,
        no part to the number is in flight, and the lane pauses such parts. If no outcome to the number is unknown any
        more, the second copy has settled the message. The receipt then belongs to the first copy, and is dropped.
        """
        for early in self._matcher.early.all():
            there = self._unknown.at(early.connector, early.destination)
            lane = self._lanes.get(early.connector)
            if not there or lane is None or lane.window.is_sending_to(there[0].destination):
                continue
            uncertain = [(unknown, segment) for unknown in there for segment in unknown.uncertain]
            if len(uncertain) == 1 and lane.policy.unknown_wait_ms:
                item = uncertain[0][0].item
                if item is not None and is_for(report_of(early, now), early.operator_id, item.message):
                    yield lane, *uncertain[0], Accepted(early.operator_id)
            elif not uncertain and now - early.at > REPEAT_AFTER_MS:
                copied = next((unknown for unknown in there if unknown.copies > 0), None)
                if copied is not None:
                    copied.copies -= 1
                    self._matcher.discard(early)
