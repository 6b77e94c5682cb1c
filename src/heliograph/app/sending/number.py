"""Numbers of requests that are no integers. A module by itself, since a subclass of `str` cannot be compiled."""


class Number(str):
    """A JSON number that is no integer, as it was written."""

    __slots__ = ()
