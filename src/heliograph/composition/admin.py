"""The part of the composition root for those who look after the gateway: the admin API and the console."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heliograph import admin_api, console
from heliograph.admin_api.request import AdminServices, ProbeResult
from heliograph.app.admin.manage import Manage
from heliograph.app.admin.sign_in import Hash, SignIn, Verify
from heliograph.app.admin.users import UserAdministration
from heliograph.app.admin.views import Views
from heliograph.app.configuration import Connector
from heliograph.app.observing.counters import MessageCounters
from heliograph.app.ports import Clock, Journal, Secrets, Store
from heliograph.app.sending.compose import Composer
from heliograph.app.sending.directory import Directory
from heliograph.app.sending.reschedule import Rescheduling
from heliograph.app.sending.send import Sending
from heliograph.domain.receipt import Delivery
from heliograph.http.on_demand import OnDemand
from heliograph.runtime.engine import Engine
from heliograph.runtime.recent_activity import RecentActivity

if TYPE_CHECKING:
    from heliograph.admin_api.app import AdminApi
    from heliograph.api.app import Api
    from heliograph.console.app import Console
    from heliograph.console.request import SimulatorControl


@dataclass(slots=True)
class AdminParts:
    """What the back office is given. `probe` tries a bind out, `status_name` names a command status, `fallbacks` are
    connectors that the store does not have, by id."""

    store: Store
    secrets: Secrets
    clock: Clock
    journal: Journal
    verify: Verify
    hash_password: Hash
    manage: Manage
    directory: Directory
    composer: Composer
    sending: Sending
    engine: Engine
    counters: MessageCounters
    probe: Callable[[Connector], Awaitable[ProbeResult]]
    status_name: Callable[[int], str]
    fallbacks: dict[int, str]
    names: dict[int, str]
    simulated: "SimulatorControl | None" = None


class AdminApps:
    """The admin API and the console. Each is made when somebody first asks for it: together they are a tenth of the
    gateway's memory, and most gateways run for weeks without."""

    def __init__(self, means: AdminParts) -> None:
        """To be made when the engine runs."""
        self._means = means
        store, clock = means.store, means.clock
        self._services = AdminServices(
            sign_in=SignIn(store, means.secrets, clock, means.verify),
            manage=means.manage,
            views=Views(
                store,
                means.directory,
                Rescheduling(store.customers, means.composer),
                clock,
                means.fallbacks,
                names=means.names,
                status_name=means.status_name,
            ),
            journal=means.journal,
            probe=means.probe,
            carrier_states=means.engine.carrier_states,
        )
        self._pulse = RecentActivity(lambda: counts(means.counters), ("accepted", "submitted", "delivered", "failed"))
        self._console: Console | None = None

    def start(self, api: "Api") -> None:
        """Mounts /admin/v1 and /console."""
        self._pulse.start()
        api.mount(admin_api.PATH, OnDemand(self._make_api))
        api.mount(console.PATH, OnDemand(self._make_console))

    async def stop(self) -> None:
        """Lists that are being sent from the console end where they are."""
        await self._pulse.stop()
        if self._console is not None:
            await self._console.stop()

    def _make_api(self) -> "AdminApi":
        from heliograph.admin_api.app import AdminApi

        return AdminApi(self._services)

    def _make_console(self) -> "Console":
        from heliograph.console.app import Console
        from heliograph.console.request import ConsoleServices

        means = self._means
        self._console = Console(
            ConsoleServices(
                admin=self._services,
                users=UserAdministration(means.store, means.secrets, means.clock, hash_password=means.hash_password),
                directory=means.directory,
                sending=means.sending,
                clock=means.clock,
                secrets=means.secrets,
                pulse=self._pulse,
                waiting=lambda: {
                    number: (len(lane), lane.oldest) for number, lane in means.engine.dispatcher.lanes.items()
                },
                healthy=lambda: means.engine.gatherer.healthy,
                status_name=means.status_name,
                simulated=means.simulated,
            )
        )
        self._console.compile()
        return self._console


def counts(counters: MessageCounters) -> dict[str, int]:
    """What the console's charts show, counted since the start."""
    ended = sum(counters.finals.values()) + sum(counters.failures.values())
    delivered = counters.finals[Delivery.DELIVRD]
    return {
        "accepted": counters.immediate + counters.scheduled,
        "submitted": sum(lane.accepted + lane.refused for lane in counters.lanes.values()),
        "delivered": delivered,
        "failed": ended - delivered,
    }
