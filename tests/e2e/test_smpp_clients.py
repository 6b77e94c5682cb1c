"""Foreign SMPP clients as customers, unchanged, over a SIGKILL of the gateway."""

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Interop
from tests.support.customer import Customer
from tests.support.peers import ESMES, SCRIPTS, foreign_file, node_script
from tests.support.ports import free_port
from tests.support.process import Admin, GatewayProcess, Process, SimulatorProcess
from tests.support.timeouts import PATIENCE_S

SMALL = 60
MESSAGES = [
    {"from": "Helio", "to": "491701230500", "text": "Long " + "0123456789" * 30},
    {"from": "3388", "to": "447700909024", "text": "Will you write back?"},
    *({"from": "Helio", "to": f"4917012300{number:02}", "text": f"Number {number}"} for number in range(SMALL)),
]
KILLED_AFTER = 20
"""Answers, the first two among them: a library may number the parts of a long text anew when it is repeated."""

Trial = Callable[..., None]


@pytest.fixture
def over_a_kill(tmp_path: Path, admin: Admin, data: Path, interop: Interop) -> Trial:
    """Runs a client that submits, while the gateway is killed and comes back: it pays once, and has all receipts."""

    def run(peer: str, command: list[str], long: str, once_by: str, environment: dict[str, str] | None = None) -> None:
        port = free_port()
        settings = {"HELIOGRAPH_SMPP_SERVER_LISTEN": f"127.0.0.1:{port}"}
        api = admin.account()
        password = admin("account", "smpp-password", "acme")["smpp_password"]
        admin("account", "set", "acme", "inbound_way=bind", once_by)
        admin("number", "add", "3388", "--account", "acme")
        arguments = [str(port), "acme", password, json.dumps(MESSAGES)]
        with SimulatorProcess(tmp_path, receipt_delay_ms=200) as operator:
            admin.operator(operator.port)
            with (
                GatewayProcess(data, settings=settings) as gateway,
                Process(tmp_path, "esme", [*command, *arguments], environment) as esme,
            ):

                def events(kind: str) -> list[dict[str, Any]]:
                    lines = esme.out.rpartition("\n")[0].splitlines()
                    return [event for event in map(json.loads, lines) if event["event"] == kind]

                def answers() -> dict[int, dict[str, Any]]:
                    return {event["number"]: event for event in events("answer")}

                esme.until(lambda: len(answers()) >= KILLED_AFTER, "the first answers")
                gateway.kill()
                with GatewayProcess(data, settings=settings, name="again") as again:
                    esme.until(lambda: len(answers()) == len(MESSAGES), "all answers")
                    assert {event["status"] for event in answers().values()} == {0}
                    small = {answers()[number]["id"] for number in range(1, len(MESSAGES))}
                    assert len(small) == len(MESSAGES) - 1

                    def receipts() -> dict[str, str]:
                        return {event["id"]: event["text"] for event in events("receipt")}

                    esme.until(lambda: small < receipts().keys(), "the receipts, of the long one too")
                    assert all("stat:DELIVRD" in text for text in receipts().values())
                    esme.until(lambda: events("phone"), "the phone's answer")
                    assert {event["text"] for event in events("phone")} == {"Yes, please."}
                    with Customer(again.url, "acme", api["api_key"]) as customer:
                        contents = Counter(
                            each["Content"] for each in customer.get("/api/v1/messages?limit=100").json["messages"]
                        )
                    assert contents.keys() >= {message["text"] for message in MESSAGES[1:]}
                    assert set(contents.values()) == {1}
                    assert again.stop(PATIENCE_S) == 0
        admin.assert_books_right()
        interop(
            peer, "ESME", "gateway",
            "bind as transceiver", f"long messages by `{long}`", "receipts with TLVs", "messages from phones",
            "SIGKILL of the gateway: each message charged once, all receipts",
        )  # fmt: skip

    return run


def script(name: str) -> str:
    return str(SCRIPTS / name)


@pytest.mark.slow
@pytest.mark.peer
@pytest.mark.interop
@pytest.mark.extended
def test_npms_smpp_over_a_kill(over_a_kill: Trial) -> None:
    command, environment = node_script("esme.js", "smpp")
    over_a_kill("npm `smpp`", command, "payload", "smpp_dedupe_s=600", environment)


@pytest.mark.slow
@pytest.mark.interop
def test_smpplib_over_a_kill(over_a_kill: Trial) -> None:
    command = [sys.executable, script("esme_smpplib.py")]
    over_a_kill("PyPI `smpplib`", command, "udh8", "smpp_reference=user_message_reference")


@pytest.mark.slow
@pytest.mark.peer
@pytest.mark.interop
@pytest.mark.extended
@pytest.mark.parametrize(("library", "long"), [("aiosmpplib", "udh8"), ("rusmppyc", "udh8"), ("smpp34", "payload")])
def test_a_library_of_python_over_a_kill(over_a_kill: Trial, library: str, long: str) -> None:
    command = [str(foreign_file(ESMES, library)), script(f"esme_{library}.py")]
    over_a_kill(f"PyPI `{library}`", command, long, "smpp_dedupe_s=600")


@pytest.mark.slow
@pytest.mark.peer
@pytest.mark.interop
def test_jasmins_client_over_a_kill(over_a_kill: Trial) -> None:
    command = [str(foreign_file(ESMES, "Jasmin")), script("esme_jasmin.py")]
    over_a_kill("Jasmin's SMPP client", command, "sar", "smpp_dedupe_s=600")
