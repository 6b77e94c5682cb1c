"""An account is told by a signed webhook that its balance fell below its threshold, also if the gateway is killed."""

import json
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.ports import free_port
from tests.support.process import Admin, GatewayProcess, eventually
from tests.support.sink import Answer, Received

pytestmark = pytest.mark.slow


def told(sink: BackgroundSink, count: int) -> list[Received]:
    eventually(lambda: len(sink.requests) >= count, f"{count} notices")
    return sink.requests


def test_a_low_balance_is_told_once(admin: Admin, data: Path, sink: BackgroundSink) -> None:
    account = admin.account("acme", "10", "--price", "1.5", "--timezone", "Asia/Tokyo")
    admin("account", "set", "acme", "low_balance=7.25", f"callback_url={sink.url('/hook')}")
    admin.operator(free_port())
    sink.sink.script(Answer(hang=True))
    with GatewayProcess(data) as gateway:
        with Customer(gateway.url, "acme", account["api_key"]) as customer:
            customer.send(to="491701234567", content="Hi")
            customer.send(to="491701234567,491701234568", content="Hi")
            told(sink, 1)
        gateway.kill()
    with GatewayProcess(data) as gateway:
        first, again = told(sink, 2)
        assert (first.body, first.headers["webhook-id"]) == (again.body, again.headers["webhook-id"])
        notice = Webhook(account["signing_secret"]).verify(again.body, again.headers)
        assert list(notice) == ["type", "account", "balance", "threshold", "time"]
        assert notice | {"time": ""} == {
            "type": "account.low_balance", "account": "acme", "balance": "5.5", "threshold": "7.25", "time": "",
        }  # fmt: skip
        eventually(lambda: admin("callbacks", "status")["pending"] == 0, "the answer to be noted")
        admin("account", "top-up", "acme", "2")
        admin("account", "top-up", "acme", "-1")
        third = told(sink, 3)[2]
        assert json.loads(third.body)["balance"] == "6.5"
        assert third.headers["webhook-id"] != first.headers["webhook-id"]
        assert gateway.stop() == 0
    assert len(sink.requests) == 3
    assert "balance.low" in gateway.err
    admin.assert_books_right()
