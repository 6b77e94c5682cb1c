"""The control socket of a running gateway, for commands on the same machine: metrics, events, the log's level."""

from heliograph.adapters.control.event_stream import EventStreams
from heliograph.adapters.control.log_level import LogLevelControl
from heliograph.adapters.control.server import ControlServer

__all__ = ["ControlServer", "EventStreams", "LogLevelControl"]
