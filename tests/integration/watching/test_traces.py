"""Traces: which requests have one, and that a message's whole way is in it."""

import io
import json
import logging
from collections.abc import Callable, Mapping, Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from heliograph.adapters.system.journal import LogJournal, configure_logging
from heliograph.adapters.tracing import TraceIds, TraceWatcher
from heliograph.adapters.tracing.requests import Choice
from heliograph.app.facts import (
    Attempt,
    CallbackDone,
    CallbackEnd,
    Facts,
    InboundMessage,
    Message,
    MessageEnd,
    Submission,
)
from heliograph.app.webhook_job import TryResult, WebhookJob
from heliograph.domain.message import ids
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.way import Way
from heliograph.http.asgi import Headers
from tests.support.gateway import START, Gateway, open_gateway, run_asgi

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SAMPLED = f"00-{TRACE}-00f067aa0ba902b7-01"
NOT_SAMPLED = f"00-{TRACE}-00f067aa0ba902b7-00"
MS = 1_000_000


class FakeSender:
    def __init__(self) -> None:
        self.jobs: list[WebhookJob] = []
        self.sent: Callable[[list[TryResult]], None] = lambda _: None
        self.lost: Callable[[], None] = lambda: None

    def post(self, jobs: Sequence[WebhookJob]) -> None:
        self.jobs += jobs

    def on_sent(self, listener: Callable[[list[TryResult]], None]) -> None:
        self.sent = listener

    def on_lost(self, listener: Callable[[], None]) -> None:
        self.lost = listener

    async def close(self) -> None:
        """There is nothing to close."""


class Traced:
    """A gateway on fakes, traced."""

    def __init__(self, gateway: Gateway, ratio: float) -> None:
        self.gateway = gateway
        self.exporter = InMemorySpanExporter()
        self.traces = TraceWatcher(SimpleSpanProcessor(self.exporter), ratio, gateway.clock)
        gateway.sending._intake = self.traces.intake(gateway.intake)
        self.fake = FakeSender()
        self.sender = self.traces.sender(self.fake)
        self.told: list[TryResult] = []
        self.sender.on_sent(self.told.extend)
        self.sender.on_lost(lambda: None)

    async def send(self, traceparent: str = "", **fields: str) -> Message | None:
        """The message, or None where the request was refused."""
        application = self.gateway.app
        self.gateway.app = self.traces.around(application)  # type: ignore[assignment]
        headers = {"Content-Type": "application/json"} | ({"traceparent": traceparent} if traceparent else {})
        body = b'{"to":"%b","from":"Acme","content":"the secret text"}' % fields.get("to", "4917012345678").encode()
        reply = await self.gateway.call("POST", "/api/v1/messages", body, headers=headers)
        self.gateway.app = application
        if reply.status != 200:
            return None
        parsed = ids.parse(reply.json["Id"])
        assert parsed is not None
        found = await self.gateway.store.messages.trace(parsed[0])
        assert found is not None
        return found.message

    def commit(self, facts: Facts) -> None:
        self.traces.committed(facts, START, 0.001)

    def spans(self) -> dict[str, ReadableSpan]:
        """Those that are over, by name."""
        return {span.name: span for span in self.exporter.get_finished_spans()}


async def traced(ratio: float = 1.0) -> Traced:
    return Traced(await open_gateway(), ratio)


def attributes(span: ReadableSpan) -> Mapping[str, object]:
    return span.attributes or {}


def job(message: Message) -> WebhookJob:
    return WebhookJob(message.key, "dlr_1", "https://customer.example/dlr?secret=1", b"", "text/plain", ())


