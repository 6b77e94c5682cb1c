"""Events by key within a sliding window."""

from heliograph.domain.limits.recent_events import RecentEvents


def test_the_window_slides() -> None:
    events = RecentEvents[str](2, 10, keys=9)
    taken = [events.take("a", at) for at in (0, 5, 9, 10, 11, 15)]
    assert taken == [True, True, False, True, False, True]
    assert events.take("b", 11)


def test_a_clock_that_was_set_back_starts_the_window_anew() -> None:
    events = RecentEvents[str](1, 10, keys=9)
    assert [events.take("a", at) for at in (100, 50, 55)] == [True, True, False]


def test_keys_with_the_oldest_events_are_forgotten() -> None:
    events = RecentEvents[str](1, 10, keys=2)
    assert all(events.take(key, 0) for key in "abc")
    assert not events.take("c", 1)
    assert events.take("a", 1)


def test_zero_is_no_limit() -> None:
    events = RecentEvents[str](0, 10, keys=1)
    assert all(events.take("a", 0) for _ in range(5))
