"""Readings of a receipt: the ids that it may mean, and the evidence that each of them needs.

Operators write ids in several notations, and numbers with or without prefixes. A receipt is therefore a list of
readings, likeliest first. The message is the first candidate that a reading fits. For example, a receipt with the id
`3e8` from the number `+491701234567` to `Helio` reads as:

    id           number           confidence
    3e8          +491701234567    NUMBER        as written
    3e8          Helio            NUMBER        some operators do not swap the two addresses
    3E8          +491701234567    NUMBER        another notation of the id
    1000         +491701234567    NUMBER        decimal for hexadecimal, and so on
    3e8                           LAST_RESORT   the id alone, tried after everything else has failed

A receipt without a sender's number has a reading `ONLY_ID` instead of the first row.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Final, Protocol, TypeVar

from heliograph.app.facts import Message
from heliograph.app.ports import Report
from heliograph.domain.message.operator_id import spelling, variants

SAME_DIGITS: Final = 7
"""Least digits, counted from the end, in which two spellings of a phone's number must agree. Seven digits are a
subscriber's number without its area code in most countries."""

CERTAIN_CHARS: Final = 8
"""Characters without leading zeros. An id of at least this length belongs to one message in any notation. Ids of a
counter that read alike in decimal and hexadecimal, such as 1000 and 0x1000, are shorter for the first days."""

STALE_MS: Final = 600_000
"""Milliseconds. A receipt that came longer than this before its message was due belongs to an earlier message with the
same id or number. Ten minutes allow for clocks that differ between nodes or were set back."""


class Confidence(IntEnum):
    """Evidence that a reading needs before the receipt counts for a message."""

    NUMBER = 0
    """The receipt names the message's number. The id may be in any notation."""
    ONLY_ID = 1
    """The receipt names no number. The id must be as the operator answered it, and unambiguous."""
    LAST_RESORT = 2
    """The receipt names something else than the message's number, such as a masked number. The id must be as the
    operator answered it, and unambiguous, and no other reading may have matched."""


@dataclass(slots=True)
class Reading:
    """A way to read a receipt."""

    operator_id: str
    """The operator's id of the part, for example `3e8`."""
    number: str
    """The number that the message must have gone to, as the receipt writes it; empty unless `confidence` is NUMBER."""
    confidence: Confidence


class Candidate(Protocol):
    """Something that has an operator's id: parts awaited in memory, or rows of a message."""

    @property
    def message(self) -> Message:
        """The message with the id."""


C = TypeVar("C", bound=Candidate)

Holders = Callable[[str, str], Sequence[C]]
"""Returns the candidates with an operator's id. The second argument is a number that they must agree with, as far as
the holder's index tells; empty for all candidates with the id."""


def find_candidate(
    report: Report, holders: Holders[C], *, spelled: bool = True, last_resort: bool = False
) -> tuple[C, str] | None:
    """Returns the candidate that the receipt is for, with its id as the operator answered it; None if there is none.

    `spelled`, `last_resort`: see `readings`.
    """
    for reading in readings(report, spelled=spelled, last_resort=last_resort):
        candidates = holders(reading.operator_id, reading.number)
        if reading.confidence == Confidence.LAST_RESORT and len(candidates) > 1:
            continue
        for candidate in candidates:
            if fits(reading, report, candidate.message) and (
                reading.number or id_is_unambiguous(report, reading.operator_id, candidate.message, holders)
            ):
                return candidate, reading.operator_id
    return None


def readings(report: Report, *, spelled: bool = True, last_resort: bool = False) -> Iterator[Reading]:
    """Yields the readings of a receipt, likeliest first.

    `spelled` adds the ids in other notations, which take ten times as long to make. Without it an id that is too short
    to be unambiguous needs the number. `last_resort` adds the reading by the id alone, for a marked receipt.
    """
    has_one_id = ids_agree(report)
    counts_alone = has_one_id and not report.destination
    for operator_id in ids_of(report, spelled=spelled):
        if report.destination:
            yield Reading(operator_id, report.destination, Confidence.NUMBER)
        if report.other_number:
            yield Reading(operator_id, report.other_number, Confidence.NUMBER)
        if counts_alone and is_as_written(report, operator_id) and (spelled or is_certain(operator_id)):
            yield Reading(operator_id, "", Confidence.ONLY_ID)
    if last_resort and report.marked and has_one_id:
        for operator_id in ids_of(report, spelled=False):
            yield Reading(operator_id, "", Confidence.LAST_RESORT)


