"""Caps over several nodes, each of which knows the parts of the others only once a second."""

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.app.dispatch.lane import Lane
from heliograph.app.dispatch.lane_window import NO_QUOTA
from heliograph.app.ports import Unavailable
from heliograph.app.ports.series import DAY_MS
from heliograph.runtime.operator_caps import OperatorCaps
from tests.support.connectors import smpp_connector
from tests.support.memory_store import MemoryStore
from tests.support.store import START
from tests.support.use_case_fakes import SetClock


class Node:
    """A node with some of a connector's binds. Its operator takes what the lane's quota allows at once."""

    def __init__(self, store: MemoryStore, share: float, clock: SetClock, max_day: int = 0, max_month: int = 0) -> None:
        self.connector = smpp_connector(1, "op1", max_day=max_day, max_month=max_month)
        self.lane = Lane(1)
        self.taken: dict[int, int] = {}
        self.woken = 0
        dispatcher = SimpleNamespace(lanes={1: self.lane}, gathering=SimpleNamespace(wake=self._wake))
        carriers: Any = SimpleNamespace(
            live=lambda: {1: self.connector}, share=lambda _: share, dispatcher=dispatcher
        )  # fmt: skip
        self.caps = OperatorCaps(store.measurements, lambda: self.taken, carriers, clock)

    def _wake(self) -> None:
        self.woken += 1

    def send(self, wanted: int) -> None:
        """Sends parts, which are answered before the next look."""
        sent = max(0, min(wanted, self.lane.window.quota))
        self.lane.window.quota -= sent
        self.taken[1] = self.taken.get(1, 0) + sent


@given(
    cap=st.integers(1, 500),
    shares=st.sampled_from([(1.0,), (0.5, 0.5), (0.25, 0.75), (1 / 3, 1 / 3, 1 / 3)]),
    rounds=st.lists(st.lists(st.integers(0, 300), min_size=3, max_size=3), max_size=30),
    at_once=st.booleans(),
)
def test_nodes_stay_within_a_cap_together(
    *, cap: int, shares: tuple[float, ...], rounds: list[list[int]], at_once: bool
) -> None:
    async def play() -> None:
        store, clock = MemoryStore(), SetClock()
        nodes = [Node(store, share, clock, max_day=cap) for share in shares]
        for wanted in [*rounds, *([[cap] * 3] * 20)]:
            for node, parts in zip(nodes, wanted, strict=False):
                await node.caps.look()
                if at_once:
                    node.send(parts)
            for node, parts in zip(nodes, wanted, strict=False):
                if not at_once:
                    node.send(parts)
        total = sum(node.taken.get(1, 0) for node in nodes)
        # A share of the last part is a whole part, for each of the other nodes.
        assert cap <= total < cap + len(nodes)
        await nodes[0].caps.look()
        await nodes[-1].caps.look()
        assert nodes[-1].lane.window.cap == "at its cap for today"

    asyncio.run(play())


async def test_what_is_under_way_counts_and_the_cap_goes_with_the_setting() -> None:
    node = Node(MemoryStore(), 1.0, SetClock(), max_day=30, max_month=20)
    node.lane.window.in_flight = 5
    await node.caps.look()
    assert (node.lane.window.quota, node.lane.window.cap) == (15, "")
    node.taken = {1: 20}
    node.lane.window.in_flight = 0
    await node.caps.look()
    assert (node.lane.window.quota, node.lane.window.cap) == (0, "at its cap for this month")
    assert node.lane.window.room(0.0) == 0
    node.connector.max_month = 0
    await node.caps.look()
    assert (node.lane.window.quota, node.woken) == (10, 1)
    node.connector.max_day = 0
    await node.caps.look()
    assert (node.lane.window.quota, node.lane.window.cap) == (NO_QUOTA, "")


async def test_a_quota_holds_on_while_the_store_is_away() -> None:
    store = MemoryStore()
    node = Node(store, 1.0, SetClock(), max_day=30)
    await node.caps.look()
    node.send(10)
    store.broken = True
    with pytest.raises(Unavailable):
        await node.caps.look()
    assert node.lane.window.quota == 20
    store.broken = False
    await node.caps.look()
    assert node.lane.window.quota == 20
    assert await parts(store) == {(1, START - START % DAY_MS): 10}


async def test_without_a_cap_parts_are_counted_and_nothing_is_read() -> None:
    class Unread(MemoryStore):
        async def measurements_parts(self, since: int) -> Mapping[tuple[int, int], int]:
            raise AssertionError(since)

    store = Unread()
    node = Node(store, 1.0, SetClock())
    node.send(7)
    for _ in range(5):
        await node.caps.look()
    assert store._place.rows.operator_parts == {(1, START - START % DAY_MS): 7}


async def parts(store: MemoryStore) -> Mapping[tuple[int, int], int]:
    return await store.measurements.parts(0)
