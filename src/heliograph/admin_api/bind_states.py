"""How a connector's links stand, from what gateways last said of them."""

import json
from collections.abc import Iterable
from typing import Any

from heliograph.app.configuration import Connector, LinkState

FRESH_MS = 20_000
"""What a gateway said so long ago it would say again by now, if it ran."""


def standing(connector: Connector, states: Iterable[LinkState], now: int) -> str:
    """Over all nodes that spoke of late: bound, N of M bound, silent, bound and N silent, not bound, wrong credentials,
    disabled, no gateway."""
    said = [read(each) for each in states if each.connector == connector.id and now - each.at < FRESH_MS]
    if not connector.enabled:
        return "disabled"
    if not said:
        return "no gateway"
    bound = sum(state.get("bound", 0) for state in said)
    binds = sum(len(state.get("binds", ())) for state in said)
    if bound:
        words = "bound" if bound == binds else f"{bound} of {binds} bound"
        silent = sum(state.get("silent", 0) for state in said)
        if silent == binds:
            return "silent"
        return f"{words}, {silent} silent" if silent else words
    return "wrong credentials" if any(state.get("credentials_refused") for state in said) else "not bound"


def read(state: LinkState) -> dict[str, Any]:
    """What a gateway said."""
    try:
        found = json.loads(state.state)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