@pytest.mark.parametrize("form", ["json", "text"])
async def test_log_lines_of_a_traced_request_have_the_ids_of_its_span(form: str) -> None:
    world, stream = await traced(0.0), io.StringIO()
    configure_logging("debug", form, stream)
    logging.getLogger().handlers[0].addFilter(TraceIds())
    journal = LogJournal()
    world.gateway.app.overhear = lambda request_id, _: journal.log("debug", "answered", request=request_id.decode())
    await world.send(SAMPLED)
    journal.log("info", "elsewhere")
    await world.send()
    answered, elsewhere, untraced = stream.getvalue().splitlines()
    span = world.spans()["POST /api/v1/messages"].context
    assert span is not None
    if form == "json":
        line = json.loads(answered)
        assert (line["event"], line["trace_id"]) == ("answered", TRACE)
        assert line["span_id"] == f"{span.span_id:016x}"
    else:
        assert answered.endswith(f" trace_id={TRACE} span_id={span.span_id:016x}")
    assert "span_id" not in elsewhere + untraced


async def test_a_messages_way_is_one_trace() -> None:
    world = await traced()
    message = await world.send(SAMPLED)
    assert message is not None
    key = message.key
    answer = Submission(message.account, key, 0, 3, "op-1", 0, START + 90, waited=50, took=40)
    world.commit(Facts(submissions=[answer]))
    world.commit(
        Facts(finals=[MessageEnd(message.account, key, Delivery.DELIVRD, "000", START + 700, owed=True, waited=610)])
    )
    world.sender.post([job(message)])
    world.fake.sent([TryResult(key, 200)])
    world.commit(Facts(callbacks=[CallbackDone(message.account, key, CallbackEnd.DELIVERED, 200, 1, START + 800)]))

    spans = world.spans()
    assert set(spans) == {"POST /api/v1/messages", "store", "queue", "submit_sm", "receipt", "callback"}
    request = spans.pop("POST /api/v1/messages")
    context = request.get_span_context()
    assert context is not None
    assert f"{context.trace_id:032x}" == TRACE
    assert request.parent is not None
    assert f"{request.parent.span_id:016x}" == "00f067aa0ba902b7"
    for span in spans.values():
        assert span.parent is not None
        assert (span.parent.trace_id, span.parent.span_id) == (context.trace_id, context.span_id)
        assert span.status.status_code is not StatusCode.ERROR
    assert attributes(request)["heliograph.message.id"] == ids.to_hex(message.key, message.tail)
    assert attributes(request)["http.response.status_code"] == 200
    required = {"http.request.method": "POST", "url.path": "/api/v1/messages", "url.scheme": "http"}
    assert required.items() <= attributes(request).items()
    assert attributes(spans["callback"]) == {
        "http.request.method": "POST", "server.address": "customer.example", "server.port": 443,
        "url.full": "https://customer.example:443/REDACTED", "http.response.status_code": 200,
    }  # fmt: skip
    assert str(attributes(request)["heliograph.request.id"]).startswith("test-")
    assert (spans["queue"].start_time, spans["queue"].end_time) == (START * MS, (START + 50) * MS)
    assert (spans["submit_sm"].start_time, spans["submit_sm"].end_time) == ((START + 50) * MS, (START + 90) * MS)
    assert (spans["receipt"].start_time, spans["receipt"].end_time) == ((START + 90) * MS, (START + 700) * MS)
    assert world.told == [TryResult(key, 200)]


async def test_the_callback_carries_the_trace_on() -> None:
    world = await traced()
    message = await world.send(SAMPLED)
    assert message is not None
    world.sender.post([job(message)])
    version, trace, parent, flags = world.fake.jobs[0].traceparent.split("-")
    world.fake.sent([TryResult(message.key, 500, "no luck")])
    span = world.spans()["callback"]
    context = span.get_span_context()
    assert context is not None
    assert (version, trace, parent, flags) == ("00", TRACE, f"{context.span_id:016x}", "01")
    assert span.status.status_code is StatusCode.ERROR
    assert attributes(span)["error.type"] == "500"


async def test_the_service_has_the_name_of_opentelemetrys_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, name in (("", "heliograph"), ("sms-gateway", "sms-gateway")):
        monkeypatch.setenv("OTEL_SERVICE_NAME", variable)
        world = await traced()
        assert await world.send() is not None
        resource = world.spans()["POST /api/v1/messages"].resource.attributes
        assert resource["service.name"] == name
        assert resource["service.version"]


