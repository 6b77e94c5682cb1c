"""The carrier port over SMPP: one operator account with all of its binds."""

import asyncio
from collections.abc import Sequence

from heliograph.adapters.smpp.bind import ROLES, Bind
from heliograph.adapters.smpp.encoding import Encoder
from heliograph.adapters.smpp.kind import read_settings
from heliograph.adapters.smpp.link import Link
from heliograph.adapters.smpp.options import Timings
from heliograph.adapters.smpp.setup import Setup
from heliograph.adapters.smpp.spread import Spread
from heliograph.app.configuration import Connector
from heliograph.app.facts import NOT_SENT
from heliograph.app.ports import CarrierEvents, Clock, Deferred, Journal, Part
from heliograph.app.ports.carrier_state import BindCounters, CarrierState

__all__ = ["SmppCarrier", "Timings"]


class SmppCarrier:
    """Implements `app.ports.Carrier`. Belongs to the loop that `start` is called on.

    A connector whose options are wrong does not bind; `state` says why.
    """

    def __init__(
        self, connector: Connector, events: CarrierEvents, *, clock: Clock, journal: Journal, timings: Timings
    ) -> None:
        settings, self._problems = read_settings(connector, timings)
        self._events = events
        self._connector = connector
        self._journal = journal
        encoder = Encoder(settings.dialect)
        self.header_octets = encoder.header_octets
        """What the parts of a long message must leave free for their header."""
        setup = Setup(connector, events, clock, journal, settings, encoder)
        self._bar = setup.bar
        self._complaints = setup.complaints
        self._clock = clock
        roles = [role for _ in range(connector.binds) for role in ROLES[settings.bind]]
        self._binds = [Bind(setup, self, number, role) for number, role in enumerate(roles, 1)]
        self._spread = Spread() if connector.binds > 1 else None
        if self._spread is not None:
            setup.over = self._spread.over
        self._links: list[Link] = []
        self._capacity = 0
        self._draining = False

    def start(self) -> None:
        """Begins to bind."""
        if self._problems:
            self._journal.say("error", "smpp.bad_options", connector=self._connector.name, problems=self._problems)
            return
        for bind in self._binds:
            bind.start()

    # --- the port

    @property
    def capacity(self) -> int:
        """Parts that may be unanswered at once, over all binds that are up; 0 when none is."""
        return self._capacity

    def submit(self, parts: Sequence[Part]) -> None:
        """Writes them, each link's share in one go; what has lost its place with a link comes back as not sent."""
        links = self._links
        used = 0
        for link in links:
            used += link.session.in_flight + len(link.waiting)
        room = max(0, self._capacity - used)
        if len(parts) > room:
            loop = asyncio.get_running_loop()
            for part in parts[room:]:
                loop.call_soon(self._events.on_outcome, part, Deferred(NOT_SENT, 0.0))
            parts = parts[:room]
        if not parts:
            return
        if self._spread is None:
            links[0].submit(parts)
            return
        for link, share in self._spread.share(parts, links).items():
            link.submit(share)

    async def drain(self, deadline: float) -> None:
        """Submits no more; waits for answers until `deadline` (seconds of the loop's clock), then unbinds and ends."""
        self._draining = True
        self.links_changed()
        await asyncio.gather(*(bind.stop(deadline) for bind in self._binds))
        self._complaints.close()

    def links_changed(self) -> None:
        """A link is up, or no longer is."""
        links = [] if self._draining else [bind.link for bind in self._binds if bind.link and bind.link.transmits]
        capacity = sum(link.session.window_limit for link in links)
        self._links = links
        if capacity != self._capacity:
            self._capacity = capacity
            self._events.on_capacity()

    # --- for people

    def state(self) -> CarrierState:
        """Each bind, its state, last error, what it waits for; `summary` says it in a sentence."""
        return CarrierState(
            connector=self._connector.name,
            summary=self._summary(),
            credentials_refused=self._bar.refusals > 0,
            credentials_retry_in=self._credentials_wait(),
            bound=sum(bind.bound for bind in self._binds),
            silent=sum(bind.silent for bind in self._binds),
            silent_s=round(max(bind.silent_s for bind in self._binds), 1),
            capacity=self._capacity,
            in_flight=sum(link.session.in_flight + len(link.waiting) for link in self._links),
            counters=BindCounters.sum(bind.counters for bind in self._binds),
            binds=[bind.state() for bind in self._binds],
        )

    def _credentials_wait(self) -> float | None:
        """Seconds until credentials that the operator called wrong are tried again."""
        left = self._bar.until - self._clock.monotonic()
        return round(left, 1) if self._bar.refusals and left > 0 else None

    def _summary(self) -> str:
        if self._problems:
            return "It does not bind, since its options are wrong: " + "; ".join(self._problems)
        if self._draining:
            gone = all(bind.stopped for bind in self._binds)
            return "It is taken down." if gone else "It is being taken down."
        bound, total = sum(bind.bound for bind in self._binds), len(self._binds)
        troubled = next((bind for bind in self._binds if not bind.bound), None)
        if troubled is None and any(link.stalled for link in self._links):
            return "It is bound, but the operator does not read what it is sent."
        if troubled is None and (silence := self._silence()):
            return silence
        if troubled is None:
            return "It is bound." if total == 1 else f"All {total} binds are up."
        return self._unbound(troubled, bound, total)

    def _silence(self) -> str:
        """Where all are bound: what the operator owes an answer to, if it has kept quiet for long."""
        silent, total = sum(bind.silent for bind in self._binds), len(self._binds)
        if not silent:
            return ""
        where = "It is bound, but" if total == 1 else f"All {total} binds are up, but on {silent} of them"
        longest = max(bind.silent_s for bind in self._binds)
        return f"{where} the operator has answered nothing for {longest:.0f} s."

    def _unbound(self, troubled: Bind, bound: int, total: int) -> str:
        summary = f"{bound} of {total} binds are up" if bound else "It is not bound"
        if troubled.error:
            summary += f": {troubled.error}"
        wait = troubled.reconnect_in
        return summary + (f". The next attempt is in {wait:.0f} s." if wait is not None else ".")
