"""Texts, numbers and secrets, planted through the whole program, are where they belong and nowhere else; and gone from
everywhere once they are erased."""

import base64
import json
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from heliograph.domain.numbers.phone import EXAMPLE
from tests.e2e.test_watching import TRACE, Collector, scrape
from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.sink import Answer

pytestmark = pytest.mark.slow

STORE = {"heliograph.db", "heliograph.db-wal"}
"""Files of the data directory that may have texts, numbers, and what operators ask for; no others."""


@dataclass
class Markers:
    """Texts, numbers and secrets to plant: unlike anything else, and unlike each other."""

    text: str = "Zwetschgenknödel 7Q4X"
    phoned: str = "Mirabellenkompott 9K2J"
    refused: str = "Quittengelee 3W8V"
    number: str = "4915550417263"
    refused_number: str = "4915550839471"
    phones: str = "447700900"
    """The first digits of all phones that write."""
    operator_password: str = "oPw6Zk2"
    console_password: str = "correct-console-5kXq-staple"
    password: str = ""
    api_key: str = ""
    signing_secret: str = ""

    def personal(self) -> dict[str, str]:
        """Returns the markers that the store may have."""
        return {"text": self.text, "phoned": self.phoned, "number": self.number, "phones": self.phones}

    def refused_ones(self) -> dict[str, str]:
        """Returns the markers that nobody is to have: their requests were answered with an error."""
        return {"refused": self.refused, "refused number": self.refused_number}

    def secrets(self) -> dict[str, str]:
        """Returns the markers of which the store keeps a digest alone."""
        return {"console": self.console_password, "password": self.password, "key": self.api_key}

    def of_the_store(self) -> dict[str, str]:
        """Secrets that are needed in the clear."""
        return {"operator": self.operator_password, "signing": self.signing_secret}


