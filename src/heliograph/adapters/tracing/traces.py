"""Traces: one for each sampled request, with spans made from the facts and their times.

Traces are kept in memory only. After a restart a message continues, but its trace has ended.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from opentelemetry.context import Context
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, Status, StatusCode, set_span_in_context
from opentelemetry.trace.span import format_span_id, format_trace_id
from opentelemetry.util.types import Attributes

from heliograph import __version__
from heliograph.adapters.tracing.requests import Choice, TracedRequests, current
from heliograph.app.facts import Accept, Facts, InboundMessage, Verdict
from heliograph.app.ports import Clock, Intake, WebhookSender
from heliograph.app.webhook_job import TryResult, WebhookJob
from heliograph.domain.message import ids
from heliograph.domain.message.receipt import err_of
from heliograph.http.asgi import Asgi

KEPT = 20_000
"""Most messages with an open trace. Traces of older messages have ended."""

CLOSE_MS = 5_000
"""Milliseconds that the last spans have to leave, at the end."""

_MS = 1_000_000
"""Nanoseconds in a millisecond."""


class TraceWatcher:
    """Makes spans of facts as a `Watcher`, and wraps requests, intake and sender."""

    def __init__(self, processor: SpanProcessor, ratio: float, clock: Clock) -> None:
        """`ratio`: share of the requests that are traced, for example 0.01, among requests without a traceparent."""
        resource = Resource.create({"service.name": "heliograph", "service.version": __version__})
        # Without this, our name would take precedence over OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
        resource = resource.merge(OTELResourceDetector().detect())
        # The spans end with `close`, not with the interpreter.
        self._provider = TracerProvider(sampler=ALWAYS_ON, resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("heliograph", __version__)
        self._clock = clock
        self.choice = Choice(ratio)
        self._messages: OrderedDict[int, SpanContext] = OrderedDict()
        """The span of the request, or of the inbound message, by the message's key."""
        self._calls: dict[int, Span] = {}
        """Spans of callbacks in flight, by the message's key."""

    # --- wrappers around other parts

    def around(self, application: Asgi) -> Asgi:
        """Wraps the application in `TracedRequests`."""
        return TracedRequests(application, self._tracer, self.choice)

    def intake(self, intake: Intake) -> Intake:
        return _TracedIntake(intake, self)

    def sender(self, sender: WebhookSender) -> WebhookSender:
        return _TracedSender(sender, self)

    async def close(self) -> None:
        """Ends the spans of callbacks in flight, and exports all spans that are left."""
        for span in self._calls.values():
            span.end()
        await asyncio.to_thread(self._shut)

    def _shut(self) -> None:
        self._provider.force_flush(CLOSE_MS)
        self._provider.shutdown()

    # --- a message's way

    def accepted(self, accept: Accept, request: Span) -> None:
        """Notes that a traced request was accepted."""
        context = request.get_span_context()
        now = self._clock.now()
        self._span("store", context, accept.at, now, {"heliograph.messages": len(accept.messages)})
        request.set_attribute("heliograph.message.id", ids.to_hex(accept.key, accept.tail))
        for message in accept.messages:
            self._keep(message.key, context)

    def committed(self, facts: Facts, now: int, seconds: float) -> None:  # noqa: ARG002 - the protocol's signature
        """See `app.ports.Watcher`."""
        for message in facts.inbound:
            if self.choice.by_chance():
                self._received(message, now)
        if not self._messages:
            return
        self._note_answers(facts)
        for final in facts.finals:
            context = self._messages.get(final.key)
            if context is None:
                continue
            attributes = {"heliograph.state": final.state.name, "heliograph.err": err_of(final.err, final.state)}
            if final.err:
                attributes["heliograph.operator_code"] = final.err
            name = "failed" if final.failed else "receipt"
            self._span(name, context, final.at - max(0, final.waited), final.at, attributes, bad=final.failed)
            if not final.owed:
                del self._messages[final.key]
        for done in facts.callbacks:
            self._messages.pop(done.key, None)

    def _received(self, message: InboundMessage, now: int) -> None:
        """Begins the trace of a message from a phone. Its first span lasts from the read of the message, or of its last
        part, until it is on disk."""
        attributes: Attributes = {
            "heliograph.message.id": ids.to_hex(message.key, message.tail),
            "heliograph.connector": message.connector,
            "heliograph.parts": message.parts,
            "heliograph.routed": message.account != 0,
        }
        span = self._tracer.start_span(
            "deliver_sm", Context(), SpanKind.SERVER, attributes, start_time=message.at * _MS
        )
        span.end(max(message.at, now) * _MS)
        if message.way:
            self._keep(message.key, span.get_span_context())

    def _keep(self, key: int, context: SpanContext) -> None:
        self._messages[key] = context
        while len(self._messages) > KEPT:
            self._messages.popitem(last=False)

    def _note_answers(self, facts: Facts) -> None:
        for attempt in (*facts.attempts, *facts.throttles):
            context = self._messages.get(attempt.key)
            if context is not None:
                attributes = {"heliograph.segment": attempt.segment + 1, "smpp.command_status": attempt.status}
                self._span("put off", context, attempt.at, attempt.at, attributes, bad=True)
        for answer in facts.submissions:
            context = self._messages.get(answer.key)
            if context is None or answer.took < 0:
                continue
            written = answer.at - answer.took
            attributes = {"heliograph.segment": answer.segment + 1, "heliograph.connector": answer.connector}
            self._span("queue", context, written - max(0, answer.waited), written, attributes)
            attributes = attributes | {"smpp.command_status": answer.status}
            bad = answer.status != 0
            self._span("submit_sm", context, written, answer.at, attributes, kind=SpanKind.CLIENT, bad=bad)

    def _span(
        self,
        name: str,
        parent: SpanContext,
        start: int,
        end: int,
        attributes: Attributes,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        bad: bool = False,
    ) -> None:
        """Exports a span that has ended. Times are in ms."""
        span = self._tracer.start_span(name, _below(parent), kind, attributes, start_time=start * _MS)
        if bad:
            span.set_status(Status(StatusCode.ERROR))
        span.end(max(start, end) * _MS)

    # --- callbacks

    def posted(self, jobs: Sequence[WebhookJob]) -> None:
        """Gives the callbacks of traced messages their header, right before they are posted."""
        for job in jobs:
            parent = self._messages.get(job.key)
            if parent is None:
                continue
            span = self._tracer.start_span("callback", _below(parent), SpanKind.CLIENT, _receiver(job.url))
            context = span.get_span_context()
            self._calls[job.key] = span
            job.traceparent = (
                f"00-{format_trace_id(context.trace_id)}-{format_span_id(context.span_id)}-{context.trace_flags:02x}"
            )

    def answered(self, results: Sequence[TryResult]) -> None:
        for sent in results:
            span = self._calls.pop(sent.key, None)
            if span is None:
                continue
            if sent.code:
                span.set_attribute("http.response.status_code", sent.code)
            if not 200 <= sent.code < 300:
                span.set_attribute("error.type", str(sent.code or "_OTHER"))
                span.set_status(Status(StatusCode.ERROR, sent.problem))
            span.end()

    def lost(self) -> None:
        calls, self._calls = self._calls, {}
        for span in calls.values():
            span.set_attribute("error.type", "_OTHER")
            span.set_status(Status(StatusCode.ERROR, "the sender stopped"))
            span.end()


