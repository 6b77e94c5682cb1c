"""Sixty-four customers of one account at three gateways, who get into each other's way over a thousand times."""

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from heliograph.adapters.store.postgres import PostgresStore
from tests.support.customer import Customer
from tests.support.postgres import AMPLE, Server
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.store import CREDIT
from tests.support.timeouts import PATIENCE_S

pytestmark = pytest.mark.slow

CLIENTS = 64
STEPS = 20
CREDITS = 30
"""Less than they want to send."""
INTERVAL_S = 3


Act = Callable[[Customer, random.Random, str], object]


class Crowd:
    """What was told to whom, by ids."""

    def __init__(self, urls: Sequence[str], key: str, store: PostgresStore, loop: asyncio.AbstractEventLoop) -> None:
        self._urls, self._key, self._store, self._loop = urls, key, store, loop
        self._lock = threading.Lock()
        self.now: dict[str, str] = {}
        """Messages for now, and their destinations; likewise `later`."""
        self.later: dict[str, str] = {}
        self.cancelled: Counter[str] = Counter()
        self.moved = 0
        self.topped_up = 0
        self.answers: Counter[tuple[str, int]] = Counter()

    def live(self, number: int) -> None:
        """A client, from beginning to end."""
        chance = random.Random(number)
        with Customer(self._urls[number % len(self._urls)], "acme", self._key) as customer:
            acts: list[Act] = [self._send, self._plan, self._cancel, self._move, self._top_up]
            for step in range(STEPS):
                chance.choice(acts)(customer, chance, f"4917{number:04}{step:04}")

    def _note(self, what: str, status: int) -> None:
        with self._lock:
            self.answers[what, status] += 1

    def _some(self, chance: random.Random) -> str | None:
        with self._lock:
            # few, and the newest, so that many are after the same
            return chance.choice(list(self.later)[-8:]) if self.later else None

    def _send(self, customer: Customer, _: random.Random, to: str, **more: str) -> bool:
        """Returns False where nothing came of it since the time had passed by when the request was read."""
        reply = customer.form("/api/v1/messages", {"to": to, "from": "Heliograph", "content": "Race", **more})
        if b"The time has passed" in reply.body:
            return False
        self._note("send", reply.status)
        if reply.status == 200:
            with self._lock:
                (self.later if more else self.now)[reply.json["Id"]] = to
        return True

    def _plan(self, customer: Customer, chance: random.Random, to: str) -> None:
        while not self._send(customer, chance, to, time=f"{time.time() + chance.choice([1, 2, 3600]):.3f}"):
            pass

    def _cancel(self, customer: Customer, chance: random.Random, _: str) -> None:
        if (message := self._some(chance)) is not None:
            reply = customer.request("DELETE", f"/api/v1/messages/{message}")
            self._note("cancel", reply.status)
            if reply.status == 200:
                with self._lock:
                    self.cancelled[message] += 1

    def _move(self, customer: Customer, chance: random.Random, _: str) -> None:
        if (message := self._some(chance)) is not None:
            reply = customer.form(f"/api/v1/messages/{message}", {"time": f"{time.time() + 7200:.3f}"}, "PUT")
            self._note("move", reply.status)

    def _top_up(self, *_: Any) -> None:
        adding = self._store.accounts.add_credit(1, CREDIT, "", int(time.time() * 1000))
        asyncio.run_coroutine_threadsafe(adding, self._loop).result(PATIENCE_S)
        with self._lock:
            self.topped_up += 1


async def test_who_sends_cancels_moves_and_tops_up_at_once(own_server: Server, tmp_path: Path) -> None:
    settings = {"HELIOGRAPH_DATABASE_URL": own_server.url(), "HELIOGRAPH_NODE_MOST_BINDS": "1"}
    admin = Admin(tmp_path / "node0", settings)
    account = await asyncio.to_thread(admin.account, "acme", str(CREDITS), "--list-interval", str(INTERVAL_S))
    store = await PostgresStore.open(own_server.url(), limits=AMPLE)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        simulator = stack.enter_context(SimulatorProcess(tmp_path, magic=False, max_binds=3))
        admin.operator(simulator.port, "operator", "", "--binds", "3")
        gateways = [
            stack.enter_context(GatewayProcess(tmp_path / f"node{n}", settings=settings, name=f"node{n}"))
            for n in range(3)
        ]
        urls = [gateway.url for gateway in gateways]
        crowd = Crowd(urls, account["api_key"], store, asyncio.get_running_loop())
        with ThreadPoolExecutor(CLIENTS) as pool:
            loop = asyncio.get_running_loop()
            await asyncio.gather(*(loop.run_in_executor(pool, crowd.live, number) for number in range(CLIENTS)))
            listed = await asyncio.gather(
                *(loop.run_in_executor(pool, _list, urls[n % 3], account["api_key"]) for n in range(CLIENTS))
            )
        # what is due is sent, and a little while later nothing more has been
        await asyncio.to_thread(
            eventually, lambda: set(crowd.now.values()) <= set(simulator.destinations()), "all sent"
        )
        await asyncio.to_thread(
            eventually, lambda: admin("restored")["unsent"] == 0, "nothing is to be sent", pause=0.5
        )
        assert await store.upkeep.audit() == []
        assert [await asyncio.to_thread(gateway.stop) for gateway in gateways] == [0, 0, 0]
        await asyncio.to_thread(simulator.until_left)
        sent = Counter(simulator.destinations())
    print(dict(crowd.answers), f"{crowd.topped_up} top-ups")
    assert set(crowd.answers) <= {
        ("send", 200), ("send", 402), ("cancel", 200), ("cancel", 409), ("move", 200), ("move", 409),
    }  # fmt: skip
    # each of them was brought about
    assert len(crowd.answers) == 6
    assert set(crowd.cancelled.values()) == {1}
    both = crowd.now | crowd.later
    assert not {both[message] for message in crowd.cancelled} & set(sent)
    assert set(crowd.now.values()) <= set(sent) <= set(both.values())
    assert set(sent.values()) == {1}
    assert Decimal(admin.balance()) == CREDITS + crowd.topped_up - len(both) + len(crowd.cancelled)
    _check_intervals(listed)


def _list(url: str, key: str) -> tuple[float, float, int]:
    """When it was asked and answered, and how."""
    with Customer(url, "acme", key) as customer:
        start = time.monotonic()
        status = customer.get("/api/v1/messages").status
        return start, time.monotonic(), status


def _check_intervals(listed: list[tuple[float, float, int]]) -> None:
    """One list query in an interval, whichever gateway was asked."""
    assert {status for _, _, status in listed} == {200, 429}
    took = max(end for _, end, _ in listed) - min(start for start, _, _ in listed)
    assert sum(status == 200 for _, _, status in listed) <= 1 + took // INTERVAL_S
