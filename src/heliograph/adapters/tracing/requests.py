"""A span for each request of the API. A request with a W3C traceparent continues that trace."""

import logging
import re
from contextvars import ContextVar
from random import random

from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from opentelemetry.trace.span import format_span_id, format_trace_id

from heliograph.http.asgi import Asgi, Event, Headers, Receive, Scope, Send

current: ContextVar[Span | None] = ContextVar("current", default=None)
"""Span of the request that is being answered, if it is sampled."""

_ID = re.compile(r"/messages/[^/]+")
_PARENT = re.compile(rb"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-([0-9a-f]{2})").match
_CONTEXT = frozenset({b"traceparent", b"tracestate"})


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
"""The methods that attributes name; any other is `_OTHER`."""

_CHOSEN = b":chosen"
"""Names the choice among a request's headers. No client can send it: no header begins with a colon."""


class Choice:
    """Chooses the requests to trace: by their traceparent, and `ratio` of the requests without a traceparent."""

    def __init__(self, ratio: float) -> None:
        self._ratio = ratio

    def __call__(self, headers: Headers) -> bool:
        """Chooses once: notes a choice by chance among the headers, where the next call finds it."""
        for name, value in headers:
            if name == _CHOSEN:
                return value == b"1"
            if name == b"traceparent" and (match := _PARENT(value)) is not None:
                return bool(int(match[1], 16) & 1)
        chosen = self.by_chance()
        headers.append((_CHOSEN, b"1" if chosen else b"0"))
        return chosen

    def by_chance(self) -> bool:
        """Chooses requests without a decision in their headers."""
        return random() < self._ratio


class TraceIds(logging.Filter):
    """Gives log records the `trace_id` and `span_id` of the request that is being answered, if it is sampled."""

    def filter(self, record: logging.LogRecord) -> bool:
        span = current.get()
        if span is not None:
            context = span.get_span_context()
            record.trace_id = format_trace_id(context.trace_id)
            record.span_id = format_span_id(context.span_id)
        return True


class TracedRequests:
    """Wraps the application. Traces `/api` only."""

    def __init__(self, application: Asgi, tracer: Tracer, choice: Choice) -> None:
        self._application = application
        self._tracer = tracer
        self._choice = choice
        self._read = TraceContextTextMapPropagator()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/api/") or not self._choice(scope["headers"]):
            await self._application(scope, receive, send)
            return
        carrier = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in _CONTEXT}
        # The path without the id in it, so that the names of spans are few.
        path = scope["path"].rstrip("/")
        route = path if path.endswith("/quote") else _ID.sub("/messages/{id}", path)
        is_known = scope["method"] in _METHODS
        span = self._tracer.start_span(
            f"{scope['method'] if is_known else 'HTTP'} {route}",
            self._read.extract(carrier),
            SpanKind.SERVER,
            {
                "http.request.method": scope["method"] if is_known else "_OTHER",
                "http.route": route,
                "url.path": scope["path"],
                "url.scheme": scope.get("scheme", "http"),
                "network.protocol.version": scope["http_version"],
            },
        )
        if not is_known:
            span.set_attribute("http.request.method_original", scope["method"])

        async def noting(message: Event) -> None:
            if message["type"] == "http.response.start":
                _note(span, message)
            await send(message)

        token = current.set(span)
        try:
            await self._application(scope, receive, noting)
        finally:
            current.reset(token)
            span.end()


def _note(span: Span, start: Event) -> None:
    status = start["status"]
    span.set_attribute("http.response.status_code", status)
    for name, value in start["headers"]:
        if name == b"x-request-id":
            span.set_attribute("heliograph.request.id", value.decode("latin-1"))
    if status >= 500:
        span.set_attribute("error.type", str(status))
        span.set_status(Status(StatusCode.ERROR))
