"""What the doctor says of messages, receipts and callbacks that wait for too long or were given up."""

import asyncio

from heliograph.app.admin.diagnose import leftovers as count_leftovers
from heliograph.app.configuration import OFF
from heliograph.app.facts import CallbackDone, CallbackEnd, CallbackRetry, EarlyReceipt, Facts, MessageEnd, Queueing
from heliograph.app.ports import ConnectorReport, ConnectorState
from heliograph.app.ports.carrier_state import BindCounters
from heliograph.app.resources.desk import Desk
from heliograph.cli.checks.leftovers import UNKNOWN_MS, Finding, leftovers
from heliograph.composition.dev import SIMULATOR
from heliograph.domain.message.receipt import Delivery
from tests.support.carrier_rig import connector
from tests.support.memory_rows import Rows
from tests.support.memory_store import MemoryStore
from tests.support.store import HOUR, SECOND, START, Given
from tests.support.use_case_fakes import SetClock


async def findings(store: MemoryStore, now: int = START) -> dict[str, Finding]:
    clock = SetClock()
    clock.ms = now
    left = await count_leftovers(Desk(store, clock), UNKNOWN_MS)
    return {found.check: found for found in leftovers((await store.network.tables()).connectors, left, now)}


async def furnished() -> tuple[MemoryStore, Given, int]:
    store = MemoryStore(Rows())
    given = Given(store)
    account = await given.account()
    await store.network.add_connector(connector(2775))
    return store, given, account.id


def test_where_nothing_is_left_over_it_says_so() -> None:
    async def story() -> None:
        store, given, account = await furnished()
        await given.scheduled(account)
        assert [(each.check, each.result) for each in (await findings(store)).values()] == [("backlog", "ok")]

    asyncio.run(story())


def test_the_oldest_message_of_each_connector_is_told_wherever_it_waits() -> None:
    async def story() -> None:
        store, given, account = await furnished()
        message = await given.scheduled(account, after=SECOND)
        now = START + 3 * HOUR
        found = (await findings(store, now))["queue of op1"]
        assert (found.result, found.detail) == ("note", "the oldest message has waited for 2 h 59 min")
        assert found.advice == "heliograph connector show op1 shows the reason"
        await store.queue.claim(message.connector, 9, now, node=7)
        assert "queue of op1" not in await findings(store, now)
        state = ConnectorReport(message.connector, 7, ConnectorState(oldest=START + SECOND), now - SECOND)
        await store.network.save_link_states([state])
        assert (await findings(store, now))["queue of op1"].detail == found.detail
        # what a gateway said that is gone is no news
        assert "queue of op1" not in await findings(store, now + HOUR)

    asyncio.run(story())


def test_national_numbers_that_no_country_is_set_for_are_a_fault() -> None:
    async def story() -> None:
        store, _, _ = await furnished()
        state = ConnectorState(counters=BindCounters(mobile_originated=3, national_numbers=2))
        await store.network.save_link_states([ConnectorReport(1, 7, state, START - SECOND)])
        found = (await findings(store))["phones of op1"]
        assert found.result == "fail"
        assert found.detail == "2 messages came from national numbers, so that STOP and heliograph erase miss them"
        assert found.advice.startswith("heliograph connector set op1 inbound_country=49")
        assert "phones of op1" not in await findings(store, START + HOUR)

    asyncio.run(story())


def test_a_connector_that_is_paused_or_gone_is_called_so() -> None:
    async def story() -> None:
        store, given, account = await furnished()
        await given.scheduled(account, after=SECOND)
        [op1] = (await store.network.tables()).connectors
        op1.state = OFF
        await store.network.update_connector(op1)
        now = START + HOUR
        assert (await findings(store, now))["queue of op1"].advice.startswith("It is paused")
        await store.network.remove_connector("op1")
        assert "Start the gateway" in (await findings(store, now))["queue of a removed connector (1)"].advice
        await given.scheduled(account, after=SECOND, connector=SIMULATOR)
        assert "queue of simulator" in await findings(store, now)

    asyncio.run(story())


def test_what_was_put_off_lost_or_given_up_is_told_with_what_to_do() -> None:
    async def story() -> None:
        store, given, account = await furnished()
        put_off, unknown, *called = [await given.sent(account) for _ in range(4)]
        later = START + 5 * SECOND
        end = MessageEnd(account, unknown.key, Delivery.UNKNOWN, "001", START, owed=False)
        await store.commits.record(
            Facts(
                queueings=[Queueing(account, put_off.key, 1, later, put_off.expires, attempted=False, claimed=False)],
                finals=[
                    end,
                    *(MessageEnd(account, each.key, Delivery.DELIVRD, "000", START, owed=True) for each in called),
                ],
                early=[EarlyReceipt(1, "x", "44", Delivery.DELIVRD, "000", START) for _ in range(2)],
                callbacks=[CallbackDone(account, called[0].key, CallbackEnd.FAILED, 500, 9, START)],
                callback_retries=[CallbackRetry(account, called[1].key, later, 3, b"", "refused", START)],
            )
        )
        found = await findings(store)
        assert {check: each.detail for check, each in found.items()} == {
            "deferred by op1": "1 message waits for another try: refused for now, or no response",
            "unknown outcome": "1 message of the last 7 days may or may not have arrived",
            "receipts": "2 receipts of the last 7 days matched no message",
            "callbacks pending": "1 callback waits for another try",
            "callbacks failed": "1 callback failed, or refused for good by the receiver",
        }
        assert all(each.result == "note" and "heliograph " in each.advice for each in found.values())

    asyncio.run(story())
