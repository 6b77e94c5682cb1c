"""Costs: what the operator of a connector charges a segment, one by one and in lists."""

from bisect import bisect_left
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, Final

from heliograph.app.configuration import Cost, Missing, Price
from heliograph.app.ports.large_tables import COMPARED, PART_ROWS, CostQuery, DecidingKeys, DestinationQuery
from heliograph.app.ports.large_tables import Key as Place
from heliograph.app.records import Scope
from heliograph.app.resources import coverage
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk, Invalid, NoSuch, audited_target, check_destination, connector_id
from heliograph.app.resources.fields import KEEP, Credits, Field, Flag, Reference, Rows, Text, Whole
from heliograph.app.resources.prices import DATE_PATTERN, HOLDS, SINCE, format_since
from heliograph.app.resources.routes import NETWORK
from heliograph.app.resources.routes import PREFIX as ROUTE_PREFIX
from heliograph.domain.display import numbers_of
from heliograph.domain.money.amounts import format_credits
from heliograph.domain.money.costs import CostTable, in_force
from heliograph.domain.money.pricing import DEFAULT_PLAN, price_table
from heliograph.domain.numbers.phone import PrefixTable, prefixes

MOST_AT_ONCE: Final = 200_000
"""The most costs of a list."""

IMPORT_OCTETS: Final = 32 << 20
"""The largest body of an import: 200,000 costs of 160 octets."""

RISE_PERCENT: Final = 10
"""Percent by which a cost must rise for an import to say so."""

AT_ONCE: Final = 1_000
"""Destinations that are compared with prices in a turn of the event loop: some ten milliseconds."""

MOST_SPANS: Final = 1_000
"""Prefixes of a list whose destinations are read one by one. For more, all destinations are read."""

ORDER: Final = ("connector", "network", "prefix", "since")
"""The fields by which costs are listed."""

Key = tuple[int, str, str, int]
"""The connector, network, prefix and start (ms) of a cost."""


async def find(
    desk: Desk, connector: str | None = None, past: bool = False, after: Place | None = None, limit: int = PART_ROWS
) -> list[dict[str, Any]]:
    """Returns the costs that hold now or will hold, by connector, network, prefix and date; with `past` also costs that
    were replaced or ended. `after` is ORDER of the last cost before them."""
    names = await desk.connector_names()
    numbers = {name: number for number, name in names.items()}
    for name in (connector, None if after is None else after[0]):
        if name is not None and name not in numbers:
            raise NoSuch("connector", name)
    place = None if after is None else (numbers[after[0]], after[1], after[2], after[3] or 0)
    query = CostQuery(desk.now, 0 if connector is None else numbers[connector], past, place, limit)
    found = await desk.store.routing_lists.costs(query)
    return [_row(each, names[each.connector]) for each in found if each.connector in names]


async def put(
    desk: Desk,
    connector: str,
    submitted: int,
    prefix: str = "",
    network: str = "",
    delivered: int = 0,
    since: int = 0,
    until: int = 0,
) -> dict[str, Any]:
    """Sets the cost of a destination that holds from `since` on, and before `until` (0: no end)."""
    number = await connector_id(desk.store, connector)
    cost = _made(number, prefix, network, submitted, delivered, since, until)
    details = {"connector": connector, "submitted": format_credits(submitted), "delivered": format_credits(delivered)}
    if since:
        details["since"] = format_since(since)
    if until:
        details["until"] = format_since(until)
    await desk.audited("cost.set", audited_target(prefix, network), details).costs.put([cost])
    return _row(cost, connector)


async def put_all(
    desk: Desk, connector: str, costs: Sequence[Mapping[str, Any]], replace: bool = False, dry_run: bool = False
) -> dict[str, Any]:
    """Sets the costs of a connector, all or none; with `replace` it has no others afterwards. A dry run only
    compares."""
    number = await connector_id(desk.store, connector)
    wanted: dict[Key, Cost] = await desk.in_thread(lambda: _made_of(number, costs))
    if len(wanted) < len(costs):
        raise Invalid("costs", "two of them are for the same destination and date")
    found = await _compared(desk, number, wanted)
    known = found.same + len(found.changed)
    changes = {
        "added": len(wanted) - known,
        "changed": len(found.changed),
        "removed": await desk.store.routing_lists.count_costs(number) - known if replace else 0,
    }
    losses = await _losses(desk, number, wanted, None if replace else found)
    if not dry_run:
        details = {name: str(count) for name, count in changes.items()} | {"connector": connector}
        audited = desk.audited("cost.import", connector, details)
        await audited.costs.put(list(wanted.values()), [number] if replace else [])
    return {**changes, "rises": found.rises, "losses": losses}


