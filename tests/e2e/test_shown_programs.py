"""The programs that the reference shows for each operation are run as they stand, but for the address and the names."""

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from heliograph.api.fields import Terms
from heliograph.api.openapi import BASE, SECRETS, USER, document
from heliograph.api.shapes import EXAMPLE_ID, EXAMPLE_INBOUND_ID
from heliograph.composition.dev import DEMO_API_KEY, DEMO_NAME, DEMO_PASSWORD
from tests.support.customer import Customer
from tests.support.peers import QUICK_JAVA, foreign_program
from tests.support.process import GatewayProcess, clean_environment
from tests.support.timeouts import COMMAND_S

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200), pytest.mark.extended]

LANGUAGES = [
    pytest.param("Python", "program.py", ()),
    pytest.param("JavaScript", "program.mjs", ("node",), marks=pytest.mark.peer),
    pytest.param("PHP", "program.php", ("php",), marks=pytest.mark.peer),
    pytest.param("Java", "Sample.java", ("javac", "java"), marks=pytest.mark.peer),
]
SAMPLES = [
    (operation["operationId"], sample["label"], sample["source"])
    for methods in document(Terms())["paths"].values()
    for operation in methods.values()
    for sample in operation["x-codeSamples"]
]
NUMBER, WRITES_BACK = "447700900123", "447700909024"
TOMORROW_S = 86_400


@pytest.mark.parametrize(("language", "name", "programs"), LANGUAGES)
def test_each_program_that_is_shown_works(tmp_path: Path, language: str, name: str, programs: tuple[str, ...]) -> None:
    interpreter = [foreign_program(program) for program in programs][-1:] or [sys.executable]
    sources = {operation: source for operation, label, source in SAMPLES if label == language}
    assert len(sources) == len({operation for operation, _, _ in SAMPLES})
    with (
        GatewayProcess(tmp_path / "data", dev=True) as gateway,
        Customer(gateway.url, DEMO_NAME, DEMO_API_KEY) as customer,
    ):
        answered, ours = inbound_message(customer)
        for operation, source in sources.items():
            assert customer.request("PUT", f"/account/v1/suppressions/{NUMBER}").status == 200
            program = tmp_path / name
            message = answered if operation == "give_feedback" else scheduled(customer)
            program.write_text(of_gateway(source, gateway.url, message, ours), encoding="utf-8")
            while True:
                done = subprocess.run(
                    [*interpreter, str(program)], cwd=tmp_path, env=clean_environment(QUICK_JAVA), capture_output=True,
                    text=True, encoding="utf-8", timeout=COMMAND_S, check=False,
                )  # fmt: skip
                if not done.stdout.startswith("429 "):  # a list query each second
                    break
            assert done.returncode == 0, (operation, done.stderr)
            assert done.stdout.startswith("200 "), (operation, done.stdout)


def of_gateway(source: str, url: str, message: str, inbound: str) -> str:
    """The program, with the address of a gateway and with what is there."""
    later = time.strftime("%Y-%m-%d", time.gmtime(time.time() + 2 * TOMORROW_S))
    for shown, real in (
        (BASE, url), (f'"{USER}"', f'"{DEMO_NAME}"'), (f"{USER}:", f"{DEMO_NAME}:"), (SECRETS[1], DEMO_API_KEY),
        (SECRETS[2], DEMO_PASSWORD), (EXAMPLE_INBOUND_ID, inbound), (EXAMPLE_ID, message),
    ):  # fmt: skip
        source = source.replace(shown, real)
    source = re.sub(r"20\d\d-\d\d-\d\d(?=[ T]\d\d:)", later, source)
    return re.sub(r"https://[a-z.]+/[a-z/?=&]*", f"{url}/dev/receipts", source)


def scheduled(customer: Customer) -> str:
    """A message that waits for tomorrow."""
    fields: dict[str, Any] = {
        "to": "491701234567", "from": "Helio", "content": "Later", "time": str(int(time.time()) + TOMORROW_S),
    }  # fmt: skip
    return str(customer.form("/api/v1/messages", fields).json["Id"])


def inbound_message(customer: Customer) -> tuple[str, str]:
    """A message to a phone of the simulated operator, and what the phone wrote back."""
    sent = customer.form("/api/v1/messages", {"to": WRITES_BACK, "from": "3388", "content": "Friday?"})
    assert sent.status == 200, sent.body
    page = customer.get("/account/v1/inbound?wait=20").json
    return str(sent.json["Id"]), str(page["messages"][0]["Id"])
