"""Destinations and senders: E.164 numbers without `+`, and alphanumeric sender IDs.

Only the ASCII digits count: `str.isdigit` by itself also takes superscripts and the digits of other scripts.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Generic, TypeVar

MIN_DIGITS: Final = 7
MAX_DIGITS: Final = 15
"""E.164, 6.1: at most 15 digits, country code included."""

MIN_SENDER_CHARS: Final = 3
MAX_SENDER_CHARS: Final = 11
"""An alphanumeric address holds 11 septet characters (3GPP TS 23.040, 9.1.2.5)."""

_DIGITS = re.compile(r"[0-9]+").fullmatch
_PUNCTUATED = re.compile(r"[0-9\s().,/+-]+").fullmatch
_MSISDN = re.compile(rf"[0-9]{{1,{MAX_DIGITS}}}").fullmatch
_ALPHANUMERIC = re.compile(r"[A-Za-z0-9]+").fullmatch
_TRUNK_ZERO = re.compile(r"(?<=[0-9)])[\s./-]*\(\s*0\s*\)")
"""The zero of national calls behind a country code, as in `+49 (0)170 1234567`."""
_WRITING = re.compile(r"[\s()./'\"\u2010-\u2015\u2212\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff-]+")
"""Spaces and punctuation of numbers. Address books add invisible characters of direction, such as U+202A."""
_ITALY: Final = "39"
"""Its numbers keep their zero: `+39 (0)6 6982` is 39066982."""

EXAMPLE: Final = "447700900123"
"""The number in sentences about bad numbers. No phone has it: its range is for films and plays."""

_EXAMPLE = f"digits with the country code, such as {EXAMPLE}"


def is_destination(text: str) -> bool:
    return MIN_DIGITS <= len(text) <= MAX_DIGITS and text.isascii() and text.isdigit() and text[0] != "0"


def destination_problem(text: str, what: str = "destination") -> str | None:
    """Returns the problem of a destination (called `what` in the sentence) and its solution, or None."""
    if is_destination(text):
        return None
    if not text:
        return f"The {what} is empty; give {_EXAMPLE}."
    if text.startswith("+"):
        return f"The {what} must not begin with +; give {_EXAMPLE}."
    if text.startswith(" "):
        return f"The {what} must not begin with a space, which a + in a form stands for; give {_EXAMPLE}."
    if _DIGITS(text) is None:
        if _PUNCTUATED(text) is not None:
            return f"The {what} must not contain spaces or punctuation; give {_EXAMPLE}."
        return f"The {what} must consist of the digits 0 to 9; give {_EXAMPLE}."
    if text.startswith("0"):
        return f"The {what} must not begin with 0; give {_EXAMPLE}."
    size, limit = ("short", MIN_DIGITS) if len(text) < MIN_DIGITS else ("long", MAX_DIGITS)
    return f"The {what} is too {size}: {len(text)} digits, the limit is {limit}; give {_EXAMPLE}."


def sender_problem(text: str, msisdn_allowed: bool) -> str | None:
    """Returns the problem of a sender and its solution, or None.

    `msisdn_allowed`: a number of up to 15 digits is valid too.
    """
    if MIN_SENDER_CHARS <= len(text) <= MAX_SENDER_CHARS and text.isascii() and text.isalnum():
        return None
    if msisdn_allowed and _MSISDN(text) is not None:
        return None
    rule = f"give {MIN_SENDER_CHARS} to {MAX_SENDER_CHARS} letters A-Z, a-z or digits"
    if msisdn_allowed:
        rule += f", or a number of up to {MAX_DIGITS} digits without +"
    if not text:
        return f"The sender is empty; {rule}."
    if text.startswith("+"):
        return f"The sender must not begin with +; {rule}."
    if _ALPHANUMERIC(text) is None:
        return f"The sender has a character that is neither a letter A-Z, a-z nor a digit; {rule}."
    size = "short" if len(text) < MIN_SENDER_CHARS else "long"
    return f"The sender is too {size}: it has {len(text)} characters; {rule}."


def number_of(text: str) -> str:
    """Returns a number as requests have it, for example `491701234567` for `+49 (0)170 1234567` or `0049 170/123-4567`.

    For lists and forms, which people write. Other texts come back without spaces and punctuation.
    """
    bare = _WRITING.sub("", _TRUNK_ZERO.sub("\0", text))
    bare = bare[1:] if bare.startswith("+") else bare.removeprefix("00")
    return bare.replace("\0", "0" if bare.startswith(_ITALY) else "")


def number_in(text: str) -> str:
    """Returns the digits of a number or its beginning, in any notation, for example `491701` for `+49 170-1`; empty if
    `text` is no number.
    """
    bare = number_of(text)
    return bare if bare.isascii() and bare.isdigit() and len(bare) <= MAX_DIGITS else ""


def mask(number: str) -> str:
    """Returns a number masked for logs: the first three and the last two digits, the rest as stars, for example
    `491*******67`.

    A number too short to hide three digits is hidden completely.
    """
    hidden = len(number) - 5
    if hidden < 2:
        return "*" * len(number)
    return f"{number[:3]}{'*' * hidden}{number[-2:]}"


def mask_search(text: str) -> str:
    """Returns a search text masked for logs: numbers in any notation are masked, other texts are unchanged."""
    return mask("".join(filter(str.isdigit, text))) if _PUNCTUATED(text) is not None else text


Value = TypeVar("Value")


class PrefixTable(Generic[Value]):
    """Values by the first digits of a number; the empty prefix matches every text.

    A lookup is one dictionary access for each prefix length, longest first. A key is a 1 and the digits: 149 for the
    prefix 49. Stores return prefixes in order, and such keys lie side by side in the dictionary. So a million prefixes
    are put in a third of the time of texts, which have random hashes.
    """

    __slots__ = ("_lengths", "_values")

    def __init__(self, values: Mapping[str, Value] | None = None) -> None:
        self._values: dict[int, Value] = {}
        self._lengths: tuple[int, ...] = ()
        if values:
            self.put_all(list(values), values.values())

    def __len__(self) -> int:
        return len(self._values)

    def put(self, prefix: str, value: Value) -> None:
        """Sets the value of a prefix."""
        self.put_all((prefix,), (value,))

    def put_all(self, prefixes: Sequence[str], values: Iterable[Value]) -> None:
        """Sets the values of prefixes; of two equal prefixes, the later counts."""
        self._values.update(zip(map(int, map("1".__add__, prefixes)), values, strict=True))
        self._lengths = tuple(sorted({*self._lengths, *map(len, prefixes)}, reverse=True))

    def remove(self, prefix: str) -> None:
        """Removes a prefix if it is there. Its length stays, which costs a lookup and no more."""
        self._values.pop(int("1" + prefix), None)

    def find(self, number: str) -> Value | None:
        """Returns the value of the longest matching prefix, or None."""
        if not (number.isascii() and number.isdigit()) or len(number) > MAX_DIGITS:
            number = digits_of(number)
        values, key, size = self._values, int("1" + number), len(number)
        for length in self._lengths:
            if length <= size:
                value = values.get(key // _POWERS[size - length])
                if value is not None:
                    return value
        return None

    def matches(self, number: str) -> Iterator[tuple[str, Value]]:
        """Yields all matching prefixes with their values, the longest first."""
        digits = digits_of(number)
        for length in self._lengths:
            value = self._values.get(int("1" + digits[:length])) if length <= len(digits) else None
            if value is not None:
                yield digits[:length], value

    def values(self) -> Iterable[Value]:
        """Returns the values of all prefixes."""
        return self._values.values()

    def longest(self, number: str) -> str | None:
        """Returns the longest matching prefix, or None."""
        return next((prefix for prefix, _ in self.matches(number)), None)


_POWERS: Final = [10**power for power in range(MAX_DIGITS + 1)]


def digits_of(number: str) -> str:
    """Returns the digits of a number that prefixes can match; empty for a text such as `ACME`."""
    if not (number.isascii() and number.isdigit()):
        return ""
    return number if len(number) <= MAX_DIGITS else number[:MAX_DIGITS]


def prefixes(number: str) -> list[str]:
    """Returns the prefixes that fit a number, the longest first."""
    return [number[:length] for length in range(len(number), -1, -1)]
