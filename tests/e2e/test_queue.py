"""An administrator's actions on waiting messages reach the memory of a running gateway too."""

from pathlib import Path

import pytest

from tests.support.customer import Customer
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually

pytestmark = pytest.mark.slow

PHONES = [str(491700000000 + n) for n in range(30)]


def test_messages_in_memory_are_held_moved_and_cancelled(tmp_path: Path, admin: Admin, data: Path) -> None:
    account = admin.account("acme", "100")
    with SimulatorProcess(tmp_path, name="op1") as first, SimulatorProcess(tmp_path, name="op2") as second:
        admin.operator(first.port, "op1", "", "--rate", "0.2")
        admin.operator(second.port, "op2", "99")
        with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", account["api_key"]) as customer:
            for phone in PHONES:
                customer.send(1, to=phone, content="Slowly")
            eventually(lambda: first.destinations(), "the first one")
            held = admin("queue", "hold", "--connector", "op1")
            assert held["messages"] + held["left"] + len(first.destinations()) >= len(PHONES)
            assert (held["messages"] >= len(PHONES) - 5, held["silent_nodes"]) == (True, 0)
            (group,) = [each for each in admin("queue", "list")["queue"] if each["held"]]
            assert (group["country"], group["held"]) == ("DE", held["messages"])
            waits = [each["to"] for each in admin("queue", "messages", "--limit", "1000")["messages"] if each["held"]]
            moved = admin("queue", "move", "--account", "acme", "--country", "DE", "--to", "op2")
            assert moved["messages"] == held["messages"]
            assert second.destinations() == []
            assert admin("queue", "release", "--connector", "op2")["messages"] == held["messages"]
            eventually(lambda: set(second.destinations()) == set(waits), "the moved ones")
            before = admin.balance()
            for phone in PHONES:
                customer.send(1, to=phone, content="Again")
            cancelled = admin("queue", "cancel", "--connector", "op1")
            assert cancelled["messages"] >= len(PHONES) - 5
            assert float(admin.balance()) == float(before) - len(PHONES) + cancelled["messages"]
            assert gateway.stop() == 0
        assert len(second.destinations()) == len(waits)
        assert not set(first.destinations()[: -len(PHONES)]) & set(waits)
    admin.assert_books_right()
