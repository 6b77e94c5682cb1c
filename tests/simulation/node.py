"""A node: a run of the gateway, which is a process with the objects of `app` in it.

    customers ---> intake +----------+ carriers <---> operators, which outlive the node
                          |  engine  |
    phones ----> carriers +----------+ sender ------> receivers
                               |
                             store, the node's way to the rows

Everything here ends with the process. In a world with several nodes a process can be stopped for a while, and only what
passes through `enter` gets into it (`tests.support.virtual_time`).
"""

import asyncio
from typing import TYPE_CHECKING

from heliograph.adapters.smpp.kind import KIND
from heliograph.adapters.smpp_server.deliverer import BindDeliverer
from heliograph.adapters.smpp_server.registry import Binds
from heliograph.adapters.smpp_server.services import Services
from heliograph.app.configuration import Connector
from heliograph.app.inbound.answer_limits import AnswerLimits, AnswerTerms
from heliograph.app.notice import KnownAccounts
from heliograph.app.observing.counters import BindCounters
from heliograph.app.observing.refusals import Refusals
from heliograph.app.ports import Carrier, CarrierEvents, Gathering, Store
from heliograph.app.sending.authenticate import Authenticator
from heliograph.app.sending.compose import Composer, SendRules
from heliograph.app.sending.directory import Directory
from heliograph.app.sending.failure_register import FailureRegister
from heliograph.app.sending.reschedule import Rescheduling
from heliograph.app.sending.send import Sending
from heliograph.config.opt_out import load_opt_out_words
from heliograph.domain.limits.defaults import LOGIN_WINDOW_S
from heliograph.domain.message.retention import RetentionDays
from heliograph.domain.message.way import Way
from heliograph.net.proxies import Proxies
from heliograph.runtime.engine import Engine
from heliograph.runtime.environment import Environment, TimeLimits
from heliograph.runtime.past import PastKeeper
from tests.simulation.faults import ScriptedCarrier, ScriptedSender, at_once
from tests.support.gateway import PlainSecrets
from tests.support.secrets import rehash
from tests.support.virtual_time import Process, VirtualClock

if TYPE_CHECKING:
    from tests.simulation.world import Simulation

GRACE_MS = 180_000
HOUR_MS = 3_600_000
CALLBACK_HOURS = 0.3

OPT_OUT_WORDS = load_opt_out_words()
"""Read once: a world starts some ten gateways."""


class Node:
    """A run of the gateway in its world."""

    def __init__(
        self,
        world: "Simulation",
        number: int,
        store: Store,
        clock: VirtualClock,
        *,
        process: Process | None = None,
        past: PastKeeper | None = None,
    ) -> None:
        """`process` and `past`: None in a world with a single node."""
        self.world = world
        self.number = number
        self.store = store
        self.clock = clock
        self.process = process
        self.past = past
        self.enter = at_once if process is None else process.enter
        self.carriers: list[ScriptedCarrier] = []
        self.sender = self.make_sender()
        self.directory = Directory(store.table_changes, store.accounts)
        plan = world.plan
        limits = TimeLimits(plan.validity_ms / HOUR_MS, GRACE_MS / HOUR_MS, callback_retry=CALLBACK_HOURS)
        self.engine = Engine(self.environment(), limits, node=number, roles=world.roles)

    def environment(self) -> Environment:
        """Everything outside the engine."""
        world, plan = self.world, self.world.plan
        return Environment(
            store=self.store,
            directory=self.directory,
            sender=self.sender,
            make_carrier=self.make_carrier,
            ids=world.ids,
            clock=self.clock,
            journal=world.journal,
            jitter=world.chance.random,
            encode_json=lambda fields: repr(fields).encode(),
            opt_out_words=OPT_OUT_WORDS,
            answer_limits=AnswerLimits(AnswerTerms(replies_per_phone=0)),
            policy=KIND.policy,
            ways={Way.BIND: self._make_deliverer} if plan.esmes else {},
            retention=RetentionDays(*(seconds / 86_400 for seconds in plan.retain_s)),
            leases=self.store.leases,
            watchers=() if self.past is None else (self.past,),
            past=self.past,
        )

    def make_sender(self) -> ScriptedSender:
        sender = ScriptedSender(self.world.chance, self.world.live_odds, self.world.arrived_at_receiver, self.enter)
        sender.unfit = self.world.plan.unfit
        return sender

    def make_carrier(self, connector: Connector, events: CarrierEvents) -> Carrier:
        carrier = ScriptedCarrier(self.world.operators[connector.id], connector, events, self.enter)
        self.carriers.append(carrier)
        return carrier

    async def start(self) -> None:
        """Starts the engine. Raises Unavailable."""
        await self.engine.start()
        self.intake = self.engine.gatherer
        if self.world.plan.replies:
            sending = Sending(self._composer(), self.store.customers, self.engine.gatherer, self.clock)
            self.engine.replies.sending = sending

    def _composer(self) -> Composer:
        return Composer(self.directory, lambda _: None, SendRules(validity_ms=self.world.plan.validity_ms))

    async def crash(self) -> None:
        """Ends the process of the world's only node at any moment. Its pending writes may be on the disk or not."""
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self.engine._pump_timer is not None:
            self.engine._pump_timer.cancel()

    def kill_links(self) -> None:
        self.sender.kill()
        for carrier in self.carriers:
            carrier.kill()
        self.carriers.clear()

    # --- customers' SMPP clients

    async def listen(self) -> None:
        """Serves SMPP clients, as `composition` does."""
        secrets, composer, engine = PlainSecrets(), self._composer(), self.engine

        async def verify(hashed: str, password: str, line: bytes = b"", *, first: bool = False) -> bool:
            return secrets.verify_password(hashed, password)

        register = FailureRegister("test", LOGIN_WINDOW_S, bytes(32), self.clock.now)
        services = Services(
            authenticator=Authenticator(self.directory, secrets, verify, register, rehash(secrets, self.store)),
            sending=Sending(composer, self.store.customers, engine.gatherer, self.clock),
            rescheduling=Rescheduling(self.store.customers, composer),
            customers=self.store.customers,
            directory=self.directory,
            clock=self.clock,
            journal=self.world.journal,
            refusals=Refusals(),
            wake=engine.gatherer.wake_feeder,
            store=self.store.binds,
            node=self.number,
            longest_validity_ms=self.world.plan.validity_ms,
            proxies=Proxies(()),
        )
        await self.store.binds.clear()
        await self.world.esmes.serve(services, self._binds, self._deliverer)

    def _make_deliverer(self, gathering: Gathering, accounts: KnownAccounts) -> BindDeliverer:
        self._binds = Binds(BindCounters())
        self._deliverer = BindDeliverer(self._binds, accounts, self.clock, CALLBACK_HOURS, gathering.wake_feeder)
        return self._deliverer
