"""The engine over a store in memory and an operator that does as it should, on a virtual clock."""

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from heliograph.app.configuration import (
    DRAIN,
    OFF,
    ON,
    Account,
    ApiKey,
    Connector,
    Cost,
    Plan,
    Route,
    TrafficHold,
)
from heliograph.app.connector_kind import LanePolicy
from heliograph.app.dispatch import claims
from heliograph.app.facts import Accept, EarlyReceipt, Facts, Message, PartReceipt, Verdict
from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH
from heliograph.app.observing.counters import MessageCounters
from heliograph.app.ports import Carrier, CarrierEvents, Fenced, Report, Unavailable
from heliograph.app.ports.series import DAY_MS, SeriesCell
from heliograph.app.sending.directory import Directory
from heliograph.app.webhook_job import WebhookJob
from heliograph.domain.calendar import zone
from heliograph.domain.limits.gate import OF_SUSPENDED
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from heliograph.domain.pace.timetable import Timetable, parse_spans
from heliograph.domain.series import Cell, CellKey, Grain
from heliograph.runtime import upkeep
from heliograph.runtime.engine import Engine
from heliograph.runtime.environment import Environment, TimeLimits
from tests.simulation.faults import Odds, Operator, ScriptedCarrier, ScriptedSender
from tests.support.connectors import smpp_connector
from tests.support.memory_delivery import MemoryCommits, MemoryQueue
from tests.support.memory_leases import MemoryLeases
from tests.support.memory_rows import NodeRow, Rows
from tests.support.memory_store import MemoryStore
from tests.support.store import CREDIT, HOUR, SECOND, START
from tests.support.use_case_fakes import Messages, SetClock, accept_of
from tests.support.virtual_time import VirtualClock, run