def forms(marker: str) -> set[bytes]:
    """The ways in which a marker may stand in a file, or on a wire."""
    plain = marker.encode()
    return {
        plain, marker.encode("utf-16-be"), marker.encode("utf-16-le"), plain.hex().encode(),
        plain.hex().upper().encode(), base64.b64encode(plain)[: len(plain) // 3 * 4], json.dumps(marker)[1:-1].encode(),
        urllib.parse.quote(marker).encode(), urllib.parse.quote_plus(marker).encode(),
    }  # fmt: skip


def has(octets: bytes, marker: str) -> bool:
    return any(form in octets for form in forms(marker))


def found_in(octets: bytes, markers: dict[str, str]) -> set[str]:
    return {name for name, marker in markers.items() if has(octets, marker)}


def in_files(folder: Path, markers: dict[str, str]) -> dict[str, set[str]]:
    """Names of files, by marker that they have. Sentences of refused requests keep our own example of a number."""
    example = f"such as {EXAMPLE}".encode()
    files = {each.name: each.read_bytes().replace(example, b"") for each in folder.rglob("*") if each.is_file()}
    found = {name: {file for file, octets in files.items() if has(octets, marker)} for name, marker in markers.items()}
    return {name: where for name, where in found.items() if where}


class House:
    """A gateway at its most talkative, with all that it says."""

    def __init__(self, admin: Admin, data: Path, collector: Collector) -> None:
        self.admin, self.data, self.collector = admin, data, collector
        self.markers = Markers()
        self.metrics = ""

    @property
    def settings(self) -> dict[str, str]:
        return {
            "HELIOGRAPH_LOG_LEVEL": "debug",
            "HELIOGRAPH_TRACES_ENDPOINT": self.collector.url,
            "HELIOGRAPH_TRACES_SAMPLE_RATIO": "1",
        }

    def set_up(self, port: int, sink: BackgroundSink) -> None:
        markers = self.markers
        made = self.admin("account", "create", "acme", "--credit", "100")
        markers.password, markers.api_key = made["password"], made["api_key"]
        markers.signing_secret = made["signing_secret"].removeprefix("whsec_")
        self.admin.operator(port, "op1")
        self.admin("connector", "set", "op1", f"password={markers.operator_password}")
        self.admin("number", "add", "3388", "--account", "acme")
        self.admin("account", "set", "acme", f"inbound_url={sink.url('/inbound')}")

    def live(self, gateway: GatewayProcess, sink: BackgroundSink) -> None:
        """Sends, is called back, fails to call back, hears from phones, refuses requests and a sign-in."""
        markers = self.markers
        gateway.until(lambda: gateway.bound("op1"), "a bind")
        headers = {"Content-Type": "application/json", "traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
        with Customer(gateway.url, "acme", markers.api_key) as customer:

            def send(**fields: str) -> dict[str, Any]:
                body = {"to": markers.number, "from": "Acme", "content": markers.text, **fields}
                reply = customer.request("POST", "/api/v1/messages", json.dumps(body).encode(), headers)
                return reply.json

            sink.receipt(send(**{"dlr": "yes", "dlr-url": sink.url()})["Id"])
            sink.sink.script(*[Answer(status=410)] * 3, path="/gone")
            sink.receipt(send(**{"dlr": "yes", "dlr-url": sink.url("/gone")})["Id"])
            assert "Id" in send(reference="once", time="2099-01-01 10:00:00") or "Id" in send(reference="once")
            for refused in ({"from": "x" * 30}, {"to": markers.refused_number + "9" * 9}, {"type": "nonsense"}):
                answered = send(**{"to": markers.refused_number, "content": markers.refused, **refused})
                assert "Id" not in answered, answered
        with Customer(gateway.url, "acme", markers.password) as customer:
            customer.request("GET", f"/api/v2/messages?{urllib.parse.urlencode({'q': markers.refused})}")
        form = urllib.parse.urlencode({"name": "ada", "password": markers.console_password}).encode()
        with Customer(gateway.url, "ada", "x") as stranger:
            kind = {"Content-Type": "application/x-www-form-urlencoded"}
            stranger.request("POST", "/console/sign-in", form, kind)
        gateway.until(lambda: len(self.phones()) >= 3, "messages from phones")
        self.metrics = scrape(gateway.url)

    def phones(self) -> list[str]:
        return [each["from"] for each in self.admin("inbound", "list", "--limit", "1000")["messages"]]

    def said(self, gateway: GatewayProcess) -> dict[str, bytes]:
        """All that came out of it but for callbacks and messages."""
        spans = b"".join(span.SerializeToString() for span in self.collector.spans)
        return {
            "standard output": gateway.out.encode(),
            "log": gateway.err.encode(),
            "metrics": self.metrics.encode(),
            "spans": spans,
            "audit log": json.dumps(self.admin("admin", "log")).encode(),
        }


def test_markers_are_where_they_belong_and_gone_once_erased(
    admin: Admin, data: Path, sink: BackgroundSink, tmp_path: Path
) -> None:
    with Collector() as collector:
        house = House(admin, data, collector)
        markers = house.markers
        simulator = SimulatorProcess(
            tmp_path, receipt_delay_ms=50, magic=False, inbound_rate=3, inbound_to="3388", inbound_text=markers.phoned
        )
        with simulator:
            house.set_up(simulator.port, sink)
            with GatewayProcess(data, settings=house.settings) as gateway:
                house.live(gateway, sink)
                simulator.stop()
                # told: nothing of the phones is owed any more
                gateway.until(lambda: not admin("callbacks", "status")["pending"], "all callbacks")
                gateway.until(lambda: collector.spans, "spans")
                said = house.said(gateway)
                everything = markers.personal() | markers.refused_ones() | markers.secrets() | markers.of_the_store()
                leaks = {name: found for name, octets in said.items() if (found := found_in(octets, everything))}
                assert leaks == {}
                assert collector.spans
                planted = in_files(data, everything)
                assert planted.keys() >= markers.personal().keys()
                assert planted.keys() <= markers.personal().keys() | markers.of_the_store().keys()
                assert set().union(*planted.values()) <= STORE
                for number in {markers.number, *house.phones()}:
                    admin("erase", number)
                left = eventually(lambda: _left(house), "everything is erased", seconds=90, pause=1.0)
                assert left == ["nothing"]
                assert gateway.stop() == 0
        assert in_files(data, markers.personal()) == {}
        assert admin("audit")["problems"] == []


def _left(house: House) -> list[str]:
    """`nothing` once a second erasure finds nothing that is left, so that what was in flight is erased as well."""
    numbers = {house.markers.number, *(each for each in house.phones() if each)}
    reports = [house.admin("erase", number) for number in numbers]
    found = [line for report in reports for line in report["lines"] if line["found"]]
    return [] if found or in_files(house.data, house.markers.personal()) else ["nothing"]
