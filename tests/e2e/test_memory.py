"""The queue lives in the store: what has gone through leaves nothing in memory."""

from pathlib import Path

import pytest

from tests.support.load import Load
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually

pytestmark = [pytest.mark.slow, pytest.mark.extended]

MESSAGES = 20_000
MOST_KIB = 150 * 1024
ALL_S = 180.0
"""Seconds that all of them may take, each step of the way, on a machine that has other things to do."""


def accepted(admin: Admin) -> int:
    """How many submit_sm the operator has accepted, as the gateway last reported it."""
    links = admin("connector", "show", "operator")["links"]
    return max((link["state"]["counters"]["accepted"] for link in links), default=0)


def receipts(admin: Admin) -> int:
    links = admin("connector", "show", "operator")["links"]
    return max((link["state"]["counters"]["receipts"] for link in links), default=0)


def test_twenty_thousand_messages_pass_through(tmp_path: Path, admin: Admin, data: Path) -> None:
    account = admin.account("acme", str(2 * MESSAGES))
    with SimulatorProcess(tmp_path, magic=False, logged=False, receipt_delay_ms=5) as simulator:
        admin.operator(simulator.port, "operator", "", "--window", "200")
        with GatewayProcess(data, anew=True) as gateway:
            at_first = gateway.resident_kib()
            with Load(gateway.url, "acme", account["api_key"], connections=32, most=MESSAGES, receipts=True) as load:
                load.join(ALL_S)
            assert len(load.accepted) == MESSAGES
            eventually(lambda: accepted(admin) == MESSAGES, "all at the operator", ALL_S, pause=0.5)
            eventually(lambda: receipts(admin) == MESSAGES, "all receipts here", ALL_S, pause=0.5)
            resident = gateway.resident_kib()
            assert resident < MOST_KIB, f"{at_first} KiB at first, now {resident}"
            assert gateway.stop() == 0
        # a start does not read what is done
        with GatewayProcess(data) as gateway:
            [recovered] = [line for line in gateway.log() if line["event"] == "recovered"]
            assert (recovered["unsent"], recovered["awaiting_receipts"], recovered["callbacks_pending"]) == (0, 0, 0)
            assert gateway.stop() == 0
    assert admin.balance() == str(MESSAGES)
