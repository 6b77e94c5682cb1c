"""Which submissions are refused because their commit would come too late."""

from heliograph.adapters.smpp_server.overload import FEW, FIRST_PACE_S, OVERLOAD_S, Delay


def run(capacity: int, arriving: int, seconds: float, window: int = 1_000_000) -> tuple[float, int]:
    """Submits `arriving` a second to a gateway that commits `capacity` a second, every 10 ms. Returns the longest wait
    of an accepted submission, and how many were refused."""
    delay, waiting, longest, refused = Delay(), list[tuple[int, float]](), 0.0, 0
    step = 0.01
    for turn in range(round(seconds / step)):
        now = turn * step
        for _ in range(round(capacity * step)):
            if waiting:
                number, since = waiting.pop(0)
                delay.end(number, now)
                longest = max(longest, now - since)
        for _ in range(round(arriving * step)):
            if len(waiting) >= window:
                break
            if delay.is_long(now, now):
                refused += 1
            else:
                waiting.append((delay.begin(now), now))
    return longest, refused


def test_nothing_is_refused_within_the_capacity() -> None:
    assert run(2_000, 1_900, 5)[1] == 0
    assert run(2_000, 20_000, 5, window=400)[1] == 0  # windows that are full are no overload


def test_under_overload_no_accepted_submission_waits_for_a_second() -> None:
    for capacity in (500, 2_000, 10_000):
        longest, refused = run(capacity, 3 * capacity, 5)
        assert longest < 0.6
        assert refused > 1.5 * capacity * 5


def test_a_burst_after_a_pause_is_taken() -> None:
    delay = Delay()
    numbers = [delay.begin(0.0) for _ in range(1_000)]
    assert not delay.is_long(0.01, 0.01)
    for number in numbers:
        delay.end(number, 0.1)
    assert not delay.is_long(5.0, 5.0)
    numbers = [delay.begin(5.0) for _ in range(FEW)]
    assert not delay.is_long(4.99 + OVERLOAD_S, 4.99 + OVERLOAD_S)
    assert delay.is_long(5.01 + OVERLOAD_S, 5.01 + OVERLOAD_S)


def test_a_flood_after_a_pause_is_taken_as_far_as_a_busy_machine_commits_it_in_time() -> None:
    delay, taken = Delay(), 0
    while taken < 4_000 and not delay.is_long(0.1, 0.0):
        delay.begin(0.0)
        taken += 1
    assert taken <= OVERLOAD_S / FIRST_PACE_S


def test_a_submission_that_may_have_waited_unread_has_less_time_left() -> None:
    delay = Delay()
    for _ in range(FEW + 1):
        delay.begin(0.0)
    waits_s = (FEW + 1) * FIRST_PACE_S
    assert not delay.is_long(0.0, waits_s - OVERLOAD_S + 0.01)
    assert delay.is_long(0.0, waits_s - OVERLOAD_S - 0.01)
