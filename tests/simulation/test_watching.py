"""Counts agree with the rows, and events of messages with their histories."""

from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from heliograph.app.facts import Facts, MessageEnd
from heliograph.app.observing.counters import MessageCounters
from heliograph.app.observing.events import EventFeed, MessageEvent
from heliograph.domain.message.state import State
from heliograph.runtime.environment import Environment
from tests.simulation.faults import Odds
from tests.simulation.node import Node
from tests.simulation.world import Plan, Simulation
from tests.support.virtual_time import run

pytestmark = pytest.mark.slow

ODDS = Odds(
    throttled=0.1, refused=0.1, unanswered=0.05, slow_answer=0.1, receipt_lost=0.05, receipt_doubled=0.2,
    receiver_fails=0.3, receiver_gone=0.02, store_fails=0.05,
)  # fmt: skip


class WatchedNode(Node):
    """A node with the watchers of its world."""

    world: "Watched"

    def environment(self) -> Environment:
        feed = EventFeed()
        feed.subscribe(self.world.heard.extend)
        return replace(super().environment(), watchers=(self.world.counters, feed, self.world))


@dataclass
class Watched(Simulation):
    make_node = WatchedNode

    counters: MessageCounters = field(default_factory=MessageCounters)
    heard: list[MessageEvent] = field(default_factory=list)
    finals: dict[int, MessageEnd] = field(default_factory=dict)
    """As they were shown: the rows keep less of them."""

    def committed(self, facts: Facts, now: int, seconds: float) -> None:
        for final in facts.finals:
            assert final.key not in self.finals
            self.finals[final.key] = final


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.extended) for seed in (1, 2))]


def lived(seed: int) -> Watched:
    simulation = Watched(seed, Plan(lives=1), odds=replace(ODDS))
    assert run(simulation.run()) == []
    return simulation


@pytest.mark.parametrize("seed", SEEDS)
def test_the_numbers_are_those_of_the_rows(seed: int) -> None:
    simulation = lived(seed)
    counters, rows = simulation.counters, simulation.rows
    assert len(rows.messages) > 50
    assert counters.immediate + counters.scheduled == len(rows.messages)
    assert counters.charged == sum(message.price for message in rows.messages.values())
    failed = {key for key, message in rows.messages.items() if message.state == State.FAILED}
    ends = {key: end.state for key, end in rows.finals.items() if end.state is not None}
    assert counters.finals == Counter(state for key, state in ends.items() if key not in failed)
    assert counters.failures == Counter(state for key, state in ends.items() if key in failed)
    assert counters.refunded == sum(rows.messages[key].price for key in failed)
    assert counters.callbacks == Counter(done.end for done in rows.callbacks.values())
    lanes = counters.lanes.values()
    taken = [answer for answer in rows.sent.values() if answer.status == 0]
    assert sum(lane.accepted for lane in lanes) == len(taken)
    assert sum(lane.messages for lane in lanes) == sum(answer.segment == 0 for answer in taken)
    assert sum(lane.refused for lane in lanes) == sum(answer.status > 0 for answer in rows.sent.values())
    assert sum(lane.deferred + lane.unknown - lane.throttled for lane in lanes) == len(rows.attempts)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_wait_is_measured_once_and_is_as_long_as_it_was(seed: int) -> None:
    simulation = lived(seed)
    counters, rows = simulation.counters, simulation.rows
    for connector, lane in counters.lanes.items():
        timed = [answer for answer in rows.sent.values() if answer.connector == connector and answer.took >= 0]
        assert sum(lane.took.classes) == sum(lane.waited.classes) == len(timed) > 0
        assert lane.took.total == sum(answer.took for answer in timed)
    receipts = [final for final in simulation.finals.values() if not final.failed and final.waited >= 0]
    assert sum(counters.receipt_ms.classes) == len(receipts) > 0
    for answer in rows.sent.values():
        if answer.took >= 0:
            due = rows.messages[answer.key].time
            assert answer.at - answer.took - answer.waited == due
            assert answer.waited >= 0
    for final in receipts:
        message = rows.messages[final.key]
        assert 0 <= final.waited <= final.at - message.time
    delivered = [done for done in rows.callbacks.values() if done.end == 0]
    assert sum(counters.callback_ms.classes) == len(delivered)
    for done in delivered:
        assert done.at - done.waited == rows.finals[done.key].at


def test_what_is_told_is_what_happened() -> None:
    simulation = lived(7)
    rows, told = simulation.rows, Counter((each.event, each.key) for each in simulation.heard)
    for key, message in rows.messages.items():
        assert told["accepted", key] + told["scheduled", key] == 1
        assert told["submitted", key] == sum(
            answer.status == 0 for (of, _), answer in rows.sent.items() if of == key
        ), message
        final = rows.finals.get(key)
        if final is not None and message.state != State.CANCELLED:
            assert told["final", key] + told["failed", key] == 1
        assert told["callback", key] == (key in rows.callbacks)
    assert all(each.message is not None for each in simulation.heard if each.key)
