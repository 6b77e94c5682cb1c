"""The carrier port over SMPP: an operator account with all of its binds."""

import asyncio
from collections.abc import Sequence

from heliograph.adapters.smpp.bind import ROLES, Bind
from heliograph.adapters.smpp.connection import BindConnection
from heliograph.adapters.smpp.context import BindContext
from heliograph.adapters.smpp.dial import ANYWHERE
from heliograph.adapters.smpp.encoding import Encoder
from heliograph.adapters.smpp.kind import read_settings
from heliograph.adapters.smpp.options import Timings
from heliograph.adapters.smpp.recipient_order import RecipientOrder
from heliograph.app.configuration import Connector
from heliograph.app.facts import NOT_SENT
from heliograph.app.ports import CarrierEvents, Clock, Deferred, Journal, LeaseEnd, Part, Question
from heliograph.app.ports.carrier_state import BindCounters, CarrierState
from heliograph.domain.security.host import AllowedHosts

__all__ = ["SmppCarrier", "Timings"]


class SmppCarrier:
    """Implements `app.ports.Carrier`. Belongs to the loop on which `start` is called.

    A connector with wrong options does not bind; `state` says why.
    """

    def __init__(
        self,
        connector: Connector,
        events: CarrierEvents,
        *,
        clock: Clock,
        journal: Journal,
        timings: Timings,
        allowed: AllowedHosts = ANYWHERE,
        lease_end: LeaseEnd | None = None,
    ) -> None:
        """`allowed` decides to which hosts it may connect. No part is written after `lease_end`."""
        settings, self._problems = read_settings(connector, timings)
        self._events = events
        self._connector = connector
        self._journal = journal
        encoder = Encoder(settings.dialect)
        self.header_octets = encoder.header_octets
        """Octets that the parts of a long message must leave free for their header."""
        context = BindContext(connector, events, clock, journal, settings, encoder, allowed, lease_end or LeaseEnd())
        self._credentials = context.credentials
        self._refusal_log = context.refusal_log
        self._queries = context.queries
        self._clock = clock
        roles = [role for _ in range(connector.binds) for role in ROLES[settings.bind]]
        self._binds = [Bind(context, self.binds_changed, number, role) for number, role in enumerate(roles, 1)]
        self._affinity = RecipientOrder() if connector.binds > 1 else None
        if self._affinity is not None:
            context.settled = self._affinity.settled
        self._connections: list[BindConnection] = []
        self._capacity = 0
        self._down_since: int | None = clock.now()
        self._draining = False

    def start(self) -> None:
        """Starts all binds."""
        if self._problems:
            self._journal.log("error", "smpp.bad_options", connector=self._connector.name, problems=self._problems)
            return
        for bind in self._binds:
            bind.start()

    # --- the port

    @property
    def capacity(self) -> int:
        """Parts that may be unanswered at once, over all binds that are up; 0 if all are down."""
        return self._capacity

    def submit(self, parts: Sequence[Part]) -> None:
        """Writes each connection's share at once. Parts of a connection that has closed come back as not sent."""
        connections = self._connections
        used = 0
        for connection in connections:
            used += connection.parts_in_flight + len(connection.waiting)
        room = max(0, self._capacity - used)
        if len(parts) > room:
            loop = asyncio.get_running_loop()
            for part in parts[room:]:
                loop.call_soon(self._events.on_outcome, part, Deferred(NOT_SENT, 0.0))
            parts = parts[:room]
        if not parts:
            return
        if self._affinity is None:
            connections[0].submit(parts)
            return
        for connection, share in self._affinity.share(parts, connections).items():
            connection.submit(share)

    @property
    def can_ask(self) -> bool:
        """True if the operator may answer query_sm, and a window has a free slot that no part needs."""
        return self._queries.open and any(connection.can_ask for connection in self._connections)

    def ask(self, question: Question) -> None:
        """Writes query_sm where the window has most room."""
        able = [connection for connection in self._connections if connection.can_ask]
        if able and self._queries.open:
            max(able, key=lambda each: each.free).ask(question)

    async def drain(self, deadline: float) -> None:
        """Submits no more; waits for answers until `deadline` (of the monotonic clock), then unbinds and ends."""
        self._draining = True
        self.binds_changed()
        await asyncio.gather(*(bind.stop(deadline) for bind in self._binds))
        self._refusal_log.close()

    def binds_changed(self) -> None:
        """Called by a bind when its connection comes up or goes down."""
        up = [bind.connection for bind in self._binds if bind.connection and bind.connection.transmits]
        connections = [] if self._draining else up
        capacity = sum(connection.session.window_limit for connection in connections)
        self._connections = connections
        if connections:
            self._down_since = None
        elif self._down_since is None:
            self._down_since = self._clock.now()
        if capacity != self._capacity:
            self._capacity = capacity
            self._events.on_capacity()

    # --- for people

    def state(self) -> CarrierState:
        """Returns the state of each bind. `summary` is a sentence such as "It is bound." or "1 of 2 binds are up: ..."
        with the problem."""
        return CarrierState(
            connector=self._connector.name,
            summary=self._summary(),
            credentials_refused=self._credentials.refusals > 0,
            credentials_retry_in=self._credentials_wait(),
            bound=sum(bind.bound for bind in self._binds),
            silent=sum(bind.silent for bind in self._binds),
            silent_s=round(max(bind.silent_s for bind in self._binds), 1),
            down_since=self._down_since,
            capacity=self._capacity,
            in_flight=sum(connection.parts_in_flight + len(connection.waiting) for connection in self._connections),
            asked=self._queries.asked,
            told=self._queries.told,
            queries_off=self._queries.off,
            counters=BindCounters.sum(bind.counters for bind in self._binds),
            binds=[bind.state() for bind in self._binds],
        )

    def _credentials_wait(self) -> float | None:
        """Seconds until rejected credentials are tried again."""
        left = self._credentials.until - self._clock.monotonic()
        return round(left, 1) if self._credentials.refusals and left > 0 else None

    def _summary(self) -> str:
        if self._problems:
            return "It does not bind, because its options are wrong: " + "; ".join(self._problems)
        if self._draining:
            gone = all(bind.stopped for bind in self._binds)
            return "It is taken down." if gone else "It is being taken down."
        bound, total = sum(bind.bound for bind in self._binds), len(self._binds)
        troubled = next((bind for bind in self._binds if not bind.bound), None)
        if troubled is None and any(connection.stalled for connection in self._connections):
            return "It is bound, but the operator does not read our messages."
        if troubled is None and (silence := self._silence()):
            return silence
        if troubled is None:
            return "It is bound." if total == 1 else f"All {total} binds are up."
        return self._unbound(troubled, bound, total)

    def _silence(self) -> str:
        """Returns a sentence with the time since the operator's last answer; empty unless a bind is silent."""
        silent, total = sum(bind.silent for bind in self._binds), len(self._binds)
        if not silent:
            return ""
        where = "It is bound, but" if total == 1 else f"All {total} binds are up, but on {silent} of them"
        longest = max(bind.silent_s for bind in self._binds)
        return f"{where} the operator has not responded for {longest:.0f} s."

    def _unbound(self, troubled: Bind, bound: int, total: int) -> str:
        summary = f"{bound} of {total} binds are up" if bound else "It is not bound"
        if troubled.error:
            summary += f": {troubled.error}"
        wait = troubled.reconnect_in
        return summary + (f". The next attempt is in {wait:.0f} s." if wait is not None else ".")
