"""Two foreign message centres for the same numbers: the first refuses messages and is killed in the midst, and the
second takes them."""

from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import Interop
from tests.e2e.test_dialects import QUICK, ForeignCentre
from tests.support.customer import Customer
from tests.support.process import Admin, GatewayProcess, eventually

pytestmark = [pytest.mark.slow, pytest.mark.peer]

WINDOW = 5
NUMBERS = [f"4917{n:08d}" for n in range(240)]


@pytest.mark.interop
def test_messages_go_to_the_second_centre_when_the_first_refuses_or_dies(
    tmp_path: Path, admin: Admin, data: Path, interop: Interop
) -> None:
    account = admin.account()
    early, late = NUMBERS[:120], NUMBERS[120:]
    with (
        ForeignCentre(tmp_path / "first", "smsc.js", 50, 3) as first,
        ForeignCentre(tmp_path / "second", "smsc.js", 50) as second,
    ):
        for name, centre, priority in (("op1", first, "9"), ("op2", second, "1")):
            admin("connector", "add", name, "--host", "127.0.0.1", "--port", str(centre.port), "--system-id", "esme",
                  "--password", "secret", "--window", str(WINDOW))  # fmt: skip
            admin("connector", "set", name, "failover_after_s=1")
            admin("route", "add", "--prefix", "49", "--connector", name, "--priority", priority)
        with (
            GatewayProcess(data, settings=QUICK) as gateway,
            Customer(gateway.url, "acme", account["api_key"]) as customer,
        ):
            ids = {number: customer.send(1, to=number, content="Hi")["Id"] for number in early}
            eventually(lambda: len(first.seen("refused")) >= len(early) // 6, "the first centre refuses some")
            first.kill()
            ids |= {number: customer.send(1, to=number, content="Hi")["Id"] for number in late}
            in_flight = len(NUMBERS) - WINDOW
            eventually(lambda: len(_taken(first) | _taken(second)) >= in_flight, "the second centre takes the others")
            with ForeignCentre(tmp_path / "again", "smsc.js", 50, 0, first.port) as again:
                eventually(
                    lambda: set(_taken(first) + _taken(second) + _taken(again)) == set(NUMBERS), "a centre has each"
                )
                assert gateway.stop() == 0
        at_first, at_second, came_again = _taken(first), _taken(second), _taken(again)
    assert set((at_first + at_second).values()) == {1}
    assert not at_second.keys() & (at_first.keys() | came_again.keys()), "no message is with both operators"
    assert len(at_first.keys() & came_again.keys()) <= WINDOW, "only messages in flight come again"
    moved = {each["destination_addr"] for each in first.seen("refused")} & at_second.keys()
    assert len(moved) >= len(early) // 6 - WINDOW
    for number in moved:
        history = admin("message", "show", ids[number])["history"]
        assert any("since op1 refused it with ESME_RSYSERR" in each["detail"] for each in history), history
    admin.assert_books_right()
    interop("npm `smpp`", "SMSC", "gateway", "failover to a second, as the first refuses messages and is killed")


def _taken(centre: ForeignCentre) -> Counter[str]:
    return Counter(each["destination_addr"] for each in centre.seen("submit_sm"))
