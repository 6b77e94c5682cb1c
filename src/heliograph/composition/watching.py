"""The part of the composition root for watching: metrics, the control socket for local commands, events, traces."""

import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from heliograph.app.observing.counters import BindCounters, LookupCounters, MessageCounters, RetentionCounters
from heliograph.app.observing.events import EventFeed
from heliograph.app.observing.margin_counter import MarginCounter
from heliograph.app.observing.refusals import Refusals
from heliograph.app.observing.series_counter import SeriesCounter
from heliograph.app.observing.traffic import TrafficWatch
from heliograph.app.ports import Clock, Intake, Store, Unavailable, Watcher, WebhookSender
from heliograph.app.ports.encryption import UnreadableValues
from heliograph.app.sending.failure_register import FailureRegister
from heliograph.config import Settings
from heliograph.domain.calendar import format_utc
from heliograph.http.asgi import Asgi, Headers
from heliograph.net.tls import Tls
from heliograph.runtime.engine import Engine
from heliograph.runtime.series_writer import SeriesWriter

if TYPE_CHECKING:
    from heliograph.adapters.tracing import TraceWatcher
    from heliograph.api.app import Api
    from heliograph.http.reply import Reply


LocalAnswers = Mapping[str, Callable[[], Awaitable[dict[str, Any]]]]
"""Answers to commands on the same machine, by request name. Each answer is a line of JSON."""


class Unusable(OSError):
    """The settings ask for something that the gateway cannot do. The message says why, for people."""


class Watching:
    """Metrics, traces and the control socket. Made before the engine, which gets its `watchers`; started when the
    engine runs.
    """

    def __init__(self, settings: Settings, clock: Clock, journal: Any) -> None:
        """`journal` is a LogJournal."""
        self._settings = settings
        self._clock = clock
        self._journal = journal
        self._counters = MessageCounters()
        self._feed = EventFeed()
        self.refusals = Refusals()
        self.binds = BindCounters()
        self.series = SeriesCounter()
        self.traffic = TrafficWatch()
        self.retained = RetentionCounters()
        self.lookups = LookupCounters()
        self.margins = MarginCounter()
        self._traces = _open_traces(settings, clock)

    @property
    def counters(self) -> MessageCounters:
        return self._counters

    @property
    def watchers(self) -> tuple[Watcher, ...]:
        series = (self.series,) if self._settings.reports.enabled else ()
        traces = [] if self._traces is None else [self._traces]
        return (self._counters, self._feed, self.traffic, self.margins, *series, *traces)

    def sender(self, sender: WebhookSender) -> WebhookSender:
        """Returns the sender for the engine: with traces, a wrapper around it."""
        return sender if self._traces is None else self._traces.sender(sender)

    def intake(self, intake: Intake) -> Intake:
        """Returns the intake for the API: with traces, a wrapper around it."""
        return intake if self._traces is None else self._traces.intake(intake)

    @property
    def around(self) -> Callable[[Asgi], Asgi] | None:
        """Wrapper that the HTTP server puts around the application; None without traces."""
        return None if self._traces is None else self._traces.around

    @property
    def choose(self) -> Callable[[Headers], bool] | None:
        """Choice by headers of the requests that go through `around`; None without traces."""
        return None if self._traces is None else self._traces.choice

    async def start(
        self,
        engine: Engine,
        store: Store,
        api: "Api",
        local: LocalAnswers,
        listeners: Callable[[], Mapping[str, Tls]],
        shown: Callable[[], Mapping[str, float]],
        sign_ins: Iterable[FailureRegister],
        unreadable: UnreadableValues,
    ) -> None:
        """Mounts /metrics with the certificates of `listeners` and those `shown` to operators, `sign_ins` and
        `unreadable`. Opens the control socket, which also gives the `local` answers.
        """
        from heliograph.adapters.control import ControlServer, EventStreams, LogLevelControl
        from heliograph.adapters.metrics import Collector, MetricsPage, page, render

        collector = Collector(
            self._counters, engine, store, self._clock, api.responses, self._settings.data, self.refusals,
            api.turned_away.counts, listeners, shown, self.retained, sign_ins, self.binds, self.lookups, self.margins,
            unreadable,
        )  # fmt: skip
        self._series_writer = SeriesWriter(self.series, self.refusals, store.series)
        self._series_writer.start(engine.watch)
        collector.start()
        self._stop_collector = collector.stop
        from heliograph.api.serve import HEALTH

        only_on = HEALTH if self._settings.http.health_listen else None
        api.mount(page.PATH, MetricsPage(collector.samples, self._settings.metrics.allowed_networks, only_on=only_on))

        def connector_name(number: int) -> str:
            return next((each.name for each, _ in engine.carrier_states() if each.id == number), str(number))

        async def metrics(_: Mapping[str, Any], send: Any) -> None:
            await send({"metrics": render(collector.samples()).decode()})

        event_streams = EventStreams(self._feed, store, connector_name)
        log_level = LogLevelControl(self._journal, self._feed, connector_name, partial(_overhear, api))
        self._control = ControlServer(
            self._settings.data,
            {
                "metrics": metrics,
                "refused": partial(_answer, partial(_refused_lately, store, self._clock)),
                "events": event_streams.listen,
                "log-level": log_level.answer,
                **{name: partial(_answer, ask) for name, ask in local.items()},
            },
        )
        try:
            await self._control.open()
        except OSError as problem:
            self._journal.log("warning", "door.closed", problem=problem)

    async def stop(self) -> None:
        """Harmless if it was never started."""
        if hasattr(self, "_control"):
            await self._control.close()
            await self._stop_collector()
            await self._series_writer.stop()
        if self._traces is not None:
            await self._traces.close()


