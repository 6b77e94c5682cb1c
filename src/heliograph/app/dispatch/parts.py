"""Parts: how a message is cut for its operator, and the concatenation references that its parts share."""

from heliograph.app.dispatch.lane_item import LaneItem
from heliograph.app.facts import Message
from heliograph.app.ports import Part
from heliograph.domain.alphabet import CODECS, GSM
from heliograph.domain.segment import HEADER_OCTETS, Split, split

REFERENCES = 255
"""Concatenation references of 8 bits, 0 left out: so many long messages to one number are under way at most."""


def _charged(message: Message, alphabet: str) -> Split:
    """Cuts a message as it was charged: for this operator, or for one that has another alphabet."""
    cut = split(message.content, message.kind, HEADER_OCTETS, alphabet)
    for other in (GSM, *CODECS):
        if len(cut.parts) == message.segments:
            break
        cut = split(message.content, message.kind, HEADER_OCTETS, other)
    return cut


class PartCutter:
    """Cuts the messages of one lane, and keeps the references that are in use."""

    __slots__ = ("_used",)

    def __init__(self) -> None:
        self._used: dict[str, set[int]] = {}

    def __len__(self) -> int:
        """Counts the numbers to which long messages are under way."""
        return len(self._used)

    def cut(self, item: LaneItem, header_octets: int, *, joins: bool, alphabet: str = GSM) -> list[Part]:
        """Cuts the waiting parts of the item, and takes them from `to_send`. The parts leave `header_octets` free,
        unless that would make more of them than the customer was charged for. `joins`: a long message becomes one
        part. `alphabet` is what the operator takes for the default one: a text with other letters goes as UCS-2, unless
        it was charged for another operator."""
        message = item.message
        total = message.segments
        item.shape(joins)
        if total == 1:
            header_octets = HEADER_OCTETS
        cut = split(message.content, message.kind, header_octets, alphabet)
        if len(cut.parts) != total:
            header_octets = HEADER_OCTETS
            cut = _charged(message, alphabet)
        encoding, pieces = cut.encoding, cut.parts
        if item.whole:
            total, pieces = 1, [b"".join(pieces)]
        elif total > 1 and not item.reference:
            item.reference = self._reference(message)
        numbers, item.to_send = item.waiting, []
        return [
            Part(message, number, total, encoding, pieces[number], item.reference, item, header_octets)
            for number in numbers
        ]

    def is_full(self, destination: str) -> bool:
        """Returns whether all concatenation references to a number are in use."""
        return bool(self._used) and len(self._used.get(destination, ())) >= REFERENCES

    def release(self, item: LaneItem) -> None:
        """Frees the item's concatenation reference. Idempotent."""
        if item.reference:
            destination = item.message.destination
            used = self._used.get(destination)
            if used is not None:
                used.discard(item.reference)
                if not used:
                    del self._used[destination]
            item.reference = 0

    def _reference(self, message: Message) -> int:
        """Returns a reference, 1 to 255, that no other long message to this number has at the moment.

        It follows from the key, so that parts sent again after a restart most likely join those sent before.
        """
        used = self._used.setdefault(message.destination, set())
        reference = (message.key * 0x9E3779B97F4A7C15 >> 40) % REFERENCES + 1
        while reference in used and len(used) < REFERENCES:
            reference = reference % REFERENCES + 1
        used.add(reference)
        return reference
