"""Trails: what is read of them is what was written, and a run costs no more than one message."""

from hypothesis import given
from hypothesis import strategies as st

from heliograph.app.facts import Facts, MessageEnd, Submission
from heliograph.app.observing.trail import ended_trail, read_trail, trail_of
from heliograph.domain.message.receipt import Delivery

KEYS = st.integers(0, 1 << 40).map(lambda number: number << 5)
TIMES = st.integers(0, 1 << 45)
RUNS = st.lists(st.tuples(KEYS, st.integers(1, 5), TIMES), max_size=6)
"""First keys, lengths and times."""


def spread(runs: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    return [(first + 32 * step, at) for first, count, at in runs for step in range(count)]


@given(RUNS, RUNS)
def test_a_trail_says_what_was_taken_and_what_ended(
    sent: list[tuple[int, int, int]], ended: list[tuple[int, int, int]]
) -> None:
    facts = Facts(
        submissions=[Submission(1, key, 0, 1, "x", 0, at) for key, at in spread(sent)],
        finals=[MessageEnd(1, key, Delivery.DELIVRD, "", at, owed=False) for key, at in spread(ended)],
    )
    keys = trail_of(facts)
    if not sent and not ended:
        assert keys == b""
        return
    entries = read_trail(keys)
    assert (entries.sent, entries.ended) == (spread(sent), spread(ended))
    assert not entries.accepted
    assert not entries.inbound


@given(st.lists(KEYS, min_size=1, max_size=9), TIMES)
def test_cancelled_messages_ended_at_one_time(keys: list[int], at: int) -> None:
    assert read_trail(ended_trail(keys, at)).ended == [(key, at) for key in keys]


def test_parts_that_no_operator_took_and_later_parts_are_not_named() -> None:
    facts = Facts(submissions=[Submission(1, 32, 0, 1, "", 8, 5), Submission(1, 64, 1, 1, "x", 0, 5)])
    assert trail_of(facts) == b""