_variants = lru_cache(maxsize=1_024)(variants)
"""Caches other notations: a receipt that is not found is looked up several times."""


def ids_of(report: Report, *, spelled: bool = True) -> Iterator[str]:
    """Yields the ids of a receipt as written, then, if `spelled`, their other notations."""
    ids = [report.operator_id, report.other_id] if report.other_id else [report.operator_id]
    if report.text_first:
        ids.reverse()
    yield from ids
    if spelled:
        for each in ids:
            yield from _variants(each)


def notations(operator_id: str) -> Iterator[str]:
    """Yields an id as it is, then its other notations."""
    yield operator_id
    yield from _variants(operator_id)


def fits(reading: Reading, report: Report, message: Message) -> bool:
    """Whether a reading of the receipt fits the message, apart from other messages with the same id."""
    if report.came and report.came < message.time - STALE_MS:
        return False
    if reading.confidence == Confidence.NUMBER:
        return agrees(reading.number, message.destination)
    return reading.confidence == Confidence.ONLY_ID or matches_by_id_only(report, reading.operator_id, message.sender)


def is_for(report: Report, operator_id: str, message: Message, *, last_resort: bool = False) -> bool:
    """Whether a receipt is for the message that the operator answered with `operator_id`. `last_resort` accepts the id
    alone."""
    if report.came and report.came < message.time - STALE_MS:
        return False
    if names(report, message.destination):
        return True
    if not is_as_written(report, operator_id) or not ids_agree(report):
        return False
    return not report.destination or (
        last_resort and report.marked and matches_by_id_only(report, operator_id, message.sender)
    )


def matches_by_id_only(report: Report, operator_id: str, sender: str) -> bool:
    """Whether the id counts although the addresses lack the message's number. The addresses may be masked, or be the
    message's own `sender`. A short id does not count if an address is another phone's whole number."""
    return is_certain(operator_id) or not any(
        is_number(each) and not agrees(each, sender) for each in (report.destination, report.other_number)
    )


def id_is_unambiguous(report: Report, operator_id: str, message: Message, holders: Holders[C]) -> bool:
    """Whether no other message has the id of the receipt in some notation."""
    return is_certain(operator_id) or all(
        each.message.key == message.key for other in ids_of(report) for each in holders(other, "")
    )


def is_as_written(report: Report, operator_id: str) -> bool:
    """Whether the receipt writes the id in exactly this way."""
    return operator_id == report.operator_id or (operator_id == report.other_id and operator_id != "")


def ids_agree(report: Report) -> bool:
    """Whether the receipt has a single id, or the same id in two notations."""
    return not report.other_id or spelling(report.operator_id, report.other_id) != "other"


def is_certain(operator_id: str) -> bool:
    """Whether an id is long enough to belong to a single message in any notation."""
    return len(operator_id.lstrip("0")) >= CERTAIN_CHARS


# --- numbers


def names(report: Report, destination: str) -> bool:
    """Whether an address of the receipt is this number."""
    if report.destination and agrees(report.destination, destination):
        return True
    return report.other_number != "" and agrees(report.other_number, destination)


def agrees(reported: str, destination: str) -> bool:
    """Whether a receipt's number is the message's. Operators add or drop `+`, `00` and country codes: `01701234567`
    agrees with `491701234567`. An empty number agrees with every number."""
    if not reported or reported == destination:
        return True
    digits = reported.lstrip("+").lstrip("0")
    return len(digits) >= SAME_DIGITS and (destination.endswith(digits) or digits.endswith(destination))


def ending(number: str) -> str:
    """Returns the last digits, which two spellings of a number share if they agree."""
    return number[-SAME_DIGITS:]


def is_number(address: str) -> bool:
    """Whether an address is a phone's whole number, rather than a name, a short code or a masked number."""
    digits = address.removeprefix("+")
    return len(digits) >= SAME_DIGITS and digits.isascii() and digits.isdigit()
