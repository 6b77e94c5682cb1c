"""Operators' ids of parts, as their receipts write them: which part is meant, which ids are done, which are aliases."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from heliograph.app.facts import Message
from heliograph.app.ports import Report
from heliograph.app.receipts.numbers import agrees, is_number
from heliograph.domain.message.operator_id import spelling, variants

REMEMBER_FINISHED = 10_000
"""The most finished ids remembered for a connector, so that a repeated receipt is recognised."""

ALIASES = 10_000
"""The most aliases remembered, the latest ones."""

CERTAIN_CHARS = 8
"""Characters, leading zeros aside, from which on an id is no other message's in another notation: two ids that one
counter gave within some days and that read alike in decimal and in hexadecimal are shorter."""

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
        for form in readings(report):
            destination = finished.get(form)
            if destination is not None and (fits(report, form, destination) or stands_alone(report, form, "")):
                self.repeated += 1
                return True
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
        for form in readings(report):
            other = self._aliases.get((connector, form))
            if other is not None and fits(report, form, other[1]):
                return replace(report, operator_id=other[0], other_id="", came=0)
        return None


_variants = lru_cache(maxsize=1_024)(variants)
"""Caches spellings: a receipt that is not found is looked for several times."""


def forms(operator_id: str, *, literally: bool = False) -> Iterator[str]:
    """Yields the id as it is, then, unless `literally`, its other spellings, which take ten times as long to make."""
    yield operator_id
    if not literally:
        yield from _variants(operator_id)


def readings(report: Report, *, literally: bool = False) -> Iterator[str]:
    """Yields the ids of a receipt as they are written, then, unless `literally`, their other spellings."""
    ids = [report.operator_id, report.other_id] if report.other_id else [report.operator_id]
    if report.text_first:
        ids.reverse()
    yield from ids
    if not literally:
        for each in ids:
            yield from _variants(each)


def is_exact(report: Report, form: str) -> bool:
    """Tells whether the receipt writes the id so."""
    return form == report.operator_id or (form == report.other_id and form != "")


def has_one_id(report: Report) -> bool:
    """Tells whether the receipt has one id, or two that may be the same one in two notations."""
    return not report.other_id or spelling(report.operator_id, report.other_id) != "other"


def names(report: Report, destination: str) -> bool:
    """Tells whether one of the receipt's addresses is this number."""
    if report.destination and agrees(report.destination, destination):
        return True
    return report.other_number != "" and agrees(report.other_number, destination)


def is_certain(form: str) -> bool:
    """Tells whether an id is so long that it is no other message's in another notation."""
    return len(form.lstrip("0")) >= CERTAIN_CHARS


def fits(report: Report, form: str, destination: str) -> bool:
    """Tells whether a receipt is for a part to `destination` that has the operator's id `form`: it names the number, on
    either side, or names none and has exactly this id and no other one. Where it spells the id otherwise that is a
    guess, which the number must confirm."""
    return names(report, destination) or (not report.destination and is_exact(report, form) and has_one_id(report))


def is_for(report: Report, form: str, message: Message) -> bool:
    """Tells whether a receipt is for the message that has the operator's id `form`: see `fits`."""
    if report.came and report.came < message.time - STALE_MS:
        return False  # it came before the message can have been with the operator
    return fits(report, form, message.destination)


def is_for_alone(report: Report, form: str, message: Message) -> bool:
    """Tells whether a receipt is for the message by its exact id alone, though its addresses do not name the number:
    see `stands_alone`. Requires that no other message fits it."""
    if report.came and report.came < message.time - STALE_MS:
        return False
    return stands_alone(report, form, message.sender)


def stands_alone(report: Report, form: str, sender: str) -> bool:
    """Tells whether the id of a marked receipt counts without the number: it is the only one, exactly the answer's, and
    no address is another phone's whole number, or else the id is so long that nothing else can be meant by it."""
    if not report.marked or not is_exact(report, form) or not has_one_id(report):
        return False
    return is_certain(form) or not any(
        is_number(each) and not agrees(each, sender) for each in (report.destination, report.other_number)
    )
