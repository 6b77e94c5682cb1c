"""The composition root of the gateway's main process: everything that runs in it, put together."""

import asyncio
import gc
import os
import random
import secrets
import signal
import socket
import sys
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from heliograph import __version__
from heliograph.app.configuration import Connector
from heliograph.app.inbound.answer_limits import AnswerLimits, AnswerTerms
from heliograph.app.ports import Away, Carrier, CarrierEvents, NodeReport, Store, WebhookSender
from heliograph.app.resources.desk import Invalid
from heliograph.app.sending.authenticate import Rehash
from heliograph.app.sending.compose import Composer
from heliograph.app.sending.directory import Directory
from heliograph.app.sending.failure_register import DAILY, DAY_S, FailureRegister
from heliograph.app.sending.send import Sending
from heliograph.composition import dev as development
from heliograph.composition.admin import AdminApps, AdminParts
from heliograph.composition.alerts import Alerts
from heliograph.composition.commands import (
    STORE_FILE,
    allowed_networks,
    make_secrets,
    open_ported,
    open_store,
    retention,
    terms,
)
from heliograph.composition.connectors import ADAPTERS, is_whole, policy_of
from heliograph.composition.dev import SIMULATOR, SimulatedOperator
from heliograph.composition.encryption import OpenedStore, vault_of
from heliograph.composition.listening import Listening
from heliograph.composition.smpp_server import CustomerBinds
from heliograph.composition.watching import Unusable, Watching
from heliograph.config import Settings
from heliograph.config.opt_out import load_opt_out_words
from heliograph.domain.limits.defaults import LOGIN_WINDOW_S
from heliograph.domain.limits.pumping import GuardMode
from heliograph.runtime.data_directory import only_engine
from heliograph.runtime.disk import keep_from_others, make_folder
from heliograph.runtime.encryption_upkeep import EncryptionUpkeep
from heliograph.runtime.engine import Engine
from heliograph.runtime.environment import Environment, NodeRoles, TimeLimits
from heliograph.runtime.failure_writer import FailureWriter
from heliograph.runtime.listening import NoticeListeners
from heliograph.runtime.long_polls import LongPolls
from heliograph.runtime.outage import Outage
from heliograph.runtime.past import PastKeeper
from heliograph.runtime.refusal_writer import RefusalWriter
from heliograph.runtime.service_manager import ServiceManager
from heliograph.runtime.tasks import end, whereabouts
from heliograph.runtime.traffic_guard import TrafficGuard

if TYPE_CHECKING:
    from heliograph.api.app import Api
    from heliograph.app.sending.authenticate import Authenticator
    from heliograph.net.tls import Tls

OVERDUE_S = 10.0
"""Seconds beyond `shutdown.drain_s` after which a process that should have ended ends at once."""

STORE_AGAIN_S = 1.0
"""Seconds between two attempts to open a store while its database is away."""

REQUESTS_SHARE = 0.5
"""Share of `shutdown.drain_s` that open requests over HTTP and SMPP may take."""

GC_THRESHOLDS = (50_000, 20, 100)
"""Thresholds of the garbage collector. Collections are rarer than by default, because queues are long and have hardly
any cycles."""


def serve(settings: Settings, *, dev: bool = False, as_json: bool = False) -> int:
    """Runs the gateway until SIGINT or SIGTERM; returns the exit code. Raises AlreadyRunning and OSError."""
    import uvloop

    from heliograph.adapters.system.journal import configure_logging
    from heliograph.adapters.system.resources import keep_little_memory

    keep_little_memory()
    configure_logging(settings.log.level, settings.log.format)
    make_folder(settings.data)
    with only_engine(settings.data), asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_serve(settings, dev=dev, as_json=as_json))


