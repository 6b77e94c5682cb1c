"""What the gateway does for commands on the same machine while it runs: metrics, happenings, the log's level."""

from heliograph.adapters.control.event_stream import Streams
from heliograph.adapters.control.log_level import Logbook
from heliograph.adapters.control.server import Door

__all__ = ["Door", "Logbook", "Streams"]
