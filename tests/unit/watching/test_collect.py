"""What a scrape says while the store is away."""

import asyncio
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

from heliograph.adapters.metrics import Collector, collect
from heliograph.app.facts import Facts, Queueing
from heliograph.app.observing.counters import MessageCounters
from heliograph.app.observing.refusals import Refusals
from heliograph.app.ports import CarrierState, Unavailable
from heliograph.app.sending.failure_register import SignInDoor, SignInProblem
from heliograph.net.tls import Validity
from tests.support.connectors import smpp_connector
from tests.support.gateway import HandClock, failure_register, unwatched
from tests.support.memory_reading import MemoryUpkeep
from tests.support.memory_store import MemoryStore
from tests.support.store import SECOND, START, Given
from tests.support.virtual_time import VirtualClock, run


class AwayStore(MemoryStore):
    away = True

    async def upkeep_counts(self, now: int) -> Any:
        if self.away:
            raise Unavailable("the database is away")
        return await MemoryUpkeep(self._place).counts(now)


def engine() -> Any:
    """One that has had nothing to commit since the store went."""
    matcher = SimpleNamespace(matched=0, ids=SimpleNamespace(repeated=0), awaited={})
    return SimpleNamespace(
        carrier_states=list, connector_names=lambda: {1: "op1", 2: "op2"}, matcher=matcher,
        caps=SimpleNamespace(used=list),
        notifier=SimpleNamespace(in_the_air=0), dispatcher=SimpleNamespace(lanes={}),
        past_lost=False, watch=unwatched,
        gatherer=SimpleNamespace(healthy=True, failures=0, refused_facts=SimpleNamespace(counts=Counter())),
    )  # fmt: skip


async def values(collector: Collector) -> dict[str, float]:
    return {sample.name: float(str(sample.value)) for sample in collector.samples() if sample.name in SHOWN}


def test_what_each_operator_put_off_is_shown_and_nothing_as_nothing(tmp_path: Path) -> None:
    async def deferred() -> dict[tuple[str, ...], float]:
        clock, store = VirtualClock(), MemoryStore()
        given = Given(store)
        message = await given.sent((await given.account()).id)
        later = Queueing(
            message.account, message.key, 2, START + SECOND, message.expires, attempted=False, claimed=False
        )
        await store.commits.record(Facts(queueings=[later]))
        collector = Collector(MessageCounters(), engine(), store, clock, {}, tmp_path, Refusals(), {})
        await collector.refresh()
        return {
            sample.labels: float(str(sample.value))
            for sample in collector.samples()
            if sample.name == "heliograph_deferred_messages"
        }

    assert run(deferred()) == {("op1",): 0, ("op2",): 1}


def test_who_was_not_let_in_is_shown_of_all_registers_together(tmp_path: Path) -> None:
    customers, console = (failure_register(HandClock(), 60.0) for _ in range(2))
    customers.problems[SignInDoor.API, SignInProblem.WRONG] = 3
    console.problems[SignInDoor.CONSOLE, SignInProblem.SECOND_FACTOR] = 2
    collector = Collector(
        MessageCounters(), engine(), MemoryStore(), VirtualClock(), {}, tmp_path, Refusals(), {},
        sign_ins=(customers, console),
    )  # fmt: skip

    async def scrape() -> dict[tuple[str, ...], object]:
        name = "heliograph_sign_in_failures_total"
        return {sample.labels: sample.value for sample in collector.samples() if sample.name == name}

    assert run(scrape()) == {
        ("api", "wrong"): 3, ("api", "locked"): 0, ("console", "wrong"): 0, ("console", "locked"): 0,
        ("console", "second_factor"): 2, ("admin_api", "wrong"): 0,
    }  # fmt: skip


def test_each_certificate_is_shown_with_its_end(tmp_path: Path) -> None:
    def listener(end: int) -> Any:
        return SimpleNamespace(handshakes={"done": 2}, loaded=SimpleNamespace(validity=Validity(0, end)))

    listeners: dict[str, Any] = {"http": listener(5)}
    shown: dict[str, float] = {}
    collector = Collector(
        MessageCounters(), engine(), MemoryStore(), VirtualClock(), {}, tmp_path, Refusals(), {},
        listeners=lambda: listeners, shown=lambda: shown,
    )  # fmt: skip
    listeners["smpp"], shown["op1"] = listener(7), 9.0  # both after the first scrape may come

    async def scrape() -> dict[tuple[str, ...], object]:
        return {
            (sample.name.removeprefix("heliograph_"), *sample.labels): sample.value
            for sample in collector.samples()
            if "certificate" in sample.name or "handshakes" in sample.name
        }

    assert run(scrape()) == {
        ("tls_handshakes_total", "http", "done"): 2,
        ("tls_handshakes_total", "smpp", "done"): 2,
        ("tls_certificate_end_seconds", "http"): 5,
        ("tls_certificate_end_seconds", "smpp"): 7,
        ("connector_certificate_end_seconds", "op1"): 9.0,
    }


