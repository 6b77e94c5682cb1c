"""The kinds of connectors that there are. A kind is added here, and in the folder of the adapter that carries it."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from heliograph.adapters.smpp.kind import KIND as SMPP
from heliograph.app.configuration import Connector
from heliograph.app.connector_kind import ConnectorKind, LanePolicy
from heliograph.app.ports import Carrier, CarrierEvents, Clock, Journal
from heliograph.config import Settings
from heliograph.domain.security.host import AllowedHosts


class Probed(Protocol):
    """Result of probing a connector: each step with its name, its success, and details."""

    steps: list[tuple[str, bool, str]]

    @property
    def ok(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class ConnectorAdapter:
    """The adapter for the connectors of a kind. Its modules are imported on first use."""

    kind: ConnectorKind
    carrier: Callable[[Connector, CarrierEvents, Clock, Journal, Settings], Carrier]
    """Makes a carrier and starts it."""
    probe: Callable[[Connector, Settings], Coroutine[Any, Any, Probed]]
    """Binds, sends an enquiry, unbinds. Never raises for faults of the operator."""


def _smpp_carrier(
    connector: Connector, events: CarrierEvents, clock: Clock, journal: Journal, settings: Settings
) -> Carrier:
    from heliograph.adapters.smpp.carrier import SmppCarrier, Timings

    smpp = settings.smpp
    timings = Timings(
        connect_timeout_s=smpp.connect_timeout_s,
        response_timeout_s=smpp.response_timeout_s,
        enquire_interval_s=smpp.enquire_interval_s,
        enquire_timeout_s=smpp.enquire_timeout_s,
        reconnect_first_s=smpp.reconnect_first_s,
        reconnect_most_s=smpp.reconnect_most_s,
    )
    allowed = AllowedHosts(smpp.allowed_hosts)
    carrier = SmppCarrier(connector, events, clock=clock, journal=journal, timings=timings, allowed=allowed)
    carrier.start()
    return carrier


async def _smpp_probe(connector: Connector, settings: Settings) -> Probed:
    from heliograph.adapters.smpp.probe import probe

    return await probe(connector, allowed=AllowedHosts(settings.smpp.allowed_hosts))


ADAPTERS: Final[Mapping[str, ConnectorAdapter]] = {
    SMPP.name: ConnectorAdapter(SMPP, _smpp_carrier, _smpp_probe),
}
KINDS: Final[Mapping[str, ConnectorKind]] = {name: adapter.kind for name, adapter in ADAPTERS.items()}


def policy_of(connector: Connector) -> LanePolicy:
    """Returns the policy of a connector's lane, by its settings."""
    return KINDS[connector.kind].policy(connector)
