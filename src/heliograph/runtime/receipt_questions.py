"""Questions to operators about parts whose receipts have not come."""

from collections.abc import Callable
from dataclasses import dataclass, field

from heliograph.app.ports import Question, Receipts, Unreported
from heliograph.runtime.carriers import Asking

QUESTIONS_PER_S = 5
"""Questions a second to one operator at most, over all nodes."""

WALK_MS = 5_000
"""Milliseconds between the beginnings of two walks through what awaits a receipt, for one connector."""

PAGE = 1_000
"""Messages that a round looks at for one connector."""


@dataclass(slots=True)
class _Walk:
    """The way of one connector through the parts that await receipts, by key."""

    beyond: int = 0
    began: int = 0
    """The beginning (ms) of this walk, or of the last one; 0 before the first."""
    before: int = 0
    """The beginning (ms) of the walk before it; 0 where there was none."""
    under_way: bool = False
    room: float = 0.0
    """Questions that may be asked now."""
    key: int = 0
    """The message that was looked at last."""
    asked: set[str] = field(default_factory=set)
    """The operator's ids of those parts of it that this walk asked for."""


def times_due(age: int, after: int) -> int:
    """The number of times that a part of this age (ms) should have been asked for: at `after`, and whenever its age has
    doubled."""
    return (age // after).bit_length() if age >= after else 0


class ReceiptQuestions:
    """Walks through the rows of what awaits a receipt, and asks the operators that are to be asked.

    A part is asked for once in each interval, the first `after` long and each as long as all before it. A start forgets
    which were asked for: the first walk asks once for all that are old enough.
    """

    def __init__(self, receipts: Receipts, asking: Callable[[], list[Asking]]) -> None:
        """`asking` returns the connectors of this node whose operators are to be asked."""
        self._receipts = receipts
        self._asking = asking
        self._walks: dict[int, _Walk] = {}

    async def ask(self, now: int) -> None:
        """Asks what may be asked in one second; `now` is in ms. Raises Unavailable."""
        asking = self._asking()
        self._walks = {each.connector: self._walks.get(each.connector) or _Walk() for each in asking}
        for each in asking:
            walk = self._walks[each.connector]
            rate = QUESTIONS_PER_S * each.share
            walk.room = min(max(1.0, rate), walk.room + rate)
            if walk.room < 1 or not each.carrier.can_ask:
                continue
            if not walk.under_way:
                if now - walk.began < WALK_MS:
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
