"""The operator's names for parts, as its receipts use them: which part is meant, and which names are over."""

from collections.abc import Iterator
from functools import lru_cache

from heliograph.app.facts import Message
from heliograph.app.ports import Report
from heliograph.domain.operator_id import variants

REMEMBER_FINISHED = 10_000
"""How many finished operator ids a connector remembers, so that a repeated receipt is known for what it is."""

OTHER_NAMES = 10_000
"""How many further names of parts that were taken twice are remembered, the latest."""

SAME_DIGITS = 7
"""Digits at their end in which two ways to write a number must agree, at least."""

STALE_MS = 600_000
"""A receipt that came so long ago, and so long before its message was due, is that of an earlier one, which had the
same id from the operator, or went to the same number. Until then clocks may be another node's; and where the clock was
set back between the two, a message seems to be due long after its receipt. Milliseconds."""


class Names:
    """Names of parts that memory does not await a receipt under: those that are finished, and second ones. They are
    forgotten by a restart."""

    def __init__(self) -> None:
        self._finished: dict[int, dict[str, str]] = {}
        self._also: dict[tuple[int, str], tuple[str, str]] = {}
        self.repeated = 0
        """Receipts of parts that were in their final state already."""

    def begin(self, connector: int, operator_id: str) -> None:
        """A part has the name now, and it may have been another's."""
        finished = self._finished.get(connector)
        if finished:
            finished.pop(operator_id, None)

    def finish(self, connector: int, operator_id: str, destination: str) -> None:
        """The part of that name is in its final state."""
        finished = self._finished.setdefault(connector, {})
        finished[operator_id] = destination
        if len(finished) > REMEMBER_FINISHED:
            for forgotten in list(finished)[: REMEMBER_FINISHED // 10]:
                del finished[forgotten]

    def is_repeat(self, connector: int, report: Report) -> bool:
        """Whether the receipt is one of a part that is in its final state; it is then counted."""
        finished = self._finished.get(connector)
        if not finished:
            return False
        for form in forms(report.operator_id):
            destination = finished.get(form)
            if destination is not None and agrees(report.destination, destination):
                repeats = form == report.operator_id or bool(report.destination)
                self.repeated += repeats
                return repeats
        return False

    def also(self, connector: int, operator_id: str, other: str, destination: str) -> None:
        """Another name of the part that the operator calls `other`."""
        self._also[connector, operator_id] = (other, destination)
        if len(self._also) > OTHER_NAMES:
            del self._also[next(iter(self._also))]

    def by_first_name(self, connector: int, report: Report) -> Report | None:
        """The receipt under the first name of the part, if what it has is a second one."""
        if not self._also:
            return None
        for form in forms(report.operator_id):
            other = self._also.get((connector, form))
            if other is not None and (form == report.operator_id or report.destination):
                name, destination = other
                if agrees(report.destination, destination):
                    return Report(name, report.destination, report.state, report.final, report.err)
        return None


_variants = lru_cache(maxsize=1_024)(variants)
"""A receipt that is not found is looked for several times."""


def forms(operator_id: str, *, literally: bool = False) -> Iterator[str]:
    """The id as it is, and only if that leads nowhere the other ways to write it, which take ten times as long; unless
    they are not wanted (`literally`)."""
    yield operator_id
    if not literally:
        yield from _variants(operator_id)


def is_for(report: Report, form: str, message: Message) -> bool:
    """Whether a receipt is for the message that has the operator's id `form`; another form of the receipt's own is
    a guess, for which the destination must speak."""
    if form != report.operator_id and not report.destination:
        return False
    if report.came and report.came < message.time - STALE_MS:
        return False  # it came before the message can have been with the operator
    return agrees(report.destination, message.destination)


def ending(number: str) -> str:
    """What two ways to write a number that agree have in common."""
    return number[-SAME_DIGITS:]


def agrees(reported: str, destination: str) -> bool:
    """Whether the number in a receipt is the message's: operators add or drop `+`, `00` and country codes."""
    if not reported or reported == destination:
        return True
    digits = reported.lstrip("+").lstrip("0")
    return len(digits) >= SAME_DIGITS and (destination.endswith(digits) or digits.endswith(destination))
