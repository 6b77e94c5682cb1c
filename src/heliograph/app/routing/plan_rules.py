"""The rules of price plans at a moment: the margin that a connector must earn, and the order of the routing `best`."""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from math import inf
from typing import Final

from heliograph.app.configuration import Plan
from heliograph.app.routing.quality import Quality
from heliograph.domain.money.costs import CostTable
from heliograph.domain.money.margin import MinMargin, read_min_margin

BELOW_MARGIN: Final = "below the margin"
UNKNOWN_COST: Final = "of unknown cost"

EXCLUSIONS: Final = frozenset((BELOW_MARGIN, UNKNOWN_COST))
"""Obstacles for which a message does not wait: it never goes to such a connector."""

EXPLORING: Final = 50
"""Of so many numbers one explores, which is two percent. Without it, a connector with bad figures would keep them."""


class MarginBound:
    """The margin that a plan asks for, with the costs in force."""

    __slots__ = ("_costs", "_least", "_refuses_unknown")

    def __init__(self, plan: Plan, costs: CostTable) -> None:
        self._costs = costs
        self._least: MinMargin | None = read_min_margin(plan.min_margin) if plan.min_margin else None
        self._refuses_unknown = plan.unknown_cost == "refuse"

    def exclusion(self, number: str, network: str, price: int, connector: int) -> str:
        """Returns why the connector must not take a message, out of EXCLUSIONS; empty if it may.

        `price`: micro-credits a segment. `network`: MCCMNC of the number, or empty.
        """
        cost = self._costs.cost(connector, number, network)
        if cost is None:
            return UNKNOWN_COST if self._refuses_unknown else ""
        return "" if self._least is None or self._least.allows(price, cost) else BELOW_MARGIN


class BestOrder:
    """The order of a plan with the routing `best`, among connectors of the same priority."""

    __slots__ = ("_costs", "_least", "_quality")

    def __init__(self, least: float, costs: CostTable, quality: Quality) -> None:
        """`least`: the share of delivered messages from which a connector is good; 0 takes any."""
        self._least = least
        self._costs = costs
        self._quality = quality

    @property
    def words(self) -> str:
        """The order for people."""
        if not self._least:
            return "the cheapest first"
        return f"the cheapest first that delivers at least {self._least * 100:g} %"

    def explores(self, number: str) -> bool:
        """Returns whether messages to the number measure all connectors in this hour, in any order."""
        hour = self._quality.hour
        if not self._least or hour < 0:
            return False
        digest = blake2b(b"%d:%b" % (hour, number.encode()), digest_size=4).digest()
        return int.from_bytes(digest) % EXPLORING == 0

    def place(self, connector: int, number: str, network: str, account: int) -> tuple[int, float, float]:
        """Returns the place of a connector for the account: good connectors by their cost, then unmeasured ones, then
        bad ones by their quality. An unknown cost counts as the highest."""
        cost = self._costs.cost(connector, number, network)
        share = self._quality.share(connector, number, network, account)
        price = inf if cost is None else float(cost)
        if not self._least or (share is not None and share >= self._least):
            return 0, price, -(share or 0.0)
        return (1, price, 0.0) if share is None else (2, -share, price)


class PlanRules:
    """The rules of plans, with the costs in force. They are replaced, never changed."""

    __slots__ = ("_bounds", "_orders", "_plan_of")

    def __init__(self, plans: Iterable[Plan], plan_of: Mapping[int, str], costs: CostTable, quality: Quality) -> None:
        """`plan_of`: the plans of accounts by id, as far as plans have rules."""
        ruled = list(plans)
        self._bounds = {plan.name: MarginBound(plan, costs) for plan in ruled if has_bound(plan)}
        self._orders = {
            plan.name: BestOrder(plan.min_quality, costs, quality) for plan in ruled if plan.routing == "best"
        }
        self._plan_of = plan_of

    @property
    def excludes(self) -> bool:
        """Whether any plan may exclude connectors."""
        return bool(self._bounds)

    def order(self, account: int) -> BestOrder | None:
        """Returns the order for messages of the account; None if their shares decide."""
        return self._orders.get(self._plan_of.get(account, ""))

    def bound(self, account: int) -> MarginBound | None:
        """Returns the margin that messages of the account must earn; None if any will do."""
        return self._bounds.get(self._plan_of.get(account, ""))


def has_bound(plan: Plan) -> bool:
    """Returns whether a plan asks for a margin, or for known costs."""
    return bool(plan.min_margin) or plan.unknown_cost == "refuse"


def has_rules(plan: Plan) -> bool:
    """Returns whether a plan excludes or orders connectors."""
    return has_bound(plan) or plan.routing == "best"


def plan_rules(
    plans: Iterable[Plan], plan_of: Mapping[int, str], costs: CostTable, quality: Quality
) -> PlanRules | None:
    """Returns the rules, or None if no plan has any."""
    ruled = [plan for plan in plans if has_rules(plan)]
    return PlanRules(ruled, plan_of, costs, quality) if ruled else None
