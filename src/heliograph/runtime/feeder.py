"""The feeder: finds and claims waiting rows, and starts their work."""

from math import inf

from heliograph.app.configuration import Connector
from heliograph.app.dispatch.failover import UNUSABLE
from heliograph.app.dispatch.lane import Lane
from heliograph.app.ports import Unavailable
from heliograph.runtime.engine_parts import EngineParts
from heliograph.runtime.environment import Environment, NodeRoles

TICK_S = 0.25
"""Seconds between two looks at the queue when nothing says that there is work."""

REST_MS = 1_000
"""Milliseconds until the next look at the rows of a disabled connector, if none of the last rows had another candidate.
Each such row is written again, by all nodes together, for as long as the connector is disabled."""


class Feeder:
    """Claims due rows, sends due callbacks, and in parallel looks up receipts."""

    def __init__(self, environment: Environment, node: int, roles: NodeRoles, parts: EngineParts) -> None:
        self._environment = environment
        self._node = node
        self._roles = roles
        self._gatherer = parts.gatherer
        self._carriers = parts.carriers
        self._lookup = parts.lookup
        self._dispatcher = parts.dispatcher
        self._notifier = parts.notifier
        self._reception = parts.reception
        self._outage = parts.outage
        self._rests: dict[int, int] = {}
        """Times (ms) until which the rows of disabled connectors are left alone."""

    async def run(self) -> None:
        """Feeds until cancelled."""
        pause = TICK_S
        while True:
            await self._gatherer.feeder_woken(pause)
            try:
                pause = await self._feed()
                self._outage.found_there("feed")
            except Unavailable as problem:
                self._outage.found_away("feed", problem)
                pause = 1.0

    async def look_up(self) -> None:
        """Looks up receipts and inbound messages until cancelled. They do not wait for claims: the operator leaves only
        a window of them unanswered, and with a backlog to send they would pile up.
        """
        while True:
            await self._gatherer.lookups_woken()
            await self._lookup.look_up()
            await self._reception.look_up()

    async def _feed(self) -> float:
        """Returns the seconds until there is something to do again."""
        store, clock = self._environment.store, self._environment.clock
        await self._lookup.look_again()
        await self._dispatcher.late.settle()
        due = await store.queue.next_due() if self._roles.dispatch else {}
        now = clock.now()
        more = await self._feed_lanes(due, now)
        wake_at = min([now + int(TICK_S * 1000), *(at for at in due.values() if at > now)])
        callback_due = await self._notifier.next_due(store.notices) if self._roles.notify else None
        if callback_due is not None:
            if callback_due > now:
                wake_at = min(wake_at, callback_due)
            elif await self._notifier.take_up(store.notices, self._node):
                more = True
        return 0.0 if more else max(0.0, (wake_at - clock.now()) / 1000)

    async def _feed_lanes(self, due: dict[int, int], now: int) -> bool:
        """Claims messages for the lanes that run low; True if there may be more for them at once."""
        queue, dispatcher = self._environment.store.queue, self._dispatcher
        live = self._carriers.live()
        more = False
        for connector in [connector for connector, at in due.items() if at <= now]:
            lane = dispatcher.lane(connector)
            lane.oldest_row = due[connector]
            if connector not in live:
                await dispatcher.claims.reclaim(lane, queue, self._node)
                more = True
            elif self._may_divert(lane, live[connector], now) and await self._divert(lane, now):
                more = True
            elif not self._may_fill(lane):
                lane.more = False
            elif await dispatcher.claims.refill(lane, queue, self._node):
                more = True
        for lane in list(dispatcher.lanes.values()):
            if due.get(lane.connector, inf) > now:
                lane.more, lane.oldest_row = False, None
                if lane.queues.must_read_rows and self._may_fill(lane):
                    await dispatcher.claims.refill(lane, queue, self._node)
            if await dispatcher.claims.give_back(lane, queue):
                more = True
        return more

    def _may_divert(self, lane: Lane, connector: Connector, now: int) -> bool:
        """Whether rows of a connector that cannot send may go to others. No node has the binds of a disabled connector,
        so each of them looks at its rows."""
        directory = self._environment.directory
        if lane.closed and (connector.enabled or 0 < self._rests.get(connector.id, 0) - now <= REST_MS):
            return False
        return bool(directory.obstacle(connector.id) and directory.others(connector.id))

    async def _divert(self, lane: Lane, now: int) -> bool:
        claims, failovers = self._dispatcher.claims, self._dispatcher.outcomes.failovers
        before = failovers[lane.connector, UNUSABLE]
        found = await claims.divert(lane, self._environment.store.queue, self._node, fills=self._may_fill(lane))
        if lane.closed and failovers[lane.connector, UNUSABLE] == before:
            self._rests[lane.connector] = now + REST_MS
        return found

    def _may_fill(self, lane: Lane) -> bool:
        """True if a lane may claim rows. If other nodes may send them too, it claims only rows that it can send."""
        return self._environment.leases is None or (not lane.closed and lane.window.capacity > 0)
