"""The list of the API's doors. A door is a module or a folder, and a line in `open_doors`."""

from heliograph.api import answer, operations
from heliograph.api.account import AccountDoor
from heliograph.api.call import Call
from heliograph.api.checks import RequestChecks
from heliograph.api.door import HttpDoor, json_handlers
from heliograph.api.messages import MessagesDoor
from heliograph.api.services import Services
from heliograph.api.shapes import Health
from heliograph.domain.error import Fault
from heliograph.http.reply import Reply

READY_KEPT_S = 1.0
"""Seconds for which the answer of /health/ready is cached, because the check writes to the disk."""


def open_doors(services: Services, checks: RequestChecks) -> list[HttpDoor]:
    """Returns the doors that the settings open."""
    doors: list[HttpDoor] = [HealthDoor(services, checks)]
    if services.customers:
        doors += [
            MessagesDoor(services, checks, 1),
            MessagesDoor(services, checks, 2),
            AccountDoor(services, checks),
        ]
    return doors


class HealthDoor:
    """`/health`, for load balancers and monitors; without credentials."""

    def __init__(self, services: Services, checks: RequestChecks) -> None:
        self._clock = services.clock
        self._probe = services.probe
        self._ready_until = 0.0
        run = {"get_liveness": self._live, "get_readiness": self._ready}
        self.handlers = json_handlers(self, checks, None, operations.HEALTH, run)

    def refuse(self, fault: Fault) -> Reply:
        return answer.of_fault(fault)

    async def _live(self, _: Call, __: bytes) -> Reply:
        return answer.of(Health("00", "live"))

    async def _ready(self, _: Call, __: bytes) -> Reply:
        if self._clock.monotonic() >= self._ready_until:
            await self._probe()
            self._ready_until = self._clock.monotonic() + READY_KEPT_S
        return answer.of(Health("00", "ready"))
