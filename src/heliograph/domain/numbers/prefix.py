"""A table by number prefix, of which the longest that fits wins."""

from collections.abc import Mapping
from typing import Generic, TypeVar

Value = TypeVar("Value")


class PrefixTable(Generic[Value]):
    """Values by the first digits of a number; the empty prefix matches every number.

    A lookup is one dictionary access for each prefix length, longest first.
    """

    __slots__ = ("_lengths", "_values")

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = dict(values)
        self._lengths = tuple(sorted({len(prefix) for prefix in self._values}, reverse=True))

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

    def longest(self, number: str) -> str | None:
        """Returns the longest matching prefix, or None."""
        return next((number[:length] for length in self._lengths if number[:length] in self._values), None)


def prefixes(number: str) -> list[str]:
    """Returns the prefixes that fit a number, the longest first."""
    return [number[:length] for length in range(len(number), -1, -1)]
