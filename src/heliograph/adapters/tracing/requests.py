"""A span for each request of the API; one that brings a W3C traceparent goes on with that trace."""

import re
from collections.abc import Awaitable, Callable, MutableMapping
from contextvars import ContextVar
from typing import Any

from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

current: ContextVar[Span | None] = ContextVar("current", default=None)
"""The span of the request that is being answered, if it is sampled."""

_ID = re.compile(r"/messages/[^/]+")
_CONTEXT = frozenset({b"traceparent", b"tracestate"})


class TracedRequests:
    """Goes around the application; only `/api` is traced."""

    def __init__(self, application: Asgi, tracer: Tracer) -> None:
        self._application = application
        self._tracer = tracer
        self._read = TraceContextTextMapPropagator()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/api/"):
            await self._application(scope, receive, send)
            return
        carrier = {name.decode(): value.decode("latin-1") for name, value in scope["headers"] if name in _CONTEXT}
        route = _route(scope["path"])
        span = self._tracer.start_span(
            f"{scope['method']} {route}",
            self._read.extract(carrier),
            SpanKind.SERVER,
            {"http.request.method": scope["method"], "http.route": route},
        )
        if not span.is_recording():
            await self._application(scope, receive, send)
            return

        async def noting(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                _note(span, message)
            await send(message)

        token = current.set(span)
        try:
            await self._application(scope, receive, noting)
        finally:
            current.reset(token)
            span.end()


def _note(span: Span, start: MutableMapping[str, Any]) -> None:
    status = start["status"]
    span.set_attribute("http.response.status_code", status)
    for name, value in start["headers"]:
        if name == b"x-request-id":
            span.set_attribute("heliograph.request.id", value.decode("latin-1"))
    if status >= 500:
        span.set_status(Status(StatusCode.ERROR))


def _route(path: str) -> str:
    """The path without the id in it: the names of spans are few."""
    path = path.rstrip("/")
    return path if path.endswith("/quote") else _ID.sub("/messages/{id}", path)
