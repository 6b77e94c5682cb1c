"""A bind of an operator account, kept alive: connect, bind, wait for the end, pause, and repeat."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from heliograph.adapters.smpp.connection import BindConnection
from heliograph.adapters.smpp.context import BindContext
from heliograph.adapters.smpp.dial import dial
from heliograph.adapters.smpp.kind import SmppSettings
from heliograph.adapters.smpp.messages import why_not_connected
from heliograph.app.ports.carrier_state import BindCounters, BindState
from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from heliograph.smpp.link import WRONG_CREDENTIALS, Backoff

SHORTEST_PAUSE_S: Final = 0.05
"""Shortest pause between two attempts, in seconds. It holds even if the settings ask for less."""

ROLES: Final[dict[str, tuple[type[p.BindRequest], ...]]] = {
    "transceiver": (p.BindTransceiver,),
    "transmitter+receiver": (p.BindTransmitter, p.BindReceiver),
}
"""Bind requests for each value of a connector's `bind`."""


def bind_request(settings: SmppSettings, role: type[p.BindRequest]) -> p.BindRequest:
    """The bind PDU of a connector (SMPP v3.4, 4.1)."""
    dialect = settings.dialect
    return role(
        system_id=settings.system_id,
        password=settings.password,
        system_type=dialect.system_type,
        interface_version=dialect.interface_version,
        addr_ton=dialect.addr_ton,
        addr_npi=dialect.addr_npi,
        address_range=dialect.address_range,
    )


