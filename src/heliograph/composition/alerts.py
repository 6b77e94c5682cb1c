"""The part of the composition root for alerts."""

import socket
from typing import TYPE_CHECKING

from heliograph.app.ports import Clock, Journal, SingleJob, Store
from heliograph.composition.watching import Unusable
from heliograph.config import Settings
from heliograph.runtime.engine import Engine

if TYPE_CHECKING:
    from heliograph.adapters.alerts import AppriseSender
    from heliograph.runtime.alerts import AlertWatch


def open_alert_sender(settings: Settings, *, quiet: bool) -> "AppriseSender | None":
    """Returns None if the setting `alerts.urls` is empty. `quiet`: Apprise itself logs nothing. Raises Unusable."""
    if not settings.alerts.urls:
        return None
    try:
        from heliograph.adapters.alerts import AppriseSender, UnusableUrl
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        raise Unusable(
            f"alerts.urls is set, and {missing} is not installed: pip install 'heliograph[alerts]'"
        ) from error
    try:
        return AppriseSender(settings.alerts.urls, quiet=quiet)
    except UnusableUrl as problem:
        raise Unusable(f"alerts.urls cannot be used: {problem}") from None


def gateway_name(settings: Settings) -> str:
    """Returns the name of the gateway for people: the console's first name, else the name of the machine."""
    return settings.console.names[0] if settings.console.names else socket.gethostname()


class Alerts:
    """The alerts of this node, if the settings want them."""

    def __init__(self, settings: Settings) -> None:
        """Raises Unusable if alerts cannot be sent as the settings say."""
        self._name = gateway_name(settings)
        self._sender = open_alert_sender(settings, quiet=True) if "upkeep" in settings.node.roles else None
        self._watch: AlertWatch | None = None

    def start(self, store: Store, clock: Clock, journal: Journal, engine: Engine, node: int) -> None:
        """Starts the rounds. The engine must run."""
        if self._sender is None:
            return
        from heliograph.app.resources.desk import Desk
        from heliograph.composition.admin import waiting_in_lanes
        from heliograph.runtime.alerts import AlertWatch

        desk = Desk(
            store,
            clock,
            carrier_states=engine.carrier_states,
            waiting=lambda: waiting_in_lanes(engine),
            healthy=lambda: engine.gatherer.healthy,
        )
        leases = store.leases
        has_job = None if leases is None else lambda: leases.lease_job(SingleJob.ALERTS, node)
        self._watch = AlertWatch(desk, self._sender, journal, self._name, has_job)
        self._watch.start(engine.watch)

    async def stop(self) -> None:
        """Harmless if it was never started."""
        if self._watch is not None:
            await self._watch.stop()