def test_a_connector_shows_its_breaker_and_each_reason_to_leave_it(tmp_path: Path) -> None:
    lane, watched = MagicMock(), engine()
    lane.window.breaker.is_open, lane.window.paused_until, lane.window.pace.paused_until = True, 0.0, 0.0
    watched.carrier_states = lambda: [(smpp_connector(1, "op1", "h", 1, "id", "pw"), CarrierState())]
    watched.lane, watched.obstacle = {1: lane}.get, {1: "failing most messages"}.get
    watched.dispatcher.outcomes = SimpleNamespace(failovers=Counter({(1, "returned"): 3}))
    collector = Collector(MessageCounters(), watched, MemoryStore(), VirtualClock(), {}, tmp_path, Refusals(), {})

    async def scrape() -> dict[tuple[str, ...], object]:
        names = ("heliograph_connector_usable", "heliograph_connector_breaker_open", "heliograph_failovers_total")
        return {(each.name, *each.labels): each.value for each in collector.samples() if each.name in names}

    assert run(scrape()) == {
        ("heliograph_connector_usable", "op1"): 0, ("heliograph_connector_breaker_open", "op1"): 1,
        ("heliograph_failovers_total", "op1", "refused"): 0, ("heliograph_failovers_total", "op1", "unusable"): 0,
        ("heliograph_failovers_total", "op1", "undelivered"): 0, ("heliograph_failovers_total", "op1", "returned"): 3,
    }  # fmt: skip


def test_what_alerts_compare_is_there_from_the_start_on(tmp_path: Path) -> None:
    collector = Collector(MessageCounters(), engine(), MemoryStore(), HandClock(), {}, tmp_path, Refusals(), {})
    samples = {(sample.name, *sample.labels): sample.value for sample in collector.samples()}
    for sample in (
        ("heliograph_messages_final_total", "DELIVRD"),
        ("heliograph_messages_failed_total", "REJECTD"),
        ("heliograph_esme_deliveries_total", "0x00000000"),
    ):
        assert samples[sample] == 0


SHOWN = ("heliograph_store_up", "heliograph_data_free_bytes")


def test_a_store_that_cannot_be_read_is_not_up_though_no_commit_failed(tmp_path: Path) -> None:
    async def scenario() -> list[float]:
        store = AwayStore()
        collector = Collector(MessageCounters(), engine(), store, VirtualClock(), {}, tmp_path, Refusals(), {})
        seen = [(await values(collector))["heliograph_store_up"]]
        collector.start()
        await asyncio.sleep(1)
        seen.append((await values(collector))["heliograph_store_up"])
        store.away = False
        await asyncio.sleep(collect.AGAIN_S)
        seen.append((await values(collector))["heliograph_store_up"])
        store.away = True
        await asyncio.sleep(collect.REFRESH_S)
        seen.append((await values(collector))["heliograph_store_up"])
        await collector.stop()
        return seen

    assert run(scenario()) == [1, 0, 1, 0]


def test_a_store_that_does_not_answer_is_not_up(tmp_path: Path) -> None:
    class Hanging(MemoryStore):
        async def upkeep_counts(self, now: int) -> Any:
            await asyncio.sleep(3600)

    async def scenario() -> float:
        collector = Collector(MessageCounters(), engine(), Hanging(), VirtualClock(), {}, tmp_path, Refusals(), {})
        collector.start()
        await asyncio.sleep(collect.REFRESH_S + 1)
        found = await values(collector)
        await collector.stop()
        return found["heliograph_store_up"]

    assert run(scenario()) == 0


def test_the_free_space_is_that_of_the_data_directory(tmp_path: Path) -> None:
    async def free(data: Path) -> float | None:
        return (
            await values(
                Collector(MessageCounters(), engine(), MemoryStore(), VirtualClock(), {}, data, Refusals(), {})
            )
        ).get("heliograph_data_free_bytes")

    assert (run(free(tmp_path)) or 0) > 0
    assert run(free(tmp_path / "gone")) is None
