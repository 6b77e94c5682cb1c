"""Collects all that a scrape shows: from the counters, the engine, the journal, the store and the system."""

import asyncio
import contextlib
import gc
import os
import platform
import resource
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from pathlib import Path

from heliograph import __version__
from heliograph.adapters.metrics.exposition import Sample
from heliograph.app.commit.isolate import PieceFate
from heliograph.app.configuration import Connector
from heliograph.app.dispatch.failover import REFUSED, RETURNED, UNDELIVERED, UNUSABLE
from heliograph.app.facts import NO_ANSWER, CallbackEnd, Verdict
from heliograph.app.inbound.answer_limits import Withheld
from heliograph.app.observing.counters import (
    BindCounters,
    InboundCounters,
    LaneCounters,
    LookupCounters,
    MessageCounters,
    RetentionCounters,
)
from heliograph.app.observing.margin_counter import MarginCounter
from heliograph.app.observing.refusals import Refusals
from heliograph.app.ports import CarrierState, Clock, HeldTraffic, Store, Unavailable
from heliograph.app.records import BacklogCounts
from heliograph.app.sending.failure_register import SIGN_IN_PROBLEMS, FailureRegister
from heliograph.domain.error import Reason
from heliograph.domain.limits.gate import Holder
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.retention import SCHEDULED, Stage
from heliograph.domain.message.way import Way
from heliograph.domain.money.amounts import format_credits
from heliograph.net.clients import REASONS
from heliograph.net.tls import Tls
from heliograph.runtime.engine import Engine

REFRESH_S = 15.0
"""Seconds between two readings of the store. Scrapes show the latest reading."""

AGAIN_S = 2.0
"""Seconds until the next reading after a failed reading."""

HELD_COUNTED = 100_000
"""Most held messages that are counted for each hold of the pumping guard."""

_OUTCOMES = ("accepted", "deferred", "refused", "unknown")
_ENDS = tuple(state for state in Delivery if state not in (Delivery.ENROUTE, Delivery.ACCEPTD))
"""States with a sample from the start on. Alerts divide by them, and a missing sample has no rate, not even 0."""

_SUCCESS = 0
"""The command_status of success, which has a sample from the start on, too."""

_REMOVED = "(removed)"
"""Replaces the names of connectors that were removed before their name was known."""


