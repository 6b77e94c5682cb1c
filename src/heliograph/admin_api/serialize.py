"""Converts messages and decisions to the shapes of the admin API and of commands with --json."""

from typing import TYPE_CHECKING

from msgspec.structs import asdict

from heliograph.admin_api import shapes
from heliograph.app.admin.history import Event
from heliograph.app.records import Hit
from heliograph.domain.calendar import format_utc
from heliograph.domain.message import ids
from heliograph.domain.message.extras import read_extras
from heliograph.domain.money.amounts import format_credits

if TYPE_CHECKING:
    from heliograph.app.admin import views  # brings half of the app, and few commands look at a message
    from heliograph.app.routing.explain import RouteDecision


def maybe_moment(at: int | None) -> str | None:
    return None if at is None else format_utc(at)


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
