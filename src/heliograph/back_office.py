"""The part of the composition root for those who look after the gateway: the admin API and the console."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heliograph.admin import app as admin
from heliograph.admin.call import Desk, Probed
from heliograph.app.access import Access, Hash, Verify
from heliograph.app.accounts import Connector
from heliograph.app.administer import Administration
from heliograph.app.directory import Directory
from heliograph.app.oversee import Oversight
from heliograph.app.plan import Plan
from heliograph.app.ports import Clock, Intake, Journal, Secrets, Store
from heliograph.app.staff import Staff
from heliograph.app.submit import Submit
from heliograph.app.tally import Tally
from heliograph.domain.receipt import Delivery
from heliograph.runtime.engine import Engine
from heliograph.runtime.pulse import Pulse

if TYPE_CHECKING:
    from heliograph.api.app import Api
    from heliograph.console.visit import Simulated


@dataclass(slots=True)
class Means:
    """What the back office is given. `probe` tries a bind out, `status_name` names a command status, `fallbacks` are
    connectors that the store does not have, by id."""

    store: Store
    secrets: Secrets
    clock: Clock
    journal: Journal
    verify: Verify
    hash_password: Hash
    administration: Administration
    directory: Directory
    submit: Submit
    intake: Intake
    engine: Engine
    tally: Tally
    probe: Callable[[Connector], Awaitable[Probed]]
    status_name: Callable[[int], str]
    fallbacks: dict[int, str]
    names: dict[int, str]
    simulated: "Simulated | None" = None


class BackOffice:
    """Made when the engine runs."""

    def __init__(self, means: Means) -> None:
        from heliograph.console.app import Console
        from heliograph.console.visit import Services

        store, clock = means.store, means.clock
        desk = Desk(
            access=Access(store, means.secrets, clock, means.verify),
            administration=means.administration,
            oversight=Oversight(
                store,
                means.directory,
                Plan(store, means.submit),
                clock,
                means.fallbacks,
                names=means.names,
                status_name=means.status_name,
            ),
            journal=means.journal,
            probe=means.probe,
            links=means.engine.links,
        )
        self._api = admin.AdminApi(desk)
        self._console: Console = Console(
            Services(
                desk=desk,
                staff=Staff(store, means.secrets, clock, hash_password=means.hash_password),
                directory=means.directory,
                submit=means.submit,
                intake=means.intake,
                clock=clock,
                secrets=means.secrets,
                pulse=Pulse(lambda: counts(means.tally), ("accepted", "submitted", "delivered", "failed")),
                waiting=lambda: {
                    number: (len(lane), lane.oldest) for number, lane in means.engine.dispatcher.lanes.items()
                },
                healthy=lambda: means.engine.gatherer.healthy,
                status_name=means.status_name,
                simulated=means.simulated,
            )
        )

    async def start(self, api: "Api") -> None:
        """Mounts /admin/v1 and /console."""
        from heliograph.console.visit import PATH

        await self._console.start()
        api.mount(admin.PATH, self._api)
        api.mount(PATH, self._console)

    async def stop(self) -> None:
        """Lists that are being sent from the console end where they are."""
        await self._console.stop()


def counts(tally: Tally) -> dict[str, int]:
    """What the console's charts show, counted since the start."""
    ended = sum(tally.finals.values()) + sum(tally.failures.values())
    delivered = tally.finals[Delivery.DELIVRD]
    return {
        "accepted": tally.immediate + tally.scheduled,
        "submitted": sum(lane.accepted + lane.refused for lane in tally.lanes.values()),
        "delivered": delivered,
        "failed": ended - delivered,
    }