class _TracedIntake:
    def __init__(self, intake: Intake, traces: TraceWatcher) -> None:
        self._intake = intake
        self._traces = traces

    @property
    def away(self) -> bool:
        return self._intake.away

    def accept(self, accept: Accept, then: Callable[[Accept], None]) -> bool:
        span = current.get()
        if span is None:
            return self._intake.accept(accept, then)

        def traced(done: Accept) -> None:
            if done.verdict is Verdict.ACCEPTED:
                self._traces.accepted(done, span)
            # A commit calls this outside of the request's context. Log lines of the answer belong to its span.
            token = current.set(span)
            try:
                then(done)
            finally:
                current.reset(token)

        return self._intake.accept(accept, traced)


class _TracedSender:
    def __init__(self, sender: WebhookSender, traces: TraceWatcher) -> None:
        self._sender = sender
        self._traces = traces

    def post(self, jobs: Sequence[WebhookJob]) -> None:
        self._traces.posted(jobs)
        self._sender.post(jobs)

    def on_sent(self, listener: Callable[[list[TryResult]], None]) -> None:
        def heard(results: list[TryResult]) -> None:
            self._traces.answered(results)
            listener(results)

        self._sender.on_sent(heard)

    def on_lost(self, listener: Callable[[], None]) -> None:
        def heard() -> None:
            self._traces.lost()
            listener()

        self._sender.on_lost(heard)

    async def close(self) -> None:
        await self._sender.close()


def _receiver(url: str) -> dict[str, str | int]:
    """Returns the attributes of a callback. Its path and query may contain secrets, so they are left out."""
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return {
        "http.request.method": "POST",
        "server.address": parts.hostname or "",
        "server.port": port,
        "url.full": f"{parts.scheme}://{host}:{port}/REDACTED",
    }


def _below(parent: SpanContext) -> Context:
    return set_span_in_context(NonRecordingSpan(parent))


def open_traces(endpoint: str, ratio: float, clock: Clock) -> TraceWatcher:
    """Opens traces that export spans by OTLP over HTTP, in a thread of their own; spans that cannot be sent are
    dropped. Without an endpoint, the exporter finds it in the variables of OpenTelemetry."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    return TraceWatcher(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint or None)), ratio, clock)
