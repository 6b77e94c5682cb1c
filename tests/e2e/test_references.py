"""One reference is one message, one charge and one answer, whoever asks and whatever becomes of the gateway."""

import contextlib
import random
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.support.customer import Customer, Reply
from tests.support.ports import free_port
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually

pytestmark = pytest.mark.slow

CUSTOMERS = 12
REFERENCES = 40
ROUNDS = 3
CREDIT = 10_000


def wanted(reference: int) -> dict[str, Any]:
    """The request that the reference stands for."""
    to = [f"4917{reference:04}{n:04}" for n in range(3 if reference % 3 == 0 else 1)]
    return {"to": ",".join(to), "from": "Heliograph", "content": f"No. {reference}", "reference": f"ref-{reference}"}


def ask(chance: random.Random, customers: dict[int, Customer], reference: int) -> tuple[bool, Reply]:
    """The request, written in one of many ways; or another one under its reference, which is told first."""
    fields = wanted(reference)
    other = chance.random() < 0.15
    if other:
        fields["content"] = "Something else"
    version = chance.choice([1, 2])
    send = chance.choice([customers[version].form, customers[version].document])
    return other, send(f"/api/v{version}/messages", fields)


class Answers:
    """What was answered, by references."""

    def __init__(self, port: int, account: dict[str, Any]) -> None:
        self._url = f"http://127.0.0.1:{port}"
        self._secrets = {1: account["api_key"], 2: account["password"]}
        self.accepted: defaultdict[int, set[tuple[bool, bytes]]] = defaultdict(set)
        self.statuses: Counter[int] = Counter()

    def live(self, number: int) -> None:
        """A customer, who asks for each reference a few times, until there is an answer."""
        chance = random.Random(number)
        order = list(range(REFERENCES)) * ROUNDS
        # all in the same order, so that they are after the same at the same time
        random.Random(0).shuffle(order)
        for reference in order:
            eventually(lambda reference=reference: self._ask(chance, reference), "an answer", pause=0.05)  # type: ignore[misc]

    def _ask(self, chance: random.Random, reference: int) -> bool:
        with contextlib.suppress(OSError, HTTPException), contextlib.ExitStack() as stack:
            customers = {
                version: stack.enter_context(Customer(self._url, "acme", secret))
                for version, secret in self._secrets.items()
            }
            other, reply = ask(chance, customers, reference)
            self.statuses[reply.status] += 1
            if reply.status == 200:
                self.accepted[reference].add((other, reply.body))
            return reply.status != 503
        return False


def test_one_reference_is_one_message_though_the_gateway_is_killed(tmp_path: Path, admin: Admin, data: Path) -> None:
    account = admin.account("acme", str(CREDIT))
    port = free_port()
    with SimulatorProcess(tmp_path, magic=False) as simulator, ThreadPoolExecutor(CUSTOMERS) as pool:
        admin.operator(simulator.port)
        answers = Answers(port, account)
        with GatewayProcess(data, port=port) as gateway:
            customers = [pool.submit(answers.live, number) for number in range(CUSTOMERS)]
            eventually(lambda: len(answers.accepted) >= REFERENCES // 2, "half of them")
            gateway.kill()
        with GatewayProcess(data, port=port) as gateway:
            for customer in customers:
                customer.result()
            eventually(lambda: admin("restored")["unsent"] == 0, "all are sent", pause=0.5)
            assert gateway.stop() == 0
        simulator.until_left()
        sent = set(simulator.destinations())
    assert set(answers.statuses) <= {200, 409, 503}
    assert {len(each) for each in answers.accepted.values()} == {1}
    assert len(answers.accepted) == REFERENCES
    count = sum(len(wanted(reference)["to"].split(",")) for reference in range(REFERENCES))
    assert len(sent) == count
    assert admin.balance() == str(CREDIT - count)
    admin.assert_books_right()
