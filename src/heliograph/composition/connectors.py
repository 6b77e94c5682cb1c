"""The list of the kinds of connectors, such as SMPP. A new kind is a line here, and a folder with its adapter."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from heliograph.adapters.smpp import adapter
from heliograph.adapters.smpp.kind import KIND as SMPP
from heliograph.app.configuration import Connector
from heliograph.app.connector_kind import ConnectorKind, LanePolicy
from heliograph.app.ports import Carrier, CarrierEvents, Clock, Journal, LeaseEnd
from heliograph.config import Settings


@dataclass(frozen=True, slots=True)
class ConnectorAdapter:
    """The adapter for the connectors of a kind. Its modules are imported on first use."""

    kind: ConnectorKind
    carrier: Callable[[Connector, CarrierEvents, Clock, Journal, Settings, LeaseEnd], Carrier]
    """Makes a carrier and starts it."""
    probe: Callable[[Connector, Settings], Awaitable[list[tuple[str, bool, str]]]]
    """Binds, sends enquire_link, unbinds. Returns the steps: the name, whether it passed, and the details. Never raises
    for faults of the operator."""


ADAPTERS: Final[Mapping[str, ConnectorAdapter]] = {
    SMPP.name: ConnectorAdapter(SMPP, adapter.start_carrier, adapter.probe_connector),
}
KINDS: Final[Mapping[str, ConnectorKind]] = {name: adapter.kind for name, adapter in ADAPTERS.items()}


def is_whole(connector: Connector) -> bool:
    """Returns whether a connector has all settings of its kind."""
    return KINDS[connector.kind].is_whole(connector)


def policy_of(connector: Connector) -> LanePolicy:
    """Returns the policy of a connector's lane, by its settings."""
    return KINDS[connector.kind].policy(connector)
