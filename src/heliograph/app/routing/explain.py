"""Explaining in sentences to which connector a number would go now, and its price, by the functions of sending."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from heliograph.app.configuration import Account, Tables
from heliograph.app.ports import DecidingKeys, PortedNumbers
from heliograph.app.routing.candidates import (
    NO_OBSTACLES,
    Candidate,
    Obstacles,
    RouteRequest,
    RouteTable,
    RoutingState,
    candidates,
    chosen,
)
from heliograph.app.routing.plan_rules import BestOrder, plan_rules
from heliograph.app.routing.quality import Quality
from heliograph.domain.display import numbers_of
from heliograph.domain.money.costs import CostTable
from heliograph.domain.money.pricing import price_table
from heliograph.domain.numbers.phone import PrefixTable, prefixes
from heliograph.domain.numbers.sender_rules import REFUSE, REPLACE, SenderRule, SenderRules

NO_PLAN: Final = "", "", ""
"""Plan, network and prefix of the built-in price."""

_NOT_COVERED: Final = "No route covers the number; in a development run it"


@dataclass(slots=True)
class NamedCandidate:
    """A connector that a number may go to, by its name."""

    connector: str
    usable: bool
    why: str
    """The rule that put it there, or why it cannot be used, in a sentence."""
    price: int | None
    """Micro-credits a segment, the same for all candidates; None if the account's prices do not cover the number."""
    cost: int | None
    """Micro-credits a delivered segment; None if it is not known."""
    margin: int | None
    """Micro-credits that a delivered segment earns; None if its cost or price is not known."""
    quality: float | None
    """Share of delivered messages in the network or country, from 0 to 1; None if it is not measured."""


@dataclass(slots=True)
class RouteDecision:
    """The connector that a number would go to now, and its price, with the reasons."""

    number: str
    connector: str | None
    """None if a message to the number is refused."""
    candidates: list[NamedCandidate]
    """In the order in which they are tried."""
    network: str
    """MCCMNC of the number's network; empty if it is not known."""
    plan: str
    """The plan of the price; empty for the built-in price."""
    price_network: str
    """MCCMNC of the price; empty if its prefix decides."""
    prefix: str
    """The prefix of the price."""
    price: int | None
    """Micro-credits a segment; None if the account's prices do not cover the number."""
    reasons: list[str] = field(default_factory=list)
    """The same in sentences."""

    @property
    def price_reason(self) -> str:
        """The reason of the price, for people."""
        if self.price is None:
            return "Neither the account's plan nor the plan default has a price for it: a message to it is refused."
        if self.plan:
            return f"The plan {self.plan} names the price for {numbers_of(self.prefix, self.price_network)}."
        return "The plan default has no price for it; a segment then costs one credit."


def deciding_keys(
    number: str, account: Account, sender_rules: Iterable[SenderRule], now: int, sender: str, ported: str
) -> DecidingKeys:
    """Returns the keys of the rows that `explain` needs, instead of a million rows.
    `ported`: MCCMNC of a ported number, or empty."""
    shown = SenderRules(sender_rules).sent_as(number, sender)
    patterns = [f"{beginning}*" for beginning in prefixes(shown)]
    senders = tuple({"", shown, *patterns})
    return DecidingKeys(tuple(prefixes(number)), ported, account.id, account.plan, senders, now)


