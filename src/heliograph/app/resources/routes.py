"""Routes: the connector for each prefix of numbers. The longest matching prefix wins, then the higher priority."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from heliograph.app.configuration import Exists, Missing, Route
from heliograph.app.records import AuditEntry, Scope
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, NoSuch, connector_id
from heliograph.app.resources.fields import Credits, Field, Reference, Text, Whole, Words
from heliograph.app.routing.explain import RouteDecision, explain
from heliograph.domain.error import NOT_FOUND, Fault, invalid
from heliograph.domain.numbers import phone

MAX_PRIORITY: Final = 1_000_000
MOST_AT_ONCE: Final = 10_000
"""The most routes of a list."""

_PREFIX_TEXT = re.compile(r"([1-9][0-9]{0,14})?").fullmatch


def read_prefix(text: str) -> str:
    """Reads the first digits of numbers, such as `4477`; an empty text means all numbers. Raises ValueError."""
    if _PREFIX_TEXT(text) is None:
        problem = f"{text!r} is not a prefix; give up to 15 digits without + or a leading 0, or '' for all numbers"
        raise ValueError(problem)
    return text


async def find(desk: Desk) -> list[dict[str, Any]]:
    """Returns all routes, sorted by prefix; within a prefix the route that is tried first comes first."""
    tables = await desk.store.network.tables()
    names = tables.connector_names()
    routes = sorted(tables.routes, key=lambda route: (route.prefix, -route.priority, route.connector))
    return [
        {"id": each.id, "prefix": each.prefix, "connector": names.get(each.connector, "?"), "priority": each.priority}
        for each in routes
    ]


async def add(desk: Desk, prefix: str, connector: str, priority: int = 0) -> dict[str, Any]:
    """Adds a route: numbers with the prefix go to the connector."""
    target = await connector_id(desk.store, connector)
    texts = {"connector": connector, "priority": str(priority)}
    try:
        audited = desk.audited("route.add", prefix, texts)
        route = await audited.network.add_route(Route(0, prefix, target, priority))
    except Exists:
        raise AlreadyThere("route", _called(prefix, connector, priority)) from None
    return {"id": route.id, "prefix": prefix, "connector": connector, "priority": priority}


@dataclass(frozen=True, slots=True)
class RouteRow:
    """A route of a list, with the name of its connector."""

    prefix: str
    connector: str
    priority: int = 0


async def put(desk: Desk, routes: Sequence[RouteRow]) -> int:
    """Adds the missing routes, all in a single commit, or none. Returns the number of added routes."""
    if not 0 < len(routes) <= MOST_AT_ONCE:
        raise Invalid("routes", f"there are {len(routes)}; give 1 to {MOST_AT_ONCE} at once")
    ids = {name: number for number, name in (await desk.connector_names()).items()}
    for each in routes:
        if each.connector not in ids:
            raise NoSuch("connector", each.connector)
    rows = [Route(0, each.prefix, ids[each.connector], each.priority) for each in routes]

    def noted(added: int) -> AuditEntry:
        return desk.entry("route.import", "routes", {"routes": str(len(rows)), "added": str(added)})

    return await desk.store.noting(noted).network.change_routes(rows, ())


async def change(desk: Desk, id: int, prefix: str, connector: str, priority: int) -> None:
    """Replaces a route by another route, in a single commit."""
    routes = await find(desk)
    wanted = {"prefix": prefix, "connector": connector, "priority": priority}
    was = next((each for each in routes if each["id"] == id), None)
    if was is None:
        raise NoSuch("route", str(id))
    if was == {"id": id, **wanted}:
        return
    if any(each.items() >= wanted.items() for each in routes):
        raise AlreadyThere("route", _called(prefix, connector, priority))
    target = await connector_id(desk.store, connector)
    details = {
        "connector": connector,
        "priority": str(priority),
        "was": f"{was['prefix'] or '(all)'} {was['connector']} {was['priority']}",
    }
    try:
        network = desk.audited("route.set", prefix, details).network
        await network.change_routes([Route(0, prefix, target, priority)], [id])
    except Missing:
        raise NoSuch("route", str(id)) from None


async def remove(desk: Desk, id: int) -> None:
    """Removes a route. The audit log keeps its values, so that a person can add it again."""
    gone = next((each for each in await find(desk) if each["id"] == id), None)
    if gone is None:
        raise NoSuch("route", str(id))
    was = {"prefix": gone["prefix"] or "(all)", "connector": gone["connector"], "priority": str(gone["priority"])}
    try:
        await desk.audited("route.remove", str(id), was).network.change_routes((), [id])
    except Missing:
        raise NoSuch("route", str(id)) from None


async def decide(desk: Desk, number: str, account: str) -> RouteDecision:
    """Decides by the present rows of the store, which every process heeds within seconds. Raises Fault for an invalid
    number or an unknown account."""
    if not phone.is_destination(number):
        raise invalid("number", "Give a number in international form: 7 to 15 digits, no + and no leading 0.")
    found = await desk.store.accounts.find(account)
    if found is None:
        raise Fault(NOT_FOUND, f"There is no account {account}.", "account")
    return explain(number, found[0], await desk.store.network.tables(), desk.simulated, desk.now)


async def tell_decision(desk: Desk, number: str, account: str) -> dict[str, Any]:
    return decision_row(await decide(desk, number, account))


def decision_row(found: RouteDecision) -> dict[str, Any]:
    return {each.name: getattr(found, each.name) for each in DECISION}


def _called(prefix: str, connector: str, priority: int) -> str:
    numbers = f"the prefix {prefix}" if prefix else "all numbers"
    return f"of {numbers} to {connector} with priority {priority}"


_ID = Field("id", Whole(), "The route's key, as in the list.")
_CONNECTOR = Field("connector", Reference("connector"), "The connector that takes the numbers.")
PREFIX = Field(
    "prefix",
    Text(read_prefix, pattern="([1-9][0-9]{0,14})?"),
    'First digits of the numbers; "": all numbers.',
    "",
    example="4477",
    empty="(all)",
)
PRIORITY = Field(
    "priority", Whole(-MAX_PRIORITY, MAX_PRIORITY), "Of routes with equal prefixes the highest goes first.", 0,
    example="10",
)  # fmt: skip

DECISION = (
    Field("number", Text(), "The number."),
    Field("connector", Reference("connector"), "Its connector; null if no route covers it.", nullable=True),
    Field("price", Credits(), "The price of a segment; null if no plan names it.", nullable=True),
    Field("reasons", Words(), "The reasons, in sentences."),
)

ROUTES = Resource(
    name="route",
    plural="routes",
    summary="The connector for each prefix of numbers",
    more="The route with the longest matching prefix wins, then the higher priority.",
    nothing='There is no route yet. Add one: heliograph route add --prefix "" --connector NAME',
    key=("id",),
    fields=(_ID, PREFIX, _CONNECTOR, PRIORITY),
    scopes=Scopes(Scope.READ_ROUTES, Scope.WRITE_ROUTES),
    operations=(
        Operation("list", "GET", "/routes", find, "All routes", answers=Answer.EACH),
        Operation(
            "add",
            "POST",
            "/routes",
            add,
            "Add a route",
            reads=(PREFIX, _CONNECTOR, PRIORITY),
            answers=Answer.ITEM,
            status=201,
            conflicts=True,
            examples=(
                'route add --prefix "" --connector op1           # all numbers',
                "route add --prefix 4477 --connector uk --priority 10",
            ),
            done="Route {id}: {prefix} to {connector}, priority {priority}.",
        ),
        Operation(
            "remove",
            "DELETE",
            "/routes/{id}",
            remove,
            "Remove a route",
            arguments=("id",),
            examples=("route remove 3", "route remove --prefix 4477 --connector uk"),
            done="Route {id} is removed.",
        ),
        Operation(
            "decide",
            "GET",
            "/decision",
            tell_decision,
            "Where a number would go and what a segment would cost",
            reads=(
                Field("number", Text(pattern="[1-9][0-9]{6,14}"), "Digits in international form."),
                Field("account", Reference("account"), "The account that sends: prices depend on it."),
            ),
            answers=DECISION,
            answer_name="Decision",
            id="decide",
            is_command=False,
        ),
    ),
)
