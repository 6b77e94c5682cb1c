"""The obstacles of connectors, as the nodes that have their binds report them."""

from collections.abc import Iterable
from typing import Final

from heliograph.app.ports import ConnectorReport
from heliograph.app.ports.carrier_state import FRESH_MS

FAILING: Final = "failing most messages"
"""Why a connector with an open breaker is not used, but for test messages."""


def reported_obstacles(reports: Iterable[ConnectorReport], now: int) -> dict[int, str]:
    """Returns why connectors cannot send, by id, as far as no node can. Stale reports do not count."""
    words: dict[int, str] = {}
    able: set[int] = set()
    for report in reports:
        if now - report.at < FRESH_MS:
            if report.state.obstacle:
                words[report.connector] = report.state.obstacle
            else:
                able.add(report.connector)
    return {connector: obstacle for connector, obstacle in words.items() if connector not in able}