def explain(
    number: str,
    account: Account,
    tables: Tables,
    fallbacks: Mapping[int, str],
    now: int,
    sender: str = "",
    quality: Quality | None = None,
    obstacles: Obstacles = NO_OBSTACLES,
    ported: PortedNumbers | None = None,
) -> RouteDecision:
    """Decides for a number of an account, and a sender ID. `fallbacks` are a development run's connectors; `now`
    decides which prices hold. `obstacles` hold at the moment. Of the large tables the rows of `deciding_keys` are
    enough."""
    quality = quality or Quality()
    connectors = {connector.id: connector for connector in tables.connectors}
    plan_of, costs = {**tables.plan_of, account.id: account.plan}, CostTable(tables.costs, now)
    rules, fallback = plan_rules(tables.plans, plan_of, costs, quality), next(iter(fallbacks), None)
    networks = PrefixTable({each.prefix: each.mccmnc for each in tables.networks})
    find = None if ported is None else ported.find
    state = RoutingState(RouteTable(tables.routes), connectors, fallback, plan_of, networks, obstacles, rules, find)
    names = {**fallbacks, **tables.connector_names()}
    tariff = price_table(tables.prices, now).tariff(account.plan)
    network = state.network(number)
    price = tariff.price(number, network)
    named_by, price_network, prefix = tariff.named_by(number, network) or NO_PLAN
    sender_rules = SenderRules(tables.sender_rules)
    request = RouteRequest(account.id, number, sender_rules.sent_as(number, sender), price or 0, network=network)
    found = candidates(request, state)
    obstacles = state.obstacles if price is None else state.obstacles_of(request, found)
    taken = chosen(found, obstacles)
    reasons = state.reasons(request)

    def named(candidate: Candidate) -> NamedCandidate:
        name, cost = names[candidate.connector], costs.cost(candidate.connector, number, network)
        margin = None if cost is None or price is None else price - cost
        obstacle = obstacles.get(candidate.connector, "")
        share = quality.share(candidate.connector, number, network, account.id)
        reason = reasons.get(candidate.connector)
        why = f"{reason} leads to {name}" if reason else f"{_NOT_COVERED} goes to {name}"
        why += f", which is {obstacle}." if obstacle else "."
        return NamedCandidate(name, not obstacle, why, price, cost, margin, share)

    goes_to = None if taken is None else names[taken]
    decision = RouteDecision(number, goes_to, list(map(named, found)), network, named_by, price_network, prefix, price)
    order = None if state.rules is None else state.rules.order(account.id)
    rule = sender_rules.find(number, sender) if sender else None
    decision.reasons = [
        *_sender_reasons(rule, sender),
        *_route_reasons(decision),
        *(_order_reasons(order, number) if len(found) > 1 else ()),
        *_network_reasons(decision, ported),
        decision.price_reason,
    ]
    if price is None or (rule is not None and rule.action == REFUSE):
        decision.connector = None
    return decision


def _sender_reasons(rule: SenderRule | None, sender: str) -> list[str]:
    """`rule` is the rule of the country for the sender."""
    if rule is None:
        return []
    if rule.action == REPLACE:
        return [f"A sender rule for {rule.country} replaces the sender {sender} by {rule.value}."]
    if rule.action == REFUSE:
        return [f"A sender rule for {rule.country} refuses the sender {sender}: a message is refused."]
    return [f"A sender rule for {rule.country} allows the sender {sender}."]


def _order_reasons(order: BestOrder | None, number: str) -> list[str]:
    if order is None:
        return []
    if order.explores(number):
        return ["In this hour the number explores: the connectors of a priority are in any order, to measure them."]
    return [f"Connectors of the same priority are in the order of the routing best: {order.words}."]


def _network_reasons(decision: RouteDecision, ported: PortedNumbers | None) -> list[str]:
    if not decision.network:
        return []
    is_ported = ported is not None and ported.find(decision.number)
    source = ported.source(decision.number) if ported is not None and is_ported else "its prefix"
    return [f"The number is of the network {decision.network} by {source}."]


def _route_reasons(decision: RouteDecision) -> list[str]:
    found = decision.candidates
    if not found:
        return ["No route covers the number: a message to it is refused."]
    reasons = [candidate.why for candidate in found]
    if decision.connector is None:
        reasons.append("The plan of the account excludes each of them: a message to it is refused.")
    elif not any(candidate.usable for candidate in found):
        reasons.append(f"None of them can send now: messages wait in the queue of {decision.connector}.")
    elif len(found) > 1:
        reasons.append(f"The first of them that can send is {decision.connector}.")
    return reasons
