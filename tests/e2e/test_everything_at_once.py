"""Customers who send, schedule and cancel, an operator who is rude, and a gateway that is killed: the books add up."""

import contextlib
import os
import random
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from http.client import HTTPException
from pathlib import Path
from typing import Any, Self

import pytest

from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.ports import free_port
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.timeouts import COMMAND_S, PATIENCE_S

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("TEST_KILLS", "3"))
SEED = int(os.environ.get("TEST_SEED", "1"))
CUSTOMERS = 4
CREDIT = 100_000

RUDE: dict[str, Any] = {
    "magic": False,
    "receipt_delay_ms": 30,
    "latency_ms": 3,
    "latency_jitter_ms": 20,
    "receipt_early_share": 0.1,
    "receipt_double_share": 0.1,
    "receipt_reorder_share": 0.2,
    "receipt_other_bind_share": 0.3,
    "withhold_share": 0.005,
    "wrong_sequence_share": 0.005,
    "cut_share": 0.003,
    "split_octets": 7,
}
IMPATIENT = {"HELIOGRAPH_SMPP_RESPONSE_TIMEOUT_S": "1.5"}
"""What is not answered is soon sent again."""


class Customers:
    """Each in a thread of its own. `sent` and `cancelled` are the ids of what was answered 200."""

    def __init__(self, url: str, api_key: str, callback: str) -> None:
        self._url, self._api_key, self._callback = url, api_key, callback
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self.sent: set[str] = set()
        self.cancelled: set[str] = set()
        self.doubtful: set[str] = set()
        """A cancellation of these had no answer."""
        self.surprises: list[object] = []
        self._threads = [
            threading.Thread(target=self._live, args=(number,), daemon=True) for number in range(CUSTOMERS)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait_for_more(self, count: int) -> None:
        enough = len(self.sent) + count
        eventually(lambda: len(self.sent) >= enough, f"{count} more messages")

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()

    def _live(self, number: int) -> None:
        chance = random.Random(SEED * 1000 + number)
        numbers = iter(range(491_700_000_000 + number * 1_000_000, 491_700_000_000 + (number + 1) * 1_000_000))
        while not self._stopping.is_set():
            with contextlib.suppress(OSError, HTTPException), Customer(self._url, "acme", self._api_key) as customer:
                while not self._stopping.is_set():
                    self._step(customer, chance, numbers)
            self._stopping.wait(0.02)

    def _step(self, customer: Customer, chance: random.Random, numbers: Iterator[int]) -> None:
        fields: dict[str, str] = {
            "to": ",".join(str(next(numbers)) for _ in range(chance.choice([1, 1, 1, 5]))),
            "from": "Heliograph",
            "content": "x" * chance.choice([10, 10, 400]),
            "dlr-url": self._callback,
        }
        ahead = chance.choice([0, 0, 0, 5, 8, 3600])
        if ahead:
            fields["time"] = f"{time.time() + ahead:.3f}"
        reply = customer.form("/api/v1/messages", fields)
        if reply.status == 200:
            ids = {each["Id"] for each in reply.json.get("Messages", [reply.json])}
            with self._lock:
                self.sent |= ids
            if ahead == 3600 or (ahead and chance.random() < 0.5):
                self._cancel(customer, reply.json["Id"], ids)
        elif reply.status != 503:
            self.surprises.append(reply)
        self._stopping.wait(0.02)

    def _cancel(self, customer: Customer, request: str, ids: set[str]) -> None:
        with self._lock:
            self.doubtful |= ids
        reply = customer.request("DELETE", f"/api/v1/messages/{request}")
        with self._lock:
            if reply.status in (200, 409):
                self.doubtful -= ids
            if reply.status == 200:
                self.cancelled |= ids
            elif reply.status not in (409, 503):
                self.surprises.append(reply)


@pytest.mark.timeout(600 + 60 * KILLS)
def test_the_books_add_up_and_nothing_is_lost(tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink) -> None:
    account = admin.account("acme", str(CREDIT))
    port = free_port()
    chance = random.Random(SEED)
    with SimulatorProcess(tmp_path, **RUDE) as simulator:
        admin.operator(simulator.port, "operator", "", "--binds", "2", "--window", "5")
        with Customers(f"http://127.0.0.1:{port}", account["api_key"], sink.url()) as customers:
            for _ in range(KILLS):
                with GatewayProcess(data, port=port, settings=IMPATIENT) as gateway:
                    customers.wait_for_more(chance.randint(60, 160))
                    gateway.kill()
            with GatewayProcess(data, port=port, settings=IMPATIENT) as gateway:
                customers.wait_for_more(100)
                customers.stop()
                expected = customers.sent - customers.cancelled - customers.doubtful
                eventually(
                    lambda: expected <= sink.ids(), f"receipts for {len(expected)} messages", COMMAND_S, pause=0.2
                )
                with Customer(gateway.url, "acme", account["api_key"]) as customer:
                    states = {customer.get(f"/api/v1/messages/{each}").json["Status"] for each in customers.cancelled}
                assert gateway.stop() == 0
    assert customers.surprises == []
    assert states == {"Cancelled"}
    assert not customers.cancelled & sink.ids()
    assert {received.form["message_status"] for received in sink.requests} == {"DELIVRD"}
    admin.assert_books_right()
    entries = admin("account", "ledger", "acme", "--limit", "10000")["entries"]
    assert sum(Decimal(entry["amount"]) for entry in entries) == Decimal(admin.balance())
