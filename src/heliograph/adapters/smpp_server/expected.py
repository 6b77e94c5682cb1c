"""A client's expectations of the receipts of a message, kept with the message (`Extras.esme`).

1.1.0.,5.0.0.,uuid,1    the spelling of the destination and of the sender, the form of the id, and when
1.1.0.,5.0.0.,uuid,1,491701234567=2.1.2.0    a submit_multi with a destination in another spelling
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from heliograph.adapters.smpp_server.addresses import Spelling, parse_spelling, spelling_of
from heliograph.app.facts import Message
from heliograph.domain.message import ids
from heliograph.domain.message.extras import read_extras
from heliograph.domain.message.receipt import Delivery
from heliograph.smpp.pdu import Address

UUID: Final = "uuid"
DECIMAL: Final = "decimal"
HEX16: Final = "hex16"

FORMS: Final = (UUID, DECIMAL, HEX16)

_DECIMAL: Final = re.compile(r"[0-9]{1,19}").fullmatch
_HEX16: Final = re.compile(r"[0-9A-Fa-f]{1,16}").fullmatch

_NO_OTHERS: Final[Mapping[str, Spelling]] = MappingProxyType({})

READ_ONCE: Final = 4_096
"""Parsed texts in the cache: the messages of a client share a few."""


class ReceiptWish(IntEnum):
    """When a client gets a receipt: bits 1 and 0 of registered_delivery (SMPP v3.4, 5.2.17)."""

    NONE = 0
    ALL = 1
    FAILURE = 2


class Expected(NamedTuple):
    """A client's expectations of the receipts of a message."""

    destination: Spelling
    """Of most destinations."""
    sender: Spelling
    id_form: str
    wish: ReceiptWish
    others: Mapping[str, Spelling] = _NO_OTHERS
    """Spellings that differ from `destination`, by number."""

    def text(self) -> str:
        """Returns the text that `parse_expected` reads."""
        others = "".join(f",{number}={spelling.text()}" for number, spelling in self.others.items())
        return f"{self.destination.text()},{self.sender.text()},{self.id_form},{self.wish:d}{others}"

    def destination_as_written(self, kept: str) -> Address:
        """Returns a destination as the client wrote it."""
        return self.others.get(kept, self.destination).written(kept)

    def wants(self, state: Delivery) -> bool:
        """True if the client wants a receipt of this state. `Wish` has a field of its own for states on the way."""
        return self.wish is not ReceiptWish.FAILURE or state is not Delivery.DELIVRD


USUAL: Final = Expected(Spelling(1, 1, 0, ""), Spelling(0, 0, 0, ""), UUID, ReceiptWish.ALL)
"""The expectations for a message that did not come from an SMPP client."""


def expected_of(message: Message) -> Expected:
    """Returns the expectations of the client that sent a message."""
    return parse_expected(read_extras(message.extras).esme)


@lru_cache(maxsize=READ_ONCE)
def parse_expected(text: str) -> Expected:
    """Reads a text of `Expected.text`; an empty text gives USUAL."""
    if not text:
        return USUAL
    destination, sender, id_form, wish, *others = text.split(",")
    return Expected(
        parse_spelling(destination),
        parse_spelling(sender),
        id_form,
        ReceiptWish(int(wish)),
        {number: parse_spelling(spelling) for number, _, spelling in (other.partition("=") for other in others)},
    )


def expected_text(
    destinations: Sequence[tuple[Address, str]], sender: Spelling, id_form: str, wish: ReceiptWish
) -> str:
    """Returns the text of a client's expectations for these destinations: each as it was written, and as it is kept."""
    if len(destinations) == 1:
        return _text(spelling_of(*destinations[0]), sender, id_form, wish)
    spellings = {kept: spelling_of(written, kept) for written, kept in destinations}
    ((usual, _),) = Counter(spellings.values()).most_common(1)
    others = {kept: spelling for kept, spelling in spellings.items() if spelling != usual}
    return Expected(usual, sender, id_form, wish, others).text()


@lru_cache(maxsize=READ_ONCE)
def _text(destination: Spelling, sender: Spelling, id_form: str, wish: ReceiptWish) -> str:
    return Expected(destination, sender, id_form, wish).text()


def message_id(form: str, key: int, tail: int) -> str:
    """Returns the id of a message in a form."""
    if form == DECIMAL:
        return str(key)
    return f"{key:016x}" if form == HEX16 else ids.to_uuid(key, tail)


def key_of(form: str, text: str) -> int | None:
    """Returns the key of a message by the id that a client sends, or None if the text is no id."""
    if form == UUID:
        found = ids.parse(text)
        return None if found is None else found[0]
    is_number, base = (_DECIMAL, 10) if form == DECIMAL else (_HEX16, 16)
    key = int(text, base) if is_number(text) else -1
    return key if 0 <= key < 1 << ids.KEY_BITS else None  # a store cannot even look for a longer key
