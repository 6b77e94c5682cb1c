"""A foreign tool reads the admin API's document and tries whether what is answered is what the document says."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi import checks

from heliograph.admin_api import PATH
from heliograph.admin_api.openapi import document
from heliograph.admin_api.operations import operations
from heliograph.api.serve import serve
from heliograph.app.records import TOKEN_SCOPES, AdminToken
from heliograph.composition.connectors import KINDS
from heliograph.domain.security.secret_text import digest
from tests.support.admin import AdminHouse, open_house
from tests.support.gateway import START
from tests.support.timeouts import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.extended]

CONFIG = SchemathesisConfig.from_dict({"generation": {"mode": "all"}})
schema = schemathesis.openapi.from_dict(document(operations(KINDS)), config=CONFIG)

#: A schema cannot say that a host is one, that an amount is not 0, or that a time is to come: that is refused too.
LEFT_OUT = [checks.positive_data_acceptance]

TOKEN = "hat_of-this-test"


@schema.auth()
class Bearer:
    def get(self, case: Any, context: Any) -> str:
        return TOKEN

    def set(self, case: Any, data: str, context: Any) -> None:
        case.headers["Authorization"] = f"Bearer {data}"


class Running:
    """The admin API on a store in memory, with its server on a loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.house: AdminHouse = self._run(open_house())
        self.house.gateway.app.mount(PATH, self.house.api)
        token = AdminToken("test", "test", digest(TOKEN), tuple(scope.value for scope in TOKEN_SCOPES), START)
        self._run(self.house.gateway.store.tokens.add(token))
        self._server = self._run(serve(self.house.gateway.app, "127.0.0.1", 0))
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


@schema.parametrize()
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
def test_the_server_does_what_the_document_says(case: Any, running: Running) -> None:
    case.call_and_validate(base_url=running.url, excluded_checks=LEFT_OUT, timeout=PATIENCE_S)
    # wrong tokens are tried in between, and too many of them in some minutes are slowed down
    running.house.gateway.clock.forward(60)
