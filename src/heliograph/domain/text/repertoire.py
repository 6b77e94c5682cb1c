"""Repertoires: the alphabets that an operator accepts, and the possible encodings of a text for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from heliograph.domain.text import alphabet, national
from heliograph.domain.text.header import national_elements


class Encoding(IntEnum):
    """Encodings of the content of a message over the air."""

    GSM7 = 0
    """The default alphabet, or national tables that a user data header names."""
    UCS2 = 1
    BINARY = 2
    LATIN1 = 3

    @property
    def label(self) -> str:
        """The word in the API."""
        return _LABELS[self]


_LABELS: dict[Encoding, str] = {
    Encoding.GSM7: "GSM-7",
    Encoding.UCS2: "UCS-2",
    Encoding.BINARY: "binary",
    Encoding.LATIN1: "Latin-1",
}


@dataclass(slots=True)
class Encoded:
    """An encoded text: unpacked septets, UTF-16BE, or octets. `elements`: user data header elements that each of its
    parts needs, to select national tables.
    """

    encoding: Encoding
    data: bytes
    elements: bytes = b""
    language: int = 0
    """The language of its national tables; 0 for none."""


Tables = tuple[int, int]
"""The languages of a locking and of a single shift table; 0 for none."""


@dataclass(frozen=True, slots=True)
class Repertoire:
    """The alphabets of an operator in addition to UCS-2, which every operator has."""

    default: str = alphabet.GSM
    """Meaning of the default data coding: `gsm`, `latin1` or `ascii`."""
    latin1: bool = False
    """True if Latin-1 has its own data coding."""
    tables: tuple[Tables, ...] = ()
    """The national tables that phones are known to have."""

    def ways(self, text: str, *, flash: bool = False) -> Iterator[Encoded]:
        """Yields the possible encodings of a text, at least one: only GSM 7 bit if it has all letters, otherwise UCS-2
        first, then encodings that may be shorter. `flash`: with a message class, which Latin-1 has no coding for.

        Raises UnicodeEncodeError on a lone surrogate.
        """
        septets = alphabet.encode(text)
        if septets is not None and alphabet.has_letters(text, self.default):
            yield Encoded(Encoding.GSM7, septets)
            return
        yield Encoded(Encoding.UCS2, text.encode("utf-16-be"))
        if self.latin1 and not flash:
            octets = alphabet.latin1(text)
            if octets is not None:
                yield Encoded(Encoding.LATIN1, octets)
        for locking, single in self.tables:
            shifted = national.encode(text, locking, single)
            if shifted is not None:
                yield Encoded(Encoding.GSM7, shifted, national_elements(locking, single), locking or single)


PLAIN: Final = Repertoire()
"""The alphabets that every operator takes: GSM 7 bit and UCS-2."""
