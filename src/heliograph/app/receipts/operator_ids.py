"""Operators' ids of parts, as their receipts write them: which part is meant, which ids are done, which are aliases."""

from collections.abc import Iterator
from functools import lru_cache

from heliograph.app.facts import Message
from heliograph.app.ports import Report
from heliograph.domain.operator_id import variants

REMEMBER_FINISHED = 10_000
"""The most finished ids remembered for a connector, so that a repeated receipt is recognised."""

ALIASES = 10_000
"""The most aliases remembered, the latest ones."""

SAME_DIGITS = 7
"""The least digits, at the end, in which two spellings of a number must agree."""

STALE_MS = 600_000
"""A receipt that came so long ago, and so long before its message was due, belongs to an earlier message, with the same
id from the operator or to the same number. Below that the clocks of nodes may differ; and where a clock was set back
between the two, a message seems to be due long after its receipt. Milliseconds."""


class OperatorIds:
    """Remembers ids under which no receipt is awaited: finished ones, and aliases of parts that were sent and taken
    twice. A restart forgets them."""

    def __init__(self) -> None:
        self._finished: dict[int, dict[str, str]] = {}
        self._aliases: dict[tuple[int, str], tuple[str, str]] = {}
        self.repeated = 0
        """The number of receipts for parts that were in their final state already."""

    def begin(self, connector: int, operator_id: str) -> None:
        """Notes that a part has the id now, which may have been a finished part's."""
        finished = self._finished.get(connector)
        if finished:
            finished.pop(operator_id, None)

    def finish(self, connector: int, operator_id: str, destination: str) -> None:
        """Notes that the part with this id is in its final state."""
        finished = self._finished.setdefault(connector, {})
        finished[operator_id] = destination
        if len(finished) > REMEMBER_FINISHED:
            for forgotten in list(finished)[: REMEMBER_FINISHED // 10]:
                del finished[forgotten]

    def is_repeat(self, connector: int, report: Report) -> bool:
        """Tells whether the receipt is for a part in its final state, and then counts it."""
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

    def add_alias(self, connector: int, operator_id: str, other: str, destination: str) -> None:
        """Remembers `operator_id` as an alias of `other`, the first id of the same part."""
        self._aliases[connector, operator_id] = (other, destination)
        if len(self._aliases) > ALIASES:
            del self._aliases[next(iter(self._aliases))]

    def resolve_alias(self, connector: int, report: Report) -> Report | None:
        """Returns the receipt under the first id of its part if its own is an alias, else None."""
        if not self._aliases:
            return None
        for form in forms(report.operator_id):
            other = self._aliases.get((connector, form))
            if other is not None and (form == report.operator_id or report.destination):
                name, destination = other
                if agrees(report.destination, destination):
                    return Report(name, report.destination, report.state, report.final, report.err)
        return None


_variants = lru_cache(maxsize=1_024)(variants)
"""Caches spellings: a receipt that is not found is looked for several times."""


def forms(operator_id: str, *, literally: bool = False) -> Iterator[str]:
    """Yields the id as it is, then, unless `literally`, its other spellings, which take ten times as long to make."""
    yield operator_id
    if not literally:
        yield from _variants(operator_id)


def is_for(report: Report, form: str, message: Message) -> bool:
    """Tells whether a receipt is for the message that has the operator's id `form`. Where the receipt spells its id
    otherwise, that is a guess, which the destination must confirm."""
    if form != report.operator_id and not report.destination:
        return False
    if report.came and report.came < message.time - STALE_MS:
        return False  # it came before the message can have been with the operator
    return agrees(report.destination, message.destination)


def ending(number: str) -> str:
    """Returns the digits that two spellings of a number have in common if they agree."""
    return number[-SAME_DIGITS:]


def agrees(reported: str, destination: str) -> bool:
    """Tells whether a receipt's number is the message's: operators add or drop `+`, `00` and country codes."""
    if not reported or reported == destination:
        return True
    digits = reported.lstrip("+").lstrip("0")
    return len(digits) >= SAME_DIGITS and (destination.endswith(digits) or digits.endswith(destination))
