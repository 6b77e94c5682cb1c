"""The numbers of a request's fields that are no integers."""


class Number(str):
    """A JSON number that is no integer, as it was written."""

    __slots__ = ()
