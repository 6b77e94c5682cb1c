"""One bind of an operator account, kept alive: connect, bind, wait for the end, pause, and again."""

import asyncio
import random
from dataclasses import replace
from typing import Final, Protocol

from heliograph.adapters.smpp.dial import dial
from heliograph.adapters.smpp.kind import SmppSettings
from heliograph.adapters.smpp.link import Link
from heliograph.adapters.smpp.reasons import why_not_connected
from heliograph.adapters.smpp.setup import Setup
from heliograph.app.ports.carrier_state import BindCounters, BindState
from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from heliograph.smpp.link import WRONG_CREDENTIALS, Backoff

SHORTEST_PAUSE_S: Final = 0.05
"""Between two attempts, whatever the settings say."""

ROLES: Final[dict[str, tuple[type[p.Bind], ...]]] = {
    "transceiver": (p.BindTransceiver,),
    "transmitter+receiver": (p.BindTransmitter, p.BindReceiver),
}
"""The binds that a connector's `bind` stands for."""


class BindOwner(Protocol):
    """Who a bind belongs to."""

    def links_changed(self) -> None:
        """A link is up, or no longer is."""


def bind_request(settings: SmppSettings, role: type[p.Bind]) -> p.Bind:
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
    """Holds at most one link at a time. `number` counts from 1."""

    def __init__(self, setup: Setup, owner: BindOwner, number: int, role: type[p.Bind]) -> None:
        settings, timings = setup.settings, setup.timings
        self.number = number
        self.role = c.command_name(role.command_id).removeprefix("bind_")
        self.link: Link | None = None
        self.counters = BindCounters()
        self._setup = setup
        self._owner = owner
        self._request = bind_request(settings, role)
        self._hosts = ((settings.host, settings.port), *settings.dialect.hosts)
        # Several binds begin with different hosts, so that one host's end is not that of all.
        self._turn = (number - 1) % len(self._hosts)
        self._backoff = Backoff(max(SHORTEST_PAUSE_S, timings.reconnect_first_s), timings.reconnect_most_s)
        self._stopping = False
        self._task: asyncio.Task[None] | None = None
        self._retry_at = 0.0
        self._up_at = 0.0
        self._state = "stopped"
        self._since = setup.clock.now()
        self._error = ""
        self._error_at = 0

    @property
    def where(self) -> str:
        host, port = self._hosts[self._turn % len(self._hosts)]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=f"bind {self._setup.connector.name} {self.number}")

    async def stop(self, deadline: float) -> None:
        """Ends the link as `Link.retire` does, or the attempt to make one."""
        self._stopping = True
        link = self.link
        if link is not None and link.was_bound:
            self._enter("unbinding")
            await link.retire(deadline)
        elif link is not None:
            link.abort()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._enter("stopped")

    # --- the life of a bind

    async def _run(self) -> None:
        failed_in_a_row = 0
        while not self._stopping:
            link = await self._attempt()
            if link is not None and link.was_bound and self._backoff.stood(self._setup.clock.monotonic() - self._up_at):
                failed_in_a_row = 0
            else:
                failed_in_a_row += 1
                self._turn += 1
            status = link.refused if link is not None else None
            if status is None and failed_in_a_row % len(self._hosts):
                continue  # the other hosts come first
            await self._wait(self._pause(status))
            while (left := self._setup.bar.until - self._setup.clock.monotonic()) > 0:
                await self._wait(left * (1.05 + 0.2 * random.random()))

    async def _wait(self, pause: float) -> None:
        self._retry_at = self._setup.clock.monotonic() + pause
        self._enter("waiting")
        await asyncio.sleep(pause)

    def _pause(self, status: int | None) -> float:
        if status is None or status not in WRONG_CREDENTIALS:
            return self._backoff.pause(random.random())
        timings, bar, now = self._setup.timings, self._setup.bar, self._setup.clock.monotonic()
        if bar.until > now:
            # Another bind had the same answer just before: it is also the one to try again first.
            return (bar.until - now) * (1.05 + 0.2 * random.random())
        ceiling = timings.credentials_first_s * 2.0 ** min(bar.refusals, 16)
        self._backoff.credentials_pause = min(timings.credentials_most_s, ceiling)
        bar.refusals += 1
        pause = self._backoff.pause_after_refusal(status, random.random())
        bar.until = now + pause
        return pause

    async def _attempt(self) -> Link | None:
        """One connection from its beginning to its end; None if there was none."""
        setup, limit = self._setup, self._setup.timings.connect_timeout_s
        host, port = self._hosts[self._turn % len(self._hosts)]
        self._enter("connecting")
        began = setup.clock.monotonic()

        def make() -> Link:
            left = max(0.1, limit - (setup.clock.monotonic() - began))
            self.link = Link(setup, self, self._request, self.counters, left)
            return self.link

        try:
            _, link = await dial(make, host, port, tls=setup.settings.tls, dialect=setup.dialect, timeout_s=limit)
        except (OSError, ValueError) as error:  # ValueError: a name that no address can have
            self.link = None
            self._fail(why_not_connected(error, self.where, limit, tls=setup.settings.tls))
            return None
        if self._state == "connecting":
            self._enter("binding")
        try:
            await link.ended
        finally:
            self.link = None
        if not self._stopping:
            self._fail(link.reason, lost=link.was_bound)
        return link

    def _fail(self, reason: str, *, lost: bool = False) -> None:
        setup = self._setup
        # The same trouble again is no news: it stands in the state. That it was bound was said, and so is its end.
        level = "debug" if reason == self._error and self._backoff.failures and not lost else "warning"
        self._error, self._error_at = reason, setup.clock.now()
        setup.journal.say(
            level, "smpp.not_bound", connector=setup.connector.name, bind=self.number, host=self.where, reason=reason
        )

    def _enter(self, state: str) -> None:
        if state != self._state:
            self._state = state
            self._since = self._setup.clock.now()

    # --- what its link says

    def link_up(self) -> None:
        self._up_at = self._setup.clock.monotonic()
        self._setup.bar.refusals, self._setup.bar.until = 0, 0.0
        self._enter("bound")
        setup = self._setup
        setup.journal.say(
            "info", "smpp.bound", connector=setup.connector.name, bind=self.number, role=self.role, host=self.where
        )
        self._owner.links_changed()

    def link_down(self) -> None:
        self._enter("unbinding")
        self._owner.links_changed()

    # --- for people

    @property
    def bound(self) -> bool:
        return self.link is not None and self.link.up

    @property
    def silent_s(self) -> float:
        return self.link.silent_s if self.link is not None else 0.0

    @property
    def silent(self) -> bool:
        return self.link is not None and self.link.silent

    @property
    def stopped(self) -> bool:
        return self._state == "stopped"

    @property
    def error(self) -> str:
        return self._error

    @property
    def reconnect_in(self) -> float | None:
        """Seconds until the next attempt, if it waits for that."""
        return max(0.0, self._retry_at - self._setup.clock.monotonic()) if self._state == "waiting" else None

    def state(self) -> BindState:
        link, wait = self.link, self.reconnect_in
        return BindState(
            bind=self.number,
            role=self.role,
            state=self._state,
            host=self.where,
            since=self._since,
            last_error=self._error or None,
            last_error_at=self._error_at or None,
            reconnect_in=None if wait is None else round(wait, 1),
            in_flight=link.session.in_flight + len(link.waiting) if link is not None else 0,
            window=self._setup.connector.window if self.role != "receiver" else 0,
            silent=self.silent,
            silent_s=round(self.silent_s, 1),
            answer_ms=round(link.answer_s * 1000, 1) if link is not None and link.answer_s is not None else None,
            counters=replace(self.counters),
        )
