"""A running gateway tells what customers were refused, and so does the next one on its data."""

import re
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.support.customer import Customer
from tests.support.process import Admin, GatewayProcess, eventually

pytestmark = pytest.mark.slow

MESSAGE = {"to": "4917012345678", "from": "Helio", "content": "A secret text"}


def refused_by_reason(gateway: GatewayProcess) -> dict[str, int]:
    with urllib.request.urlopen(f"{gateway.url}/metrics") as answer:
        lines = answer.read().decode()
    found = re.findall(r'^heliograph_requests_refused_total\{reason="(\w+)"\} (\d+)', lines, re.MULTILINE)
    return {reason: int(count) for reason, count in found if count != "0"}


def totals(report: dict[str, Any]) -> list[tuple[str, str, int]]:
    return [(each["account"], each["reason"], each["requests"]) for each in report["totals"]]


@pytest.mark.extended
def test_refused_requests_are_told_by_account_also_after_a_restart(data: Path, admin: Admin) -> None:
    keys = {name: admin.account(name, credit)["api_key"] for name, credit in (("poor", "0"), ("closed", "10"))}
    admin("account", "suspend", "closed")
    admin.operator(9)
    admin("price", "set", "--prefix", "", "--price", "1")
    with GatewayProcess(data) as gateway:
        for name, times in (("poor", 5), ("closed", 3)):
            with Customer(gateway.url, name, keys[name]) as customer:
                assert {customer.document("/api/v1/messages", MESSAGE).status for _ in range(times)} <= {402, 403}
        assert refused_by_reason(gateway) == {"credit": 5, "suspended": 3}
        told = [("poor", "credit", 5), ("closed", "suspended", 3)]
        eventually(lambda: totals(admin("refusals")) == told, "the refusals to be written down", pause=0.3)
        looked = admin("top", "--once", "--interval", "0.2")["refused"]
        assert totals(looked) == told
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:00:00.000Z", looked["since"])
        lines = [line for line in gateway.log() if line["event"] == "http.refused"]
        assert {(line["account"], line["reason"]) for line in lines} == {("poor", "credit"), ("closed", "suspended")}
        with Customer(gateway.url, "poor", keys["poor"]) as customer:
            customer.document("/api/v1/messages", MESSAGE)
        gateway.stop()
    report = admin("refusals", "--account", "poor")
    assert report["requests"] == 6
    assert {each["path"] for each in report["latest"]} == {"/api/v1/messages"}
    assert MESSAGE["content"] not in str(report)
    assert MESSAGE["to"] not in str(report)
