"""Queries to operators about parts without a receipt."""

from collections.abc import Callable
from dataclasses import dataclass, field

from heliograph.app.ports import Question, Receipts, Unreported
from heliograph.runtime.carriers import Asking

QUESTIONS_PER_S = 5
"""Most queries a second to an operator, over all nodes."""

WALK_MS = 5_000
"""Milliseconds between two walks through a connector's parts without a receipt."""

PAGE = 1_000
"""Messages that a round reads for a connector."""


@dataclass(slots=True)
class _Walk:
    """A connector's walk through its parts without a receipt, by key."""

    beyond: int = 0
    began: int = 0
    """The beginning (ms) of this walk, or of the last; 0 before the first."""
    before: int = 0
    """The beginning (ms) of the walk before it; 0 if there was none."""
    under_way: bool = False
    room: float = 0.0
    """Questions that may be asked now."""
    key: int = 0
    """Key of the last message that was looked at."""
    asked: set[str] = field(default_factory=set)
    """The operator's ids of parts already queried in this walk."""


def times_due(age: int, after: int) -> int:
    """Returns how often a part of this age (ms) should have been queried: at `after`, and whenever its age has doubled.
    For example, with `after` one hour: once at an age of 1 h, twice at 2 h, and three times at 4 h."""
    return (age // after).bit_length() if age >= after else 0


class ReceiptQuestions:
    """Walks through the rows without a receipt, and queries the operators.

    A part is queried once in each interval. The first interval is `after` long, and each doubles the total. A restart
    forgets which parts were queried: the first walk queries all that are old enough.
    """

    def __init__(self, receipts: Receipts, asking: Callable[[], list[Asking]]) -> None:
        """`asking` returns the connectors of this node with operators to be queried."""
        self._receipts = receipts
        self._asking = asking
        self._walks: dict[int, _Walk] = {}

    async def ask(self, now: int) -> None:
        """Sends the queries allowed in a second; `now` is in ms. Raises Unavailable."""
        asking = self._asking()
        self._walks = {each.connector: self._walks.get(each.connector) or _Walk() for each in asking}
        for each in asking:
            walk = self._walks[each.connector]
            rate = QUESTIONS_PER_S * each.share
            walk.room = min(max(1.0, rate), walk.room + rate)
            if walk.room < 1 or not each.carrier.can_ask:
                continue
            if not walk.under_way:
                if 0 <= now - walk.began < WALK_MS:  # below 0: the clock was set back
                    continue
                walk.before, walk.began, walk.beyond, walk.under_way = walk.began, now, 0, True
            await self._go_on(each, walk)

    async def _go_on(self, asking: Asking, walk: _Walk) -> None:
        found, beyond = await self._receipts.unreported(walk.began - asking.after_ms, walk.beyond, PAGE)
        for each in found:
            if each.key != walk.key:
                walk.key, walk.asked = each.key, set()
            if each.operator_id in walk.asked or not self._is_due(each, asking, walk):
                continue
            if walk.room < 1 or not asking.carrier.can_ask:
                walk.beyond = each.key - 1
                return
            asking.carrier.ask(Question(each.operator_id, each.sender, each.destination))
            walk.asked.add(each.operator_id)
            walk.room -= 1
        walk.beyond, walk.key, walk.under_way = beyond or 0, 0, beyond is not None

    def _is_due(self, part: Unreported, asking: Asking, walk: _Walk) -> bool:
        if part.connector != asking.connector or not asking.is_ours(part.key):
            return False
        now, before = walk.began - part.taken, walk.before - part.taken
        return times_due(now, asking.after_ms) > times_due(before, asking.after_ms)
