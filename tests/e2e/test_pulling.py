"""Customers pull messages from phones: nothing is missing, nothing twice, whatever becomes of the nodes."""

import json
import threading
import time
from base64 import b64encode
from collections.abc import Sequence
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.e2e.test_inbound import Phones, whole
from tests.e2e.test_watching import values
from tests.support.crash import Gateways
from tests.support.customer import Customer
from tests.support.postgres import Server
from tests.support.process import Admin, GatewayProcess
from tests.support.timeouts import PATIENCE_S

pytestmark = [pytest.mark.slow, pytest.mark.peer]

INBOUND = "/account/v1/inbound"


class Puller:
    """Pulls without an end, from one node after the other, in a thread of its own."""

    def __init__(self, urls: Sequence[str], key: str) -> None:
        self._urls, self._key = urls, key
        self.messages: list[dict[str, Any]] = []
        self._over = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._over = True
        self._thread.join(PATIENCE_S)

    def texts(self) -> set[str]:
        return {each["Content"] for each in self.messages}

    def _run(self) -> None:
        turn = 0
        while not self._over:
            turn += 1
            after = self.messages[-1]["Id"] if self.messages else ""
            try:
                with Customer(self._urls[turn % len(self._urls)], "acme", self._key) as customer:
                    reply = customer.get(f"{INBOUND}?after={after}&limit=7&wait=1")
            except (OSError, HTTPException):
                time.sleep(0.05)
                continue
            if reply.status == 200:
                self.messages += reply.json["messages"]


class LongPoll:
    """A connection whose requests are not waited for at once."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._connection = HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE_S)
        self._headers = {"Authorization": "Basic " + b64encode(f"acme:{key}".encode()).decode()}

    def begin(self, after: str) -> None:
        self._connection.request("GET", f"{INBOUND}?after={after}&wait=30", headers=self._headers)

    def end(self) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self._connection.getresponse().read())
        return answer

    def close(self) -> None:
        self._connection.close()


def test_a_customer_without_a_server_has_its_messages(tmp_path: Path, admin: Admin, data: Path) -> None:
    messages = [whole("Guten Tag 🦊"), whole("to nobody", to="4000"), whole("and again")]
    with Phones(tmp_path, messages, pause_ms=300) as operator:
        account = admin.account("acme", "10")
        admin("number", "add", "3388", "--account", "acme")
        admin("price", "set", "--prefix", "49", "--price", "1", "--inbound", "6")
        with (
            GatewayProcess(data) as gateway,
            Customer(gateway.url, "acme", account["api_key"]) as customer,
            closing(LongPoll(gateway.url, account["api_key"])) as poll,
        ):
            assert customer.get(INBOUND).json == {"count": 0, "messages": []}
            poll.begin("")
            admin.operator(operator.port, "op1", "")
            operator.until_answered(3)
            (first,) = poll.end()["messages"][:1]
            assert (first["Content"], first["From"], first["To"]) == ("Guten Tag 🦊", "491701", "3388")
            assert (first["Parts"], first["Complete"], first["Keyword"], first["Coding"]) == (1, True, "", "8")
            assert customer.get(f"{INBOUND}/{first['Id']}").json == first
            (second,) = customer.get(f"{INBOUND}?after={first['Id']}&wait=30").json["messages"]
            assert second["Content"] == "and again"

            (unrouted,) = admin("inbound", "list", "--unrouted")["messages"]
            poll.begin(second["Id"])
            admin("inbound", "route", unrouted["id"], "--account", "acme")
            (third,) = poll.end()["messages"]
            found = values(gateway.url)
            assert found["heliograph_inbound_messages_total"] == found["heliograph_inbound_commit_seconds_count"] == 3
            assert third["Content"] == "to nobody"
            entries = admin("account", "ledger", "acme")["entries"]
            assert [(each["kind"], each["amount"]) for each in entries] == [("inbound", "-6")] * 3 + [("top-up", "10")]
            assert admin("account", "show", "acme")["balance"] == "-8"

            poll.begin(third["Id"])
            assert customer.get(INBOUND).json["count"] == 3  # so the one before has been read
            began = time.monotonic()
            assert gateway.stop() == 0
            assert time.monotonic() - began < 25, "a request that waits holds up the stop"
            assert poll.end() == {"count": 0, "messages": []}
    admin.assert_books_right()


@pytest.mark.extended
def test_nothing_is_missed_when_one_of_two_nodes_is_killed(tmp_path: Path) -> None:
    messages = [whole(f"m{number}", **{"from": f"4917{number % 40:02}"}) for number in range(500)]
    database = Server()
    database.start()
    settings = {"HELIOGRAPH_DATABASE_URL": database.url(), "HELIOGRAPH_NODE_MOST_BINDS": "1"}
    try:
        admin = Admin(tmp_path / "admin", settings)
        with Phones(tmp_path, messages, pause_ms=4) as operator:
            admin.operator(operator.port, "operator", "", "--binds", "2", "--option", "reconnect_most_s=0.2")
            account = admin.account("acme", "10")
            admin("number", "add", "3388", "--account", "acme")
            with Gateways(tmp_path, settings, 2) as gateways:
                puller = Puller(gateways.urls, account["api_key"])
                for turn in range(2):
                    operator.until_answered(150 * (turn + 1), gateways)
                    gateways.kill(turn)
                    time.sleep(0.5)
                    gateways.revive(turn, wait=True)
                operator.until_answered(len(messages), gateways)
                gateways.until(lambda: puller.texts() == {each["text"] for each in messages}, "all pulled")
                puller.stop()
                gateways.stop()
        pulled = [each["Id"] for each in puller.messages]
        assert len(pulled) == len(set(pulled))
        admin.assert_books_right()
    finally:
        database.remove()