def _made_of(connector: int, rows: Sequence[Mapping[str, Any]]) -> dict[Key, Cost]:
    """Returns the costs of a list. Raises Invalid with the number of the row."""
    wanted: dict[Key, Cost] = {}
    for row, each in enumerate(rows):
        try:
            cost = _made(
                connector, each["prefix"], each["network"], each["submitted"], each.get("delivered", 0),
                each.get("since", 0), each.get("until", 0),
            )  # fmt: skip
        except Invalid as problem:
            raise Invalid(f"costs[{row}].{problem.field}", problem.problem) from None
        wanted[*_destination(cost), cost.since] = cost
    return wanted


@dataclass(slots=True)
class _Compared:
    """A list of costs, against the stored costs of its destinations."""

    same: int = 0
    """Costs that the store has already."""
    changed: list[Cost] = field(default_factory=list)
    """Costs that the store has with other amounts."""
    added: list[Cost] = field(default_factory=list)
    rises: list[dict[str, Any]] = field(default_factory=list)


async def _compared(desk: Desk, connector: int, wanted: Mapping[Key, Cost]) -> _Compared:
    result, costs = _Compared(), list(wanted.values())
    for start in range(0, len(costs), COMPARED):
        part = costs[start : start + COMPARED]
        networks, prefixes = {each.network for each in part} - {""}, {each.prefix for each in part if not each.network}
        stored = await desk.store.large_tables.costs_of(connector, list(networks), list(prefixes))
        there = {(*_destination(each), each.since): each for each in stored}
        held = {_destination(each): each for each in in_force(stored, desk.now)}
        for cost in part:
            known, was = there.get((*_destination(cost), cost.since)), held.get(_destination(cost))
            if known == cost:
                result.same += 1
            else:
                (result.added if known is None else result.changed).append(cost)
            if was is not None and _whole(cost) * 100 > _whole(was) * (100 + RISE_PERCENT):
                destination = cost.network or cost.prefix
                result.rises.append({"destination": destination, "was": _whole(was), "cost": _whole(cost)})
    return result


async def _losses(
    desk: Desk, connector: int, wanted: Mapping[Key, Cost], compared: _Compared | None
) -> list[dict[str, Any]]:
    """Returns the destinations of plans for which the connector becomes dearer than the price, once all costs hold.
    Ends of the list that are to come do not count. Without `compared` the costs replace all others of the connector.
    """
    at = max(desk.now, *(cost.since for cost in wanted.values())) if wanted else desk.now
    new = list(wanted.values()) if compared is None else [*compared.added, *compared.changed]
    networks, roots = {each.network for each in new} - {""}, {each.prefix for each in new if not each.network}
    by_destination: dict[tuple[str, str], list[Cost]] = {}
    for cost in wanted.values():
        held = replace(cost, until=0) if cost.until > desk.now else cost
        by_destination.setdefault((cost.network, cost.prefix), []).append(held)
    proofs = await _proofs(desk, at)
    losses: list[dict[str, Any]] = []
    async for part in _destinations(desk, at, tuple(proofs), roots, is_any=compared is None or bool(networks)):
        found = await _destinations_in(desk, part, None if compared is None else (roots, networks))
        if not found:
            continue
        starts, of = coverage.beginnings(found), sorted({*found.values()} - {""})
        stored = await desk.store.large_tables.costs_of(connector, of, starts)
        keys = [*(("", prefix) for prefix in starts), *((network, "") for network in of)]
        listed = [cost for key in keys for cost in by_destination.get(key, ())]
        kept = {} if compared is None else {(*_destination(each), each.since): each for each in stored}
        before = CostTable(stored, at)
        after = CostTable({**kept, **{(*_destination(each), each.since): each for each in listed}}.values(), at)
        default = await desk.store.large_tables.prices_of(DEFAULT_PLAN, of, starts)
        for plan, proof in proofs.items():
            prices = [] if plan == DEFAULT_PLAN else await desk.store.large_tables.prices_of(plan, of, starts)
            tariff = price_table([*default, *prices, *proof], at).tariff(plan)
            for prefix, network in found.items():
                price, charged = tariff.price(prefix, network), after.cost(connector, prefix, network)
                if price is None or charged is None or charged <= price:
                    continue
                old = before.cost(connector, prefix, network)
                if old is None or old <= price:
                    losses.append({"destination": prefix, "plan": plan, "price": price, "cost": charged})
    return sorted(losses, key=itemgetter("plan", "destination"))


