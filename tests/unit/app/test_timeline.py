"""A history in which the same happens again and again stays short."""

from heliograph.app.resources.history import Event, condense


def deferred(at: int, segment: int = 1) -> Event:
    return Event(at, "Deferred", segment, "op1 answered ESME_RSYSERR")


def test_a_long_row_is_its_first_and_its_last_and_how_many_are_between() -> None:
    events = [Event(0, "Accepted", None, "1 segment"), *map(deferred, range(1, 21)), Event(99, "Submitted", 1, "")]
    assert list(condense(events)) == [
        events[0],
        deferred(1),
        Event(2, "Deferred", 1, "... and 18 more times ..."),
        deferred(20),
        events[-1],
    ]


def test_what_is_short_or_differs_is_shown_as_it_is() -> None:
    events = [deferred(1), deferred(2), deferred(3), *(deferred(at, at % 2) for at in range(4, 20))]
    assert list(condense(events)) == events
    assert list(condense([])) == []
