"""A table by number prefix, of which the longest that fits wins."""

from collections.abc import Mapping
from typing import Generic, TypeVar

Value = TypeVar("Value")


class PrefixTable(Generic[Value]):
    """Values by digits that a number begins with; the empty prefix fits every number.

    A look-up is one dictionary access for each length that occurs among the prefixes, longest first.
    """

    __slots__ = ("_lengths", "_values")

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = dict(values)
        self._lengths = tuple(sorted({len(prefix) for prefix in self._values}, reverse=True))

    def find(self, number: str) -> Value | None:
        """The value of the longest prefix; None when no prefix fits."""
        values = self._values
        for length in self._lengths:
            # A number shorter than the length is its own slice and would match a shorter prefix: the same
            # one that its turn would find, as no other can lie between.
            value = values.get(number[:length])
            if value is not None:
                return value
        return None

    def longest(self, number: str) -> str | None:
        """Returns the longest prefix that fits; None when none does."""
        return next((number[:length] for length in self._lengths if number[:length] in self._values), None)


def prefixes(number: str) -> list[str]:
    """Returns the prefixes that fit a number, the longest first."""
    return [number[:length] for length in range(len(number), -1, -1)]
