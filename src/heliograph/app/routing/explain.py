"""Explaining in sentences to which connector a number would go now, and its price, by the functions of sending."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from heliograph.app.configuration import Route, Tables
from heliograph.app.routing.candidates import Candidate
from heliograph.app.routing.rules import RouteRules
from heliograph.domain.money.price_dates import in_force
from heliograph.domain.money.pricing import PriceTable


@dataclass(slots=True)
class RouteDecision:
    """The connector that a number would go to now, and its price, with the reasons."""

    number: str
    connector: str | None
    route: Route | None
    """The one that decided; None where none covers the number."""
    others: list[str]
    """Connectors of the same prefix that come after it."""
    plan: str
    """The plan that named the price; empty where it is the built-in one."""
    prefix: str
    price: int | None
    """Micro-credits a segment; None where the account's prices do not cover the number."""
    reasons: list[str] = field(default_factory=list)
    """The same in sentences."""


def explain(number: str, plan: str, tables: Tables, fallbacks: Mapping[int, str], now: int) -> RouteDecision:
    """Decides for a number of an account with this price plan. `fallbacks` are a development run's connectors; `now`
    decides which prices hold."""
    rules = RouteRules(tables.routes, tables.connectors, next(iter(fallbacks), None))
    candidates = rules.candidates(number)
    names = {**fallbacks, **tables.connector_names()}
    tariff = PriceTable((price.plan, price.prefix, price.price) for price in in_force(tables.prices, now)).tariff(plan)
    named_by, prefix = tariff.named_by(number) or ("", "")
    decision = RouteDecision(
        number,
        names[candidates[0].connector] if candidates else None,
        candidates[0].route if candidates else None,
        [names[candidate.connector] for candidate in candidates[1:]],
        named_by,
        prefix,
        tariff.price(number),
    )
    decision.reasons = [*_route_reasons(decision, candidates), _price_reason(decision)]
    return decision


def _route_reasons(decision: RouteDecision, candidates: tuple[Candidate, ...]) -> list[str]:
    if not candidates:
        return ["No route covers the number: a message to it is refused."]
    route = decision.route
    if route is None:
        return [f"No route covers the number; in a development run it goes to {decision.connector}."]
    what = _numbers(route.prefix)
    reasons = [f"The route for {what} with priority {route.priority} leads to {decision.connector}."]
    if decision.others:
        reasons.append(f"Behind it stand {', '.join(decision.others)}; they are not used while it is there.")
    if candidates[0].paused:
        reasons.append(f"The connector {decision.connector} is paused: messages wait in its queue.")
    return reasons


def _price_reason(decision: RouteDecision) -> str:
    if decision.price is None:
        return "Neither the account's plan nor the plan default names a price: a message to it is refused."
    if decision.plan:
        return f"The plan {decision.plan} names the price for {_numbers(decision.prefix)}."
    return "No plan names a price; a segment then costs one credit."


def _numbers(prefix: str) -> str:
    return f"the prefix {prefix}" if prefix else "all numbers"
