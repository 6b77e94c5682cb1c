"""Paces over restarts and on several nodes."""

from types import SimpleNamespace
from typing import Any

import pytest

from heliograph.app.dispatch.lane import Lane
from heliograph.domain.pace.pace import START, LearntPace
from heliograph.runtime.pace_memory import KEEP_ROUNDS, PaceMemory
from tests.support.connectors import smpp_connector
from tests.support.memory_store import MemoryStore
from tests.support.use_case_fakes import SetClock


class Node:
    """A node with a share of a connector's binds."""

    def __init__(self, store: MemoryStore, share: float) -> None:
        self.lane, self.share = Lane(1), share
        carriers: Any = SimpleNamespace(
            live=lambda: {1: smpp_connector(1, "op1")},
            share=lambda _: self.share,
            dispatcher=SimpleNamespace(lane=lambda _: self.lane),
        )
        self.memory = PaceMemory(store.measurements, carriers, SetClock())

    @property
    def rate(self) -> float:
        return self.lane.window.pace.rate

    def learn(self, rate: float) -> None:
        self.lane.window.pace.resume(0.0, LearntPace(rate / 0.9, is_limit=True))


async def test_a_node_begins_with_nine_tenths_of_its_share_of_what_another_learnt() -> None:
    store = MemoryStore()
    first, second = Node(store, 0.5), Node(store, 0.0)
    await first.memory.look()
    assert first.rate == START
    first.learn(40.0)
    await first.memory.keep()
    kept = (await store.measurements.paces())[1]
    assert kept.is_limit
    assert kept.rate == pytest.approx(80.0)
    await second.memory.look()
    assert second.rate == START, "it has no binds"
    second.share = 1.0
    await second.memory.look()
    assert second.rate == pytest.approx(72.0)
    await second.memory.look()
    assert second.rate == pytest.approx(72.0), "only when it begins"


async def test_a_pace_is_kept_now_and_then_if_it_changed() -> None:
    store = MemoryStore()
    node = Node(store, 1.0)
    for rate, kept in ((40.0, 40.0), (41.0, 40.0), (44.0, 44.0)):
        node.learn(rate)
        for _ in range(KEEP_ROUNDS):
            await node.memory.look()
        assert (await store.measurements.paces())[1].rate == pytest.approx(kept)
