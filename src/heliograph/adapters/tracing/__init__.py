"""Traces of messages, from the request over queue, operator and receipt to the callback, by OpenTelemetry.

It needs the extra `otel`, and is imported only where the settings ask for it.
"""

from heliograph.adapters.tracing.requests import TraceIds
from heliograph.adapters.tracing.traces import TraceWatcher, open_traces

__all__ = ["TraceIds", "TraceWatcher", "open_traces"]
