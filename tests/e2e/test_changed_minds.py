"""Customers who change their minds about messages that fall due this moment, and an operator who is slow and rude."""

import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.customer import Customer
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.timeouts import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.extended]

CUSTOMERS = 8
REQUESTS = 20
"""Of each customer."""
DUE_S = (1.0, 4.0)
"""So many seconds after all can have been moved, the first and the last of them are due."""
FAR_S = 36_000.0
"""What is moved so far ahead is not sent while the test lasts."""
END_S = 1.0
"""After the last of them was due nobody changes anything any more."""
CREDIT = 10_000

ANSWERS = {"cancel": (200, 409), "move": (200, 400, 409), "look": (200,), "list": (200,)}
"""To what is done to a message that may just have gone."""

RUDE: dict[str, Any] = {
    "magic": False,
    "latency_ms": 20,
    "latency_jitter_ms": 30,
    "throttle_per_s": 200,
    "withhold_share": 0.005,
    "cut_share": 0.005,
}
IMPATIENT = {
    "HELIOGRAPH_SMPP_RESPONSE_TIMEOUT_S": "1",
    "HELIOGRAPH_SMPP_RECONNECT_FIRST_S": "0.1",
    "HELIOGRAPH_SMPP_RECONNECT_MOST_S": "1",
}
"""An operator that cuts link after link, each soon after its bind, is dialled ever more rarely."""


@dataclass(slots=True)
class Request:
    """One that was accepted: its id, its messages' and their destinations, and when it is due, as far as is known."""

    name: str
    destinations: dict[str, str]
    due: float
    answers: list[tuple[str, str, int]] = field(default_factory=list)
    """What was done to which id, and the status of the answer."""


class Crowd:
    """Customers of one account, each in a thread of its own."""

    def __init__(self, url: str, key: str) -> None:
        self._url, self._key = url, key
        self._lock = threading.Lock()
        self._planned = threading.Barrier(CUSTOMERS, timeout=PATIENCE_S)
        self.requests: list[Request] = []
        self.surprises: list[object] = []
        self.statuses: Counter[tuple[str, int]] = Counter()

    def live(self, number: int) -> None:
        chance = random.Random(number)
        with Customer(self._url, "acme", self._key) as customer:
            began = time.monotonic()
            mine = [
                self._plan(customer, chance, 491_700_000_000 + 1_000_000 * number + 100 * request)
                for request in range(REQUESTS)
            ]
            self._planned.wait()
            # to move them takes about as long as it took to send them
            moved = time.time() + time.monotonic() - began
            for request in mine:
                request.due = moved + chance.uniform(*DUE_S)
                self._move(customer, request, request.name, request.due)
            self._planned.wait()
            while time.time() < max(request.due for request in self.requests) + END_S:
                self._change(customer, chance)

    def _plan(self, customer: Customer, chance: random.Random, first: int) -> Request:
        due = time.time() + FAR_S
        to = [str(first + n) for n in range(chance.choice([1, 1, 4]))]
        content = "x" * chance.choice([10, 200])
        sent = customer.send(1, to=to, content=content, time=f"{due:.3f}", dlr="1")
        ids = [each["Id"] for each in sent.get("Messages", [sent])]
        with self._lock:
            self.requests.append(request := Request(sent["Id"], dict(zip(ids, to, strict=True)), due))
        return request

    def _move(self, customer: Customer, request: Request, target: str, due: float) -> None:
        reply = customer.document(f"/api/v1/messages/{target}", {"time": f"{due:.3f}"}, "PUT")
        self._note(request, "move", target, reply.status)

    def _note(self, request: Request, what: str, target: str, status: int) -> None:
        with self._lock:
            self.statuses[what, status] += 1
            request.answers.append((what, target, status))

    def _change(self, customer: Customer, chance: random.Random) -> None:
        now = time.time()
        near = [request for request in self.requests if abs(request.due - now) < 0.5]
        if not near:
            time.sleep(0.01)
            return
        request = chance.choice(near)
        target = chance.choice([request.name, request.name, *request.destinations])
        what = chance.choice(["cancel", "move", "move", "look", "list"])
        if what == "move":
            self._move(customer, request, target, now + chance.choice([0.02, 0.05, 0.2, 1.0, FAR_S, -1]))
            return
        if what == "cancel":
            reply = customer.request("DELETE", f"/api/v1/messages/{target}")
        elif what == "look":
            reply = customer.get(f"/api/v1/messages/{target}")
        else:
            reply = customer.get("/api/v1/messages?pending=true&order=desc")
            if any(each["Status"] == "Cancelled" for each in reply.json.get("messages", [])):
                self.surprises.append("a cancelled message is listed")
        self._note(request, what, target, reply.status)