async def _proofs(desk: Desk, at: int) -> dict[str, list[Price]]:
    """Returns the plans with prices that hold at a moment, each with such a price: a plan without any has the prices of
    the plan `default`."""
    proofs: dict[str, list[Price]] = {}
    for plan in sorted({*(await desk.store.routing_lists.plan_names()), DEFAULT_PLAN}):
        found = await desk.store.large_tables.deciding(DecidingKeys((), "", 0, plan, (), at))
        if found.prices or plan == DEFAULT_PLAN:
            proofs[plan] = found.prices
    return proofs


async def _destinations(
    desk: Desk, at: int, plans: tuple[str, ...], roots: Collection[str], *, is_any: bool
) -> AsyncIterator[list[str]]:
    """Yields destinations in parts, which include the wanted prefixes `roots`. Unless `is_any`, those that begin with
    them are enough."""
    ordered, tables = sorted(roots), desk.store.large_tables
    outer: list[str] = []
    for root in ordered:
        if not outer or not root.startswith(outer[-1]):
            outer.append(root)
    for near in [""] if is_any or len(outer) > MOST_SPANS else outer:
        after: str | None = None
        while True:
            stored = await tables.destinations(DestinationQuery(at, plans, near, after=after, limit=AT_ONCE))
            first = bisect_left(ordered, near if after is None else max(near, f"{after}0"))
            within = [each for each in ordered[first : first + AT_ONCE] if each.startswith(near)]
            found = sorted({*stored, *within})[:AT_ONCE]
            if not found:
                break
            yield found
            after = found[-1]


async def _destinations_in(
    desk: Desk, part: Sequence[str], wanted: tuple[Collection[str], Collection[str]] | None
) -> dict[str, str]:
    """Returns the networks of destinations by prefix: all of them, or those that begin with a wanted prefix or are in a
    wanted network."""
    roots, networks = wanted or ((), ())
    of_roots = {each for each in part if wanted is None or not {*prefixes(each)}.isdisjoint(roots)}
    looked_at = part if networks else of_roots
    known = await desk.store.large_tables.networks_of(coverage.beginnings(looked_at))
    table = PrefixTable({each.prefix: each.mccmnc for each in known})
    found = {each: table.find(each) or "" for each in sorted(looked_at)}
    return {each: network for each, network in found.items() if each in of_roots or network in networks}


async def remove(desk: Desk, connector: str, prefix: str = "", network: str = "", since: int | None = None) -> None:
    """Removes the cost of a destination that holds from a date on; without a date all its costs."""
    number = await connector_id(desk.store, connector)
    details = {"connector": connector} | ({} if since is None else {"since": format_since(since)})
    try:
        await desk.audited("cost.remove", audited_target(prefix, network), details).costs.remove(
            number, network, prefix, since
        )
    except Missing:
        raise NoSuch("cost", f"for {numbers_of(prefix, network)} over {connector}") from None


def _made(connector: int, prefix: str, network: str, submitted: int, delivered: int, since: int, until: int) -> Cost:
    """Raises Invalid."""
    check_destination("cost", prefix, network)
    check_dates(since, until)
    return Cost(connector, prefix, network, submitted, delivered, since, until)


def check_dates(since: int, until: int) -> None:
    """Raises Invalid if a cost would end before it holds."""
    if 0 < until <= since:
        raise Invalid("until", f"the cost would end before it holds; write a date later than {format_since(since)}")


def _destination(cost: Cost) -> tuple[int, str, str]:
    return cost.connector, cost.network, cost.prefix


def _whole(cost: Cost) -> int:
    return cost.submitted + cost.delivered


def _row(cost: Cost, connector: str) -> dict[str, Any]:
    return {
        "connector": connector, "prefix": cost.prefix, "network": cost.network, "submitted": cost.submitted,
        "delivered": cost.delivered, "since": cost.since or None, "until": cost.until or None,
    }  # fmt: skip


class _End(Text):
    """The day or time at which a cost ends, written as `SINCE`: ms inside. 0 and "" are no end."""

    def read(self, value: str) -> int:
        end = int(SINCE.type.read(value))
        if value.strip() and not end:
            raise ValueError("it must be later than 1970-01-01")
        return end

    def show(self, value: int) -> str:
        return format_since(value)


_AMOUNT = Credits("it must not be below zero")
CONNECTOR = Field("connector", Reference("connector"), "The connector of the operator.")
PREFIX = replace(ROUTE_PREFIX, default="", must_be_typed=False)
SUBMITTED = Field("submitted", _AMOUNT, "Credits for a segment that the operator takes.", example="0.031")
DELIVERED = Field("delivered", _AMOUNT, "Credits in addition for a delivered segment.", 0)
_ONLY_SINCE = replace(SINCE, meaning="Only the cost with this start; empty: the cost without a start.", default=KEEP)
UNTIL = Field(
    "until", _End(pattern=DATE_PATTERN), "When it ends, written as `since`; empty: it has no end.", 0, "2027-07-01"
)
_ENDS = replace(HOLDS, name="until", meaning="When it ends; null: it has no end.")
ROW = (PREFIX, NETWORK, SUBMITTED, DELIVERED, SINCE, UNTIL)

