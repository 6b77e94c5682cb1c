"""Sums up the state of a connector's binds over all nodes, from their latest reports."""

from collections.abc import Iterable

from heliograph.app.configuration import Connector
from heliograph.app.ports import ConnectorReport
from heliograph.app.ports.carrier_state import FRESH_MS


def summed_up(connector: Connector, reports: Iterable[ConnectorReport], now: int) -> str:
    """Over all nodes that spoke of late: bound, N of M bound, silent, bound and N silent, not bound, wrong credentials,
    disabled, no gateway."""
    said = [each.state for each in reports if each.connector == connector.id and now - each.at < FRESH_MS]
    if not connector.enabled:
        return "disabled"
    if not said:
        return "no gateway"
    bound = sum(state.bound for state in said)
    binds = sum(len(state.binds) for state in said)
    if bound:
        words = "bound" if bound == binds else f"{bound} of {binds} bound"
        silent = sum(state.silent for state in said)
        if silent == binds:
            return "silent"
        return f"{words}, {silent} silent" if silent else words
    return "wrong credentials" if any(state.credentials_refused for state in said) else "not bound"
