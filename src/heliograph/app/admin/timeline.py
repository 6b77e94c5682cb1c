"""Shortens a message's history for people: an operator that defers a message for two days says so hundreds of times."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from heliograph.app.admin.history import Event

SHOWN = 3
"""Longest run of equal lines that is shown whole."""


def condense(events: Iterable[Event]) -> Iterator[Event]:
    """Replaces the middle of each longer run of lines that differ only in their time by one line with their number."""
    for _, equal in groupby(events, lambda event: (event.event, event.segment, event.detail)):
        row = list(equal)
        if len(row) <= SHOWN:
            yield from row
            continue
        first, *between, last = row
        yield first
        yield Event(between[0].at, first.event, first.segment, f"... and {len(between)} more times ...")
        yield last