class CountingStore(MemoryStore):
    """Counts what it is asked; `broken_reads` of the queue fail; so many blocks are `unindexed`."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows)
        self.asked: Counter[str] = Counter()
        self.broken_reads = 0
        self.slow_claims_s = 0.0
        self.unindexed = 0
        self.carriers: dict[int, ScriptedCarrier] = {}

    async def commits_record(self, facts: Facts) -> None:
        self.asked["record"] += 1
        await asyncio.sleep(0.001)
        await MemoryCommits(self._place).record(facts)
        for carrier in self.carriers.values():
            carrier.committed(facts)

    async def upkeep_index_numbers(self, now: int, size: int) -> int:
        self.asked["index_numbers"] += 1
        taken = min(self.unindexed, 1)
        self.unindexed -= taken
        return taken * size

    async def queue_next_due(self) -> dict[int, int]:
        self.asked["next_due"] += 1
        await asyncio.sleep(self.slow_claims_s)
        if self.broken_reads:
            self.broken_reads -= 1
            raise Unavailable("no")
        return await MemoryQueue(self._place).next_due()


class Quiet:
    def __init__(self) -> None:
        self.said: list[str] = []

    def log(self, level: str, event: str, **fields: object) -> None:
        self.said.append(event)


class Tails:
    def tail(self) -> int:
        return 5


class Rig:
    def __init__(self) -> None:
        self.chance = random.Random(1)
        self.rows = Rows()
        self.store = CountingStore(self.rows)
        self.clock = VirtualClock()
        self.journal = Quiet()
        self.operators: dict[int, Operator] = {}
        self.carriers = self.store.carriers
        self.arrived: list[WebhookJob] = []
        self.message = Messages(SetClock())
        self.node = 0
        self.rates = ""
        self.leases: MemoryLeases | None = None
        """Set where nodes share the store."""

    def policy(self, connector: Connector) -> LanePolicy:
        return LanePolicy(timetable=Timetable(parse_spans(self.rates, 1000.0), zone("UTC")) if self.rates else None)

    async def furnish(self, **fields: Any) -> None:
        account = Account(0, "acme", "", bytes(32))
        await self.store.accounts.create(account, ApiKey("k", 0, b"", 0), 100_000 * CREDIT, ())
        await self.connector("op1", prefix="4", **fields)

    async def connector(self, name: str, prefix: str, **fields: Any) -> Connector:
        connector = smpp_connector(0, name, "", 0, "", "", **({"window": 10} | fields))
        connector = await self.store.network.add_connector(connector)
        self.operators[connector.id] = Operator(connector, self.chance, Odds(), self.clock.now)
        await self.store.network.add_route(Route(0, prefix, connector.id))
        return connector

    def make_carrier(self, connector: Connector, events: CarrierEvents) -> Carrier:
        carrier = self.carriers[connector.id] = ScriptedCarrier(self.operators[connector.id], connector, events)
        return carrier

    async def start(self) -> Engine:
        self.node += 1
        self.sender = ScriptedSender(self.chance, Odds(), self.arrived.append)
        counters = MessageCounters()
        world = Environment(
            store=self.store, directory=Directory(self.store.table_changes, self.store.accounts),
            sender=self.sender, make_carrier=self.make_carrier,
            ids=Tails(), clock=self.clock, journal=self.journal, jitter=lambda: 0.5,
            policy=self.policy, watchers=(counters,), taken=counters.taken,
            encode_json=lambda fields: repr(fields).encode(), leases=self.leases,
        )  # fmt: skip
        self.engine = Engine(world, TimeLimits(48, 24, 24), node=self.node)
        await self.engine.start()
        return self.engine

    async def kill(self) -> None:
        """The process is gone at once."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.sender.kill()
        for carrier in self.carriers.values():
            carrier.kill()

    def fresh(self, **fields: Any) -> Message:
        now = self.clock.now()
        return self.message(**({"key": 1, "time": now, "expires": now + HOUR} | fields))

    async def send(self, *messages: Message, scheduled: bool = False) -> Accept:
        accept = accept_of(*messages)
        accept.scheduled = scheduled
        answered = asyncio.get_running_loop().create_future()
        assert self.engine.gatherer.accept(accept, answered.set_result)
        await answered
        assert accept.verdict is Verdict.ACCEPTED
        return accept

    async def schedule(self, *after_ms: int) -> Accept:
        now = self.clock.now()
        messages = [
            self.fresh(time=now + ms, expires=now + ms + HOUR, state=State.SCHEDULED, queued=True) for ms in after_ms
        ]
        return await self.send(*messages, scheduled=True)

    def sent_at(self, message: Message, connector: int = 1) -> int:
        return self.operators[connector].first_submit[message.key, 0]

    async def share_the_store(self) -> None:
        """Starts again as a node that shares the store, behind an operator that loses all receipts."""
        await self.kill()
        self.leases = MemoryLeases(self.store._place, self.clock.now)
        await self.start()
        self.operators[1].odds.receipt_lost = 1.0

    async def send_in_two_parts(self) -> int:
        """Sends a message of two parts on a shared store, and returns its key."""
        await self.share_the_store()
        await asyncio.sleep(2.0)
        accept = await self.send(self.fresh(content="x" * 200, segments=2))
        await asyncio.sleep(1.0)
        return accept.key

    async def fail_a_chore(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Has a chore of housekeeping fail in each round from now on, and waits until some have been."""

        async def away(*_: object) -> int:
            raise Unavailable("it takes too long")

        monkeypatch.setattr(self.store.series, "settle", away)
        await asyncio.sleep(20.0)

    async def stays_still(self) -> int:
        """Returns what was submitted of 60 messages by now; only one more that was under way may be in a minute."""
        before = self.submits
        assert 0 < before < 60
        await asyncio.sleep(60.0)
        assert self.submits <= before + 1, "what was written to the operator by then"
        return before

    @property
    def submits(self) -> int:
        return sum(operator.submits.total() for operator in self.operators.values())


def scenario(story: Callable[[Rig], Awaitable[Any]], **fields: Any) -> None:
    async def play() -> None:
        rig = Rig()
        await rig.furnish(**fields)
        await rig.start()
        await asyncio.sleep(2.0)
        try:
            await story(rig)
        finally:
            await rig.kill()

    run(play())


def test_a_message_goes_its_whole_way() -> None:
    async def story(rig: Rig) -> None:
        accept = await rig.send(rig.fresh())
        assert rig.sent_at(accept.messages[0]) - rig.clock.now() < 10
        await asyncio.sleep(3.0)
        assert [job.key for job in rig.arrived] == [accept.key]
        assert rig.rows.callbacks.keys() == {accept.key}

    scenario(story)


def test_what_waits_of_a_suspended_account_goes_as_soon_as_it_is_resumed() -> None:
    async def story(rig: Rig) -> None:
        await rig.send(*[rig.fresh() for _ in range(60)])
        await asyncio.sleep(2.0)
        await rig.store.accounts.update(1, {"suspended": True})
        await asyncio.sleep(1.5)
        before = await rig.stays_still()
        await rig.kill()
        await rig.start()
        await asyncio.sleep(60.0)
        assert rig.submits <= before + 1
        await rig.store.accounts.update(1, {"suspended": False})
        await asyncio.sleep(2.0)
        assert rig.submits > before + 1
        await asyncio.sleep(20.0)
        assert rig.submits == 60
        assert rig.rows.queue == {}

    scenario(story, rate=5.0)


def test_a_suspension_is_heeded_while_a_chore_of_housekeeping_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(rig: Rig) -> None:
        await rig.fail_a_chore(monkeypatch)
        await rig.send(*[rig.fresh() for _ in range(60)])
        await asyncio.sleep(2.0)
        await rig.store.accounts.update(1, {"suspended": True})
        await asyncio.sleep(1.5)
        before = await rig.stays_still()
        await rig.store.accounts.update(1, {"suspended": False})
        await asyncio.sleep(2.0)
        assert rig.submits > before + 1

    scenario(story, rate=5.0)


def test_a_stop_of_elsewhere_is_heeded_while_a_chore_of_housekeeping_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(rig: Rig) -> None:
        await rig.fail_a_chore(monkeypatch)
        await rig.send(*[rig.fresh(destination="447700900123") for _ in range(60)])
        await asyncio.sleep(2.0)
        await rig.store.suppressions.suppress(1, ["447700900123"], "api", rig.clock.now())
        await asyncio.sleep(2.0)
        await rig.stays_still()

    scenario(story, rate=5.0)


def test_a_run_that_begins_while_an_account_is_suspended_holds_what_was_in_memory() -> None:
    async def story(rig: Rig) -> None:
        rig.carriers[1].up = False
        messages = [rig.fresh() for _ in range(5)]
        await rig.send(*messages)
        await rig.kill()
        await rig.store.accounts.update(1, {"suspended": True})
        await rig.start()
        await asyncio.sleep(10.0)
        assert rig.submits == 0
        assert {rig.rows.queue[message.key].held for message in messages} == {OF_SUSPENDED}
        await rig.store.accounts.update(1, {"suspended": False})
        await asyncio.sleep(2.0)
        assert rig.submits == 5

    scenario(story)


def test_what_the_guard_holds_waits_over_a_restart_until_it_is_released() -> None:
    async def story(rig: Rig) -> None:
        free = rig.fresh(queued=True)
        message = rig.fresh(queued=True, destination="447700900123")
        await rig.store.guard.hold(TrafficHold(message.account, "44770", 0, "a surge"), 0)
        await asyncio.sleep(3.0)
        await rig.send(free, message)
        await asyncio.sleep(3.0)
        assert rig.sent_at(free)
        assert rig.rows.queue[message.key].held == "44770"
        await rig.kill()
        await rig.start()
        await asyncio.sleep(3.0)
        assert rig.submits == 1
        await rig.store.guard.release(message.account, "44770", rig.clock.now())
        await rig.store.guard.let_go(rig.clock.now(), 10)
        await asyncio.sleep(3.0)  # who has not heard of the release holds it once more
        assert await rig.store.guard.let_go(rig.clock.now(), 10) <= 1
        await asyncio.sleep(3.0)
        assert rig.sent_at(message)
        assert message.key not in rig.rows.queue

    scenario(story)


def test_a_receipt_that_memory_does_not_know_does_not_wait_for_claims() -> None:
    async def story(rig: Rig) -> None:
        rig.store.slow_claims_s = 60.0
        await asyncio.sleep(1.0)
        kept: list[bool] = []
        rig.engine.matcher.on_report(1, Report("unheard of", "", Delivery.DELIVRD, True, "000"), kept.append)
        await asyncio.sleep(0.1)
        assert kept == [True]
        assert [early.operator_id for early in rig.rows.early] == ["unheard of"]

    scenario(story)


@pytest.mark.parametrize(("is_gone", "takes_s"), [(True, 10.0), (False, 120.0)])
def test_the_last_receipt_of_another_node_finds_its_message(
    is_gone: bool, takes_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "BATCH", 2)

    async def story(rig: Rig) -> None:
        await rig.share_the_store()
        await asyncio.sleep(20.0)  # by then all receipts were searched for once after the start
        accept = await rig.send(rig.fresh())
        await asyncio.sleep(1.0)
        (part,) = rig.rows.sent.values()
        receipts = [EarlyReceipt(1, part.operator_id, "", Delivery.DELIVRD, "000", rig.clock.now())]
        receipts += [EarlyReceipt(1, f"unheard of {n}", "", Delivery.DELIVRD, "000", rig.clock.now()) for n in range(5)]
        rig.rows.early.extend(receipts)
        if is_gone:
            rig.rows.nodes[9] = NodeRow(until=rig.clock.now())
        await asyncio.sleep(takes_s)
        assert [job.key for job in rig.arrived] == [accept.key]
        assert rig.rows.early == receipts[1:]

    scenario(story)


def test_a_scheduled_message_goes_within_a_second_of_its_time_and_not_before() -> None:
    async def story(rig: Rig) -> None:
        accept = await rig.schedule(*range(1_000, 61_000, 1_730))
        await asyncio.sleep(65.0)
        for message in accept.messages:
            assert 0 <= rig.sent_at(message) - message.time < SECOND / 2

    scenario(story)


def test_a_backlog_drains_as_fast_as_the_operator_takes_it() -> None:
    """Two thousand messages are due at once; an answer takes 70 ms at most, for ten at a time."""

    async def story(rig: Rig) -> None:
        for _ in range(2):
            await rig.schedule(*[10_000] * 1_000)
        await asyncio.sleep(9.0)
        start = rig.clock.monotonic()
        while rig.submits < 2_000:
            await asyncio.sleep(0.1)
            assert rig.clock.monotonic() - start < 2_000 / 10 * 0.09
        assert set(rig.operators[1].submits.values()) == {1}

    scenario(story)


def test_an_idle_gateway_asks_little_and_writes_nothing() -> None:
    async def story(rig: Rig) -> None:
        await rig.send(rig.fresh())
        await asyncio.sleep(10.0)
        rig.store.asked.clear()
        await asyncio.sleep(100.0)
        assert rig.store.asked["next_due"] <= 500
        assert rig.store.asked["record"] <= 5

    scenario(story)


def test_numbers_are_indexed_as_long_as_there_are_any_and_seldom_looked_for() -> None:
    async def story(rig: Rig) -> None:
        await asyncio.sleep(20.0)
        idle = rig.store.asked["index_numbers"]
        assert 3 <= idle <= 4
        rig.store.unindexed = 100
        await asyncio.sleep(35.0)
        assert rig.store.unindexed == 0

    scenario(story)


def test_a_full_lane_without_a_link_does_not_make_the_feeder_spin() -> None:
    async def story(rig: Rig) -> None:
        rig.operators[1].longest_outage_s = 10_000.0
        rig.carriers[1].drop()
        await rig.schedule(*[1_000] * 1_000)
        await rig.schedule(*[1_000] * 1_000)
        await asyncio.sleep(5.0)
        rig.store.asked.clear()
        await asyncio.sleep(50.0)
        assert rig.store.asked["next_due"] <= 250
        assert rig.submits == 0

    scenario(story)


def test_a_store_that_is_away_for_ten_minutes_is_a_dozen_lines_in_the_log() -> None:
    async def story(rig: Rig) -> None:
        before = len(rig.journal.said)
        rig.store.broken = True
        rig.engine.gatherer.facts.marks["dispatch"] = 1
        rig.engine.gatherer.wake()
        await asyncio.sleep(600.0)
        lines = rig.journal.said[before:]
        assert set(lines) == {"store.unavailable"}
        assert 5 <= len(lines) <= 14
        rig.store.broken = False
        await asyncio.sleep(5.0)
        assert rig.journal.said[before + len(lines) :] == ["store.recovered"]

    scenario(story)


def test_a_store_that_cannot_be_read_for_a_while_stops_nothing_for_good() -> None:
    async def story(rig: Rig) -> None:
        rig.store.broken_reads = 5
        accept = await rig.schedule(2_000)
        await asyncio.sleep(10.0)
        assert rig.submits == 1
        assert accept.messages[0].key in rig.rows.callbacks
        assert not rig.engine.failed.is_set()

    scenario(story)


async def fail(rig: Rig, fault: Exception) -> None:
    """Lets the next commit raise a fault, and waits until the engine has failed."""

    async def record(facts: Facts) -> None:
        raise fault

    rig.store.commits.record = record  # type: ignore[method-assign]
    rig.engine.gatherer.facts.dequeued.append((1, 1))
    rig.engine.gatherer.wake()
    await asyncio.wait_for(rig.engine.failed.wait(), 1.0)


def test_a_task_that_dies_is_told() -> None:
    async def story(rig: Rig) -> None:
        await fail(rig, RuntimeError("a fault of ours"))
        assert "task.died" in rig.journal.said

    scenario(story)


def test_a_node_that_was_given_up_ends_as_planned() -> None:
    """A fenced node ends by plan, so its log line is none that an operator reports."""

    async def story(rig: Rig) -> None:
        await fail(rig, Fenced("the work of this node was given to others"))
        assert rig.journal.said.count("node.fenced") == 1
        assert "task.died" not in rig.journal.said

    scenario(story)


def test_a_refused_request_holds_up_nobody_behind_it() -> None:
    async def story(rig: Rig) -> None:
        poor, good = accept_of(rig.fresh(price=10**15)), accept_of(rig.fresh())
        poor.total = 10**15
        for accept in (poor, good):
            assert rig.engine.gatherer.accept(accept, lambda _: None)
        await asyncio.sleep(0.1)
        assert poor.verdict is Verdict.TOO_LITTLE_CREDIT
        assert list(rig.operators[1].submits) == [(good.key, 0)]

    scenario(story, window=1)


def test_a_lane_that_has_seen_the_end_of_the_queue_looks_no_more_with_each_commit() -> None:
    async def story(rig: Rig) -> None:
        rig.engine.dispatcher.lanes[1].more = True
        for _ in range(200):
            await rig.send(rig.fresh(wants_receipt=False))
            await asyncio.sleep(0.02)
        assert rig.store.asked["next_due"] < 60
        assert rig.store.asked["record"] > 200

    scenario(story)


# --- ends


def test_a_stop_loses_nothing_sends_nothing_twice_and_leaves_nothing_in_doubt() -> None:
    async def story(rig: Rig) -> None:
        accept = await rig.send(*(rig.fresh() for _ in range(100)))
        await asyncio.sleep(0.05)
        start = rig.clock.monotonic()
        await rig.engine.stop(30.0)
        assert rig.clock.monotonic() - start < 2.0
        assert 0 < rig.submits < 100
        assert not rig.engine.gatherer.accept(accept_of(rig.fresh()), lambda _: None)
        unsent = {message.key for message in accept.messages} - {key for key, _ in rig.rows.sent}
        assert rig.rows.queue.keys() == unsent
        assert not any(row.attempted or row.node for row in rig.rows.queue.values())
        await rig.start()
        await asyncio.sleep(5.0)
        assert set(rig.operators[1].submits.values()) == {1}
        assert rig.submits == 100
        assert len(rig.rows.callbacks) == 100

    scenario(story)


def test_a_stop_ends_a_message_whose_other_parts_ended_at_another_node() -> None:
    """The last receipt comes during the stop. No other node looks for the message, since no node has died."""

    async def story(rig: Rig) -> None:
        key, now = await rig.send_in_two_parts(), rig.clock.now()
        rig.rows.parts[key, 0] = PartReceipt(1, key, 0, Delivery.UNDELIV, "011", now)  # by another node
        report = Report(rig.rows.sent[key, 1].operator_id, "", Delivery.DELIVRD, True, "000")
        rig.engine.matcher.on_report(1, report, lambda _: None)
        await rig.engine.stop(30.0)
        assert rig.rows.finals[key].state is Delivery.UNDELIV
        assert list(rig.rows.retries) == [key], "the callback is left to the rows: its account is in no memory yet"

    scenario(story)


@pytest.mark.parametrize(("ahead_ms", "within_s"), [(0, 20.0), (40_000, 80.0)])
def test_a_message_whose_last_part_ended_right_before_its_node_died_is_ended(ahead_ms: int, within_s: float) -> None:
    """`ahead_ms`: by so much the clock of the dead node was ahead."""

    async def story(rig: Rig) -> None:
        key, now = await rig.send_in_two_parts(), rig.clock.now()
        for part in (0, 1):
            rig.rows.parts[key, part] = PartReceipt(1, key, part, Delivery.DELIVRD, "000", now + ahead_ms)
        rig.rows.nodes[9] = NodeRow(until=now)
        await asyncio.sleep(within_s)
        assert rig.rows.finals[key].state is Delivery.DELIVRD

    scenario(story)


def test_after_a_crash_only_what_was_in_the_window_is_in_doubt() -> None:
    async def story(rig: Rig) -> None:
        await rig.send(*(rig.fresh() for _ in range(300)))
        await asyncio.sleep(0.3)
        answered = {key for key, _ in rig.rows.sent}
        await rig.kill()
        assert 0 < len(answered) < 290
        await rig.start()
        await asyncio.sleep(10.0)
        again = [name for name, times in rig.operators[1].submits.items() if times > 1]
        assert len(again) <= 10
        assert not answered & {key for key, _ in again}
        assert len(rig.rows.sent) == 300
        assert len(rig.rows.callbacks) == 300

    scenario(story)


@pytest.mark.parametrize("ahead", [3_600_000, -3_600_000])
def test_a_clock_that_jumps_between_two_lives_hides_no_message(ahead: int) -> None:
    async def story(rig: Rig) -> None:
        rig.clock.ahead += ahead
        await asyncio.sleep(3.0)
        rig.clock.ahead -= ahead
        rig.operators[1].longest_outage_s = 10_000.0
        rig.carriers[1].drop()
        accept = await rig.send(*(rig.fresh() for _ in range(10)))
        await rig.kill()
        await rig.start()
        await asyncio.sleep(5.0)
        assert {key for key, _ in rig.rows.sent} == {message.key for message in accept.messages}

    scenario(story)


def test_no_key_is_given_below_a_mark() -> None:
    """A clock was ahead when the marks moved; the messages that moved them were never stored."""

    async def story(rig: Rig) -> None:
        await rig.kill()
        ahead = first_key_at(rig.clock.now() + HOUR)
        rig.rows.marks[0] = {DISPATCH: ahead, AWAITING: ahead, CALLBACK: ahead}
        await rig.start()
        assert (await rig.send(rig.fresh())).key > ahead

    scenario(story)


# --- connectors


def test_messages_of_a_connector_that_is_removed_go_another_way() -> None:
    async def story(rig: Rig) -> None:
        rig.operators[1].longest_outage_s = 10_000.0
        rig.carriers[1].drop()
        await rig.send(*(rig.fresh() for _ in range(20)))
        await rig.schedule(30_000)
        await rig.store.network.remove_connector("op1")
        await rig.connector("op2", prefix="49")
        await asyncio.sleep(40.0)
        assert rig.operators[2].submits.total() == 21
        assert list(rig.engine.dispatcher.lanes) == [2]
        assert rig.rows.queue == {}

    scenario(story)


def test_messages_leave_a_connector_that_falls_below_the_margin() -> None:
    async def story(rig: Rig) -> None:
        rig.operators[1].longest_outage_s = 10_000.0
        rig.carriers[1].drop()
        await rig.store.plans.put(Plan("default", min_margin="0"))
        await asyncio.sleep(2.0)
        waiting = await rig.send(*(rig.fresh() for _ in range(20)))
        await rig.schedule(30_000)
        await rig.store.costs.put([Cost(1, "", "", waiting.messages[0].price + 1)])
        await rig.connector("op2", prefix="49")
        await asyncio.sleep(40.0)
        assert [operator.submits.total() for operator in rig.operators.values()] == [0, 21]
        await rig.store.costs.put([Cost(2, "", "", waiting.messages[0].price + 1)])
        (late,) = (await rig.schedule(30_000)).messages
        await asyncio.sleep(40.0)
        assert rig.rows.finals[late.key].state is Delivery.REJECTD
        assert rig.rows.queue == {}

    scenario(story)


def test_connectors_are_ordered_by_the_quality_of_the_last_hours() -> None:
    async def story(rig: Rig) -> None:
        await rig.connector("op2", prefix="49")
        await rig.store.network.add_route(Route(0, "49", 1))
        await rig.store.costs.put([Cost(1, "", "", 1), Cost(2, "", "", 2)])
        await rig.store.plans.put(Plan("default", "best"))
        await asyncio.sleep(2.0)
        message = rig.fresh()
        directory = rig.engine._environment.directory
        assert directory.route(message) == 1
        bad, good = Cell(), Cell()
        bad.failed, good.delivered = 500, 500
        hour = Grain.HOUR.start(rig.clock.now())
        cells = [(1, bad), (2, good)]
        await rig.store.series.add([SeriesCell(Grain.HOUR, hour, CellKey(1, of, "DE"), cell) for of, cell in cells])
        await asyncio.sleep(62.0)
        assert directory.route(message) == 2

    scenario(story)


def test_a_connector_that_is_disabled_keeps_its_messages_until_it_is_enabled() -> None:
    async def story(rig: Rig) -> None:
        connector = rig.rows.connectors[1]
        connector.state = OFF
        rig.rows.revision += 1
        await asyncio.sleep(2.0)
        await rig.send(rig.fresh())
        await asyncio.sleep(5.0)
        assert rig.submits == 0
        connector.state = ON
        rig.rows.revision += 1
        await asyncio.sleep(5.0)
        assert rig.submits == 1

    scenario(story)


def test_a_connector_that_drains_stays_bound_and_sends_nothing_new() -> None:
    async def story(rig: Rig) -> None:
        connector, carrier = rig.rows.connectors[1], rig.carriers[1]
        await rig.send(rig.fresh())
        await asyncio.sleep(0.1)
        connector.state = DRAIN
        rig.rows.revision += 1
        await asyncio.sleep(2.0)
        await rig.send(rig.fresh())
        await asyncio.sleep(20.0)
        assert rig.submits == 1
        assert [each.state for each in rig.rows.finals.values()] == [Delivery.DELIVRD]
        assert rig.carriers[1] is carrier
        connector.state = ON
        rig.rows.revision += 1
        await asyncio.sleep(5.0)
        assert rig.submits == 2
        assert rig.carriers[1] is carrier

    scenario(story)


def test_a_cap_holds_over_a_restart_and_until_the_day_ends() -> None:
    async def story(rig: Rig) -> None:
        until = rig.clock.now() + 7 * DAY_MS
        await rig.send(*[rig.fresh(expires=until) for _ in range(100)])
        await asyncio.sleep(20.0)
        assert rig.submits == 25
        assert rig.engine.lane(1).window.cap == "at its cap for today"
        await rig.kill()
        await rig.start()
        await asyncio.sleep(20.0)
        assert rig.submits == 25
        rig.clock.ahead += DAY_MS - rig.clock.now() % DAY_MS - 10_000
        await asyncio.sleep(5.0)
        assert rig.submits == 25
        await asyncio.sleep(25.0)
        assert rig.submits == 50
        rig.clock.ahead += DAY_MS
        await asyncio.sleep(20.0)
        assert rig.submits == 60
        assert rig.engine.lane(1).window.cap == "at its cap for this month"
        rig.rows.connectors[1].max_month = 0
        rig.rows.revision += 1
        await asyncio.sleep(20.0)
        assert rig.submits == 75
        assert [(cap.period, cap.used) for _, cap in rig.engine.caps.used()] == [("day", 25)]

    scenario(story, max_day=25, max_month=60)


@pytest.mark.parametrize("is_shared", [False, True], ids=["alone", "shared"])
@pytest.mark.parametrize(
    "obstacle", [{"max_day": 5}, {"state": DRAIN}, {"state": OFF}], ids=["at its cap", "draining", "off"]
)
def test_waiting_messages_leave_a_connector_that_may_not_send(obstacle: dict[str, Any], *, is_shared: bool) -> None:
    async def story(rig: Rig) -> None:
        if is_shared:
            await rig.share_the_store()
        await rig.connector("op2", prefix="4")
        first = rig.rows.connectors[1]
        rig.rows.routes[1].priority = 9
        await asyncio.sleep(2.0)
        await rig.send(*[rig.fresh() for _ in range(100)])
        await asyncio.sleep(1.0)
        before = rig.operators[1].submits.total()
        for name, value in obstacle.items():
            setattr(first, name, value)
        rig.rows.revision += 1
        await asyncio.sleep(20.0)
        assert rig.operators[1].submits.total() <= before + 5
        assert rig.submits == 100
        assert rig.rows.queue == {}

    scenario(story, rate=4.0)


@pytest.mark.parametrize("is_shared", [False, True], ids=["alone", "shared"])
def test_a_scheduled_message_does_not_wait_for_a_connector_that_was_disabled(*, is_shared: bool) -> None:
    async def story(rig: Rig) -> None:
        if is_shared:
            await rig.share_the_store()
        await rig.connector("op2", prefix="4")
        rig.rows.routes[1].priority = 9
        await asyncio.sleep(2.0)
        (message,) = (await rig.schedule(60_000)).messages
        rig.rows.connectors[1].state = OFF
        rig.rows.revision += 1
        await asyncio.sleep(30.0)
        await rig.kill()
        await rig.start()
        await asyncio.sleep(60.0)
        assert rig.operators[2].submits[message.key, 0] == 1

    scenario(story)


def test_messages_that_only_a_disabled_connector_may_send_are_looked_at_in_peace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(claims, "SLOW_MESSAGES", 2)

    async def story(rig: Rig) -> None:
        await rig.share_the_store()
        await rig.connector("op2", prefix="49")
        await rig.store.network.add_route(Route(0, "49", 1))
        rig.rows.connectors[1].state = OFF
        rig.rows.revision += 1
        await asyncio.sleep(2.0)
        now = rig.clock.now()
        await rig.send(*[rig.fresh(destination="447700900123") for _ in range(40)])
        await asyncio.sleep(5.0)
        put_back = [row for row in rig.rows.queue.values() if row.due > now + 5_000]
        assert 4 <= len(put_back) <= 12
        await asyncio.sleep(30.0)
        assert len(rig.rows.queue) == 40
        assert rig.submits == 0

    scenario(story)


def test_a_lane_without_binds_here_has_the_policy_of_its_connector() -> None:
    """Another operator may try its messages, as far as the policy lets it."""

    async def story(rig: Rig) -> None:
        await rig.share_the_store()
        await asyncio.sleep(2.0)
        rig.rates = "22:00-23:00 5"
        rig.rows.connectors[1].state = OFF
        rig.rows.revision += 1
        await asyncio.sleep(2.0)
        lane = rig.engine.lane(1)
        assert (lane.closed, lane.policy.timetable is not None) == (True, True)

    scenario(story)


def test_another_rate_takes_effect_without_a_new_link() -> None:
    async def story(rig: Rig) -> None:
        carrier = rig.carriers[1]
        rig.rows.connectors[1].rate = 10.0
        rig.rows.revision += 1
        await asyncio.sleep(2.0)
        assert rig.carriers[1] is carrier
        await rig.send(*(rig.fresh() for _ in range(100)))
        await asyncio.sleep(5.0)
        assert 45 <= rig.submits <= 60

    scenario(story)


def test_a_rate_by_time_of_day_holds_from_its_second_on_without_a_new_link() -> None:
    """START is 22:13:20 in UTC."""

    async def story(rig: Rig) -> None:
        async def submits_at(second: float) -> int:
            await asyncio.sleep((START - rig.clock.now()) / SECOND + second)
            return rig.submits

        carrier = rig.carriers[1]
        rig.rates = "22:13:30-22:13:40 5, 22:13:40-22:13:50 off, 22:13:50-22:14 0"
        rig.rows.revision += 1
        await submits_at(8.0)
        await rig.send(*(rig.fresh() for _ in range(300)))
        own = await submits_at(10.0)
        await submits_at(15.0)
        assert [connector.rate for connector, _ in rig.engine.carrier_states()] == [5.0]
        slow = await submits_at(20.0)
        assert 38 <= own <= 44
        assert 48 <= slow - own <= 52
        assert await submits_at(20.1) <= slow + 1
        off = await submits_at(21.0)
        assert await submits_at(29.99) == off
        assert await submits_at(33.0) == 300
        assert rig.carriers[1] is carrier

    scenario(story, rate=20.0)
