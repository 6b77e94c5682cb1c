"""The simulator as a program, and foreign clients that talk to it."""

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import smpplib.client
import smpplib.consts
import smpplib.exceptions

from tests.conftest import Interop
from tests.integration.simulator.conftest import Start
from tests.support.peers import node_script
from tests.support.timeouts import PATIENCE_S

ROOT = Path(__file__).parents[3]


class Program:
    """`heliograph simulator --json` with these options."""

    def __init__(self, *options: str) -> None:
        command = [sys.executable, "-m", "heliograph", "simulator", "--listen", "127.0.0.1:0", "--json", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
        assert self.process.stdout is not None
        first = json.loads(self.process.stdout.readline())
        assert first["event"] == "listening"
        self.port: int = first["port"]

    def stop(self) -> list[dict[str, Any]]:
        """Ends it and gives what it wrote after its first line."""
        self.process.send_signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0, err.decode()
        return [json.loads(line) for line in out.splitlines()]

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


@pytest.fixture
def program() -> Iterator[Program]:
    running = Program("--receipt-delay-ms", "5", "--first-message-id", "1000")
    yield running
    running.kill()


class Foreign:
    """PyPI's smpplib, bound as a transceiver, in the calling thread."""

    def __init__(self, port: int, password: str = "secret") -> None:
        self.sent: list[tuple[int, str]] = []
        self.receipts: list[tuple[str, int, str]] = []
        self.from_phones: list[tuple[str, str, str]] = []
        self.client = smpplib.client.Client("127.0.0.1", port, timeout=PATIENCE_S, allow_unknown_opt_params=True)
        self.client.set_message_sent_handler(lambda pdu: self.sent.append((pdu.sequence, pdu.message_id.decode())))
        self.client.set_message_received_handler(self._received)
        self.client.connect()
        try:
            self.client.bind_transceiver(system_id="acme", password=password)
        except smpplib.exceptions.PDUError:
            self.client.disconnect()
            raise

    def submit(self, destination: str, text: bytes, source: str = "Acme") -> None:
        self.client.send_message(
            source_addr_ton=smpplib.consts.SMPP_TON_UNK if source.isdecimal() else smpplib.consts.SMPP_TON_ALNUM,
            source_addr=source,
            dest_addr_ton=smpplib.consts.SMPP_TON_INTL,
            dest_addr_npi=smpplib.consts.SMPP_NPI_ISDN,
            destination_addr=destination,
            short_message=text,
            registered_delivery=True,
        )

    def read_until_receipts(self, number: int, from_phones: int = 0) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while len(self.receipts) < number or len(self.from_phones) < from_phones:
            assert time.monotonic() < deadline
            self.client.read_once()

    def close(self) -> None:
        self.client.unbind()
        self.client.disconnect()

    def _received(self, pdu: Any) -> int:
        if pdu.receipted_message_id is None:
            sender, number = pdu.source_addr.decode(), pdu.destination_addr.decode()
            self.from_phones.append((sender, number, pdu.short_message.decode()))
            return 0
        self.receipts.append((pdu.receipted_message_id.decode(), pdu.message_state, pdu.short_message.decode()))
        return 0


@pytest.mark.slow
@pytest.mark.interop
def test_smpplib_submits_and_understands_receipts(program: Program, interop: Interop) -> None:
    foreign = Foreign(program.port)
    destinations = ["447700900100", "447700909001", "447700909003"]
    for destination in destinations:
        foreign.submit(destination, b"hello there")
    foreign.read_until_receipts(3)
    foreign.close()
    assert [message_id for _, message_id in foreign.sent] == ["1000", "1001", "1002"]
    assert [(message_id, state) for message_id, state, _ in sorted(foreign.receipts)] == [
        ("1000", smpplib.consts.SMPP_MESSAGE_STATE_DELIVERED),
        ("1001", smpplib.consts.SMPP_MESSAGE_STATE_UNDELIVERABLE),
        ("1002", smpplib.consts.SMPP_MESSAGE_STATE_REJECTED),
    ]
    text = sorted(foreign.receipts)[1][2]
    assert text.startswith("id:1001 sub:001 dlvrd:000 submit date:")
    assert text.endswith("stat:UNDELIV err:001 text:hello there")
    lines = program.stop()
    assert [line["state"] for line in lines if line["event"] == "receipt"].count("DELIVRD") == 1
    assert sum(line["event"] == "request" and line["pdu"]["command"] == "submit_sm" for line in lines) == 3
    interop(
        "PyPI `smpplib`", "ESME", "simulator",
        "bind as transceiver", "unbind", "receipts by text and TLV, three final states",
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.interop
def test_smpplib_understands_what_phones_write(program: Program, interop: Interop) -> None:
    foreign = Foreign(program.port)
    foreign.submit("447700909021", b"Weekly offers", source="3388")
    foreign.read_until_receipts(1, from_phones=1)
    foreign.close()
    assert foreign.from_phones == [("447700909021", "3388", "STOP")]
    program.stop()
    interop("PyPI `smpplib`", "ESME", "simulator", "messages from phones")


@pytest.mark.slow
@pytest.mark.interop
def test_smpplib_reads_what_is_written_in_pieces_and_is_refused_for_its_password(interop: Interop) -> None:
    program = Program("--receipt-delay-ms", "5", "--split-octets", "3", "--password", "secret")
    try:
        foreign = Foreign(program.port)
        foreign.submit("447700900100", b"piece by piece")
        foreign.read_until_receipts(1)
        foreign.close()
        with pytest.raises(smpplib.exceptions.PDUError, match="nvalid"):
            Foreign(program.port, "guess")
        program.stop()
        interop("PyPI `smpplib`", "ESME", "simulator", "PDUs in pieces of three octets", "wrong password")
    finally:
        program.kill()


@pytest.mark.slow
def test_a_terminal_shows_the_table() -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "heliograph", "simulator", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=theirs, cwd=ROOT, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"})
    os.close(theirs)
    shown = b""
    deadline = threading.Timer(PATIENCE_S, process.kill)
    deadline.start()
    while b"submits" not in shown:
        shown += os.read(ours, 10_000)
    assert b"simulated operator on 127.0.0.1:" in shown
    process.send_signal(signal.SIGINT)
    reader = threading.Thread(target=_read_all, args=(ours,))
    reader.start()
    assert process.wait(PATIENCE_S) == 0
    deadline.cancel()
    reader.join()
    os.close(ours)


def _read_all(descriptor: int) -> None:
    try:
        while os.read(descriptor, 10_000):
            pass
    except OSError:
        return  # the other end of a terminal was closed


@pytest.mark.slow
def test_an_address_that_is_taken_is_told() -> None:
    program = Program()
    try:
        command = [sys.executable, "-m", "heliograph", "simulator", "--listen", f"127.0.0.1:{program.port}"]
        second = subprocess.run(command, capture_output=True, timeout=PATIENCE_S, cwd=ROOT, check=False)
        assert second.returncode != 0
        assert b"could not start" in second.stderr
        assert b"Traceback" not in second.stderr
    finally:
        program.kill()


@pytest.mark.peer
@pytest.mark.slow
@pytest.mark.interop
async def test_npm_smpp_submits_and_understands_receipts(start: Start, interop: Interop) -> None:
    command, environment = node_script("smpp_client.js", "smpp")
    smsc = await start(receipt_delay_ms=20.0, split_octets=11)
    destinations = ["447700900100", "447700909001", "447700909007", "447700909012"]
    process = await asyncio.create_subprocess_exec(
        *command,
        str(smsc.port),
        *destinations,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )
    async with asyncio.timeout(PATIENCE_S):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    seen = json.loads(out)
    assert [answer["status"] for answer in seen["answers"]] == [0, 0, 0x0B, 0]
    ids = [answer["id"] for answer in seen["answers"]]
    receipts = {(receipt["id"], receipt["state"], receipt["source"]) for receipt in seen["receipts"]}
    assert receipts == {
        (ids[0], 2, destinations[0]),
        (ids[1], 5, destinations[1]),
        (ids[3], 6, destinations[3]),
        (ids[3], 2, destinations[3]),
    }
    assert all(f"id:{receipt['id']} " in receipt["text"] for receipt in seen["receipts"])
    assert {message.text for message in smsc.simulator.recent()} == {"grüße aus npm"}
    interop(
        "npm `smpp`", "ESME", "simulator",
        "PDUs in pieces of eleven octets", "GSM 03.38", "refusals", "receipts by text and TLV, final and on the way",
    )  # fmt: skip
