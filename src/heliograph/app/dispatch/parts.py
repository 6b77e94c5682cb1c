"""Parts: the cutting of a message for its operator, and the concatenation references that its parts share.

For example, a text of 200 GSM characters becomes parts of 153 and 47 characters with a header of 6 octets: reference,
number of parts, number of this part. The phone joins parts with the same sender and reference.
"""

from collections.abc import Callable

from heliograph.app.dispatch.lane_item import LaneItem
from heliograph.app.facts import Message
from heliograph.app.ports import Part
from heliograph.app.ports.carrier import UNSENDABLE
from heliograph.domain.message.extras import Tlv, read_extras
from heliograph.domain.text.repertoire import PLAIN, Repertoire
from heliograph.domain.text.segment import HEADER_OCTETS, split, split_into

REFERENCES = 255
"""Concatenation references of 8 bits without 0. At most this many long messages to a number are in flight."""


TlvsOf = Callable[[Message], tuple[Tlv, ...]]
"""Returns the TLVs of a message for an operator. Raises ValueError if the operator does not allow a TLV."""


class PartCutter:
    """Cuts the messages of a lane into parts, and keeps the concatenation references in use."""

    __slots__ = ("_used",)

    def __init__(self) -> None:
        self._used: dict[str, set[int]] = {}

    def __len__(self) -> int:
        """Counts the numbers with long messages in flight."""
        return len(self._used)

    def cut(
        self,
        item: LaneItem,
        header_octets: int,
        *,
        joins: bool,
        repertoire: Repertoire = PLAIN,
        tlvs_of: TlvsOf | None = None,
    ) -> list[Part]:
        """Makes the waiting parts of the item for its operator, and takes them from `to_send`.

        `header_octets` are left free for a header, unless that would make more parts than were charged. `joins`: a long
        message becomes a single part. `repertoire` has the operator's alphabets. `tlvs_of` returns the TLVs of a
        message. A message that this operator cannot take as it was accepted becomes UNSENDABLE parts, which are
        refused. A later version could ask the next candidate of its route here.
        """
        message = item.message
        total = message.segments
        if item.whole != joins:
            item.shape(joins)
        if total == 1:
            header_octets = HEADER_OCTETS
        elements = read_extras(message.extras).elements if message.extras else b""
        cut = split(message.content, message.kind, header_octets, repertoire, elements)
        encoding: int = cut.encoding
        if len(cut.parts) != total:
            header_octets = HEADER_OCTETS
            again = split_into(total, message.content, message.kind, repertoire, elements)
            if again is None:
                encoding, cut.parts = UNSENDABLE, [b""] * total
            else:
                encoding, cut = again.encoding, again
        tlvs: tuple[Tlv, ...] = ()
        if tlvs_of is not None:
            try:
                tlvs = tlvs_of(message)
            except ValueError:
                encoding, cut.parts = UNSENDABLE, [b""] * total
        pieces = cut.parts
        if item.whole:
            total, pieces = 1, [b"".join(pieces)]
        elif total > 1 and not item.reference:
            item.reference = self._reference(message)
        numbers, item.to_send = item.waiting, []
        reference, elements = item.reference, cut.elements
        parts = []
        for number in numbers:  # a comprehension would make a cell of each variable, for every message
            octets = pieces[number]
            parts.append(Part(message, number, total, encoding, octets, reference, item, header_octets, elements, tlvs))
        return parts

    def is_full(self, destination: str) -> bool:
        """Returns whether all concatenation references to a number are in use."""
        return bool(self._used) and len(self._used.get(destination, ())) >= REFERENCES

    def release(self, item: LaneItem) -> None:
        """Frees the item's concatenation reference."""
        destination = item.message.destination
        used = self._used.get(destination)
        if used is not None:
            used.discard(item.reference)
            if not used:
                del self._used[destination]
        item.reference = 0

    def _reference(self, message: Message) -> int:
        """Returns a reference, 1 to 255, that no other long message to this number has at the moment.

        It is derived from the key, so that parts sent again after a restart most likely join the parts sent before. If
        it is taken, the next free reference is used; after 255 comes 1.
        """
        used = self._used.setdefault(message.destination, set())
        reference = (message.key * 0x9E3779B97F4A7C15 >> 40) % REFERENCES + 1
        while reference in used and len(used) < REFERENCES:
            reference = reference % REFERENCES + 1
        used.add(reference)
        return reference
