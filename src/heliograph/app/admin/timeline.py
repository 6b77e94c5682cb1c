"""A message's history for people: an operator that puts a message off for two days says so hundreds of times."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from heliograph.app.admin.history import Event

SHOWN = 3
"""Of as many equal lines in a row each is shown."""


def condense(events: Iterable[Event]) -> Iterator[Event]:
    """Of a longer row of lines that differ in nothing but their time the first and the last, and between them one that
    says how many there are, with the time of the first of those."""
    for _, equal in groupby(events, lambda event: (event.event, event.segment, event.detail)):
        row = list(equal)
        if len(row) <= SHOWN:
            yield from row
            continue
        first, *between, last = row
        yield first
        yield Event(between[0].at, first.event, first.segment, f"... and {len(between)} more times ...")
        yield last