async def _serve(settings: Settings, *, dev: bool, as_json: bool) -> int:
    from heliograph.adapters.system.resources import give_back_now_and_then, give_back_what_is_free

    gateway = Gateway(settings, dev=dev)
    stop, hurry = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def told_to_stop() -> None:
        (hurry if stop.is_set() else stop).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told_to_stop)
    loop.add_signal_handler(signal.SIGHUP, gateway.reload)
    gc.set_threshold(*GC_THRESHOLDS)  # the start reads large tables
    manager = ServiceManager()
    if not await gateway.start(stop):
        return 0
    try:
        gc.collect()
        gc.freeze()
        give_back_what_is_free()
        _announce(gateway, dev=dev, as_json=as_json)
        manager.ready()
        giving_back = loop.create_task(give_back_now_and_then())
        failed = loop.create_task(gateway.engine.failed.wait())
        stopped = loop.create_task(stop.wait())
        await asyncio.wait({failed, stopped}, return_when=asyncio.FIRST_COMPLETED)
        for task in (failed, stopped, giving_back):
            task.cancel()
        manager.stopping()
        if not gateway.engine.failed.is_set():
            await gateway.give_notice(hurry)
    finally:
        await gateway.stop()
        manager.stopped()
    return 1 if gateway.engine.failed.is_set() else 0


def _announce(gateway: "Gateway", *, dev: bool, as_json: bool) -> None:
    if as_json:
        found = {"url": gateway.url, "tls_url": gateway.tls_url, "smpp": gateway.smpp, "smpp_tls": gateway.smpp_tls}
        ready = {name: address for name, address in found.items() if address} | {"pid": os.getpid()}
        sys.stdout.write(msgspec.json.encode(ready).decode() + "\n")
    elif dev:
        sys.stdout.write(development.banner(gateway.url, gateway.smpp))
    else:
        also = f" and {gateway.tls_url}" if gateway.tls_url else ""
        smpp = f", for SMPP at {gateway.smpp}" if gateway.smpp else ""
        sys.stdout.write(f"Heliograph is ready at {gateway.url}{also}{smpp}\n")
    sys.stdout.flush()


