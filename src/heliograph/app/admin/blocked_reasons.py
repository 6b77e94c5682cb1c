"""The reason why a connector sends nothing now, as the end of a sentence."""

from collections.abc import Sequence

from heliograph.app.configuration import Tables
from heliograph.app.ports import ConnectorReport
from heliograph.app.ports.carrier_state import FRESH_MS
from heliograph.domain.calendar import format_utc
from heliograph.domain.display import duration


class BlockedReasons:
    """Judges connectors by their configuration and by the last words of the nodes that have them."""

    def __init__(self, tables: Tables, reports: Sequence[ConnectorReport], now: int) -> None:
        self._enabled = {connector.id: connector.enabled for connector in tables.connectors}
        self._fresh = [each for each in reports if now - each.at < FRESH_MS]
        self._now = now

    def blocked_reason(self, connector: int) -> str:
        """Returns the rest of a sentence that begins with the connector, such as `which is paused.`; empty where a
        message can leave by it."""
        if not self._enabled.get(connector, True):
            return "which is paused: resume it."
        states = [each.state for each in self._fresh if each.connector == connector]
        if not states:
            return "which no running gateway has."
        if any(state.bound and state.down_since is None for state in states):
            return ""
        known = [state.down_since for state in states if state.down_since is not None]
        since = max(known, default=None)
        summary = next((state.summary for state in states), "")
        if since is None:
            return f"which is down. {summary}"
        return f"which has been down since {format_utc(since)[:19]}Z, for {duration(self._now - since)}. {summary}"
