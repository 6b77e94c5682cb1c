"""What operators do that the specification leaves open or forbids, and the whole gateway before them."""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import Interop
from tests.support.customer import Customer
from tests.support.peers import node_script
from tests.support.process import Admin, GatewayProcess, Process, eventually

pytestmark = pytest.mark.slow

QUICK = {"HELIOGRAPH_SMPP_RECONNECT_FIRST_S": "0.1", "HELIOGRAPH_SMPP_RECONNECT_MOST_S": "0.2"}


class ForeignCentre(Process):
    """A message centre of `tests/peers`, on npm's `smpp`."""

    def __init__(self, folder: Path, script: str, *arguments: object) -> None:
        command, environment = node_script(script, "smpp")
        super().__init__(folder, "npm", [*command, *map(str, arguments)], environment)
        self.port = int(json.loads(self.first_line())["port"])

    def seen(self, event: str) -> list[dict[str, object]]:
        lines = [json.loads(line) for line in self.out.rpartition("\n")[0].splitlines()]
        return [line for line in lines if line["event"] == event]


@pytest.mark.peer
@pytest.mark.interop
def test_an_operator_that_unbinds_with_messages_in_flight_gets_none_twice(
    tmp_path: Path, admin: Admin, data: Path, interop: Interop
) -> None:
    account = admin.account()
    numbers = [f"4917{n:08d}" for n in range(150)]
    with ForeignCentre(tmp_path, "unbinding.js", 40, 3) as npm:
        admin.operator(npm.port, "npm", "", "--window", "10")
        with (
            GatewayProcess(data, settings=QUICK) as gateway,
            Customer(gateway.url, "acme", account["api_key"]) as customer,
        ):
            for number in numbers:
                customer.send(1, to=number, content="Hi")
            eventually(lambda: len(npm.seen("submit_sm")) >= 150, "all with the operator")
            assert gateway.stop() == 0
        taken = npm.seen("submit_sm")
        assert [each for each in taken if each["after_unbind"]] == []
        assert [each["status"] for each in npm.seen("unbind answered")] == [0, 0, 0]
        assert [each["in_flight"] for each in npm.seen("unbind answered")] == [0, 0, 0]
        assert all(int(str(each["in_flight"])) > 1 for each in npm.seen("unbind"))
    assert Counter(each["destination_addr"] for each in taken) == Counter(numbers)
    admin.assert_books_right()
    interop("npm `smpp`", "SMSC", "gateway", "unbind by the operator with messages in flight")
