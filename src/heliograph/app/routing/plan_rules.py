"""The rules of price plans at a moment: the margin that a connector must earn with a plan's messages."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from heliograph.app.configuration import Plan
from heliograph.domain.money.costs import CostTable
from heliograph.domain.money.margin import MinMargin, read_min_margin

BELOW_MARGIN: Final = "below the margin"
UNKNOWN_COST: Final = "of unknown cost"

EXCLUSIONS: Final = frozenset((BELOW_MARGIN, UNKNOWN_COST))
"""Obstacles for which a message does not wait: it never goes to such a connector."""


class _Bound:
    """The margin that a plan asks for."""

    __slots__ = ("least", "refuses_unknown")

    def __init__(self, plan: Plan) -> None:
        self.least: MinMargin | None = read_min_margin(plan.min_margin) if plan.min_margin else None
        self.refuses_unknown = plan.unknown_cost == "refuse"


class PlanRules:
    """The rules of plans, with the costs in force. They are replaced, never changed."""

    __slots__ = ("_bounds", "_costs", "_plan_of")

    def __init__(self, plans: Iterable[Plan], plan_of: Mapping[int, str], costs: CostTable) -> None:
        """`plan_of`: the plans of accounts by id, as far as plans have rules."""
        self._bounds = {plan.name: _Bound(plan) for plan in plans}
        self._plan_of = plan_of
        self._costs = costs

    def binds(self, account: int) -> bool:
        """Returns whether messages of the account must earn a margin."""
        return self._plan_of.get(account) in self._bounds

    def exclusion(self, account: int, number: str, network: str, price: int, connector: int) -> str:
        """Returns why the connector must not take a message, out of EXCLUSIONS; empty if it may.

        `price`: micro-credits a segment. `network`: MCCMNC of the number, or empty.
        """
        bound = self._bounds.get(self._plan_of.get(account, ""))
        if bound is None:
            return ""
        cost = self._costs.cost(connector, number, network)
        if cost is None:
            return UNKNOWN_COST if bound.refuses_unknown else ""
        return "" if bound.least is None or bound.least.allows(price, cost) else BELOW_MARGIN


def has_bound(plan: Plan) -> bool:
    """Returns whether a plan asks for a margin, or for known costs."""
    return bool(plan.min_margin) or plan.unknown_cost == "refuse"


def plan_rules(plans: Iterable[Plan], plan_of: Mapping[int, str], costs: Callable[[], CostTable]) -> PlanRules | None:
    """Returns the rules, or None if no plan has any. `costs` is called only if a plan needs them."""
    ruled = [plan for plan in plans if has_bound(plan)]
    return PlanRules(ruled, plan_of, costs()) if ruled else None
