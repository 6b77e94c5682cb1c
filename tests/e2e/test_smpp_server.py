"""Customers' SMPP clients and the installed program: smpplib binds, submits, and gets receipts and phones' messages."""

import asyncio
import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import pytest
import smpplib.client
import smpplib.exceptions

from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus
from tests.conftest import Interop
from tests.support.esme import Esme
from tests.support.peers import node_script
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.smpplib_client import SmpplibClient
from tests.support.timeouts import COMMAND_S, PATIENCE_S

PASSWORD = "demosmpp"


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[GatewayProcess]:
    with GatewayProcess(
        tmp_path / "data", dev=True, settings={"HELIOGRAPH_SMPP_SERVER_LISTEN": "127.0.0.1:0"}
    ) as ready:
        yield ready


def test_messages_are_submitted_and_their_receipts_come(gateway: GatewayProcess) -> None:
    client = SmpplibClient(gateway.smpp)
    for number in range(5):
        client.submit(f"Hello {number}")
    client.until(lambda: len(client.ids) == 5, "the answers")
    client.until(lambda: len(client.delivered) == 5, "the receipts")
    assert client.receipts() == dict.fromkeys(client.ids, "DELIVRD")
    first = client.delivered[0]
    assert (first.source_addr, first.destination_addr, first.esm_class) == (b"491701234567", b"Helio", 4)
    client.close()


def test_receipts_wait_for_a_client_that_was_away_over_a_kill(tmp_path: Path) -> None:
    settings = {"HELIOGRAPH_SMPP_SERVER_LISTEN": "127.0.0.1:0"}
    with GatewayProcess(tmp_path / "data", dev=True, settings=settings) as gateway:
        client = SmpplibClient(gateway.smpp, "transmitter")
        for number in range(20):
            client.submit(f"Hello {number}")
        client.until(lambda: len(client.ids) == 20, "the answers")
        client.close()
        ids = client.ids
        eventually(lambda: _delivered(gateway) == 20, "all are delivered")
        gateway.kill()
    with GatewayProcess(tmp_path / "data", dev=True, settings=settings, anew=True) as gateway:
        later = SmpplibClient(gateway.smpp, "receiver")
        later.until(lambda: len(later.delivered) >= 20, "the receipts")
        assert later.receipts() == dict.fromkeys(ids, "DELIVRD")
        later.close()


def _delivered(gateway: GatewayProcess) -> int:
    with urllib.request.urlopen(f"{gateway.url}/metrics", timeout=PATIENCE_S) as page:
        lines = page.read().decode().splitlines()
    found = [line for line in lines if line.startswith('heliograph_messages_final_total{state="DELIVRD"}')]
    return round(float(found[0].rpartition(" ")[2])) if found else 0


def test_a_client_that_puts_a_receipt_off_gets_it_again(gateway: GatewayProcess) -> None:
    client = SmpplibClient(gateway.smpp, status=0x64)
    client.submit("Hello")
    client.until(lambda: len(client.delivered) == 1, "the receipt")
    client.close()
    again = SmpplibClient(gateway.smpp)
    again.until(lambda: len(again.delivered) == 1, "the receipt once more")
    assert list(again.receipts()) == client.ids
    again.close()


@pytest.mark.slow
@pytest.mark.peer
@pytest.mark.interop
def test_npms_smpp_is_a_client(gateway: GatewayProcess, interop: Interop) -> None:
    command, environment = node_script("smpp_client.js", "smpp")
    numbers = ["447700900123", "447700909001", "12"]
    done = subprocess.run(
        [*command, gateway.smpp.rpartition(":")[2], *numbers],
        env=environment | {"SYSTEM_ID": "demo", "PASSWORD": PASSWORD},
        capture_output=True, text=True, timeout=COMMAND_S, check=True,
    )  # fmt: skip
    seen = json.loads(done.stdout)
    assert [each["status"] for each in seen["answers"]] == [0, 0, 0x0B]
    states = {each["id"]: (each["state"], each["source"]) for each in seen["receipts"]}
    ids = [each["id"] for each in seen["answers"]]
    assert states == {ids[0]: (2, numbers[0]), ids[1]: (5, numbers[1])}
    assert all(f"id:{each['id']} sub:001" in each["text"] for each in seen["receipts"])
    interop(
        "npm `smpp`", "ESME", "gateway",
        "bind as transceiver", "unbind", "GSM 03.38", "receipts with TLVs", "refusals",
    )  # fmt: skip


