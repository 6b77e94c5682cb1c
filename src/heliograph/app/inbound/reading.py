"""Reads what phones send: which part of which message it is, its text, and whose it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heliograph.app.configuration import Connector
from heliograph.app.connector_kind import LanePolicy
from heliograph.app.facts import InboundPart
from heliograph.app.ports import Incoming
from heliograph.app.sending.directory import Directory
from heliograph.domain import alphabet


@dataclass(slots=True)
class InboundContent:
    """Content of a message: its text, empty where it has none, and its octets without headers."""

    text: str
    octets: bytes


class Reader:
    """Reads by the rules of the directory, as they are at the moment."""

    def __init__(self, directory: Directory, policy: Callable[[Connector], LanePolicy]) -> None:
        """`policy` tells the alphabet of data coding 0 of a connector."""
        self._directory = directory
        self._policy = policy
        self._alphabets: dict[int, str] = {}
        self._generation = -1

    def place_of(self, incoming: Incoming) -> tuple[int, int, int] | None:
        """Returns reference, total and number from 1 of a part; None for a whole message."""
        place = incoming.part or (_place_in(incoming.octets) if incoming.has_header else None)
        return place if place is not None and 1 <= place[2] <= place[1] > 1 else None

    def whole(self, connector: int, incoming: Incoming) -> InboundContent:
        """Returns the content of a message that came whole."""
        octets = _without_header(incoming.octets, has_header=incoming.has_header)
        return InboundContent(_decoded(octets, incoming.coding, self._alphabet(connector)), octets)

    def joined(self, parts: Sequence[InboundPart]) -> InboundContent:
        """Returns the content of the parts, in the order of their numbers."""
        default = self._alphabet(parts[0].parts_of.connector)
        found = [(_without_header(part.octets, has_header=part.has_header), part.coding) for part in parts]
        return InboundContent(
            "".join(_decoded(octets, coding, default) for octets, coding in found), b"".join(each for each, _ in found)
        )

    def owner(self, connector: int, recipient: str, text: str) -> tuple[int, str, bool]:
        """Returns the account, 0 where there is none, the keyword that led to it, and whether it has its messages
        pushed."""
        return self._directory.owner(connector, recipient, text)

    def _alphabet(self, connector: int) -> str:
        if self._generation != self._directory.generation:
            self._generation = self._directory.generation
            self._alphabets.clear()
        found = self._alphabets.get(connector)
        if found is None:
            known = self._directory.connector(connector)
            found = self._alphabets[connector] = "gsm" if known is None else self._policy(known).default_alphabet
        return found


def _place_in(octets: bytes) -> tuple[int, int, int] | None:
    at, end = 1, 1 + (octets[0] if octets else 0)
    while at + 2 <= min(end, len(octets)):
        kind, size = octets[at], octets[at + 1]
        value = octets[at + 2 : at + 2 + size]
        if kind == 0x00 and len(value) == 3:
            return value[0], value[1], value[2]
        if kind == 0x08 and len(value) == 4:
            return value[0] << 8 | value[1], value[2], value[3]
        at += 2 + size
    return None


def _without_header(octets: bytes, *, has_header: bool) -> bytes:
    return octets[1 + octets[0] :] if has_header and octets else octets


def _decoded(octets: bytes, coding: int, default: str) -> str:
    if coding == 8:
        return octets.decode("utf-16-be", "replace")
    if coding in (1, 3):
        return octets.decode("latin-1")
    if coding in (2, 4):
        return ""
    return alphabet.decode(octets) if default == "gsm" else octets.decode("latin-1")
