"""Price plans: how messages of their accounts are routed, and the margin that they must earn."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, Final

from heliograph.app.configuration import Missing, Plan
from heliograph.app.records import Scope
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk, NoSuch, check_name
from heliograph.app.resources.fields import KEEP, Choice, Decimal, Field, Text, Whole
from heliograph.domain.money.margin import read_min_margin
from heliograph.domain.money.pricing import DEFAULT_PLAN

ROUTINGS: Final = ("share", "best")
UNKNOWN_COSTS: Final = ("allow", "refuse")


async def find(desk: Desk) -> list[dict[str, Any]]:
    """Returns all plans by name: plans with rules, prices, routes or accounts, and `default`."""
    ruled = {each.name: each for each in (await desk.store.network.tables(large=False)).plans}
    names = {DEFAULT_PLAN, *ruled, *(await desk.store.routing_lists.plan_names())}
    accounts = Counter(account.plan for account, _ in await desk.store.accounts.all())
    return [_row(ruled.get(name) or Plan(name), accounts[name]) for name in sorted(names | accounts.keys())]


async def show(desk: Desk, name: str) -> dict[str, Any]:
    """Returns a plan. Raises NoSuch."""
    found = next((each for each in await find(desk) if each["name"] == name), None)
    if found is None:
        raise NoSuch("plan", name)
    return found


async def change(desk: Desk, name: str, **changes: Any) -> dict[str, Any]:
    """Changes rules of a plan. The plan may be new."""
    was = next((each for each in (await desk.store.network.tables(large=False)).plans if each.name == name), Plan(name))
    if "min_margin" in changes:
        changes["min_margin"] = changes["min_margin"] or ""
    plan = replace(was, **changes)
    row = _row(plan, await desk.store.account_names.with_plan(name))
    details = {field: _FIELDS[field].text(row[field]) for field in changes}
    await desk.audited("plan.set", name, details).plans.put(plan)
    return row


async def reset(desk: Desk, name: str) -> None:
    """Gives a plan the default rules, which it may have already. Raises NoSuch."""
    await show(desk, name)
    with suppress(Missing):
        await desk.audited("plan.reset", name).plans.remove(name)


def _row(plan: Plan, accounts: int) -> dict[str, Any]:
    return asdict(plan) | {"min_margin": plan.min_margin or None, "accounts": accounts}


def unused(plan: str, accounts: int) -> str:
    """Returns the sentence for people about a plan without accounts, or "". A mistyped name makes such a plan."""
    return f" No account has the plan {plan} yet." if not accounts and plan != DEFAULT_PLAN else ""


def _format_change(_: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    return f"The plan {answer['name']} is changed.{unused(answer['name'], answer['accounts'])}"


ACCOUNTS = Field("accounts", Whole(), "Accounts that have the plan.")


_NAME = Field(
    "name",
    Text(lambda text: check_name("plan", text), "[A-Za-z0-9._-]{1,64}"),
    "The name of the plan.",
    example="resellers",
)
_RULES = (
    Field(
        "routing",
        Choice(ROUTINGS),
        "Order among connectors of the same priority: by their `share`, or `best`, the cheapest of good quality.",
        KEEP,
        example="best",
    ),
    Field(
        "min_margin",
        Text(lambda text: str(read_min_margin(text)), r"-?[0-9]{1,12}(\.[0-9]{1,6})?%?"),
        "Least margin of a segment: credits, such as 0.001, or a part of the price, such as 10%; may be negative.",
        KEEP,
        example="10%",
        empty="none",
        nullable=True,
    ),
    Field(
        "unknown_cost",
        Choice(UNKNOWN_COSTS),
        "Whether a connector without a known cost may take messages.",
        KEEP,
        example="refuse",
    ),
    Field(
        "min_quality",
        Decimal(1),
        "Share of delivered messages that routing `best` asks of a connector; 0 is least cost.",
        KEEP,
        example="0.9",
    ),
)
_FIELDS = {each.name: each for each in _RULES}

PLANS = Resource(
    name="plan",
    plural="plans",
    summary="Price plans: their routing and least margin",
    more="An account has a plan, which names its prices and may have routes of its own. The rules of a plan decide "
    "which connectors may take its messages, and in which order.\n\n"
    "The margin of a segment is its price less the cost of the connector, as if it were delivered. A connector below "
    "the plan's `min_margin` takes none of its messages. A request is refused, without a charge, if no connector is "
    "left.\n\n"
    "A running gateway applies a change within five seconds.",
    nothing="There is no plan yet. Add one: heliograph plan set NAME routing=best",
    key=("name",),
    fields=(_NAME, *_RULES, ACCOUNTS),
    link="/prices?in_plan={name}",
    scopes=Scopes(Scope.READ_PRICES, Scope.WRITE_PRICES),
    operations=(
        Operation(
            "list",
            "GET /plans",
            find,
            "All plans: plans with rules, prices, routes or accounts",
            answers=Answer.EACH,
            examples=("plan list",),
        ),
        Operation(
            "show",
            "GET /plans/{name}",
            show,
            "A plan with its rules",
            answers=Answer.ITEM,
            is_found=True,
            id="get_plan",
            examples=("plan show resellers",),
        ),
        Operation(
            "set",
            "PATCH /plans/{name}",
            change,
            "Change rules of a plan, which may be new",
            reads=_RULES,
            answers=Answer.ITEM,
            pairs=True,
            read_name="PlanRules",
            examples=(
                "plan set resellers min_margin=10% unknown_cost=refuse",
                "plan set resellers min_margin=-0.001    # a loss of a tenth of a cent is allowed",
                "plan set resellers min_margin=none",
                "plan set bulk routing=best min_quality=0    # least cost",
            ),
            done=_format_change,
            label="Change",
        ),
        Operation(
            "reset",
            "DELETE /plans/{name}",
            reset,
            "Give a plan the default rules",
            is_found=True,
            more="Its prices, routes and accounts stay as they are.",
            examples=("plan reset resellers",),
            done="The plan {name} has the default rules.",
            result="reset",
            label="Reset",
            confirm="Give the plan {name} the default rules? Its prices and accounts stay as they are.",
        ),
    ),
)