class Collector:
    """Collects the samples of a scrape.

    `responses`: HTTP answers by status.

    `data`: the data directory.

    `turned_away`: connections that the HTTP server refused, or closed to make room, by reason.

    `listeners`: returns the certificates of listeners with TLS by name, for example `smpp`.

    `shown`: returns when the certificates end that operators are shown (seconds since 1970), by connector.

    `unreadable`: the values that could not be read from the store.
    """

    def __init__(
        self,
        counters: MessageCounters,
        engine: Engine,
        store: Store,
        clock: Clock,
        responses: Mapping[int, int],
        data: Path,
        refusals: Refusals,
        turned_away: Mapping[str, int],
        listeners: Callable[[], Mapping[str, Tls]] = dict,
        shown: Callable[[], Mapping[str, float]] = dict,
        retained: RetentionCounters | None = None,
        sign_ins: Iterable[FailureRegister] = (),
        binds: BindCounters | None = None,
        lookups: LookupCounters | None = None,
        margins: MarginCounter | None = None,
        unreadable: Sized = (),
    ) -> None:
        self._counters = counters
        self._refusals = refusals
        self._engine = engine
        self._store = store
        self._clock = clock
        self._responses = responses
        self._data = data
        self._turned_away = turned_away
        self._listeners = listeners
        self._shown = shown
        self._retained = retained or RetentionCounters()
        self._sign_ins = tuple(sign_ins)
        self._binds = binds or BindCounters()
        self._lookups = lookups or LookupCounters()
        self._margins = margins or MarginCounter()
        self._unreadable = unreadable
        self._backlog: BacklogCounts | None = None
        self._held: list[HeldTraffic] = []
        self._refreshed = 0
        self._parked_since: int | None = None
        self._answers = True
        self._balance = self._accounts = 0
        self._names: dict[int, str] = {}
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Starts a task that reads the store now and then."""
        self._task = asyncio.create_task(self._keep_fresh(), name="metrics")
        self._engine.watch(self._task)

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def refresh(self) -> None:
        """Reads the backlog from the store. Raises Unavailable."""
        backlog = await self._store.upkeep.counts(self._clock.now())
        accounts = await self._store.accounts.all()
        now = self._clock.now()
        self._held = [each for each in await self._store.guard.holds(HELD_COUNTED) if each.is_listed(now)]
        receiving = self._binds.receiving()
        self._parked_since = await self._store.notices.oldest_parked(Way.BIND, receiving) if receiving else None
        self._backlog = backlog
        self._balance, self._accounts = sum(balance for _, balance in accounts), len(accounts)
        self._refreshed = self._clock.now()

    async def _keep_fresh(self) -> None:
        while True:
            try:
                async with asyncio.timeout(REFRESH_S):
                    await self.refresh()
                self._answers = True
            except (Unavailable, TimeoutError):  # heliograph_store_up and heliograph_backlog_refreshed_seconds show it
                self._answers = False
            await asyncio.sleep(REFRESH_S if self._answers else AGAIN_S)

    # --- a scrape

    def samples(self) -> Iterator[Sample]:
        links = self._engine.carrier_states()
        names = self._engine.connector_names()
        self._names.update(names)
        yield from self._messages()
        yield from self._commits()
        yield from self._lanes()
        yield from self._links(links)
        yield from self._receipts(links)
        yield from self._inbound()
        yield from self._esme_binds()
        yield from self._callbacks()
        yield from self._earned()
        yield from self._waiting(names)
        yield Sample("heliograph_build_info", (__version__, platform.python_version()), 1)
        yield from _process_samples()

    def _messages(self) -> Iterator[Sample]:
        counters = self._counters
        yield Sample("heliograph_messages_accepted_total", ("immediate",), counters.immediate)
        yield Sample("heliograph_messages_accepted_total", ("scheduled",), counters.scheduled)
        for reason in Reason:
            yield Sample("heliograph_requests_refused_total", (reason.value,), self._refusals.counts[reason])
        replayed = counters.verdicts[Verdict.REPLAYED] + self._refusals.replayed
        yield Sample("heliograph_requests_refused_total", ("replayed",), replayed)
        for name, ends in (
            ("heliograph_messages_final_total", counters.finals),
            ("heliograph_messages_failed_total", counters.failures),
        ):
            for state in sorted({*_ENDS, *ends}):
                yield Sample(name, (state.name,), ends[state])
        for status, number in sorted(self._responses.items()):
            yield Sample("heliograph_http_responses_total", (str(status),), number)
        for why in REASONS:
            yield Sample("heliograph_http_turned_away_total", (why,), self._turned_away.get(why, 0))
        for door, problem in SIGN_IN_PROBLEMS:
            number = sum(each.problems[door, problem] for each in self._sign_ins)
            yield Sample("heliograph_sign_in_failures_total", (door.value, problem.value), number)
        for listener, tls in self._listeners().items():
            for outcome, number in tls.handshakes.items():
                yield Sample("heliograph_tls_handshakes_total", (listener, outcome), number)
            yield Sample("heliograph_tls_certificate_end_seconds", (listener,), tls.loaded.validity.end)
        yield Sample("heliograph_accept_seconds", (), counters.accept_ms)
        yield Sample("heliograph_charged_credits_total", (), format_credits(counters.charged))
        yield Sample("heliograph_refunded_credits_total", (), format_credits(counters.refunded))

    def _esme_binds(self) -> Iterator[Sample]:
        binds = self._binds
        yield Sample("heliograph_esme_bound", (), binds.bound)
        for name, counts in (
            ("heliograph_esme_binds_total", binds.binds),
            ("heliograph_esme_submits_total", binds.submissions),
            ("heliograph_esme_deliveries_total", binds.deliveries),
        ):
            for status in sorted({_SUCCESS, *counts}):
                yield Sample(name, ("none" if status == NO_ANSWER else f"0x{status:08X}",), counts[status])

    def _commits(self) -> Iterator[Sample]:
        gatherer = self._engine.gatherer
        # such requests fail before their commit, because their account could not be read: they are no failed commits
        yield Sample("heliograph_store_up", (), int(gatherer.healthy and self._answers))
        yield Sample("heliograph_past_lost", (), int(self._engine.past_lost))
        yield Sample("heliograph_store_failures_total", (), gatherer.failures)
        for fate in PieceFate:
            yield Sample("heliograph_store_refused_total", (fate,), gatherer.refused_facts.counts[fate])
        yield Sample("heliograph_store_unreadable_values", (), len(self._unreadable))
        for stage in Stage:
            yield Sample("heliograph_retention_messages_total", (stage.label,), self._retained.done[stage])
        for stage in SCHEDULED:
            yield Sample("heliograph_retention_left_total", (stage.label,), self._retained.left[stage])
            lag_s = self._retained.lag_ms.get(stage, 0) / 1000
            yield Sample("heliograph_retention_lag_seconds", (stage.label,), lag_s)
        with contextlib.suppress(OSError):
            yield Sample("heliograph_data_free_bytes", (), shutil.disk_usage(self._data).free)
        yield Sample("heliograph_store_commit_seconds", (), self._counters.commit_us)
        yield Sample("heliograph_store_commit_records", (), self._counters.commit_facts)

    def _lanes(self) -> Iterator[Sample]:
        """Samples of the lanes, summed by connector name: a connector that was removed and created again keeps its
        series.
        """
        lanes: defaultdict[str, LaneCounters] = defaultdict(LaneCounters)
        for connector, lane in self._counters.lanes.items():
            lanes[self._names.get(connector, _REMOVED)].add(lane)
        for name in self._names.values():
            _ = lanes[name]
        for name, lane in sorted(lanes.items()):
            yield Sample("heliograph_messages_submitted_total", (name,), lane.messages)
            for outcome in _OUTCOMES:
                yield Sample("heliograph_parts_total", (name, outcome), getattr(lane, outcome))
            for code, number in sorted(lane.codes.items()):
                yield Sample(
                    "heliograph_operator_errors_total", (name, "other" if code < 0 else f"0x{code:08X}"), number
                )
            yield Sample("heliograph_throttled_total", (name,), lane.throttled)
            yield Sample("heliograph_queue_wait_seconds", (name,), lane.waited)
            yield Sample("heliograph_submit_seconds", (name,), lane.took)

    def _links(self, links: list[tuple[Connector, CarrierState]]) -> Iterator[Sample]:
        now = self._clock.monotonic()
        for connector, state in links:
            lane = self._engine.lane(connector.id)
            label = (connector.name,)
            yield Sample("heliograph_connector_binds", label, len(state.binds))
            yield Sample("heliograph_connector_binds_up", label, state.bound)
            yield Sample("heliograph_connector_silent_seconds", label, state.silent_s)
            yield Sample("heliograph_connector_window", label, state.capacity)
            yield Sample("heliograph_connector_in_flight", label, lane.window.in_flight)
            yield Sample("heliograph_connector_rate_limit", label, float(connector.rate))
            yield Sample("heliograph_connector_rate", label, 0.0 if lane.window.off else float(lane.window.pace.rate))
            paused_s = max(lane.window.paused_until, lane.window.pace.paused_until) - now
            yield Sample("heliograph_connector_paused_seconds", label, max(0.0, round(paused_s, 3)))
            yield Sample("heliograph_connector_queue", label, len(lane))
            yield Sample("heliograph_connector_usable", label, int(not self._engine.obstacle(connector.id)))
            yield Sample("heliograph_connector_breaker_open", label, int(lane.window.breaker.is_open))
            for reason in (REFUSED, UNUSABLE, UNDELIVERED, RETURNED):
                number = self._engine.dispatcher.outcomes.failovers[connector.id, reason]
                yield Sample("heliograph_failovers_total", (connector.name, reason), number)
        for name, end in sorted(self._shown().items()):
            yield Sample("heliograph_connector_certificate_end_seconds", (name,), end)
        for result in ("found", "unknown", "silent", "left_out"):
            yield Sample("heliograph_number_lookups_total", (result,), self._lookups.results[result])
        yield Sample("heliograph_number_lookup_seconds", (), self._lookups.took)
        for connector, cap in self._engine.caps.used():
            yield Sample("heliograph_connector_cap_used_ratio", (connector.name, cap.period), cap.used / cap.most)

    def _earned(self) -> Iterator[Sample]:
        """Samples of margins, by the names of connectors with known or missing costs; none while nothing is counted."""
        if self._margins.costs() is None:
            return
        for name, counts, money in (
            ("heliograph_margin_credits", self._margins.earned, True),
            ("heliograph_margin_unknown_parts_total", self._margins.unknown, False),
        ):
            sums: Counter[str] = Counter()
            for connector, count in counts.items():
                sums[self._names.get(connector, _REMOVED)] += count
            for label, total in sorted(sums.items()):
                yield Sample(name, (label,), format_credits(total) if money else total)

    def _receipts(self, links: list[tuple[Connector, CarrierState]]) -> Iterator[Sample]:
        counters, matcher = self._counters, self._engine.matcher
        yield Sample("heliograph_receipts_total", ("matched",), matcher.matched)
        yield Sample("heliograph_receipts_total", ("repeated",), matcher.ids.repeated)
        yield Sample("heliograph_receipts_total", ("early",), counters.early)
        yield Sample("heliograph_receipts_total", ("late_match",), counters.late_matches)
        for connector, state in links:
            label = (connector.name,)
            yield Sample("heliograph_receipts_received_total", label, state.counters.receipts)
            yield Sample("heliograph_receipts_put_off_total", label, state.counters.receipts_put_off)
            yield Sample("heliograph_receipts_unreadable_total", label, state.counters.receipts_unreadable)
            yield Sample("heliograph_inbound_national_numbers_total", label, state.counters.national_numbers)
            yield Sample("heliograph_receipt_queries_total", (connector.name, "asked"), state.asked)
            yield Sample("heliograph_receipt_queries_total", (connector.name, "told"), state.told)
        yield Sample("heliograph_receipt_delay_seconds", (), counters.receipt_ms)
        yield Sample("heliograph_receipts_awaited", (), len(matcher.awaited))

    def _inbound(self) -> Iterator[Sample]:
        counters = self._counters
        by_name: defaultdict[str, InboundCounters] = defaultdict(InboundCounters)
        for connector, phones in counters.inbound.items():
            by_name[self._names.get(connector, _REMOVED)].add(phones)
        for name in self._names.values():
            _ = by_name[name]
        for name, phones in sorted(by_name.items()):
            yield Sample("heliograph_inbound_messages_total", (name, "routed"), phones.routed)
            yield Sample("heliograph_inbound_messages_total", (name, "unrouted"), phones.unrouted)
            yield Sample("heliograph_inbound_parts_total", (name,), phones.parts)
            yield Sample("heliograph_inbound_incomplete_total", (name,), phones.incomplete)
        yield Sample("heliograph_inbound_commit_seconds", (), counters.inbound_ms)
        for wish in Wish:
            if wish is not Wish.NONE:
                yield Sample("heliograph_opt_outs_total", (wish.name.lower(),), counters.wishes[wish])
        for reason in Withheld:
            if reason:
                yield Sample("heliograph_phone_answers_withheld_total", (reason.value,), counters.withheld[reason])

    def _callbacks(self) -> Iterator[Sample]:
        counters = self._counters
        for end in CallbackEnd:
            yield Sample("heliograph_callbacks_total", (end.name.lower(),), counters.callbacks[end])
        yield Sample("heliograph_callback_retries_total", (), counters.callback_retries)
        yield Sample("heliograph_callback_seconds", (), counters.callback_ms)
        yield Sample("heliograph_callbacks_in_the_air", (), self._engine.notifier.in_the_air)

    def _waiting(self, names: Mapping[int, str]) -> Iterator[Sample]:
        """Samples of the latest backlog reading; none before the first reading. `names` are the present connectors by
        id.
        """
        backlog = self._backlog
        if backlog is None:
            return
        yield Sample("heliograph_queue_messages", (), backlog.waiting)
        yield Sample("heliograph_queue_oldest_seconds", (), self._oldest(backlog.oldest))
        for connector, name in names.items():
            yield Sample("heliograph_deferred_messages", (name,), backlog.deferred.get(connector, 0))
        yield Sample("heliograph_scheduled_messages", (), backlog.scheduled)
        yield Sample("heliograph_guard_holds", (), sum(not each.hold.is_observed for each in self._held))
        yield Sample("heliograph_guard_suspicions", (), sum(each.hold.is_observed for each in self._held))
        for holder in Holder:
            yield Sample("heliograph_held_messages", (holder.value,), backlog.held.get(holder, 0))
        yield Sample("heliograph_awaiting_parts", (), backlog.awaiting)
        yield Sample("heliograph_callbacks_pending", (), backlog.owed)
        yield Sample("heliograph_callbacks_failed", (), backlog.ended)
        parked_ms = 0 if self._parked_since is None else self._clock.now() - self._parked_since
        yield Sample("heliograph_esme_oldest_parked_seconds", (), max(0, parked_ms) / 1000)
        yield Sample("heliograph_unmatched_receipts", (), backlog.orphans)
        yield Sample("heliograph_backlog_refreshed_seconds", (), self._refreshed / 1000)
        yield Sample("heliograph_balance_credits", (), format_credits(self._balance))
        yield Sample("heliograph_accounts", (), self._accounts)

    def _oldest(self, in_rows: int | None) -> float:
        """Seconds for which the oldest waiting message has been due."""
        dues = [in_rows, *(lane.oldest for lane in self._engine.dispatcher.lanes.values())]
        known = [due for due in dues if due is not None]
        return max(0.0, (self._clock.now() - min(known)) / 1000) if known else 0.0


_STAT = Path("/proc/self/stat")
_MEMORY = Path("/proc/self/statm")
_FILES = Path("/proc/self/fd")

_START_FIELD = 19
"""Index of the field `starttime` (ticks since boot) in /proc/self/stat, counted after the name in brackets."""


def _process_samples() -> Iterator[Sample]:
    """Yields figures of this process, as far as the operating system provides them."""
    yield Sample("process_cpu_seconds_total", (), round(time.process_time(), 6))
    try:
        pages = int(_MEMORY.read_text().split()[1])
        yield Sample("process_resident_memory_bytes", (), pages * os.sysconf("SC_PAGE_SIZE"))
        yield Sample("process_open_fds", (), sum(1 for _ in _FILES.iterdir()))
        ticks = int(_STAT.read_text().rpartition(")")[2].split()[_START_FIELD])
        up = time.clock_gettime(time.CLOCK_BOOTTIME)
        started = round(time.time() - up + ticks / os.sysconf("SC_CLK_TCK"), 2)
        yield Sample("process_start_time_seconds", (), started)
    except (OSError, ValueError, AttributeError):
        pass  # no /proc here
    yield Sample("process_max_fds", (), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    for generation, stats in enumerate(gc.get_stats()):
        yield Sample("python_gc_collections_total", (str(generation),), stats["collections"])
