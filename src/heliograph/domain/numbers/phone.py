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

_EXAMPLE = "digits with the country code, such as 447700900123"


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


def number_in(text: str) -> str:
    """Returns the digits of a number or its beginning, in any notation, for example `491701` for `+49 170-1`; empty if
    `text` is no number.
    """
    bare = text.strip().removeprefix("+").replace(" ", "").replace("-", "")
    return bare if bare.isascii() and bare.isdigit() and len(bare) <= 15 else ""


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
    """Values by the first digits of a number; the empty prefix matches every number.

    A lookup is one dictionary access for each prefix length, longest first.
    """

    __slots__ = ("_lengths", "_values")

    def __init__(self, values: Mapping[str, Value] | None = None) -> None:
        self._values: dict[str, Value] = {}
        self._lengths: tuple[int, ...] = ()
        if values:
            self.put_all(list(values), values.values())

    def __len__(self) -> int:
        return len(self._values)

    def get(self, prefix: str) -> Value | None:
        """Returns the value of exactly this prefix, or None."""
        return self._values.get(prefix)

    def put(self, prefix: str, value: Value) -> None:
        """Sets the value of a prefix."""
        self.put_all((prefix,), (value,))

    def put_all(self, prefixes: Sequence[str], values: Iterable[Value]) -> None:
        """Sets the values of prefixes; of two equal prefixes, the later counts."""
        self._values.update(zip(prefixes, values, strict=True))
        self._lengths = tuple(sorted({*self._lengths, *map(len, prefixes)}, reverse=True))

    def remove(self, prefix: str) -> None:
        """Removes a prefix if it is there. Its length stays, which costs a lookup and no more."""
        self._values.pop(prefix, None)

    def find(self, number: str) -> Value | None:
        """Returns the value of the longest matching prefix, or None."""
        values = self._values
        for length in self._lengths:
            # A number shorter than the length is its own slice, and would match a shorter prefix. That is the prefix
            # that its own turn would find, as no other can lie between.
            value = values.get(number[:length])
            if value is not None:
                return value
        return None

    def matches(self, number: str) -> Iterator[tuple[str, Value]]:
        """Yields all matching prefixes with their values, the longest first."""
        values, last = self._values, -1
        for length in self._lengths:
            prefix = number[:length]
            if len(prefix) != last and prefix in values:
                yield prefix, values[prefix]
            last = len(prefix)

    def values(self) -> Iterable[Value]:
        """Returns the values of all prefixes."""
        return self._values.values()

    def longest(self, number: str) -> str | None:
        """Returns the longest matching prefix, or None."""
        return next((number[:length] for length in self._lengths if number[:length] in self._values), None)


def prefixes(number: str) -> list[str]:
    """Returns the prefixes that fit a number, the longest first."""
    return [number[:length] for length in range(len(number), -1, -1)]