COSTS = Resource(
    name="cost",
    plural="costs",
    summary="Costs of a segment, by connector and destination",
    more="What the operator of a connector charges you. A cost may be for a network or for a prefix; the network wins, "
    "then the longest prefix. `route explain` and `route coverage` set costs against prices.\n\n"
    "A cost may have a start date. It holds until the next cost of the same destination starts. It may have an end, "
    "too. After its end the next best cost counts, such as the cost of a shorter prefix; an earlier cost of the same "
    "destination does not come back.",
    nothing="There is no cost yet. Import a list: heliograph cost import FILE --connector NAME",
    key=("connector", "network", "prefix", "since"),
    called="prefix",
    fields=(CONNECTOR, PREFIX, NETWORK, SUBMITTED, DELIVERED, HOLDS, _ENDS),
    scopes=Scopes(Scope.READ_PRICES, Scope.WRITE_PRICES),
    operations=(
        Operation(
            "list",
            "GET /costs",
            find,
            "Costs that hold now or will hold",
            reads=(
                Field("connector", Reference("connector"), "Only this connector's.", None),
                Field(
                    "past",
                    Flag(),
                    "Also costs that have ended, or that later ones have replaced.",
                    False,
                    title="Include past costs",
                ),
            ),
            answers=Answer.EACH,
            order=ORDER,
            examples=("cost list", "cost list --connector op1"),
        ),
        Operation(
            "set",
            "PUT /costs",
            put,
            "Set or replace a cost",
            reads=(CONNECTOR, SUBMITTED, PREFIX, NETWORK, DELIVERED, SINCE, UNTIL),
            answers=Answer.ITEM,
            examples=(
                "cost set --connector op1 --prefix 49 --submitted 0.031",
                "cost set --connector op1 --network 26201 --submitted 0.02 --delivered 0.012 --since 2027-03-01",
                "cost set --connector op1 --prefix 4915 --submitted 0.028 --until 2027-07-01    # an offer with an end",
            ),
            done=lambda _, answer: f"The cost over {answer['connector']} is set.",
            label="Set",
        ),
        Operation(
            "import",
            "POST /costs/import",
            put_all,
            "Set a list of costs of a connector, all or none",
            reads=(
                CONNECTOR,
                Field("costs", Rows(ROW, "CostRow", MOST_AT_ONCE), "The costs."),
                Field("replace", Flag(), "Whether the connector has no other costs afterwards.", False),
                Field("dry_run", Flag(), "Whether nothing is changed, and the answer says what would change.", False),
            ),
            answers=(
                Field("added", Whole(), "Costs that the list adds."),
                Field("changed", Whole(), "Costs that the list changes."),
                Field("removed", Whole(), "Costs that the list removes."),
                Field(
                    "rises",
                    Rows(
                        (
                            Field("destination", Text(), "MCCMNC or prefix.", empty="(all)", example="26201"),
                            Field("was", Credits(), "Credits a delivered segment now."),
                            Field("cost", Credits(), "Credits a delivered segment by the list."),
                        ),
                        "CostRise",
                        is_table=True,
                    ),
                    f"Costs that rise by more than {RISE_PERCENT} %.",
                ),
                Field(
                    "losses",
                    Rows(
                        (
                            Field("destination", Text(), "First digits of the numbers.", empty="(all)", example="49"),
                            Field("plan", Text(), "The price plan.", example="default"),
                            Field("price", Credits(), "Credits that a segment is sold for."),
                            Field("cost", Credits(), "Credits a delivered segment by the list."),
                        ),
                        "CostLoss",
                        is_table=True,
                    ),
                    "Destinations that the list makes dearer than their price.",
                ),
            ),
            id="put_costs",
            read_name="NewCosts",
            answer_name="CostChanges",
            octets=IMPORT_OCTETS,
        ),
        Operation(
            "remove",
            "DELETE /costs",
            remove,
            "Remove the costs of a destination",
            reads=(CONNECTOR, PREFIX, NETWORK, _ONLY_SINCE),
            is_found=True,
            examples=("cost remove --connector op1 --prefix 49",),
            done="The cost over {connector} is removed.",
            label="Remove",
            confirm="Remove this cost over {connector}?",
        ),
    ),
)
