"""The gap before a commit, played with customers who wait for their answers and with customers who do not."""

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.runtime.commit_interval import BUSY_FACTS_PER_S, INTERVAL_S, PROBE_INTERVALS, CommitInterval

FACTS = 4
"""A message's: accepted, submitted, ended, called back."""

COMMIT_S = 0.000_3
SECONDS = 2.0


@dataclass
class Played:
    commits: int = 0
    requests: int = 0
    longest_wait: float = 0.0

    @property
    def each(self) -> float:
        return self.requests / self.commits


def play(first: list[float], after: Callable[[float], float] | None = None) -> Played:
    """`first` are the times of the first requests, `after` says when the one comes that follows an answer."""
    gap, played, now = CommitInterval(), Played(), 0.0
    coming = list(first)
    heapify(coming)
    while now < SECONDS:
        began = now = max(now, coming[0])
        waiting = 0
        while coming and coming[0] <= now:
            heappop(coming)
            waiting += 1
        end = now + gap.left(now)
        while now < end and not gap.at_capacity(waiting):
            now = end
            if coming and coming[0] <= end:
                now = heappop(coming)
                waiting += 1
                gap.came(now)
        played.longest_wait = max(played.longest_wait, now - began)
        gap.begin(now, waiting)
        played.commits += 1
        played.requests += waiting
        now += COMMIT_S
        gap.tally(now, waiting * FACTS)
        if after is not None:
            for _ in range(waiting):
                heappush(coming, after(now))
    return played


def closed(connections: int, random: Random) -> Played:
    """Each connection sends a while after its answer."""

    def soon(now: float) -> float:
        return now + random.expovariate(10_000)

    return play([soon(0.0) for _ in range(connections)], soon)


def opened(rate: float, random: Random) -> Played:
    times, now = [], 0.0
    while now < SECONDS + 1.0:
        now += random.expovariate(rate)
        times.append(now)
    return play(times)


@pytest.mark.parametrize("connections", [1, 4, 16])
def test_few_connections_do_not_wait_for_a_gap_in_which_nobody_is_left_to_send(connections: int) -> None:
    played = closed(connections, Random(connections))
    assert played.requests > 1.5 * connections * SECONDS / INTERVAL_S
    assert played.each > 0.9 * connections, "all who can ask share a commit"


@pytest.mark.parametrize("rate", [2_000, 6_000, 12_000, 20_000])
def test_requests_that_come_at_any_time_are_gathered_for_nearly_a_whole_gap(rate: int) -> None:
    played = opened(rate, Random(rate))
    assert played.each > 0.85 * rate * INTERVAL_S


def test_a_request_now_and_then_does_not_wait() -> None:
    assert opened(50, Random(1)).longest_wait == 0.0


@given(st.lists(st.tuples(st.floats(0.0, 0.01), st.integers(0, 2_000)), max_size=60))
def test_nothing_waits_for_longer_than_a_gap(commits: list[tuple[float, int]]) -> None:
    gap, now = CommitInterval(), 0.0
    for pause, requests in commits:
        now += pause
        assert 0.0 <= gap.left(now) <= INTERVAL_S
        gap.begin(now, requests)
        gap.tally(now, requests * FACTS)
        assert not gap.at_capacity(0), "without a request there is nobody whom the gap holds up"


def loaded() -> CommitInterval:
    """A gap that is whole: a commit is over at 1.2 s."""
    gap = CommitInterval()
    gap.begin(1.0, 1)
    for count in range(1, 200):
        gap.tally(1.0 + count / 1_000, round(BUSY_FACTS_PER_S / 1_000))
    gap.begin(1.2, 4)
    return gap


def probe(gap: CommitInterval, now: float, requests: int, latest: float) -> float:
    """A whole gap in which so many requests come, the latest at `latest` of it; then when it is over."""
    gap.left(now)
    while not gap.probing:
        gap.begin(now, 0)
    gap.came(now + latest * INTERVAL_S)
    now += INTERVAL_S
    gap.begin(now, requests)
    return now


def test_a_gap_is_whole_under_load_alone() -> None:
    idle = CommitInterval()
    idle.begin(1.0, 1)
    assert idle.left(1.0) == 0.0
    assert loaded().left(1.2) == pytest.approx(INTERVAL_S, rel=0.01)


def test_the_gap_ends_for_as_many_as_were_there_when_nobody_came_any_more() -> None:
    gap, now = loaded(), 1.2
    for crowd in (32, 5, 40):
        now = probe(gap, now, crowd, latest=0.5)
        assert gap.at_capacity(crowd)
        assert not gap.at_capacity(crowd - 1)


def test_the_gap_is_whole_while_more_keep_coming() -> None:
    gap = loaded()
    probe(gap, 1.2, 32, latest=0.95)
    assert not gap.at_capacity(1_000)


def test_small_commits_do_not_keep_themselves_small() -> None:
    """Now and then a gap is whole, whoever waits: of a crowd that has grown some may come later."""
    gap, now = loaded(), 1.2
    now = probe(gap, now, 3, latest=0.5)
    for _ in range(PROBE_INTERVALS - 1):
        gap.left(now)
        assert gap.at_capacity(3)
        gap.begin(now, 3)
    assert not gap.at_capacity(1_000)
    probe(gap, now, 30, latest=0.5)
    assert not gap.at_capacity(3)


def test_commits_that_nothing_held_up_say_nothing_about_who_is_left() -> None:
    gap = loaded()
    now = probe(gap, 1.2, 3, latest=0.5)
    for _ in range(PROBE_INTERVALS - 1):
        gap.left(now)
        gap.begin(now, 3)
    assert gap.probing
    now += 1.0
    gap.tally(now, 0)
    assert gap.left(now) == 0.0
    gap.begin(now, 1)
    assert gap.probing