class Bind:
    """A bind with at most one connection at a time. `number` counts from 1."""

    def __init__(
        self, context: BindContext, changed: Callable[[], None], number: int, role: type[p.BindRequest]
    ) -> None:
        """`changed` is called when a connection comes up or goes down."""
        settings, timings = context.settings, context.timings
        self.number = number
        self.role = c.command_name(role.command_id).removeprefix("bind_")
        self.connection: BindConnection | None = None
        self.counters = BindCounters()
        self._context = context
        self._changed = changed
        self._request = bind_request(settings, role)
        self._hosts = ((settings.host, settings.port), *settings.dialect.hosts)
        # Several binds start with different hosts, so that the failure of a host does not stop all of them.
        self._turn = (number - 1) % len(self._hosts)
        self._backoff = Backoff(max(SHORTEST_PAUSE_S, timings.reconnect_first_s), timings.reconnect_most_s)
        self._stopping = False
        self._task: asyncio.Task[None] | None = None
        self._retry_at = 0.0
        self._up_at = 0.0
        self._carried_before = 0
        self._state = "stopped"
        self._since = context.clock.now()
        self._error = ""
        self._error_at = 0

    @property
    def where(self) -> str:
        host, port = self._hosts[self._turn % len(self._hosts)]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=f"bind {self._context.connector.name} {self.number}")

    async def stop(self, deadline: float) -> None:
        """Ends the connection through `BindConnection.retire`, or stops the attempt to connect."""
        self._stopping = True
        connection = self.connection
        if connection is not None and connection.was_bound:
            self._enter("unbinding")
            await connection.retire(deadline)
        elif connection is not None:
            connection.abort()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._enter("stopped")

    # --- the life of a bind

    async def _run(self) -> None:
        failed_in_a_row = 0
        while not self._stopping:
            connection = await self._attempt()
            if (
                connection is not None
                and connection.was_bound
                and self._backoff.stood(
                    self._context.clock.monotonic() - self._up_at, worked=self._carried > self._carried_before
                )
            ):
                failed_in_a_row = 0
            else:
                failed_in_a_row += 1
                self._turn += 1
            status = connection.refused if connection is not None else None
            if status is None and failed_in_a_row % len(self._hosts):
                continue  # the other hosts come first
            await self._wait(self._pause(status))
            while (left := self._context.credentials.until - self._context.clock.monotonic()) > 0:
                await self._wait(left * (1.05 + 0.2 * random.random()))

    @property
    def _carried(self) -> int:
        """Parts that the operator accepted on this bind, plus messages that it sent to us."""
        counters = self.counters
        return counters.accepted + counters.receipts + counters.mobile_originated

    async def _wait(self, pause: float) -> None:
        self._retry_at = self._context.clock.monotonic() + pause
        self._enter("waiting")
        await asyncio.sleep(pause)

    def _pause(self, status: int | None) -> float:
        if status is None or status not in WRONG_CREDENTIALS:
            return self._backoff.pause(random.random())
        timings, credentials, now = self._context.timings, self._context.credentials, self._context.clock.monotonic()
        if credentials.until > now:
            # Another bind was refused with the same status just before; it tries again first.
            return (credentials.until - now) * (1.05 + 0.2 * random.random())
        ceiling = timings.credentials_first_s * 2.0 ** min(credentials.refusals, 16)
        self._backoff.credentials_pause = min(timings.credentials_most_s, ceiling)
        credentials.refusals += 1
        pause = self._backoff.pause_after_refusal(status, random.random())
        credentials.until = now + pause
        return pause

    async def _attempt(self) -> BindConnection | None:
        """Runs a connection from start to end. Returns None if it was never established."""
        context, limit = self._context, self._context.timings.connect_timeout_s
        host, port = self._hosts[self._turn % len(self._hosts)]
        self._enter("connecting")
        began = context.clock.monotonic()

        def make() -> BindConnection:
            left = max(0.1, limit - (context.clock.monotonic() - began))
            self.connection = BindConnection(context, self, self._request, self.counters, left)
            return self.connection

        try:
            _, connection = await dial(
                make,
                host,
                port,
                tls=context.settings.tls,
                dialect=context.dialect,
                timeout_s=limit,
                allowed=context.allowed,
            )
        except (OSError, ValueError) as error:  # ValueError: a name that no address can have
            self.connection = None
            self._fail(why_not_connected(error, self.where, limit, tls=context.settings.tls))
            return None
        if self._state == "connecting":
            self._enter("binding")
        try:
            await connection.ended
        finally:
            self.connection = None
        if not self._stopping:
            self._fail(connection.reason, lost=connection.was_bound)
        return connection

    def _fail(self, reason: str, *, lost: bool = False) -> None:
        context = self._context
        # A repeated failure is logged at debug level, as the state shows it; the loss of a bind is always a warning.
        level = "debug" if reason == self._error and self._backoff.failures and not lost else "warning"
        self._error, self._error_at = reason, context.clock.now()
        context.journal.log(
            level, "smpp.not_bound", connector=context.connector.name, bind=self.number, host=self.where, reason=reason
        )

    def _enter(self, state: str) -> None:
        if state != self._state:
            self._state = state
            self._since = self._context.clock.now()

    # --- events of its connection

    def on_bound(self) -> None:
        self._up_at = self._context.clock.monotonic()
        self._carried_before = self._carried
        self._context.credentials.refusals, self._context.credentials.until = 0, 0.0
        self._enter("bound")
        context = self._context
        context.journal.log(
            "info", "smpp.bound", connector=context.connector.name, bind=self.number, role=self.role, host=self.where
        )
        self._changed()

    def on_unbound(self) -> None:
        self._enter("unbinding")
        self._changed()

    # --- for people

    @property
    def bound(self) -> bool:
        return self.connection is not None and self.connection.up

    @property
    def silent_s(self) -> float:
        return self.connection.silent_s if self.connection is not None else 0.0

    @property
    def silent(self) -> bool:
        return self.connection is not None and self.connection.silent

    @property
    def stopped(self) -> bool:
        return self._state == "stopped"

    @property
    def error(self) -> str:
        return self._error

    @property
    def reconnect_in(self) -> float | None:
        """Seconds until the next attempt; None unless the bind waits for it."""
        return max(0.0, self._retry_at - self._context.clock.monotonic()) if self._state == "waiting" else None

    def state(self) -> BindState:
        connection, wait = self.connection, self.reconnect_in
        return BindState(
            bind=self.number,
            role=self.role,
            state=self._state,
            host=self.where,
            since=self._since,
            last_error=self._error or None,
            last_error_at=self._error_at or None,
            reconnect_in=None if wait is None else round(wait, 1),
            in_flight=connection.parts_in_flight + len(connection.waiting) if connection is not None else 0,
            window=self._context.connector.window if self.role != "receiver" else 0,
            silent=self.silent,
            silent_s=round(self.silent_s, 1),
            answer_ms=round(connection.answer_s * 1000, 1)
            if connection is not None and connection.answer_s is not None
            else None,
            counters=replace(self.counters),
        )