async def test_a_method_that_http_does_not_have_is_another() -> None:
    world = await traced()
    scope = {
        "type": "http", "method": "BREW", "path": "/api/v1/messages", "query_string": b"", "headers": [],
        "client": ("192.0.2.7", 1), "http_version": "1.1",
    }  # fmt: skip
    await run_asgi(world.traces.around(world.gateway.app), scope, [b""])
    [span] = world.exporter.get_finished_spans()
    assert attributes(span)["http.request.method"] == "_OTHER"
    assert attributes(span)["http.request.method_original"] == "BREW"
    assert span.name == "HTTP /api/v1/messages"


async def test_spans_hold_neither_text_nor_number_nor_url() -> None:
    world = await traced()
    message = await world.send()
    assert message is not None
    world.sender.post([job(message)])
    world.fake.lost()
    for span in world.exporter.get_finished_spans():
        shown = span.to_json()
        for secret in ("secret", "4917012345678", "/dlr"):
            assert secret not in shown


@pytest.mark.parametrize(("ratio", "traceparent"), [(0.0, ""), (1.0, NOT_SAMPLED)])
async def test_who_is_not_sampled_leaves_nothing(ratio: float, traceparent: str) -> None:
    world = await traced(ratio)
    message = await world.send(traceparent)
    assert message is not None
    world.commit(Facts(submissions=[Submission(message.account, message.key, 0, 3, "op-1", 0, START, 0, 0)]))
    world.sender.post([job(message)])
    assert world.fake.jobs[0].traceparent == ""
    assert world.spans() == {}
    assert world.traces._messages == {}


async def test_a_callers_decision_to_trace_is_kept() -> None:
    world = await traced(0.0)
    assert await world.send(SAMPLED) is not None
    assert "POST /api/v1/messages" in world.spans()


@pytest.mark.parametrize("chosen", [True, False])
async def test_what_was_chosen_before_stays_chosen(chosen: bool) -> None:
    world = await traced(1.0 if chosen else 0.0)
    headers: Headers = []
    assert world.traces.choice(headers) == chosen
    world.traces.choice._ratio = 1.0 - world.traces.choice._ratio
    scope = {
        "type": "http", "method": "GET", "path": "/api/v1/messages", "query_string": b"", "headers": headers,
        "client": ("192.0.2.7", 1), "http_version": "1.1",
    }  # fmt: skip
    await run_asgi(world.traces.around(world.gateway.app), scope, [b""])
    assert len(world.spans()) == chosen


@pytest.mark.parametrize(
    ("ratio", "headers", "traced"),
    [
        (0.0, {}, False),
        (1.0, {}, True),
        (0.0, {b"traceparent": SAMPLED.encode()}, True),
        (1.0, {b"traceparent": NOT_SAMPLED.encode()}, False),
        (1.0, {b"traceparent": b"nonsense-00"}, True),
        (0.0, {b"traceparent": b"nonsense-01"}, False),
    ],
)
def test_the_choice(ratio: float, headers: dict[bytes, bytes], traced: bool) -> None:
    assert Choice(ratio)([(b"host", b"x"), *headers.items()]) is traced


async def test_a_header_that_is_none_is_passed_over() -> None:
    world = await traced()
    assert await world.send("00-nonsense") is not None
    context = world.spans()["POST /api/v1/messages"].get_span_context()
    assert context is not None
    assert f"{context.trace_id:032x}" != TRACE


async def test_a_refused_request_has_its_span_and_nothing_is_kept() -> None:
    world = await traced()
    assert await world.send(to="+49") is None
    spans = world.spans()
    assert set(spans) == {"POST /api/v1/messages"}
    assert attributes(spans["POST /api/v1/messages"])["http.response.status_code"] == 400
    assert world.traces._messages == {}


