"""Price plans: how messages of their accounts are routed, and the margin that they must earn."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any, Final

from heliograph.app.configuration import Missing, Plan
from heliograph.app.records import Scope
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk, NoSuch, check_name, repeated_if_outdated
from heliograph.app.resources.fields import KEEP, Choice, Decimal, Field, Text, Whole
from heliograph.domain.display import counted, did_you_mean
from heliograph.domain.money.margin import read_min_margin
from heliograph.domain.money.pricing import DEFAULT_PLAN

ROUTINGS: Final = ("share", "best")
UNKNOWN_COSTS: Final = ("allow", "refuse")

MOST_NOTED: Final = 5
"""Plans without accounts that a note names."""

_LIKENESS: Final = 0.7
"""The least similarity of a plan that was probably meant: `typo` for `tpyo`, but not `resellers` for `silver`."""


async def find(desk: Desk) -> list[dict[str, Any]]:
    """Returns all plans by name: plans with rules, prices, routes or accounts, and `default`."""
    ruled = {each.name: each for each in (await desk.store.network.tables(large=False)).plans}
    names = {DEFAULT_PLAN, *ruled, *(await desk.store.routing_lists.plan_names())}
    accounts = await desk.store.account_names.by_plan()
    return [_row(ruled.get(name) or Plan(name), accounts.get(name, 0)) for name in sorted(names | accounts.keys())]


async def show(desk: Desk, name: str) -> dict[str, Any]:
    """Returns a plan. Raises NoSuch."""
    found = next((each for each in await find(desk) if each["name"] == name), None)
    if found is None:
        raise NoSuch("plan", name)
    return found


@repeated_if_outdated
async def change(desk: Desk, name: str, **changes: Any) -> dict[str, Any]:
    """Changes rules of a plan. The plan may be new."""
    tables = await desk.store.network.tables(large=False)
    was = next((each for each in tables.plans if each.name == name), Plan(name))
    if "min_margin" in changes:
        changes["min_margin"] = changes["min_margin"] or ""
    plan = replace(was, **changes)
    row = _row(plan, (await desk.store.account_names.by_plan()).get(name, 0))
    note = await unused_note(desk, [name])
    details = {field: _FIELDS[field].text(row[field]) for field in changes}
    await desk.audited("plan.set", name, details, since=tables.revision).plans.put(plan)
    return row | {"note": note}


async def reset(desk: Desk, name: str) -> None:
    """Gives a plan the default rules, which it may have already. Raises NoSuch."""
    await show(desk, name)
    with suppress(Missing):
        await desk.audited("plan.reset", name).plans.remove(name)


def _row(plan: Plan, accounts: int) -> dict[str, Any]:
    return asdict(plan) | {"min_margin": plan.min_margin or None, "accounts": accounts}


async def unused_note(desk: Desk, plans: Iterable[str]) -> str:
    """Returns sentences about the plans that no account has, or "". A plan is only a name, so a mistyped name makes
    another plan. A name that nothing else has is compared with the known names: *No account has the plan golf yet; did
    you mean gold?* Ask before the change that names the plans."""
    accounts = await desk.store.account_names.by_plan()
    unused = sorted({each for each in plans if each not in accounts} - {DEFAULT_PLAN})
    if not unused:
        return ""
    ruled = (each.name for each in (await desk.store.network.tables(large=False)).plans)
    used, others = {DEFAULT_PLAN, *accounts}, {*ruled, *(await desk.store.routing_lists.plan_names())}
    sentences = []
    for plan in unused[:MOST_NOTED]:
        among = () if plan in others else (sorted(used), sorted(others))
        meant = next(filter(None, (did_you_mean(plan, names, likeness=_LIKENESS) for names in among)), ".")
        sentences.append(f"No account has the plan {plan} yet{meant}")
    more = len(unused) - MOST_NOTED
    return " ".join(sentences + ([f"The same holds for {counted(more, 'more plan')}."] if more > 0 else []))


def _format_change(_: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    return f"The plan {answer['name']} is changed. {answer['note']}".rstrip()


ACCOUNTS = Field("accounts", Whole(), "Accounts that have the plan.")
UNUSED = Field(
    "note",
    Text(),
    "Plans that no account has yet, in sentences, with similar names that were probably meant; else empty.",
    example="No account has the plan golf yet; did you mean gold?",
)


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
            answers=(_NAME, *_RULES, ACCOUNTS, UNUSED),
            answer_name="ChangedPlan",
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