@dataclass(slots=True)
class Told:
    """What the gateway says of a message in the end."""

    status: str
    rate: str
    due: float
    events: list[str]
    ordered: bool

    @property
    def is_settled(self) -> bool:
        """Whether nothing more is to become of it while the test lasts."""
        if self.status == "Scheduled":
            return self.due > time.time() + FAR_S / 2
        return self.status != "Sent" or "Submitted" in self.events


def look_at(url: str, key: str, messages: Sequence[str]) -> dict[str, Told]:
    told = {}
    with Customer(url, "acme", key) as customer:
        for message in messages:
            record = customer.get(f"/api/v1/messages/{message}").json
            events = customer.get(f"/api/v1/messages/{message}/events").json["events"]
            times = [event["Time"] for event in events]
            told[message] = Told(
                record["Status"],
                record["Rate"],
                datetime.fromisoformat(record["Time"]).replace(tzinfo=UTC).timestamp(),
                [event["Event"] for event in events],
                times == sorted(times),
            )
    return told


def faults(requests: list[Request], told: dict[str, Told], sent: Counter[str]) -> list[str]:
    """Which promises were broken, in words."""
    found = []
    for request in requests:
        for message, to in request.destinations.items():
            one = told[message]
            cancelled = [each for each in request.answers if each[0] == "cancel" and each[2] == 200]
            was = f"{message} {one}, {cancelled}, {sent[to]} parts sent"
            if one.status == "Cancelled":
                right = not sent[to] and one.events[-2:] == ["Cancelled", "Refunded"] and bool(cancelled)
            elif one.status == "Sent":
                right = sent[to] > 0 and "Submitted" in one.events and "Refunded" not in one.events
            else:
                right = one.status == "Scheduled" and not sent[to] and one.events[-1] in ("Scheduled", "Rescheduled")
            if not right or not one.ordered or one.events.count("Charged") != 1:
                found.append(was)
            if any(target == message for _, target, _ in cancelled) and one.status != "Cancelled":
                found.append(f"the answer to its cancellation was 200: {was}")
    return found


def test_those_that_fall_due_are_cancelled_and_moved_this_moment(tmp_path: Path, admin: Admin, data: Path) -> None:
    account = admin.account("acme", str(CREDIT), "--list-interval", "0")
    key = account["api_key"]
    with SimulatorProcess(tmp_path, **RUDE) as simulator:
        admin.operator(simulator.port, "operator", "", "--binds", "2", "--window", "10")
        with GatewayProcess(data, settings=IMPATIENT) as gateway:
            crowd = Crowd(gateway.url, key)
            with ThreadPoolExecutor(CUSTOMERS) as pool:
                list(pool.map(crowd.live, range(CUSTOMERS)))
            messages = [message for request in crowd.requests for message in request.destinations]
            told: dict[str, Told] = {}

            def unsettled() -> list[Told]:
                told.update(look_at(gateway.url, key, messages))
                return [one for one in told.values() if not one.is_settled]

            try:
                eventually(lambda: not unsettled(), "all that were to be sent are", pause=0.5)
            except AssertionError as late:
                raise AssertionError(f"{late}: {unsettled()}") from None
            assert gateway.stop() == 0
        simulator.until_left()
        sent = Counter(simulator.destinations())
    assert crowd.surprises == []
    assert faults(crowd.requests, told, sent) == []
    # How many were still there to be cancelled or moved is a matter of how fast the machine is.
    assert set(crowd.statuses) <= {(what, status) for what, statuses in ANSWERS.items() for status in statuses}
    assert crowd.statuses["cancel", 200] > 0
    assert crowd.statuses["move", 200] > CUSTOMERS * REQUESTS, "more than were moved before it began"
    assert {one.status for one in told.values()} >= {"Cancelled", "Sent"}
    spent = sum(int(one.rate) for one in told.values() if one.status != "Cancelled")
    assert admin.balance() == str(CREDIT - spent)
    admin.assert_books_right()
