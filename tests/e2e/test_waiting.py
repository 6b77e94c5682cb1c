"""A message behind a connector that is down is told from one that was submitted."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.customer import Customer
from tests.support.ports import free_port
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually

pytestmark = pytest.mark.slow


def test_pending_and_submitted_are_told_apart(tmp_path: Path, data: Path, admin: Admin) -> None:
    key = admin.account()["api_key"]
    port = free_port()
    admin.operator(port)
    admin("connector", "set", "operator", "receipts=asked")
    with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", key) as customer:
        fields = {"to": "4917012345678", "from": "Helio", "content": "Hello"}
        message = customer.document("/api/v1/messages", fields).json["Id"]

        def shown() -> Any:
            return admin("message", "show", message)

        waits: Any = eventually(
            lambda: found if "has been down since" in str((found := shown())["explanation"]) else None,
            "the connector's state to be told",
            pause=0.3,
        )
        assert waits["status"] == "pending"
        assert str(waits["explanation"]).startswith("It waits for the connector operator, which has been down since 2")
        assert [each["id"] for each in admin("message", "find", "--status", "pending")["messages"]] == [message]
        assert admin("message", "find", "--status", "submitted")["messages"] == []
        with SimulatorProcess(tmp_path, port=port):
            eventually(lambda: gateway.bound("operator"), "the bind")
            sent: Any = eventually(
                lambda: found if (found := shown())["status"] == "submitted" else None, "it to leave"
            )
            assert "No receipt was requested" in str(sent["explanation"])
            assert "submitted, no receipt requested" in admin.run("message", "find").stdout
