"""A foreign tool reads the OpenAPI document and tries whether the server does what it says, and nothing else.

What a schema cannot say is left out of account here, and tried elsewhere: that a `time` lies in the future, that a
`dlr-url` leads to a host that may be called, that a character is printable, how long a `validity` is, that a `udh` is a
header, that `progress` needs a receipt, and which `tlvs` pass.
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig

from heliograph.api.fields import Terms
from heliograph.api.openapi import document
from heliograph.api.serve import serve
from heliograph.http.server import Server
from tests.support.gateway import API_KEY, PASSWORD, START, Gateway, basic, open_gateway
from tests.support.timeouts import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.extended]

SOON = "2027-02-15 08:00:00"
SOON_S = START // 1000 + 31 * 86_400
"""The same, in Unix seconds."""

CONFIG = SchemathesisConfig.from_dict({"generation": {"mode": "all"}})
schema = schemathesis.openapi.from_dict(document(Terms()), config=CONFIG)


@schema.auth()
class Credentials:
    def get(self, case: Any, context: Any) -> str:
        return basic("acme", PASSWORD if case.path.startswith("/api/v2") else API_KEY).decode()

    def set(self, case: Any, data: str, context: Any) -> None:
        case.headers["Authorization"] = data


class Running:
    """A gateway on fakes, that has its server on a loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.gateway: Gateway = self._run(open_gateway(credit="100000000000", list_interval=0))
        self._server: Server = self._run(serve(self.gateway.app, "127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.port}"

    def close(self) -> None:
        self._run(self._server.stop(1))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()

    def _run(self, step: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(step, self._loop).result(PATIENCE_S)


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    one = Running()
    yield one
    one.close()


def what_a_schema_cannot_say(case: Any) -> None:
    if case.query and str(case.query.get("wait")) in map(str, range(1, 31)):
        case.query["wait"] = "0"  # nobody has the time
    if not case.meta.generation.mode.is_positive:
        return
    for name, moment in (("start", "2027-01-15T08:00"), ("end", SOON)):
        if case.query.get(name):
            case.query[name] = moment
    if not isinstance(case.body, dict):
        return
    if "time" in case.body and case.body["time"] not in (None, ""):
        case.body["time"] = SOON if isinstance(case.body["time"], str) else SOON_S
    if case.body.get("dlr-url"):
        case.body["dlr-url"] = "https://example.com/receipts"
    optional = {"validity": "600", "udh": "0605040B8423F0", "progress": "no"}
    case.body.update({name: value for name, value in optional.items() if case.body.get(name) not in (None, "")})
    for name in [name for name in case.body if name.startswith("tlv")]:
        del case.body[name]
    if case.body.get("type") != "binary":
        case.body.pop("coding", None)
    elif isinstance(case.body.get("coding"), str):
        case.body["coding"] = case.body["coding"] and "0xF5"
    if isinstance(case.body.get("reference"), str):
        case.body["reference"] = "".join(each if each.isprintable() else "x" for each in case.body["reference"])


@schema.parametrize()
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
def test_the_server_does_what_the_document_says(case: Any, running: Running) -> None:
    what_a_schema_cannot_say(case)
    case.call_and_validate(base_url=running.url, timeout=PATIENCE_S)
    # wrong credentials are tried in between, and too many of them in a minute are slowed down
    running.gateway.clock.forward(10)
