"""The part of the composition root for administration: the admin API and the console."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heliograph import admin_api, console
from heliograph.adapters.system.passkeys import WebauthnPasskeys
from heliograph.admin_api.checks import CertificateEndpoint, HostCheck, OwnNames
from heliograph.admin_api.request import AdminServices, Exports
from heliograph.app.admin.second_factors import ManageFactors
from heliograph.app.admin.sign_in import SignIn
from heliograph.app.admin.signed_state import SignedState
from heliograph.app.observing.counters import MessageCounters
from heliograph.app.observing.refusals import Refusals
from heliograph.app.ports import Clock, Journal, Secrets, Store
from heliograph.app.resources.desk import Desk
from heliograph.app.sending.authenticate import Hash, Rehash
from heliograph.app.sending.compose import Composer
from heliograph.app.sending.directory import Directory
from heliograph.app.sending.failure_register import FailureRegister
from heliograph.app.sending.password_queue import Verify
from heliograph.app.sending.send import Sending
from heliograph.composition.commands import audit_secret
from heliograph.composition.connectors import ADAPTERS, KINDS
from heliograph.composition.dev import NAMES
from heliograph.config import Settings
from heliograph.domain.message.receipt import Delivery
from heliograph.http.asgi import Asgi
from heliograph.http.on_demand import OnDemand
from heliograph.runtime.engine import Engine
from heliograph.runtime.recent_activity import RecentActivity
from heliograph.smpp.constants import CommandStatus

if TYPE_CHECKING:
    from heliograph.admin_api.app import AdminApi
    from heliograph.api.app import Api
    from heliograph.console.app import Console
    from heliograph.console.request import SimulatorControl


@dataclass(slots=True)
class AdminParts:
    """The parts of the gateway that the admin API and the console use. `simulated` is a development run's operator."""

    settings: Settings
    store: Store
    secrets: Secrets
    clock: Clock
    journal: Journal
    verify: Verify
    register: FailureRegister
    wrong_codes: FailureRegister
    tickets: SignedState
    hash_password: Hash
    directory: Directory
    composer: Composer
    sending: Sending
    refusals: Refusals
    engine: Engine
    counters: MessageCounters
    simulated: "SimulatorControl | None" = None


class AdminApps:
    """The admin API and the console. Each is made by its first request: together they take 10 % of the gateway's
    memory, and most gateways run for weeks without them."""

    def __init__(self, parts: AdminParts) -> None:
        """Must be made when the engine runs."""
        self._parts = parts
        store, clock = parts.store, parts.clock
        self._services = AdminServices(
            sign_in=SignIn(
                store,
                parts.secrets,
                clock,
                parts.verify,
                parts.register,
                parts.wrong_codes,
                asyncio.sleep,
                Rehash(parts.secrets, parts.hash_password, store.sign_ins),
                parts.tickets,
                WebauthnPasskeys(),
                int(parts.settings.console.idle_minutes * 60_000),
                second_required=parts.settings.console.second_factor == "required",
            ),
            desk=Desk(
                store,
                clock,
                secrets=parts.secrets,
                hasher=parts.hash_password,
                callback_urls=parts.composer.callback_urls,
                composer=lambda: parts.composer,
                kinds=KINDS,
                simulated={} if parts.simulated is None else NAMES,
                past=NAMES,
                status_name=CommandStatus.name_of,
                audit_secret=lambda: audit_secret(parts.settings),
                hours_days=parts.settings.reports.hours_days,
                carrier_states=parts.engine.carrier_states,
                waiting=lambda: waiting_in_lanes(parts.engine),
                healthy=lambda: parts.engine.gatherer.healthy,
                probe=lambda connector: ADAPTERS[connector.kind].probe(connector, parts.settings),
                ported=lambda: parts.directory.ported,
                pause=asyncio.sleep,
                in_thread=asyncio.to_thread,
            ),
            journal=parts.journal,
            exports=Exports(parts.settings.console.exports),
        )
        self._pulse = RecentActivity(lambda: counts(parts.counters), ("accepted", "submitted", "delivered", "failed"))
        self._console: Console | None = None

    def start(self, api: "Api") -> None:
        """Mounts /admin/v1 and /console."""
        self._pulse.start()
        admin: Asgi = OnDemand(self._make_api)
        if self._parts.settings.admin.client_ca_file:
            admin = CertificateEndpoint(admin)
        api.mount(admin_api.PATH, self._by_name(admin))
        api.mount(console.PATH, self._by_name(OnDemand(self._make_console)))
        api.home = f"{console.PATH}/"

    def _by_name(self, application: Asgi) -> Asgi:
        """Puts the host check in front of an application if host names are set."""
        names = self._parts.settings.console.names
        return HostCheck(application, OwnNames(names)) if names else application

    async def stop(self) -> None:
        """Stops the lists that the console is sending; the sent part stays sent."""
        await self._pulse.stop()
        if self._console is not None:
            await self._console.stop()

    def _make_api(self) -> "AdminApi":
        from heliograph.admin_api.app import AdminApi

        return AdminApi(self._services)

    def _make_console(self) -> "Console":
        from heliograph.console.app import Console
        from heliograph.console.render import Renderer
        from heliograph.console.request import ConsoleServices

        renderer = Renderer()
        renderer.compile()
        parts = self._parts
        self._console = Console(
            ConsoleServices(
                admin=self._services,
                factors=ManageFactors(parts.store, parts.secrets, parts.clock, parts.tickets, WebauthnPasskeys()),
                directory=parts.directory,
                sending=parts.sending,
                refusals=parts.refusals,
                clock=parts.clock,
                secrets=parts.secrets,
                pulse=self._pulse,
                status_name=CommandStatus.name_of,
                simulated=parts.simulated,
            ),
            renderer,
        )
        return self._console


def waiting_in_lanes(engine: Engine) -> dict[int, tuple[int, int | None]]:
    """Returns the number of messages in each connector's lane, and the due time of the oldest."""
    return {number: (len(lane), lane.oldest) for number, lane in engine.dispatcher.lanes.items()}


def counts(counters: MessageCounters) -> dict[str, int]:
    """Returns the counters of the console's charts, since the start."""
    ended = sum(counters.finals.values()) + sum(counters.failures.values())
    delivered = counters.finals[Delivery.DELIVRD]
    return {
        "accepted": counters.immediate + counters.scheduled,
        "submitted": sum(lane.accepted + lane.refused for lane in counters.lanes.values()),
        "delivered": delivered,
        "failed": ended - delivered,
    }
