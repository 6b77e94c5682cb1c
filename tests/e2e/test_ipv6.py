"""Everything over IPv6: customers, an operator, a receiver of callbacks."""

import socket
from pathlib import Path

import pytest

from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.process import Admin, GatewayProcess, SimulatorProcess


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


pytestmark = [pytest.mark.slow, pytest.mark.skipif(not has_ipv6(), reason="this machine has no ::1")]


def test_a_message_goes_its_way_over_ipv6(tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink) -> None:
    account = admin.account()
    with SimulatorProcess(tmp_path, host="[::1]", receipt_delay_ms=20) as simulator:
        assert simulator.where == f"[::1]:{simulator.port}"
        host, _, port = simulator.where.rpartition(":")
        admin(
            "connector", "add", "operator", "--host", host, "--port", port, "--system-id", "esme", "--password", "pw"
        )  # fmt: skip
        admin("route", "add", "--prefix", "", "--connector", "operator")
        with (
            GatewayProcess(data, host="[::1]") as gateway,
            Customer(gateway.url, "acme", account["api_key"]) as customer,
        ):
            assert gateway.url == f"http://[::1]:{gateway.port}"
            gateway.until(lambda: gateway.bound("operator"), "bound")
            assert [line["host"] for line in gateway.log() if line["event"] == "smpp.bound"] == [simulator.where]
            mapped = sink.url().replace("127.0.0.1", "[::ffff:127.0.0.1]")
            sent = customer.send(1, to="447700900123", content="Hi", dlr="yes", dlr_url=mapped)
            assert sink.receipt(sent["Id"]).form["message_status"] == "DELIVRD"
            inside = {"from": "Heliograph", "to": "447700900123", "content": "Hi", "dlr": "yes"}
            for refused in ("[fd00::1]", "[fe80::1]", "[64:ff9b::a00:1]", "[2002:a00:1::]", "[::ffff:10.0.0.1]"):
                reply = customer.form("/api/v1/messages", {**inside, "dlr-url": f"http://{refused}/"})
                assert (reply.status, reply.json["Field"]) == (400, "dlr-url")
    admin.assert_books_right()
