"""The list of the API's doors. A door is a module or a folder, and a line in `open_doors`."""

import asyncio

from heliograph.api import answer, operations
from heliograph.api.account import AccountDoor
from heliograph.api.call import Call
from heliograph.api.checks import RequestChecks
from heliograph.api.door import HttpDoor, json_handlers
from heliograph.api.messages import MessagesDoor
from heliograph.api.services import Services
from heliograph.api.shapes import Health
from heliograph.app.ports import Unavailable
from heliograph.app.sending.refusal import STORE_PAUSE_S
from heliograph.domain.error import UNAVAILABLE, Fault
from heliograph.http.reply import Reply

READY_KEPT_S = 1.0
"""Seconds for which the answer of /health/ready is cached, because the check writes to the disk."""

READY_WITHIN_S = 0.8
"""Seconds after which a check of the store that has no result counts as failed. Load balancers wait for a second."""


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
        self._services = services
        self._probing: asyncio.Future[None] | None = None
        self._ready_until = 0.0
        run = {"get_liveness": self._live, "get_readiness": self._ready}
        self.handlers = json_handlers(self, checks, None, operations.HEALTH, run)

    def refuse(self, fault: Fault) -> Reply:
        return answer.of_fault(fault)

    async def _live(self, _: Call, __: bytes) -> Reply:
        return answer.of(Health("00", "live"))

    async def _ready(self, _: Call, __: bytes) -> Reply:
        if self._services.leaving:
            raise Fault(UNAVAILABLE, "The gateway is about to stop.", None, STORE_PAUSE_S)
        if self._services.away():
            raise Unavailable("the store is away")
        if self._clock.monotonic() >= self._ready_until:
            await self._probe_in_time()
        return answer.of(Health("00", "ready"))

    async def _probe_in_time(self) -> None:
        """Raises Unavailable if the store cannot be written, or does not say so in time. All callers share a probe that
        goes on: checks of a disk that hangs would pile up otherwise."""
        if self._probing is None:
            self._probing = asyncio.ensure_future(self._services.probe())
        probing = self._probing
        await asyncio.wait({probing}, timeout=READY_WITHIN_S)
        if not probing.done():
            raise Unavailable("the store does not answer in time")
        if self._probing is probing:
            self._probing = None
            if not probing.cancelled() and probing.exception() is None:
                self._ready_until = self._clock.monotonic() + READY_KEPT_S
        probing.result()