async def test_what_went_wrong_is_marked_and_what_is_over_is_forgotten() -> None:
    world = await traced()
    message = await world.send()
    assert message is not None
    key = message.key
    world.commit(Facts(attempts=[Attempt(message.account, key, 0, 3, 0x58, START)]))
    world.commit(Facts(submissions=[Submission(message.account, key, 0, 3, "", 0x0B, START + 9, 1, 8)]))
    world.commit(
        Facts(finals=[MessageEnd(message.account, key, Delivery.REJECTD, "011", START + 9, owed=False, failed=True)])
    )
    spans = world.spans()
    for name in ("put off", "submit_sm", "failed"):
        assert spans[name].status.status_code is StatusCode.ERROR
    assert world.traces._messages == {}
    world.commit(Facts(submissions=[Submission(message.account, key, 0, 3, "again", 0, START, 1, 8)]))
    assert len(world.exporter.get_finished_spans()) == 6


async def test_ids_do_not_stand_in_the_names_of_spans() -> None:
    world = await traced()
    scope = {
        "type": "http", "method": "GET", "path": f"/api/v1/messages/{'0' * 32}/events", "query_string": b"",
        "headers": [], "client": ("192.0.2.7", 1), "http_version": "1.1",
    }  # fmt: skip
    await run_asgi(world.traces.around(world.gateway.app), scope, [b""])
    assert set(world.spans()) == {"GET /api/v1/messages/{id}/events"}


async def test_what_is_no_api_is_not_traced() -> None:
    world = await traced()
    scope = {
        "type": "http", "method": "GET", "path": "/health/live", "query_string": b"",
        "headers": [], "client": ("192.0.2.7", 1), "http_version": "1.1",
    }  # fmt: skip
    reply = await run_asgi(world.traces.around(world.gateway.app), scope, [b""])
    assert reply.status == 200
    assert world.spans() == {}


async def test_the_end_ends_what_is_in_the_air() -> None:
    world = await traced()
    message = await world.send()
    assert message is not None
    world.sender.post([job(message)])
    assert "callback" not in world.spans()
    await world.traces.close()
    assert "callback" in world.spans()


async def test_the_trace_of_what_a_phone_wrote_ends_with_its_callback() -> None:
    watched = await traced()
    message = InboundMessage(
        1, 3, "491", "3388", "the secret text", b"", 0, START - 4, way=Way.WEBHOOK, key=5 << 16, tail=7
    )
    pulled = InboundMessage(1, 3, "491", "3388", "the secret text", b"", 0, START - 4, key=6 << 16, tail=7)
    watched.commit(Facts(inbound=[message]))
    job = WebhookJob(message.key, "mo_1", "https://acme.example/inbound", b"", "text/plain", (b"s",))
    watched.sender.post([job])
    watched.fake.sent([TryResult(message.key, 200, "")])
    watched.commit(
        Facts(callbacks=[CallbackDone(1, message.key, CallbackEnd.DELIVERED, 200, 1, START)], inbound=[pulled])
    )
    again = WebhookJob(message.key, "mo_1", "https://acme.example/inbound", b"", "text/plain", (b"s",))
    watched.sender.post([again])
    first, *_ = (span for span in watched.exporter.get_finished_spans() if span.name == "deliver_sm")
    callback = watched.spans()["callback"]
    assert first.parent is None
    assert callback.parent is not None
    assert callback.parent.span_id == first.context.span_id
    assert (first.end_time or 0) - (first.start_time or 0) == 4 * MS
    assert attributes(first) == {
        "heliograph.message.id": ids.to_hex(message.key, 7), "heliograph.connector": 3, "heliograph.parts": 1,
        "heliograph.routed": True,
    }  # fmt: skip
    assert job.traceparent
    assert not again.traceparent
    assert "secret" not in str([span.to_json() for span in watched.exporter.get_finished_spans()])


async def test_what_phones_write_is_traced_by_chance() -> None:
    watched = await traced(0.0)
    watched.commit(Facts(inbound=[InboundMessage(1, 3, "491", "3388", "Hi", b"Hi", 0, START, key=5 << 16, tail=7)]))
    assert watched.spans() == {}
