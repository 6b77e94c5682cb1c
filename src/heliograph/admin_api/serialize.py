"""Converts accounts, connectors, messages and the rest to the shapes of the admin API and of commands with --json."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins
from msgspec.structs import asdict

from heliograph.admin_api import bind_states, shapes
from heliograph.app import configuration
from heliograph.app.admin.history import Event
from heliograph.app.connector_kind import ConnectorKind
from heliograph.app.ports import ConnectorReport
from heliograph.app.records import BacklogCounts, Hit
from heliograph.domain.calendar import format_utc
from heliograph.domain.message import ids
from heliograph.domain.message.extras import read_extras
from heliograph.domain.money.amounts import format_credits

if TYPE_CHECKING:
    from heliograph.app.admin import views  # brings half of the app, and few commands look at a message
    from heliograph.app.routing.explain import RouteDecision


def maybe_moment(at: int | None) -> str | None:
    return None if at is None else format_utc(at)


def connector(
    kind: ConnectorKind,
    found: configuration.Connector,
    reports: Iterable[ConnectorReport],
    now: int,
    warnings: Iterable[str] = (),
) -> dict[str, Any]:
    """A connector of that kind, without its secrets."""
    return {
        "name": found.name,
        "kind": found.kind,
        **{name: value for name, value in kind.values(found).items() if not kind.settings[name].secret},
        "options": kind.options(found),
        "created": format_utc(found.created),
        "state": bind_states.summed_up(found, reports, now),
        "warnings": list(warnings),
    }


def connector_with_links(
    kind: ConnectorKind,
    found: configuration.Connector,
    reports: Iterable[ConnectorReport],
    backlog: BacklogCounts,
    now: int,
) -> dict[str, Any]:
    own = [report for report in reports if report.connector == found.id]
    plain = connector(kind, found, own, now)
    said = [shapes.LinkShape(format_utc(report.at), report.node, to_builtins(report.state)) for report in own]
    return {**plain, "deferred": backlog.deferred.get(found.id, 0), "links": said}


def decision(found: "RouteDecision") -> shapes.DecisionShape:
    cost = None if found.price is None else format_credits(found.price)
    return shapes.DecisionShape(found.number, found.connector, cost, found.reasons)


def message(hit: Hit, names: dict[int, str], connectors: dict[int, str]) -> shapes.MessageShape:
    """`names` are the accounts', by id."""
    found = hit.message
    return shapes.MessageShape(
        id=ids.to_hex(found.key, found.tail),
        account=names.get(found.account, str(found.account)),
        to=found.destination,
        sender=found.sender,
        time=format_utc(found.time),
        status=hit.status.value,
        wants_receipt=found.wants_receipt,
        delivery=None if hit.delivery is None else hit.delivery.name,
        err=hit.err,
        operator_code=hit.operator_code,
        segments=found.segments,
        price=format_credits(found.price),
        connector=connectors.get(found.connector, str(found.connector)),
        reference=found.reference,
    )


def message_in_full(view: "views.MessageView") -> shapes.MessageInFull:
    trace = view.trace
    final = trace.final
    plain = message(
        Hit(trace.message, None if final is None else final[0], "" if final is None else final[1], trace.submitted),
        {view.account.id: view.account.name},
        view.connectors,
    )
    return shapes.MessageInFull(
        **asdict(plain),
        explanation=view.explanation,
        held=trace.held,
        content=trace.message.content,
        callback_url=trace.message.callback_url,
        extras=read_extras(trace.message.extras).described(),
        history=[event(each) for each in view.events],
        now=decision(view.decision),
    )


def event(found: Event) -> shapes.HistoryEvent:
    return shapes.HistoryEvent(format_utc(found.at), found.event, found.segment, found.detail)
