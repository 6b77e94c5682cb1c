"""Connectors that cannot send at the moment, as the directory hears of them."""

import asyncio
from itertools import pairwise

import pytest

from heliograph.app.configuration import Connector
from heliograph.app.connector_kind import FailoverPolicy, LanePolicy
from heliograph.app.dispatch.dispatcher import Dispatcher, LaneEvents
from heliograph.app.facts import Message, MessageEnd
from heliograph.app.ports import ConnectorReport, ConnectorState
from heliograph.app.ports.series import SeriesCell
from heliograph.app.receipts.matcher import ReceiptMatcher
from heliograph.app.sending.directory import Directory
from heliograph.domain.pace.breaker import LATEST
from heliograph.domain.series import Cell, CellKey, Grain
from heliograph.runtime.connector_health import ConnectorHealth, ReceiptDoubts
from heliograph.runtime.tasks import end
from tests.support.carrier_rig import NotedJournal
from tests.support.connectors import smpp_connector
from tests.support.memory_store import MemoryStore
from tests.support.use_case_fakes import Messages, NotedCarrier, NotedGathering, SetClock, SetRouter
from tests.support.virtual_time import run


class House:
    def __init__(self, directory: Directory, connector: Connector, store: MemoryStore) -> None:
        self.clock, self.journal, self.connector = SetClock(), NotedJournal(), connector
        self.directory, self.gathering = directory, NotedGathering()
        matcher = ReceiptMatcher(self.gathering, self.clock, store.receipts, self._finish)
        self.dispatcher = Dispatcher(self.gathering, self.clock, matcher, self._finish, SetRouter(connector.id))
        self.series = store.series
        self.health = ConnectorHealth(directory, self.dispatcher, self.clock, self.journal)
        self.lane = self.dispatcher.lane(connector.id)
        self.lane.policy = LanePolicy(failover=FailoverPolicy(overflow_after_s=30.0))
        self.lane.window.carrier = self.carrier = NotedCarrier()

    def _finish(self, message: Message, final: MessageEnd) -> None:
        raise AssertionError(f"{message.key} ended: {final}")

    def obstacle(self) -> str:
        self.health.look()
        return self.directory.obstacle(self.connector.id)


@pytest.fixture
async def house() -> House:
    store = MemoryStore()
    connector = await store.network.add_connector(smpp_connector(0, "op1", "h", 1, "id", "pw"))
    directory = Directory(store.table_changes, store.accounts)
    await directory.refresh()
    return House(directory, connector, store)


def test_a_connector_without_a_bind_for_a_while_cannot_send(house: House) -> None:
    house.carrier.capacity = 0
    assert house.obstacle() == ""
    house.clock.pass_ms(14_000)
    assert house.obstacle() == ""
    house.clock.pass_ms(1_000)
    assert house.obstacle() == "down for more than 15 s"
    house.carrier.capacity = 10
    assert house.obstacle() == ""
    assert [(event, fields) for _, event, fields in house.journal.lines] == [
        ("connector.unusable", {"connector": "op1", "why": "down for more than 15 s"}),
        ("connector.usable", {"connector": "op1", "was": "down for more than 15 s"}),
    ]


def test_the_connectors_are_looked_at_several_times_a_second() -> None:
    async def look() -> list[float]:
        store, looks = MemoryStore(), []
        connector = await store.network.add_connector(smpp_connector(0, "op1", "h", 1, "id", "pw"))
        house = House(Directory(store.table_changes, store.accounts), connector, store)
        house.health.look = lambda: looks.append(asyncio.get_running_loop().time())  # type: ignore[method-assign]
        task = asyncio.create_task(house.health.run())
        await asyncio.sleep(15.0)
        await end(task)
        return looks

    looks = run(look())
    assert max(later - earlier for earlier, later in pairwise(looks)) <= 0.25
    assert len(looks) >= 60


def test_the_time_without_a_bind_counts_from_the_end_of_the_last(house: House) -> None:
    events = LaneEvents(house.dispatcher, house.lane, lambda *_: None)
    assert house.obstacle() == ""
    house.carrier.capacity = 0
    events.on_capacity()
    house.clock.pass_ms(15_000)
    assert house.obstacle() == "down for more than 15 s"
    house.carrier.capacity = 10
    events.on_capacity()
    house.carrier.capacity = 0
    events.on_capacity()
    assert house.obstacle() == ""


def test_a_connector_that_fails_most_messages_is_tested_by_a_single_message(house: House) -> None:
    for _ in range(LATEST):
        house.lane.window.breaker.answered(house.clock.monotonic(), failed=True)
    assert house.obstacle() == "failing most messages"
    assert house.directory.another(Messages(house.clock)(), ()) is None
    house.clock.pass_ms(5_000)
    assert house.obstacle() == "failing most messages"
    assert house.directory._tests == {house.connector.id}


def test_a_connector_with_old_messages_is_overloaded(house: House) -> None:
    house.lane.oldest_row = house.clock.now() - 30_000
    assert house.obstacle() == ""
    house.clock.pass_ms(1_000)
    assert house.obstacle() == "overloaded: messages wait for more than 30 s"


def test_nothing_is_sent_at_this_time_of_day(house: House) -> None:
    house.lane.window.off = True
    assert house.obstacle() == "not sending at this time of day"


def test_other_nodes_tell_of_connectors_whose_binds_they_have(house: House) -> None:
    house.lane.closed = True
    number, now = house.connector.id, house.clock.now()
    blocked = ConnectorReport(number, 2, ConnectorState(obstacle="failing most messages"), now)
    house.health.reports = [blocked]
    assert house.obstacle() == "failing most messages"
    house.health.reports = [blocked, ConnectorReport(number, 3, ConnectorState(), now)]
    assert house.obstacle() == ""
    house.clock.pass_ms(60_000)
    house.health.reports = [blocked]
    assert house.obstacle() == ""


async def test_doubts_about_receipts_are_logged_once_a_day(house: House) -> None:
    doubts = ReceiptDoubts(house.series, house.directory, house.clock, house.journal)
    denied = Cell()
    denied.delivered, denied.denied = 400, 40
    for connector in (house.connector.id, 99):
        key = CellKey(1, connector, "DE")
        for hour in (0, 24):
            await house.series.add([SeriesCell(Grain.HOUR, house.clock.now() + hour * 3_600_000, key, denied)])
    for _ in range(25):
        await doubts.look()
        house.clock.pass_ms(3_600_000)
    assert [(level, event, fields["connector"]) for level, event, fields in house.journal.lines] == [
        ("warning", "connector.receipts_doubted", "op1")
    ] * 2