def _open_traces(settings: Settings, clock: Clock) -> "TraceWatcher | None":
    """Returns None if neither the settings nor OpenTelemetry's variables name an endpoint. Raises Unusable if
    OpenTelemetry is not installed."""
    traces, variables = settings.traces, os.environ
    is_off = variables.get("OTEL_SDK_DISABLED", "").lower() == "true" or variables.get("OTEL_TRACES_EXPORTER") == "none"
    names = () if is_off else ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
    named_by = "traces.endpoint" if traces.endpoint else next((name for name in names if variables.get(name)), "")
    if not named_by:
        return None
    try:
        from heliograph.adapters.tracing import TraceIds, open_traces
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        raise Unusable(f"{named_by} is set, and {missing} is not installed: pip install 'heliograph[otel]'") from error
    for handler in logging.getLogger().handlers:
        handler.addFilter(TraceIds())
    return open_traces(traces.endpoint, traces.sample_ratio, clock)


async def _refused_lately(store: Store, clock: Clock) -> dict[str, Any]:
    """Returns how many requests were refused since the beginning of the last full hour, by account and reason, over all
    nodes. `totals` is null if the store is unavailable.
    """
    from heliograph.app.resources.desk import Desk
    from heliograph.app.resources.refusals import HOUR_MS, report

    try:
        found = await report(Desk(store, clock), hours=1, limit=0)
    except Unavailable:
        return {"since": None, "totals": None}
    totals = [{**each, "latest": format_utc(each["latest"])} for each in found["totals"]]
    return {"since": format_utc(found["since"] // HOUR_MS * HOUR_MS), "totals": totals}


async def _answer(ask: Callable[[], Awaitable[dict[str, Any]]], _: Mapping[str, Any], send: Any) -> None:
    await send(await ask())


def _overhear(api: "Api", listener: Callable[[bytes, int, bytes], None] | None) -> None:
    if listener is None:
        api.overhear = None
        return

    def overheard(request_id: bytes, reply: "Reply") -> None:
        listener(request_id, reply.status, reply.body)

    api.overhear = overheard
