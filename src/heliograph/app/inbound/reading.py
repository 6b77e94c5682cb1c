"""Reads messages from phones: part and message, text, and owner."""

from collections.abc import Callable, Sequence

from heliograph.app.configuration import Connector, NumberOwner
from heliograph.app.connector_kind import LanePolicy
from heliograph.app.facts import InboundPart
from heliograph.app.ports import Incoming
from heliograph.app.sending.directory import Directory
from heliograph.domain.text import inbound
from heliograph.domain.text.inbound import JoinedText, UserData


class Reader:
    """Reads by the current rules of the directory."""

    def __init__(self, directory: Directory, policy: Callable[[Connector], LanePolicy]) -> None:
        """`policy` returns the lane policy of a connector, such as the alphabet of data coding 0."""
        self._directory = directory
        self._policy = policy
        self._alphabets: dict[int, str] = {}
        self._generation = -1

    def read(self, incoming: Incoming) -> UserData:
        """Splits a short message into header and content."""
        return inbound.read(incoming.octets, incoming.coding, has_header=incoming.has_header, sar=incoming.part)

    def text_of(self, connector: int, data: UserData) -> str:
        """Returns the text of a whole message; empty for a binary message."""
        return inbound.text_of(data, self._alphabet(connector))

    def joined(self, parts: Sequence[InboundPart]) -> JoinedText:
        """Joins the parts of a set. An unreadable part counts as missing."""
        read = []
        for part in parts:
            if part.is_unreadable:
                continue
            of = part.parts_of
            data = inbound.read(part.octets, part.coding, has_header=part.has_header)
            data.position = of.reference, of.total, part.number
            read.append(data)
        if not read:
            return JoinedText("", b"", parts[0].coding, 0, complete=False)
        return inbound.join(read, self._alphabet(parts[0].parts_of.connector))

    def owner(self, connector: int, recipient: str, text: str) -> tuple[NumberOwner | None, str]:
        """Returns the owner, or None, and the keyword that led to it, for example `PIZZA`."""
        return self._directory.owner(connector, recipient, text)

    def price(self, account: int, sender: str) -> int:
        """Returns the price of a message from a phone, in micro-credits."""
        return self._directory.inbound_price(account, sender)

    def _alphabet(self, connector: int) -> str:
        if self._generation != self._directory.generation:
            self._generation = self._directory.generation
            self._alphabets.clear()
        found = self._alphabets.get(connector)
        if found is None:
            known = self._directory.connector(connector)
            found = self._alphabets[connector] = "gsm" if known is None else self._policy(known).default_alphabet
        return found