class Gateway:
    """Everything that runs in the gateway's main process, put together."""

    engine: Engine

    def __init__(self, settings: Settings, *, dev: bool) -> None:
        """Raises Unusable if alerts cannot be sent as the settings say."""
        self._settings = settings
        self._alerts = Alerts(settings)
        self._dev = dev
        self._simulated: SimulatedOperator | None = None
        self._node = secrets.randbits(48)
        self._listening: Listening | None = None
        self._reloading: set[asyncio.Task[str]] = set()

    @property
    def url(self) -> str:
        """The address of the API; empty before it listens."""
        return "" if self._listening is None else self._listening.url

    @property
    def tls_url(self) -> str:
        """The address of the API by HTTPS, for example `https://127.0.0.1:8443`; empty without HTTPS."""
        return "" if self._listening is None else self._listening.tls_url

    @property
    def smpp(self) -> str:
        """Host and port of the SMPP server; empty while it is off."""
        return self._smpp_server.address if hasattr(self, "_smpp_server") else ""

    @property
    def smpp_tls(self) -> str:
        """The same with TLS."""
        return self._smpp_server.tls_address if hasattr(self, "_smpp_server") else ""

    def reload(self) -> None:
        """Starts to reload the parts of the configuration that may change at run time. The result is logged."""
        if self._listening is not None:
            task = asyncio.get_running_loop().create_task(self._listening.reload())
            self._reloading.add(task)
            task.add_done_callback(self._reloading.discard)

    async def start(self, stop: asyncio.Event) -> bool:
        """Returns True when requests are served, and False if `stop` was set while the database was awaited."""
        from heliograph.adapters.system.clock import SystemClock
        from heliograph.adapters.system.journal import LogJournal
        from heliograph.adapters.system.verifier import PasswordVerifier

        settings = self._settings
        self._clock = SystemClock()
        self._journal = LogJournal(sensitive=settings.log.sensitive)
        self._secrets = make_secrets(settings)
        self._verifier = PasswordVerifier(self._secrets)
        self._keep_from_others()
        self._past = PastKeeper(settings.data, self._clock, self._journal)
        self._listening = listening = Listening(settings, self._journal)
        opened = await self._opened_store(listening, stop)
        if opened is None:
            await listening.stop(0.0)
            self._verifier.close()
            return False
        self._store = store = opened.store
        for hazard in await store.upkeep.hazards():
            self._journal.log("error", "store.hazard", problem=hazard)
        await development.prepare(store, self._secrets, self._clock, self._journal, dev=self._dev)
        if self._dev:
            self._simulated = await SimulatedOperator.start()
        self._watching = Watching(settings, self._clock, self._journal)
        self._directory = self._make_directory(store)
        self._long_polls = LongPolls(store.pulls)
        self._listeners = NoticeListeners(
            store.messages, self._clock, msgspec.json.encode, secrets.token_hex(4), f"Heliograph/{__version__}"
        )
        self._smpp_server = CustomerBinds(settings, self._clock, self._watching.binds, dev=self._dev)
        self.engine = self._make_engine(self._watching.sender(await self._make_sender()))
        await self._remember_failures()
        await self.engine.start()
        try:
            await self._open(listening, opened)
        except Exception:
            # The engine may have sent messages. If it died with them, they would be sent again after each such start.
            await self.stop()
            raise
        self._journal.log("info", "ready", url=self.url)
        return True

    async def _open(self, listening: Listening, opened: OpenedStore) -> None:
        """Makes the parts around the engine, which runs, and starts to serve. Raises OSError."""
        from heliograph.composition.certificates import ClientCertificates
        from heliograph.net.address_guard import AddressGuard

        settings, store = self._settings, opened.store
        guard = AddressGuard(self._allowed_networks(), settings.callbacks.allowed_ports)
        composer = Composer(self._directory, guard.forbidden_host, terms(settings).rules, guard.forbidden_port)
        sending = Sending(composer, store.customers, self._watching.intake(self.engine.gatherer), self._clock)
        self.engine.replies.sending = sending
        self._authenticator = self._make_authenticator()
        self._api = api = self._make_api(composer, sending)
        if "api" in settings.node.roles:
            self._admin = self._make_admin(composer, sending)
            self._admin.start(api)
        if self._dev:
            api.mount(development.BOARD_PATH, development.ReceiptBoard())
        sign_ins = (self._customer_failures, self._console_failures)
        local, unreadable = listening.local_answers(), opened.encryption.unreadable
        self._shown = shown = ClientCertificates(self.engine.carried, self._journal)
        shown.start(self.engine.watch)
        await self._watching.start(
            self.engine, store, api, local, self._served_tls, lambda: shown.ends, sign_ins, unreadable
        )
        self._refusal_writer = RefusalWriter(
            self._watching.refusals, store.refused_requests, self._clock, self._journal
        )
        self._refusal_writer.start(self.engine.watch)
        self._encryption = self._make_encryption_upkeep(opened)
        self._encryption.start(self.engine.watch)
        self._start_rounds()
        await listening.open(api, self._watching, dev=self._dev)
        await self._open_smpp(listening, composer, sending)

    def _served_tls(self) -> "dict[str, Tls]":
        """Returns the certificates of the listeners with TLS, by name."""
        found = {"http": None if self._listening is None else self._listening.tls, "smpp": self._smpp_server.tls}
        return {name: tls for name, tls in found.items() if tls is not None}

    async def _opened_store(self, listening: Listening, stop: asyncio.Event) -> OpenedStore | None:
        """Opens the store. While its database is away, answers 503 and tries again. Returns None once `stop` is set.

        Raises Unavailable if only a person can mend it, for example a wrong password.
        """
        outage = Outage(self._clock, self._journal)
        vault_once = cache(vault_of)  # the settings may ask a key store
        stopped = asyncio.create_task(stop.wait())
        try:
            while True:
                opening = asyncio.create_task(open_store(self._settings, guard=self._past, find_vault=vault_once))
                await asyncio.wait({opening, stopped}, return_when=asyncio.FIRST_COMPLETED)
                if not opening.done():
                    await end(opening)
                    return None
                try:
                    opened = opening.result()
                except Away as problem:
                    outage.found_away("start", problem)
                    await listening.wait(lambda: bool(self._past.problem))
                else:
                    outage.found_there("start")
                    return opened
                await asyncio.wait({stopped}, timeout=STORE_AGAIN_S)
        finally:
            await end(stopped)

    async def give_notice(self, hurry: asyncio.Event) -> None:
        """Serves for `shutdown.notice_s` more, but is not ready. Ends early once `hurry` is set, or a task has died."""
        notice = self._settings.shutdown.notice_s
        if not notice:
            return
        self._journal.log("info", "leaving", notice_s=notice)
        self._api.services.leaving = True
        assert self._listening is not None
        self._listening.give_notice()
        ends = [asyncio.create_task(event.wait()) for event in (hurry, self.engine.failed)]
        await asyncio.wait(ends, timeout=notice, return_when=asyncio.FIRST_COMPLETED)
        for each in ends:
            await end(each)

    async def stop(self) -> None:
        """Stops accepting requests, finishes open work, then ends. The next start resumes unfinished work."""
        drain = self._settings.shutdown.drain_s
        self._journal.log("info", "stopping", drain_s=drain)
        overdue = asyncio.get_running_loop().call_later(drain + OVERDUE_S, self._give_up)
        if hasattr(self, "_listeners"):
            await self._long_polls.close()
            await self._listeners.close()
        grace = drain * REQUESTS_SHARE
        # side by side: one after the other, they could use up the time in which the engine ends
        serving = [] if self._listening is None else [self._listening.stop(grace)]
        if hasattr(self, "_smpp_server"):
            serving.append(self._smpp_server.stop(grace))
        await asyncio.gather(*serving)
        await self._stop_started("_alerts", "_admin")
        if hasattr(self, "engine"):
            await self.engine.stop(drain * (1 - REQUESTS_SHARE))
            await self._watching.stop()
        await self._stop_started("_shown", "_encryption", "_guard", "_refusal_writer", "_failure_writer")
        if self._simulated is not None:
            await self._simulated.stop()
        if hasattr(self, "_directory") and self._directory.ported is not None:
            await self._directory.ported.close()
        self._verifier.close()
        await self._store.close()
        overdue.cancel()
        self._journal.log("info", "stopped")

    async def _stop_started(self, *names: str) -> None:
        """Stops these parts in this order. A start that failed has not made all of them."""
        for name in names:
            if hasattr(self, name):
                await getattr(self, name).stop()

    def _make_encryption_upkeep(self, opened: OpenedStore) -> EncryptionUpkeep:
        reseals = "upkeep" in self._settings.node.roles
        return EncryptionUpkeep(opened.encryption, self._clock, self._journal, self.engine.failed.set, reseals=reseals)

    def _start_rounds(self) -> None:
        self._guard = TrafficGuard(
            self._watching.traffic,
            self._store.guard,
            self._store.accounts,
            self._directory,
            self._clock,
            self._journal,
            GuardMode.OFF if self._dev else GuardMode(self._settings.messages.guard),
            self._settings.messages.guard_young_days,
        )
        self._guard.start(self.engine.watch)
        self._alerts.start(self._store, self._clock, self._journal, self.engine, self._node)

    def _give_up(self) -> None:
        """Logs every task that has not ended, and ends the process as in a crash, which loses nothing."""
        for task in asyncio.all_tasks():
            self._journal.log("critical", "stop.overdue", task=task.get_name(), where=whereabouts(task))
        sys.stderr.flush()
        os._exit(1)

    def _keep_from_others(self) -> None:
        """Closes the data directory and the store to users other than the owner and the group, and logs it."""
        data = self._settings.data
        for path in (data, *(data / f"{STORE_FILE}{suffix}" for suffix in ("", "-wal", "-shm"))):
            found = keep_from_others(path)
            if found is not None:
                before, after = found
                done = "closed to them now" if before != after else "cannot be closed to them: chmod o-rwx"
                self._journal.log(
                    "warning",
                    "data.open_to_others",
                    path=str(path),
                    mode=f"{before:o}",
                    problem=f"others may read; {done}",
                )

    async def _remember_failures(self) -> None:
        """Creates the register of failed sign-ins, and reads the failures of earlier runs and other nodes."""
        from heliograph.app.admin.sign_in import WINDOW_S
        from heliograph.app.admin.signed_state import SignedState

        store, clock = self._store, self._clock
        key = await store.sign_ins.key(self._secrets.octets(32))
        self._tickets = SignedState(key, clock.now)
        self._customer_failures = FailureRegister("customers", LOGIN_WINDOW_S, key, clock.now)
        self._console_failures = FailureRegister("console", WINDOW_S, key, clock.now)
        self._wrong_codes = FailureRegister(DAILY, DAY_S, key, clock.now)
        self._failure_writer = FailureWriter(
            [self._customer_failures, self._console_failures, self._wrong_codes],
            store.sign_ins,
            clock,
            self._node,
            shared=store.leases is not None,
        )
        await self._failure_writer.start(self.engine.watch)

    # --- parts

    def _make_engine(self, sender: WebhookSender) -> Engine:
        from heliograph.adapters.system.clock import RandomIds

        settings = self._settings
        messages, roles, now = settings.messages, settings.node.roles, self._clock.now()
        return Engine(
            Environment(
                store=self._store,
                directory=self._directory,
                sender=sender,
                make_carrier=self._make_carrier,
                policy=policy_of,
                ids=RandomIds(),
                clock=self._clock,
                journal=self._journal,
                jitter=random.random,
                encode_json=msgspec.json.encode,
                opt_out_words=load_opt_out_words(),
                answer_limits=AnswerLimits(AnswerTerms(messages.answers_per_hour, messages.replies_per_phone)),
                watchers=(*self._watching.watchers, self._long_polls, self._listeners, self._past),
                retention=retention(settings),
                retained=self._watching.retained,
                taken=self._watching.counters.taken,
                ways=self._smpp_server.ways,
                leases=self._store.leases,
                identity=NodeReport(
                    self._node, socket.gethostname(), __version__, tuple(roles), self._past.known.directory, now, now
                ),
                past=self._past,
            ),
            TimeLimits(
                messages.validity_hours,
                messages.receipt_grace_hours,
                settings.callbacks.retry_hours,
                messages.inbound_parts_minutes / 60,
                (settings.reports.minutes_days, settings.reports.hours_days, settings.reports.days_years * 365.25),
            ),
            node=self._node,
            fallbacks=() if self._simulated is None else (self._simulated.connector,),
            roles=NodeRoles("dispatch" in roles, "notify" in roles, "upkeep" in roles, settings.node.most_binds),
        )

    def _make_authenticator(self) -> "Authenticator":
        from heliograph.app.sending.authenticate import Authenticator

        rehash = Rehash(self._secrets, self._verifier.hash, self._store.sign_ins)
        return Authenticator(self._directory, self._secrets, self._verifier, self._customer_failures, rehash)

    async def _open_smpp(self, listening: Listening, composer: Composer, sending: Sending) -> None:
        """Serves SMPP clients, if the settings say so."""
        from heliograph.adapters.smpp_server.services import Services as SmppServices
        from heliograph.app.sending.reschedule import Rescheduling
        from heliograph.net.proxies import Proxies

        services = SmppServices(
            authenticator=self._authenticator,
            sending=sending,
            rescheduling=Rescheduling(self._store.customers, composer),
            customers=self._store.customers,
            directory=self._directory,
            clock=self._clock,
            journal=self._journal,
            refusals=self._watching.refusals,
            wake=self.engine.gatherer.wake_feeder,
            store=self._store.binds,
            node=self._node,
            proxies=Proxies(self._settings.smpp_server.trusted_proxies),
            longest_validity_ms=terms(self._settings).rules.validity_ms,
        )
        listening.further.append(self._smpp_server.reload)
        await self._smpp_server.open(services, self.engine.watch, embedded=self._store.leases is None)

    def _make_api(self, composer: Composer, sending: Sending) -> "Api":
        from heliograph.api.app import Api
        from heliograph.api.decode import Bounds
        from heliograph.api.reference import PAGE_PATH, PATHS, Reference
        from heliograph.api.services import Services
        from heliograph.app.inbound.pull import Pulling
        from heliograph.app.inbound.suppression_list import SuppressionList
        from heliograph.app.sending.browse import Browse
        from heliograph.app.sending.feedback import FeedbackList
        from heliograph.app.sending.reschedule import Rescheduling

        in_force, store = terms(self._settings), self._store
        customers = "api" in self._settings.node.roles
        api = Api(
            Services(
                authenticator=self._authenticator,
                sending=sending,
                rescheduling=Rescheduling(store.customers, composer),
                browse=Browse(store.customers, in_force.list_interval_s),
                pulling=Pulling(store.pulls),
                long_polls=self._long_polls,
                suppression_list=SuppressionList(store.suppressions, self._clock, self.engine.dispatcher.withdraw),
                feedback=FeedbackList(store.receipts, self._clock, self._watching.series),
                listening=self._listeners,
                clock=self._clock,
                journal=self._journal,
                probe=store.upkeep.probe,
                away=lambda: self.engine.away,
                refusals=self._watching.refusals,
                request_prefix=secrets.token_hex(4),
                max_body=in_force.max_body,
                bounds=Bounds(in_force.rules.max_destinations, in_force.rules.max_segments),
                customers=customers,
            )
        )
        if customers:
            reference = Reference(in_force)
            for path in PATHS:
                api.mount(path, reference)
            api.home = PAGE_PATH
        return api

    def _make_directory(self, store: Store) -> Directory:
        try:
            ported = open_ported(self._settings, self._journal, self._watching.lookups)
        except Invalid as problem:
            raise Unusable(
                f"{problem.field}, {self._settings.routing.ported_file}, cannot be used: {problem}"
            ) from None
        fallback = SIMULATOR if self._dev else None
        directory = Directory(store.table_changes, store.accounts, fallback, policy_of, ported, is_whole)
        self._watching.margins.costs = directory.costs
        return directory

    def _make_admin(self, composer: Composer, sending: Sending) -> AdminApps:
        return AdminApps(
            AdminParts(
                settings=self._settings,
                store=self._store,
                secrets=self._secrets,
                clock=self._clock,
                journal=self._journal,
                verify=self._verifier,
                register=self._console_failures,
                wrong_codes=self._wrong_codes,
                tickets=self._tickets,
                hash_password=self._verifier.hash,
                directory=self._directory,
                composer=composer,
                sending=sending,
                refusals=self._watching.refusals,
                engine=self.engine,
                counters=self._watching.counters,
                simulated=self._simulated,
            )
        )

    def _allowed_networks(self) -> tuple[str, ...]:
        return allowed_networks(self._settings, is_dev=self._dev)

    async def _make_sender(self) -> WebhookSender:
        from heliograph.adapters.webhook.local import LocalSender, WebhookLimits, WebhookSettings
        from heliograph.adapters.webhook.process import ProcessSender

        callbacks = self._settings.callbacks
        settings = WebhookSettings(
            self._allowed_networks(),
            limits=WebhookLimits(try_seconds=callbacks.timeout_s),
            ports=callbacks.allowed_ports,
        )
        beside = callbacks.process == "beside" or (callbacks.process == "auto" and len(os.sched_getaffinity(0)) > 1)
        if not beside or "notify" not in self._settings.node.roles:
            return LocalSender(settings)
        sender = ProcessSender(settings)
        await sender.start()
        return sender

    def _make_carrier(self, connector: Connector, events: CarrierEvents) -> Carrier:
        make, lease_end = ADAPTERS[connector.kind].carrier, self.engine.lease_end
        return make(connector, events, self._clock, self._journal, self._settings, lease_end)