def test_a_wrong_password_is_refused(gateway: GatewayProcess) -> None:
    host, _, port = gateway.smpp.rpartition(":")
    client = smpplib.client.Client(host, int(port), allow_unknown_opt_params=True)
    client.connect()
    with pytest.raises(smpplib.exceptions.PDUError, match="Invalid Password"):
        client.bind_transceiver(system_id="demo", password="wrong")
    client.disconnect()


SUBMITS = int(os.environ.get("TEST_SUBMITS", "10000"))


@pytest.mark.slow
@pytest.mark.extended
@pytest.mark.timeout(600)
async def test_submits_without_an_answer_that_come_again_are_charged_once(tmp_path: Path) -> None:
    """A client takes the answers for lost: half are submitted again on the connection that stands, the others after a
    bind anew, some while the first submission still waits for its commit."""
    data = tmp_path / "data"
    admin = Admin(data)
    admin.account("acme", "100000")
    admin("account", "set", "acme", "smpp_reference=0x1402", "smpp_window=1000")
    password = admin("account", "smpp-password", "acme")["smpp_password"]
    with SimulatorProcess(tmp_path, magic=False, logged=False) as simulator:
        admin.operator(simulator.port)
        with GatewayProcess(data, settings={"HELIOGRAPH_SMPP_SERVER_LISTEN": "127.0.0.1:0"}) as gateway:
            port = int(gateway.smpp.rpartition(":")[2])
            standing, half = await _bound(port, password), SUBMITS // 2
            ids = [await _submitted(standing, range(half)) for _ in range(2)]
            assert ids[0] == ids[1]
            for begin in range(half, SUBMITS, BURST):
                numbers = range(begin, min(begin + BURST, SUBMITS))
                lost = await _bound(port, password)
                for number in numbers:
                    lost.begin(_submission(number))
                await asyncio.sleep(0)
                lost.close()
                ids[0] |= await _submitted(standing, numbers)
            assert len(set(ids[0].values())) == len(ids[0]) == SUBMITS
            standing.close()
            assert gateway.stop() == 0
    assert Decimal(admin.balance()) == 100_000 - SUBMITS, "each is charged once"
    admin.assert_books_right()


BURST = 100


async def _bound(port: int, password: str) -> Esme:
    client = await Esme.connect(port)
    assert await client.bind("acme", password, kind="tx") == 0
    return client


def _submission(number: int) -> p.SubmitSm:
    return p.SubmitSm(
        tlvs=((0x1402, b"order-%d" % number),), source_addr="Helio", destination_addr=f"4917{number:08d}",
        short_message=b"Hello",
    )  # fmt: skip


async def _submitted(client: Esme, numbers: Sequence[int]) -> dict[int, str]:
    """Submits each until it is accepted; returns the ids."""
    ids: dict[int, str] = {}
    for begin in range(0, len(numbers), BURST):
        left = list(numbers[begin : begin + BURST])
        while left:
            begun = {client.begin(_submission(number)): number for number in left}
            await client.until(lambda begun=begun: begun.keys() <= client.answers.keys())  # type: ignore[misc]
            for sequence, number in begun.items():
                answer = client.answers.pop(sequence)
                assert isinstance(answer, p.SubmitSmResp)
                if answer.status == 0:
                    ids[number] = answer.message_id
                else:
                    assert answer.status in (CommandStatus.ESME_RMSGQFUL, CommandStatus.ESME_RTHROTTLED)
            left = [number for number in left if number not in ids]
    return ids
