"""The main job over two files, each with the accounts of half of the queue keys."""

import asyncio
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.adapters.system.clock import SystemClock
from heliograph.app.configuration import Account, ApiKey, Connector, Route
from heliograph.app.facts import Accept, Message, Verdict
from heliograph.app.ports import Carrier, CarrierEvents, ListQuery, Store
from heliograph.app.sending.directory import Directory
from heliograph.app.webhook_job import WebhookJob
from heliograph.domain.message.state import Kind, State
from heliograph.domain.message.way import Way
from heliograph.domain.text.segment import count
from heliograph.runtime.engine import Engine
from heliograph.runtime.environment import Environment, TimeLimits
from tests.simulation.faults import Odds, Operator, ScriptedCarrier, ScriptedSender
from tests.simulation.world import NoJournal, SeededIds
from tests.support.connectors import smpp_connector
from tests.support.shards import Shards
from tests.support.store import CREDIT, HOUR
from tests.support.timeouts import PATIENCE_S

FIRSTS = [0, 32]
ACCOUNTS = {1: 1, 2: 0, 3: 1, 4: 0}
"""Which of the two files has each account's rows."""

OWNED = ("sent", "part_receipt", "final", "callback", "callback_retry", "awaiting", "queue", "attempt")


class Gateway:
    """Its core on a clock that goes by itself, with an operator and receivers who do as they should."""

    def __init__(self, folder: Path) -> None:
        self.files = [folder / f"{number}.db" for number in range(len(FIRSTS))]
        self.chance = random.Random(1)
        self.clock = SystemClock()
        self.journal = NoJournal()
        self.arrived: list[WebhookJob] = []
        self.accepted: list[Accept] = []
        self.node = 0

    async def start(self) -> None:
        self.node += 1
        self.stores = [await SqliteStore.open(file, busy_ms=20_000, on_loop=False) for file in self.files]
        self.store = cast("Store", Shards(self.stores, FIRSTS))
        if self.node == 1:
            await self.furnish()
        self.sender = ScriptedSender(self.chance, Odds(), self.arrived.append)
        world = Environment(
            store=self.store, directory=Directory(self.store.table_changes, self.store.accounts),
            sender=self.sender, make_carrier=self.make_carrier,
            ids=SeededIds(self.chance), clock=self.clock, journal=self.journal, jitter=self.chance.random,
            encode_json=lambda fields: repr(fields).encode(),
        )  # fmt: skip
        self.engine = Engine(world, TimeLimits(48, 24, 24), node=self.node)
        await self.engine.start()

    async def furnish(self) -> None:
        for number in ACCOUNTS:
            account = Account(0, f"customer{number}", "", bytes(32), created=self.clock.now())
            created = await self.store.accounts.create(account, ApiKey("k", 0, b"", 0), 100 * CREDIT, ())
            assert created.id == number
        connector = await self.store.network.add_connector(smpp_connector(0, "op", "", 0, "", "", window=1_000))
        await self.store.network.add_route(Route(0, "", connector.id))
        self.operator = Operator(connector, self.chance, Odds(), self.clock.now)

    def make_carrier(self, connector: Connector, events: CarrierEvents) -> Carrier:
        return ScriptedCarrier(self.operator, connector, events)

    async def stop(self) -> None:
        await self.engine.stop(PATIENCE_S)
        await self.store.close()

    async def send(self, account: int, content: str = "Hello", recipients: int = 1, after: int = 0) -> None:
        segments, now = count(content, Kind.TEXT)[1], self.clock.now()
        fields: dict[str, Any] = {
            "sender": "Heliograph", "kind": 0, "content": content, "segments": segments, "price": segments * CREDIT,
            "time": now + after, "expires": now + HOUR, "state": State.SCHEDULED if after else State.SENT,
            "connector": 1, "wants_receipt": True, "callback_url": "http://example.com/receipt", "way": Way.WEBHOOK,
            "queued": bool(after),
        }  # fmt: skip
        messages = [Message(account, f"49170{account}{number:06d}", **fields) for number in range(recipients)]
        accept = Accept(account, messages, segments * recipients * CREDIT, now, bool(after), batch=recipients > 1)
        answered = asyncio.get_running_loop().create_future()
        assert self.engine.gatherer.accept(accept, answered.set_result)
        await asyncio.wait_for(answered, PATIENCE_S)
        assert accept.verdict is Verdict.ACCEPTED
        self.accepted.append(accept)

    async def send_all_sorts(self) -> None:
        for account in ACCOUNTS:
            await self.send(account)
            await self.send(account, content="x" * 400)
            await self.send(account, recipients=3)
            await self.send(account, after=300)

    def keys_of(self, accounts: set[int]) -> set[int]:
        return {each.key for accept in self.accepted if accept.account in accounts for each in accept.messages}

    def ask(self, shard: int, query: str) -> list[Any]:
        with closing(sqlite3.connect(self.files[shard])) as db:
            return [row[0] for row in db.execute(query)]


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.mark.slow
async def test_the_main_job_over_two_files_and_two_runs(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path)
    await gateway.start()
    await gateway.send_all_sorts()
    await until(lambda: len(gateway.arrived) > 3)
    await gateway.stop()
    await gateway.start()
    await gateway.send_all_sorts()
    await until(lambda: {job.key for job in gateway.arrived} == gateway.keys_of(set(ACCOUNTS)))
    spent = 2 * (1 + 3 + 3 + 1) * CREDIT
    for account, shard in ACCOUNTS.items():
        assert await gateway.stores[shard].customers.balance(account) == 100 * CREDIT - spent
        listed = await gateway.store.customers.messages(account, ListQuery())
        assert {message.key for message in listed} == gateway.keys_of({account})
        assert await gateway.stores[1 - shard].customers.messages(account, ListQuery()) == []
    await gateway.stop()
    assert not gateway.journal.deaths
    for store in [await SqliteStore.open(file, busy_ms=20_000, on_loop=False) for file in gateway.files]:
        assert await store.upkeep.audit() == []
        await store.close()
    for shard in range(len(FIRSTS)):
        own = {account for account, of in ACCOUNTS.items() if of == shard}
        keys = gateway.keys_of(own)
        assert set(gateway.ask(shard, "SELECT key FROM message")) == keys
        assert set(gateway.ask(shard, "SELECT account FROM ledger")) == own
        assert set(gateway.ask(shard, "SELECT key FROM final")) == keys
        assert set(gateway.ask(shard, "SELECT key FROM callback")) == keys
        for table in OWNED:
            assert set(gateway.ask(shard, f"SELECT key FROM {table}")) <= keys, table
        for table in ("queue", "awaiting", "callback_retry"):
            assert gateway.ask(shard, f"SELECT key FROM {table}") == [], table
    assert set(gateway.operator.submits.values()) == {1}
