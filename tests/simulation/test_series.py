"""Series never say more than the rows, however often the gateway dies and the store fails."""

from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from heliograph.app.observing.refusals import Refusals
from heliograph.app.observing.series_counter import SeriesCounter
from heliograph.app.ports.series import SeriesQuery
from heliograph.domain.message.ids import time_of
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.series import WIDTH_MS, Cell, Grain
from heliograph.runtime.environment import Environment
from heliograph.runtime.series_writer import SeriesWriter
from tests.simulation.node import Node
from tests.simulation.plans import PLANS
from tests.simulation.world import Simulation
from tests.support.gateway import unwatched
from tests.support.memory_store import MemoryStore
from tests.support.virtual_time import run

pytestmark = pytest.mark.slow

MINUTE = WIDTH_MS[Grain.MINUTE]


class CountedNode(Node):
    """A node that counts series, and adds to them every few seconds."""

    world: "CountedSimulation"

    def environment(self) -> Environment:
        counter = SeriesCounter()
        self.world.writer = writer = SeriesWriter(counter, Refusals(), self.store.series)
        writer.start(unwatched)
        return replace(super().environment(), watchers=(counter,))


@dataclass
class CountedSimulation(Simulation):
    """Each life of the gateway counts series."""

    make_node = CountedNode
    writer: SeriesWriter = field(init=False)

    async def run(self) -> list[str]:
        await super().run()
        await self.writer.stop()
        self.store = MemoryStore(self.rows)
        self.writer._store = self.store.series
        await self.writer.write()
        while await self.store.series.settle(100):
            pass
        self.minutes = dict(await self.store.series.points(SeriesQuery(Grain.MINUTE, 0, 1 << 50)))
        self.days = Cell()
        for _, day in await self.store.series.points(SeriesQuery(Grain.DAY, 0, 1 << 50)):
            self.days.add(day)
        return self.wrong


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.extended) for seed in (1, 2))])
@pytest.mark.parametrize(
    "plan", ["crashes", "stops", "late", "clock", *[each for each in PLANS if PLANS[each].unfit][:1]]
)
def test_no_message_is_counted_twice(plan: str, seed: int) -> None:
    simulation = CountedSimulation(seed, PLANS[plan])
    assert run(simulation.run()) == []
    rows, minutes, days = simulation.rows, simulation.minutes, simulation.days
    assert len(rows.messages) > 30  # the store is away at times, and requests are refused then
    ends = Counter(end.state for end in rows.finals.values())
    assert days.cancelled == ends[None]
    # a crash loses counts of the last seconds, and nothing is counted twice
    accepted = Counter(time_of(key) // MINUTE * MINUTE for key in rows.messages)
    assert Counter({at: cell.accepted for at, cell in minutes.items()}) <= accepted
    delivered = Counter(end.at // MINUTE * MINUTE for end in rows.finals.values() if end.state is Delivery.DELIVRD)
    assert Counter({at: cell.delivered for at, cell in minutes.items()}) <= delivered
    assert days.segments <= sum(message.segments for message in rows.messages.values())
    assert days.submitted <= sum(1 for (_, segment), each in rows.sent.items() if segment == 0 and each.status == 0)
    assert days.failed <= ends.total() - ends[None] - ends[Delivery.DELIVRD]
    assert days.inbound <= len(rows.inbound)
