"""What the gateway does for commands on the same machine while it runs: metrics, happenings, the log's level."""

from heliograph.adapters.control.door import Door
from heliograph.adapters.control.logbook import Logbook
from heliograph.adapters.control.stream import Streams

__all__ = ["Door", "Logbook", "Streams"]
