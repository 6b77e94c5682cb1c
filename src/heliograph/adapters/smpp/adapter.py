"""The adapter for the composition: makes the carrier of a connector, and tests a connector. The other modules are
imported when they are needed."""

from heliograph.app.configuration import Connector
from heliograph.app.ports import Carrier, CarrierEvents, Clock, Journal, LeaseEnd
from heliograph.config import Settings
from heliograph.domain.security.host import AllowedHosts


def start_carrier(
    connector: Connector,
    events: CarrierEvents,
    clock: Clock,
    journal: Journal,
    settings: Settings,
    lease_end: LeaseEnd,
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
    carrier = SmppCarrier(
        connector, events, clock=clock, journal=journal, timings=timings, allowed=allowed, lease_end=lease_end
    )
    carrier.start()
    return carrier


async def probe_connector(connector: Connector, settings: Settings) -> list[tuple[str, bool, str]]:
    from heliograph.adapters.smpp.probe import probe

    return (await probe(connector, allowed=AllowedHosts(settings.smpp.allowed_hosts))).steps
