"""A running gateway is watched: metrics, top, tail, the log's level, traces."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from heliograph.app.observing.catalogue import METRICS
from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.ports import free_port
from tests.support.process import PROGRAM, Admin, GatewayProcess, SimulatorProcess, clean_environment, eventually
from tests.support.timeouts import PATIENCE_S

pytestmark = pytest.mark.slow

NUMBER = "4917012345678"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"

NEVER_HERE = {
    "heliograph_connector_cap_used_ratio",
    "heliograph_connector_certificate_end_seconds",
    "heliograph_margin_credits",
    "heliograph_margin_unknown_parts_total",
    "heliograph_operator_errors_total",
    "heliograph_tls_certificate_end_seconds",
    "heliograph_tls_handshakes_total",
}
"""Metrics whose labels appear with what they count, and that does not happen here."""


def scrape(url: str, **headers: str) -> str:
    request = urllib.request.Request(f"{url}/metrics", headers=headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        text: bytes = answer.read()
    return text.decode()


def values(url: str) -> dict[str, float]:
    """Sums over all labels, by the sample's name."""
    found: dict[str, float] = {}
    for family in read_text(scrape(url)):
        for sample in family.samples:
            if "le" not in sample.labels:
                found[sample.name] = found.get(sample.name, 0.0) + sample.value
    return found


