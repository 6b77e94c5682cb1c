"""A store that is encrypted while the gateway runs, and what is read of its files afterwards."""

import time
from pathlib import Path

import pytest

from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually

pytestmark = [pytest.mark.slow, pytest.mark.extended]

KEY = "a master key of thirty-two characters"
PHONE, SENDER, TEXT, PASSWORD = "4917099887766", "Marked", "a marked text", "marked99"


def found_in(data: Path) -> set[str]:
    at_rest = b"".join(file.read_bytes() for file in data.glob("heliograph.db*"))
    return {marker for marker in (TEXT, PASSWORD) if marker.encode() in at_rest}


def test_a_store_is_encrypted_while_the_gateway_runs(tmp_path: Path, data: Path, sink: BackgroundSink) -> None:
    admin = Admin(data, {"HELIOGRAPH_ENCRYPTION_KEY": KEY})
    account = admin.account("acme", "10")
    with SimulatorProcess(tmp_path) as simulator:
        admin.operator(simulator.port, "operator", "", "--password", PASSWORD)
        with (
            GatewayProcess(data, settings={"HELIOGRAPH_ENCRYPTION_KEY": KEY}) as gateway,
            Customer(gateway.url, "acme", account["api_key"]) as customer,
        ):
            assert admin("encryption", "on")["key"] == 1
            eventually(lambda: admin("encryption", "status")["resealing"] is None, "all rows", 120, 1)
            fields = {"to": PHONE, "from": SENDER, "content": TEXT, "dlr": "yes", "dlr-url": sink.url()}
            customer.document("/api/v1/messages", fields)
            customer.document("/api/v1/messages", fields | {"time": int(time.time()) + 3_600})
            eventually(lambda: simulator.destinations() == [PHONE], "the message")
            eventually(lambda: len(sink.requests) == 1, "its receipt")
            (found,) = admin("message", "find", PHONE, "--status", "delivered")["messages"]
            assert found["to"] == PHONE
            gateway.stop()  # which writes the log into the file
        assert found_in(data) == set()
        without = Admin(data).run("account", "list")
        assert without.returncode == 1
        assert "HELIOGRAPH_ENCRYPTION_KEY" in without.stderr
        with (
            GatewayProcess(data, settings={"HELIOGRAPH_ENCRYPTION_KEY": KEY}) as gateway,
            Customer(gateway.url, "acme", account["api_key"]) as customer,
        ):
            assert customer.balance() == "8"
            gateway.until(lambda: gateway.bound("operator"), "its bind, with the password")
