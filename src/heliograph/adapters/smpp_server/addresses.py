"""Addresses as SMPP clients write them (SMPP v3.4, 5.2.5 to 5.2.9), and as Heliograph keeps them.

A destination is kept as digits with the country code, a sender as digits or letters. Clients write the same number in
several ways, and expect their own spelling in the receipt:

    written               kept              spelling
    1/1  491701234567     491701234567      1.1.0.
    0/0  +491701234567    491701234567      0.0.0.+
    0/0  00491701234567   491701234567      0.0.0.00
    2/1  01701234567      491701234567      2.1.2.0      (the account's country is 49: two digits were put in front)
    5/0  ACME             ACME              5.0.0.
"""

from typing import Final, NamedTuple

from heliograph.domain.numbers.dialling import NationalNumbers
from heliograph.smpp import constants as c
from heliograph.smpp.pdu import Address

_TYPES: Final = frozenset({c.Ton.UNKNOWN, c.Ton.INTERNATIONAL, c.Ton.NATIONAL})
"""Types of number that a destination may have. Without a country a national number is refused."""


class Spelling(NamedTuple):
    """How a client wrote an address: `written = lead + kept[cut:]`."""

    ton: int
    npi: int
    cut: int
    """Leading digits of the kept address that the client did not write: a country code."""
    lead: str
    """Characters in front that are not kept: `+`, `00` or a trunk prefix."""

    def text(self) -> str:
        """Returns the text that `parse_spelling` reads, for example `2.1.2.0`."""
        return f"{self.ton}.{self.npi}.{self.cut}.{self.lead}"

    def written(self, kept: str) -> Address:
        """Returns the address as the client wrote it."""
        return Address(self.ton, self.npi, self.lead + kept[self.cut :])


def parse_spelling(text: str) -> Spelling:
    """Reads a text of `Spelling.text`."""
    ton, npi, cut, lead = text.split(".", 3)
    return Spelling(int(ton), int(npi), int(cut), lead)


def spelling_of(address: Address, kept: str) -> Spelling:
    """Returns the spelling of an address that is kept as `kept`."""
    written = address.number
    if written == kept:
        return Spelling(address.ton, address.npi, 0, "")
    common = 0
    while common < min(len(written), len(kept)) and written[-1 - common] == kept[-1 - common]:
        common += 1
    return Spelling(address.ton, address.npi, len(kept) - common, written[: len(written) - common])


def destination_of(address: Address, national: NationalNumbers) -> str:
    """Returns the destination in the form that is kept. An address that cannot be converted is returned unchanged:
    composing refuses it with a sentence for people.

    `national`: numbers of the account's country.
    """
    if address.ton not in _TYPES:
        return address.number
    is_national = address.ton == c.Ton.NATIONAL
    return national.international(address.number, is_national=is_national) or address.number


def sender_of(address: Address) -> str:
    """Returns the sender in the form that is kept: a number without `+` or `00`, or a name."""
    sender = address.number
    if address.ton == c.Ton.ALPHANUMERIC:
        return sender
    if sender.startswith("+"):
        return sender[1:]
    return sender[2:] if sender.startswith("00") and sender.isdigit() else sender
