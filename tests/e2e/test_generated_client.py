"""A client that a foreign generator makes of the OpenAPI document does what its user wants."""

import base64
import importlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.process import Admin, GatewayProcess
from tests.support.timeouts import COMMAND_S

pytestmark = [pytest.mark.slow, pytest.mark.extended]

PACKAGE = "heliograph_client"
CONFIG = f"post_hooks: []\npackage_name_override: {PACKAGE}\n"


def generate(folder: Path) -> None:
    """Writes the package into the folder. It has to understand all of the document."""
    document, config = folder / "openapi.json", folder / "generator.yaml"
    printed = Admin(folder / "data").run("openapi")
    assert printed.returncode == 0, printed.stderr
    document.write_text(printed.stdout, encoding="utf-8")
    config.write_text(CONFIG, encoding="utf-8")
    generator = Path(sys.executable).with_name("openapi-python-client")
    done = subprocess.run(
        [str(generator), "generate", "--path", str(document), "--config", str(config), "--meta", "none",
         "--output-path", str(folder / PACKAGE), "--fail-on-warning"],
        capture_output=True, text=True, timeout=COMMAND_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in (done.stdout + done.stderr).lower()


class Client:
    """The generated package, signed in as one user."""

    def __init__(self, url: str, user: str, secret: str) -> None:
        token = base64.b64encode(f"{user}:{secret}".encode()).decode()
        self._client = importlib.import_module(PACKAGE).AuthenticatedClient(url, token=token, prefix="Basic")
        self.models: Any = importlib.import_module(f"{PACKAGE}.models")

    def call(self, operation: str, *arguments: Any, tag: str = "messages", **named: Any) -> Any:
        module = importlib.import_module(f"{PACKAGE}.api.{tag}.{operation}")
        return module.sync(*arguments, client=self._client, **named)

    def close(self) -> None:
        self._client.get_httpx_client().close()


def test_a_generated_client_sends_schedules_lists_and_cancels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generate(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with GatewayProcess(tmp_path / "gateway", dev=True) as gateway:
        client = Client(gateway.url, "demo", "demo-api-key")
        models = client.models
        message = models.SendRequest(to="491701234567", from_="Heliograph", content="Hello", reference="order-17")

        sent = client.call("send_message", body=message)
        assert (sent.status, sent.rate, sent.reference) == ("00", 1, "order-17")
        assert sent.message_status == models.SendResultMessageStatus.SENT
        assert client.call("send_message", body=message) == sent
        assert client.call("get_message", sent.id).to == "491701234567"

        several = models.SendForm(to=["491701234567", "491701234568"], from_="Heliograph", content="Both")
        batch = client.call("send_message", body=several)
        assert [each.to for each in batch.messages] == ["491701234567", "491701234568"]
        assert client.call("get_message", batch.id).count == 2

        message.reference, message.time = "order-18", time.time() + 3600
        scheduled = client.call("send_message", body=message)
        assert scheduled.message_status == models.SendResultMessageStatus.SCHEDULED
        moved = models.RescheduleRequest(time=time.time() + 7200)
        assert client.call("reschedule_message", scheduled.id, body=moved).id == scheduled.id

        listed = client.call("list_messages", pending=True, limit=10)
        assert {each.message_id for each in listed.messages} == {
            sent.id, scheduled.id, *(each.id for each in batch.messages)
        }  # fmt: skip

        before = float(client.call("get_balance", tag="account").message)
        assert client.call("cancel_message", scheduled.id).status == "00"
        assert float(client.call("get_balance", tag="account").message) == before + 1
        refused = client.call("cancel_message", scheduled.id)
        assert isinstance(refused, models.Problem)
        assert refused.status == models.ProblemStatus.VALUE_8
        client.close()
        assert gateway.stop() == 0
