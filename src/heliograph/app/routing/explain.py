"""Explaining in sentences to which connector a number would go now, and its price, by the functions of sending."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from heliograph.app.configuration import Account, Route, Tables
from heliograph.app.routing.candidates import Candidate, RouteRequest, RoutingState, candidates, numbers_of
from heliograph.domain.money.pricing import PriceTable, in_force


@dataclass(slots=True)
class RouteDecision:
    """The connector that a number would go to now, and its price, with the reasons."""

    number: str
    connector: str | None
    route: Route | None
    """The rule that decided; None if no rule covers the number."""
    others: list[str]
    """Connectors of the same prefix that come after it."""
    plan: str
    """The plan of the price; empty for the built-in price."""
    prefix: str
    price: int | None
    """Micro-credits a segment; None if the account's prices do not cover the number."""
    reasons: list[str] = field(default_factory=list)
    """The same in sentences."""


def explain(number: str, account: Account, tables: Tables, fallbacks: Mapping[int, str], now: int) -> RouteDecision:
    """Decides for a number of an account. `fallbacks` are a development run's connectors; `now`
    decides which prices hold."""
    connectors = {connector.id: connector for connector in tables.connectors}
    state = RoutingState(tables.routes, connectors, next(iter(fallbacks), None))
    request = RouteRequest(account.id, number, "")
    found = candidates(request, state)
    names = {**fallbacks, **tables.connector_names()}
    tariff = PriceTable((price.plan, price.prefix, price.price) for price in in_force(tables.prices, now)).tariff(
        account.plan
    )
    named_by, prefix = tariff.named_by(number) or ("", "")
    decision = RouteDecision(
        number,
        names[found[0].connector] if found else None,
        found[0].route if found else None,
        [names[candidate.connector] for candidate in found[1:]],
        named_by,
        prefix,
        tariff.price(number),
    )
    decision.reasons = [*_route_reasons(decision, found), _price_reason(decision)]
    return decision


def _route_reasons(decision: RouteDecision, found: Sequence[Candidate]) -> list[str]:
    if not found:
        return ["No route covers the number: a message to it is refused."]
    first = found[0]
    if first.route is None:
        return [f"{first.why} goes to {decision.connector}."]
    reasons = [f"{first.why} leads to {decision.connector}."]
    if decision.others:
        reasons.append(f"Behind it are {', '.join(decision.others)}; they are not used while it is there.")
    if not first.usable:
        reasons.append(f"The connector {decision.connector} is {first.obstacle}: messages wait in its queue.")
    return reasons


def _price_reason(decision: RouteDecision) -> str:
    if decision.price is None:
        return "Neither the account's plan nor the plan default has a price for it: a message to it is refused."
    if decision.plan:
        return f"The plan {decision.plan} names the price for {numbers_of(decision.prefix)}."
    return "No plan has a price; a segment then costs one credit."