class Tail:
    """`heliograph tail --json`, listening."""

    def __init__(self, data: Path, *options: str) -> None:
        self._process = subprocess.Popen(
            [str(PROGRAM), "tail", "--data", str(data), "--json", *options],
            env=clean_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        assert "Listening" in self._process.stderr.readline()

    def lines(self) -> list[dict[str, Any]]:
        """What it has said, once it has ended by itself."""
        out, _ = self._process.communicate(timeout=PATIENCE_S)
        assert self._process.returncode == 0
        return [json.loads(line) for line in out.splitlines()]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[SimulatorProcess]:
    with SimulatorProcess(tmp_path, receipt_delay_ms=50, magic=False) as simulator:
        yield simulator


def set_up(admin: Admin, port: int) -> str:
    """An account and a connector to a port; returns the API key."""
    key: str = admin("account", "create", "acme", "--credit", "100")["api_key"]
    admin(
        "connector", "add", "op1", "--host", "127.0.0.1", "--port", str(port), "--system-id", "x",
        "--password", "y",
    )  # fmt: skip
    admin("route", "add", "--prefix", "", "--connector", "op1")
    admin("account", "create", "other")
    return key


def test_a_gateway_at_work_is_watched(
    admin: Admin, data: Path, operator: SimulatorProcess, sink: BackgroundSink
) -> None:
    key = set_up(admin, operator.port)
    with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", key) as customer:
        gateway.until(lambda: gateway.bound("op1"), "a bind")
        assert admin("log-level") == {"level": "info", "was": "info"}
        assert admin("log-level", "debug") == {"level": "debug", "was": "info"}
        with Tail(data, "--account", "acme", "--count", "4") as tail, Tail(data, "--account", "other") as other:
            sent = customer.send(to=NUMBER, content="the secret text", dlr="yes", dlr_url=sink.url())
            sink.receipt(sent["Id"])
            lines = tail.lines()
            assert other._process.poll() is None
        assert [line["event"] for line in lines] == ["accepted", "submitted", "final", "callback"]
        assert {line["id"] for line in lines} == {sent["Id"]}
        assert {(line["account"], line["to"]) for line in lines} == {("acme", "491********78")}
        assert lines[1]["connector"] == "op1"

        assert_metrics(gateway.url)
        assert_picture(admin("top", "--once", "--interval", "0.2"))
        assert_picture(admin("top", "--once", "--interval", "0.2", "--url", gateway.url))
        assert_log(gateway, sent["Id"])
        assert admin("log-level", "info")["was"] == "debug"
        before = len(gateway.log())
        customer.send(to=NUMBER, content="the secret text", dlr="yes", dlr_url=sink.url())
        eventually(lambda: values(gateway.url)["heliograph_callbacks_total"] == 2, "the second callback")
        assert [line for line in gateway.log()[before:] if line["level"] == "debug"] == []
        assert NUMBER not in gateway.err
        assert "secret text" not in gateway.err
        assert gateway.stop() == 0
    assert not (data / "engine.sock").exists()


def assert_metrics(url: str) -> None:
    eventually(lambda: values(url).get("heliograph_http_responses_total", 0) >= 1, "an answer to be counted")
    families = {family.name: family for family in read_text(scrape(url))}
    without = {name for name in METRICS if not families[name.removesuffix("_total")].samples}
    assert without == NEVER_HERE
    found = values(url)
    assert found["heliograph_messages_accepted_total"] == 1
    assert found["heliograph_messages_submitted_total"] == 1
    assert found["heliograph_messages_final_total"] == 1
    assert found["heliograph_callbacks_total"] == 1
    assert found["heliograph_receipts_total"] == 1
    assert found["heliograph_charged_credits_total"] == 1
    assert found["heliograph_connector_binds_up"] == 1
    for stage in ("accept", "queue_wait", "submit", "receipt_delay", "callback"):
        assert found[f"heliograph_{stage}_seconds_count"] == 1, stage
    assert 0 < found["heliograph_receipt_delay_seconds_sum"] < 20
    assert found["heliograph_store_commit_seconds_count"] >= 3
    assert found["process_resident_memory_bytes"] > 10_000_000
    assert found["process_open_fds"] > 5
    text = scrape(url, Accept="application/openmetrics-text; version=1.0.0")
    assert len(list(read_openmetrics(text))) == len(METRICS)  # type: ignore[no-untyped-call]
    with pytest.raises(urllib.error.HTTPError) as refused:
        scrape(url, **{"X-Forwarded-For": "198.51.100.7"})
    assert refused.value.code == 403
    refused.value.close()


def assert_picture(found: dict[str, Any]) -> None:
    assert found["now"]["store_up"] == 1
    (connector,) = found["connectors"]
    assert (connector["name"], connector["binds_up"], connector["binds"]) == ("op1", 1, 1)


def assert_log(gateway: GatewayProcess, message: str) -> None:
    """Every line of the message's way names it, and its request is named beside it."""
    debug = [line for line in gateway.log() if line["level"] == "debug"]
    mine = [line["event"] for line in debug if line.get("message") == message]
    assert sorted(mine) == [
        "http.response", "message.accepted", "message.callback", "message.final", "message.submitted",
    ]  # fmt: skip
    (answered,) = (line for line in debug if line["event"] == "http.response")
    assert re.fullmatch(r"[0-9a-f]+-[0-9a-f]+", answered["request_id"])


def test_an_operator_that_is_away_shows(admin: Admin, data: Path) -> None:
    key = set_up(admin, free_port())
    with GatewayProcess(data) as gateway, Customer(gateway.url, "acme", key) as customer:
        customer.send(to=NUMBER, content="Hello")
        found = eventually(
            lambda: now if (now := values(gateway.url)).get("heliograph_queue_oldest_seconds", 0) > 0.3 else None,
            "the message that waits to be seen",
        )
        assert (found["heliograph_connector_binds_up"], found["heliograph_connector_binds"]) == (0, 1)
        assert (found["heliograph_connector_queue"], found["heliograph_connector_window"]) == (1, 0)
        assert found["heliograph_messages_submitted_total"] == 0
        assert admin("top", "--once", "--interval", "0.2")["connectors"][0]["binds_up"] == 0


def test_top_on_a_terminal_goes_on_until_it_is_told_to_stop(data: Path) -> None:
    with GatewayProcess(data, dev=True):
        ours, its = pty.openpty()
        environment = clean_environment({"TERM": "xterm", "COLUMNS": "120", "LINES": "40"})
        command = [str(PROGRAM), "top", "--data", str(data), "--interval", "0.2"]
        process = subprocess.Popen(
            command, env=environment, stdin=its, stdout=its, stderr=its, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a run in the background ignores it
        )  # fmt: skip
        os.close(its)
        try:
            shown = b""
            while shown.count(b"simulator") < 3 or b"1/1" not in shown:
                assert select.select([ours], [], [], PATIENCE_S)[0], shown
                shown += os.read(ours, 65536)
            process.send_signal(signal.SIGINT)
            while select.select([ours], [], [], PATIENCE_S)[0]:
                try:
                    shown += os.read(ours, 65536)
                except OSError:  # it has ended
                    break
            assert process.wait(PATIENCE_S) == 0, shown
        finally:
            process.kill()
            process.wait(PATIENCE_S)
            os.close(ours)
    assert b"Traceback" not in shown


class Collector(ThreadingHTTPServer):
    """Takes spans by OTLP over HTTP."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Spans)
        self.spans: list[Any] = []
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1/traces"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Spans(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = ExportTraceServiceRequest.FromString(self.rfile.read(int(self.headers["content-length"])))
        assert isinstance(self.server, Collector)
        self.server.spans += [
            span for each in request.resource_spans for scope in each.scope_spans for span in scope.spans
        ]
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Says nothing."""


def test_a_message_is_traced_from_the_request_to_the_callback(
    admin: Admin, data: Path, operator: SimulatorProcess, sink: BackgroundSink
) -> None:
    key = set_up(admin, operator.port)
    with Collector() as collector:
        settings = {"HELIOGRAPH_TRACES_ENDPOINT": collector.url, "HELIOGRAPH_TRACES_SAMPLE_RATIO": "0"}
        with GatewayProcess(data, settings=settings) as gateway, Customer(gateway.url, "acme", key) as customer:
            gateway.until(lambda: gateway.bound("op1"), "a bind")
            fields = {"to": NUMBER, "from": "Acme", "content": "Hi", "dlr": "yes", "dlr-url": sink.url()}
            headers = {"Content-Type": "application/json"}
            untraced = customer.request("POST", "/api/v1/messages", json.dumps(fields).encode(), headers)
            headers["traceparent"] = f"00-{TRACE}-00f067aa0ba902b7-01"
            traced = customer.request("POST", "/api/v1/messages", json.dumps(fields).encode(), headers)
            assert (untraced.status, traced.status) == (200, 200), untraced.body
            headers["traceparent"] = f"00-{TRACE}-00f067aa0ba902b7-00"
            again = customer.request("POST", "/api/v1/messages", json.dumps(fields).encode(), headers)
            assert "traceparent" not in sink.receipt(again.json["Id"]).headers
            plain, followed = sink.receipt(untraced.json["Id"]), sink.receipt(traced.json["Id"])
            eventually(lambda: "Callback" in customer.events(traced.json["Id"]), "that it was told")
            assert gateway.stop() == 0
    assert "traceparent" not in plain.headers
    spans = {span.name: span for span in collector.spans}
    assert set(spans) == {"POST /api/v1/messages", "store", "queue", "submit_sm", "receipt", "callback"}
    assert len(collector.spans) == len(spans)
    assert {span.trace_id.hex() for span in spans.values()} == {TRACE}
    assert followed.headers["traceparent"] == f"00-{TRACE}-{spans['callback'].span_id.hex()}-01"
    order = ["POST /api/v1/messages", "queue", "submit_sm", "receipt", "callback"]
    starts = [spans[name].start_time_unix_nano // 1_000_000 for name in order]
    assert starts == sorted(starts)
