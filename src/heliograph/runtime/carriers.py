"""The carriers of a process: starts and stops them as its connectors change."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import partial
from math import inf
from typing import Any

from heliograph.app.configuration import DRAIN, Connector
from heliograph.app.dispatch.dispatcher import Dispatcher, LaneEvents
from heliograph.app.dispatch.lane import Lane
from heliograph.app.inbound.reception import Reception
from heliograph.app.ports import Carrier, CarrierState, ConnectorReport, ConnectorState
from heliograph.app.receipts.awaiting import AwaitedReceipts
from heliograph.runtime.bind_slots import BindSlots
from heliograph.runtime.environment import Environment, NodeRoles
from heliograph.runtime.lane_limits import LaneLimits, Limit
from heliograph.runtime.lease import MARGIN_S, Lease

DRAIN_S = 10.0
"""Seconds that a carrier which is taken down waits for the operator's answers."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A connector with an operator that is asked for parts without a receipt, from `after_ms` on."""

    connector: int
    carrier: Carrier
    after_ms: int
    share: float
    """Share of its binds that this node has."""
    is_ours: Callable[[int], bool]
    """Whether this node queries the parts of the message with this key. Each message has a single such node."""


class Carriers:
    """Keeps carriers and lanes in line with the connectors, and with the slots of this node."""

    def __init__(
        self,
        environment: Environment,
        node: int,
        roles: NodeRoles,
        fallbacks: tuple[Connector, ...],
        lease: Lease | None,
    ) -> None:
        """Makes the set of carriers without starting them. `lease` is None unless other nodes may share the store."""
        self._environment = environment
        self._node = node
        self._dispatches = roles.dispatch
        self._own = {connector.id: connector for connector in fallbacks}
        self._lease = lease
        self._slots: BindSlots | None = None
        if environment.leases is not None:
            self._slots = BindSlots(environment.leases, node, roles.most_binds)
        self._dispatcher: Dispatcher | None = None
        self._awaited: AwaitedReceipts | None = None
        self._reception: Reception | None = None
        self._limits = LaneLimits(environment.clock, lambda: self.dispatcher.gathering.wake())
        self._up: dict[int, tuple[Connector, Carrier]] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def attach(self, dispatcher: Dispatcher, awaited: AwaitedReceipts, reception: Reception) -> None:
        """Must be called before the first carrier. `awaited` learns which receipts may come to other nodes; `reception`
        gets inbound messages.
        """
        self._dispatcher = dispatcher
        self._awaited = awaited
        self._reception = reception

    @property
    def dispatcher(self) -> Dispatcher:
        """The dispatcher of the lanes of these carriers."""
        assert self._dispatcher is not None
        return self._dispatcher

    def live(self) -> dict[int, Connector]:
        """The present connectors, by id."""
        return self._own | {connector.id: connector for connector in self._environment.directory.connectors()}

    def share(self, connector: int) -> float:
        """Returns the share of a connector's binds that this node has, from 0 to 1."""
        up, whole = self._up.get(connector), self.live().get(connector)
        return 0.0 if up is None or whole is None else up[0].binds / whole.binds

    def configure_lane(self, connector: Connector, share: float = 1.0) -> Lane:
        """Returns the connector's lane, set to the policy of its settings, and to this node's share of its rate."""
        lane = self._set_policy(connector)
        self._limits.set(lane, Limit(lane.policy.timetable, connector.rate, share, drains=connector.state == DRAIN))
        return lane

    def _set_policy(self, connector: Connector) -> Lane:
        lane = self.dispatcher.lane(connector.id)
        lane.policy = self._environment.policy(connector)
        lane.tlvs_of = partial(self._environment.directory.tlvs_over, connector.id)
        return lane

    def states(self) -> list[tuple[Connector, CarrierState]]:
        """Returns each connector with a carrier here, with its present rate and its state, for people."""
        return [
            (replace(each, rate=self._limits.held(each.id, each.rate).rate or 0.0), carrier.state())
            for each, carrier in self._up.values()
        ]

    def carried(self) -> list[Connector]:
        """Returns the connectors with a carrier here."""
        return [connector for connector, _ in self._up.values()]

    def asking(self) -> list[Asking]:
        """Returns the connectors of this node with operators to be asked for parts without a receipt."""
        return [
            self._asking(number, connector, carrier, after_ms)
            for number, (connector, carrier) in self._up.items()
            if (after_ms := self._environment.policy(connector).query_after_ms)
        ]

    def _asking(self, number: int, connector: Connector, carrier: Carrier, after_ms: int) -> Asking:
        if self._slots is None or number in self._own:
            return Asking(number, carrier, after_ms, 1.0, lambda _: True)
        slots, whole = self._slots, self.live().get(number, connector)
        return Asking(
            number,
            carrier,
            after_ms,
            connector.binds / whole.binds,
            lambda key: slots.has_turn(number, key, whole.binds),
        )

    def reports(self, now: int) -> list[ConnectorReport]:
        """Returns the reports for people that the store keeps, of the connectors in the store."""
        return [
            ConnectorReport(connector.id, self._node, self._state(connector, carrier), now)
            for connector, carrier in self._up.values()
            if connector.id > 0
        ]

    def _state(self, connector: Connector, carrier: Carrier) -> ConnectorState:
        lane, state = self.dispatcher.lane(connector.id), carrier.state()
        held = self._limits.held(connector.id, connector.rate)
        pace, learnt, clock = lane.window.pace.rate, lane.window.pace.learnt_at, self._environment.clock
        return ConnectorState(
            **{each.name: getattr(state, each.name) for each in fields(CarrierState)},
            rate=held.rate or 0.0,
            rate_until=held.until,
            off=held.rate is None,
            obstacle=self._environment.directory.obstacle(connector.id),
            pace=round(pace, 1) if pace < inf else None,
            pace_learnt=None if learnt is None else clock.now() - int((clock.monotonic() - learnt) * 1000),
            put_off=round(lane.window.pace.background_share, 3),
            throttles=lane.window.pace.throttles,
            window_used=lane.window.in_flight,
            waiting=len(lane),
            oldest=lane.oldest,
            receipts=self.dispatcher.matcher.habits.of[connector.id].shown(),
        )

    # --- coming and going

    async def share_binds(self) -> None:
        """Takes the bind slots of this node, and brings carriers and lanes in line. Raises Unavailable."""
        if self._slots is not None and self._awaited is not None and self._dispatches:
            live = [connector for number, connector in self.live().items() if number not in self._own]
            await self._slots.share_out(live, self._is_down)
            for number, connector in self.live().items():
                if number in self._own or self._slots.of(number) >= connector.binds:
                    self._awaited.keep(number)
                else:
                    self._awaited.share(number)
                lane = self.dispatcher.lane(number)
                if number in self._own or self._slots.of(number):
                    if lane.closed:
                        await self.dispatcher.claims.open(lane, self._environment.store.queue)
                    continue
                lane.closed = True
                if not lane.idle:
                    self.dispatcher.hand_back(lane)
        self.sync()

    def lapsed(self) -> None:
        """Stops sending and takes the binds down before other nodes bind, since the lease was not renewed in time.
        Parts in flight get their answers or have an unknown outcome."""
        if self._slots is not None:
            self._slots.lose()
            if self._up:
                self.sync(MARGIN_S)

    def sync(self, drain: float = DRAIN_S) -> None:
        """Drains carriers of changed, disabled and removed connectors. Starts carriers of new or changed connectors."""
        live, whole = self._carried(), self.live()
        for number, (connector, carrier) in list(self._up.items()):
            wanted = live.get(number)
            if wanted is None or not wanted.enabled or wanted != connector:
                if wanted is not None and wanted.enabled and _differs_in_pace_only(wanted, connector):
                    self._up[number] = (wanted, carrier)
                    continue
                del self._up[number]
                lane = self.dispatcher.lane(number)
                lane.window.carrier = None
                lane.unready()
                self._end(number, carrier, drain)
        for number, connector in live.items():
            lane = self.configure_lane(whole[number], connector.binds / whole[number].binds)
            if connector.enabled and number not in self._up and not (self._lease and self._is_ending(number)):
                assert self._reception is not None
                events = LaneEvents(self.dispatcher, lane, self._reception.receive)
                carrier = self._environment.make_carrier(connector, events)
                self._up[number] = (connector, carrier)
                lane.window.carrier = carrier
        # disabled, or other nodes have the binds: failover needs the policy all the same
        for number in whole.keys() - live.keys():
            self._set_policy(whole[number])
        self._limits.watch(live)

    async def drain(self, deadline: float) -> None:
        """Drains all carriers, until `deadline` at the latest (seconds of the loop's clock)."""
        self._limits.close()
        drains: Iterable[Any] = [carrier.drain(deadline) for _, carrier in self._up.values()]
        await asyncio.gather(*drains, *self._ending, return_exceptions=True)

    # --- inside

    def _is_down(self, connector: int, binds: int) -> bool:
        """Whether at most `binds` binds of the connector are up, or may come up."""
        up = self._up.get(connector)
        return not self._is_ending(connector) and (up is None or up[0].binds <= binds)

    def _is_ending(self, connector: int) -> bool:
        return any(task.get_name() == _ending_name(connector) for task in self._ending)

    def _carried(self) -> dict[int, Connector]:
        """The connectors with a carrier on this node, with this node's binds and rate."""
        live = self.live()
        if self._slots is None:
            return live
        if not self._dispatches:
            return {}
        return {
            number: connector if number in self._own else self._slots.part(connector)
            for number, connector in live.items()
            if number in self._own or self._slots.of(number)
        }

    def _end(self, connector: int, carrier: Carrier, seconds: float) -> None:
        deadline = self._environment.clock.monotonic() + seconds
        task = asyncio.create_task(carrier.drain(deadline), name=_ending_name(connector))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def _ending_name(connector: int) -> str:
    return f"ending {connector}"


def _differs_in_pace_only(one: Connector, other: Connector) -> bool:
    """Whether two versions of a connector differ only in what its binds do not need, such as the rate."""
    same = {each: getattr(other, each) for each in ("name", "rate", "state", "max_day", "max_month")}
    return replace(one, **same) == other
