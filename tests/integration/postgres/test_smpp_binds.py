"""SMPP clients on two nodes: one limit of binds, and receipts that come to whichever node the client is bound to."""

from pathlib import Path

import pytest
import smpplib.exceptions

from tests.support.postgres import Server
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.smpplib_client import SmpplibClient

pytestmark = [pytest.mark.slow, pytest.mark.extended]

MESSAGES = 20


def test_receipts_come_to_the_node_of_the_bind(own_server: Server, tmp_path: Path) -> None:
    settings = {"HELIOGRAPH_DATABASE_URL": own_server.url(), "HELIOGRAPH_SMPP_SERVER_LISTEN": "127.0.0.1:0"}
    admin = Admin(tmp_path / "first", settings)
    admin.account()
    admin("account", "set", "acme", "smpp_binds=2")
    password = admin("account", "smpp-password", "acme")["smpp_password"]
    own = ("acme", password)
    with SimulatorProcess(tmp_path, receipt_delay_ms=50) as simulator:
        admin.operator(simulator.port)
        two_nodes(tmp_path, settings, admin, own)
    admin.assert_books_right()


def two_nodes(tmp_path: Path, settings: dict[str, str], admin: Admin, own: tuple[str, str]) -> None:
    with (
        GatewayProcess(tmp_path / "first", settings=settings) as first,
        GatewayProcess(tmp_path / "second", settings=settings, name="second") as second,
    ):
        eventually(lambda: first.bound("operator") or second.bound("operator"), "the operator")
        sender, receiver = (
            SmpplibClient(first.smpp, "transmitter", 0, *own),
            SmpplibClient(second.smpp, "receiver", 0, *own),
        )
        with pytest.raises(smpplib.exceptions.PDUError, match="Already in Bound State"):
            SmpplibClient(first.smpp, "transceiver", 0, *own)
        for number in range(MESSAGES):
            sender.submit(f"Hello {number}")
        sender.until(lambda: len(sender.ids) == MESSAGES, "the answers")
        receiver.until(lambda: len(receiver.delivered) >= MESSAGES, "the receipts")
        assert receiver.receipts() == dict.fromkeys(sender.ids, "DELIVRD")
        binds = eventually(lambda: [each for each in admin("binds", "list")["binds"] if each["delivered"]], "a report")
        assert [(each["kind"], each["delivered"]) for each in binds] == [("receiver", MESSAGES)]
        admin("binds", "drop", str(binds[0]["id"]))
        eventually(lambda: len(admin("binds")["binds"]) == 1, "the bind is dropped")
        sender.close()
        receiver.close()
        assert (first.stop(), second.stop()) == (0, 0)
