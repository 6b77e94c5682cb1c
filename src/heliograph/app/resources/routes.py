"""Routes: rules that choose a connector for a message. `app.routing.candidates` has their order."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Final

from heliograph.app.configuration import Account, Exists, Missing, Route
from heliograph.app.ports.large_tables import COMPARED, PART_ROWS, Key, RouteQuery
from heliograph.app.records import Scope
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import (
    AlreadyThere,
    Desk,
    Invalid,
    NoSuch,
    account_id,
    account_of,
    audited_target,
    check_destination,
    check_name,
    connector_id,
)
from heliograph.app.resources.fields import KEEP, Credits, Decimal, Field, Flag, Reference, Rows, Text, Whole, Words
from heliograph.app.resources.large_lists import all_rows, change_counts, page_of
from heliograph.app.resources.networks import read_any_mccmnc
from heliograph.app.routing.candidates import Obstacles, configured_obstacle
from heliograph.app.routing.explain import RouteDecision, deciding_keys, explain
from heliograph.app.routing.health import reported_obstacles
from heliograph.app.routing.live_shares import live_shares, shares_query
from heliograph.app.routing.quality import Quality, measure, quality_query
from heliograph.domain.calendar import format_utc
from heliograph.domain.display import counted, numbers_of
from heliograph.domain.numbers import phone

MAX_PRIORITY: Final = 1_000_000
MOST_AT_ONCE: Final = 200_000
"""The most routes of a list."""

IMPORT_OCTETS: Final = 32 << 20
"""Octets. The largest body of an import: 200,000 routes of 160 octets."""

MAX_SHARE: Final = 1_000_000
MOST_NAMED: Final = 5
"""Connectors that a note names."""

Wanted = dict[tuple[object, ...], tuple[Route, Mapping[str, Any]]]
"""The routes of a list with their rows, by `Route.rule`."""

_PREFIX_TEXT = re.compile(r"([1-9][0-9]{0,14})?").fullmatch


def read_prefix(text: str) -> str:
    """Reads the first digits of numbers, such as `4477`; an empty text means all numbers. Raises ValueError."""
    if _PREFIX_TEXT(text) is None:
        problem = f"{text!r} is not a prefix; give up to 15 digits without + or a leading 0, or '' for all numbers"
        raise ValueError(problem)
    return text


async def find(
    desk: Desk, connector: str | None = None, prefix: str = "", after: Key | None = None, limit: int = PART_ROWS
) -> list[dict[str, Any]]:
    """Returns routes by prefix and network; of these the highest priority comes first. `prefix` finds routes whose
    prefix begins with it, or is the beginning of it. `after` is ORDER of the last route before them."""
    of = 0 if connector is None else await connector_id(desk.store, connector)
    return await _rows(desk, await desk.store.routing_lists.routes(RouteQuery(prefix, of, after, limit=limit)))


async def search(
    desk: Desk, connector: str, prefix: str, page: int, size: int
) -> tuple[list[dict[str, Any]], int, int]:
    """Returns a page of routes, as of `find`, with its number and the number of routes on all pages. A page behind the
    last is the last."""
    of = await connector_id(desk.store, connector) if connector else 0
    query = RouteQuery(prefix, of, limit=size)
    total = await desk.store.routing_lists.count_routes(query)
    query, page = page_of(query, page, total)
    found = await desk.store.routing_lists.routes(query)
    return await _rows(desk, found), page, total


async def show(desk: Desk, id: int) -> dict[str, Any]:
    """Returns a route. Raises NoSuch."""
    found = await desk.store.routing_lists.route(id)
    if found is None:
        raise NoSuch("route", str(id))
    return (await _rows(desk, [found]))[0]


async def _rows(desk: Desk, routes: Sequence[Route]) -> list[dict[str, Any]]:
    connectors, accounts = await desk.connector_names(), {0: ""}
    if any(each.account for each in routes):
        accounts |= await desk.account_names()
    return [
        {
            "id": each.id,
            "prefix": each.prefix,
            "connector": connectors.get(each.connector, "?"),
            "priority": each.priority,
            "network": each.network,
            "account": accounts.get(each.account, "?"),
            "plan": each.plan,
            "sender": each.sender,
            "share": each.share,
            "fallback": each.fallback,
        }
        for each in routes
    ]


async def every(desk: Desk, connector: str | None, prefix: str) -> list[dict[str, Any]]:
    """Returns all routes that `find` finds."""
    return await all_rows(partial(find, desk, connector, prefix), ORDER)


async def add(desk: Desk, connector: str, **rule: Any) -> dict[str, Any]:
    """Adds a route: numbers with the prefix, or of the network, go to the connector. `note` of the answer names the
    routes that match equally well."""
    wanted = {**_DEFAULTS, **rule, "connector": connector}
    route = await _route(desk, wanted)
    note = _standing(route, await _near(desk, route), await desk.connector_names())
    try:
        audited = desk.audited("route.add", _target(wanted), _details(wanted))
        added = await audited.network.add_route(route)
    except Exists:
        raise AlreadyThere("route", _called(wanted)) from None
    return {"id": added.id, **wanted, "note": note}


async def _near(desk: Desk, route: Route) -> list[Route]:
    """Returns the stored routes that match as well as a route does, perhaps this route among them."""
    there = await desk.store.routing_lists.routes_to([(route.network, route.prefix)])
    return [each for each in there if each.group == route.group]


def _standing(new: Route, group: Sequence[Route], names: Mapping[int, str]) -> str:
    """Returns sentences on how a route stands among the other routes that match equally well, or "". For example *It
    shares the prefix 49 with op1; for failover, give the routes different priorities.*"""
    numbers = numbers_of(new.prefix, new.network)
    sentences = []
    own = {each.priority for each in group if each.connector == new.connector} - {new.priority}
    if own:
        priorities = ", ".join(map(str, sorted({*own, new.priority})))
        most = max(new.priority, *own)
        sentences.append(
            f"{names.get(new.connector, '?')} now has routes for {numbers} with the priorities {priorities}: only that "
            f"with priority {most} counts."
        )
        if most > new.priority:
            return sentences[0]
    others = [each for each in group if each.connector != new.connector]
    # the highest priority of a connector counts
    best = {names.get(each.connector, "?"): each for each in sorted(others, key=lambda each: each.priority)}
    ways = [(name, best[name]) for name in sorted(best)]
    equal = [name for name, each in ways if each.priority == new.priority and each.share and new.share]
    if equal:
        sentences.append(
            f"It shares {numbers} with {_some(equal)}; for failover, give the routes different priorities."
        )
    before = [name for name, each in ways if each.priority > new.priority]
    after = [name for name, each in ways if each.priority < new.priority]
    places = [f"{word} {_some(each)}" for word, each in (("after", before), ("before", after)) if each]
    if places:
        sentences.append(f"By its priority it comes {' and '.join(places)}.")
    return " ".join(sentences)


def _some(names: Sequence[str]) -> str:
    """Returns some of the names of connectors, for example `op1, op2 and 3 more`."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


async def put(
    desk: Desk, routes: Sequence[Mapping[str, Any]], replace: bool = False, dry_run: bool = False
) -> dict[str, int]:
    """Sets all these routes or none. `replace` removes all other routes to their connectors.

    Returns the counts of changes, for example `{"added": 2, "changed": 1, "same": 40, "removed": 0}`. `dry_run` only
    counts. A route without a share or `fallback` keeps that of the same route in the store.
    """
    if not 0 < len(routes) <= MOST_AT_ONCE:
        raise Invalid("routes", f"there are {len(routes)}; give 1 to {MOST_AT_ONCE} at once")
    wanted = await _wanted(desk, routes)
    if len(wanted) < len(routes):
        raise Invalid("routes", f"two of them have the same {', '.join(UNIQUE[:-1])} and {UNIQUE[-1]}")
    known: dict[tuple[object, ...], Route] = {}
    rules = list(wanted)
    for start in range(0, len(rules), COMPARED):
        part = [wanted[rule][0] for rule in rules[start : start + COMPARED]]
        there = await desk.store.routing_lists.routes_to([(each.network, each.prefix) for each in part])
        known |= {each.rule: each for each in there if each.rule in wanted}
    set_rows, gone = [], []
    for rule, (route, given) in wanted.items():
        was = known.get(rule)
        new = route if was is None else _merged(was, route, given)
        if new != was:
            set_rows.append(new)
            gone += [] if was is None else [was.id]
    changes = {"added": len(wanted) - len(known), "changed": len(gone), "same": len(known) - len(gone), "removed": 0}
    if replace:
        kept = {each.id for each in known.values()}
        others = await _ids_to(desk, {route.connector for route, _ in wanted.values()}) - kept
        gone += sorted(others)
        changes["removed"] = len(others)
    if dry_run or not (set_rows or gone):
        return changes
    counts = {"routes": len(wanted), "added": changes["added"]}
    counts |= {name: changes[name] for name in ("changed", "removed") if changes[name]}
    audited = desk.audited("route.import", "routes", {name: str(count) for name, count in counts.items()})
    try:
        await audited.network.change_routes(set_rows, gone)
    except Missing:
        problem = "one of them, or its connector, was removed meanwhile; nothing was changed, so try again"
        raise Invalid("routes", problem) from None
    return changes


async def _wanted(desk: Desk, rows: Sequence[Mapping[str, Any]]) -> Wanted:
    """Raises Invalid with the number of the row."""
    ids = {"connector": {name: number for number, name in (await desk.connector_names()).items()}}
    ids["account"] = {name: number for number, name in (await desk.account_names()).items()} | {"": 0}
    wanted: Wanted = await desk.in_thread(lambda: _made_of(rows, ids))
    return wanted


def _made_of(rows: Sequence[Mapping[str, Any]], ids: Mapping[str, Mapping[str, int]]) -> Wanted:
    """Returns the routes of a list, by the ids of connectors and accounts. Raises Invalid as `_wanted` does."""
    wanted: Wanted = {}
    for number, each in enumerate(rows):
        row = {**_DEFAULTS, **each}
        for kind, known in ids.items():
            if row[kind] not in known:
                raise Invalid(f"routes[{number}].{kind}", f"there is no {kind} {row[kind]}")
        try:
            route = _made(row, ids["connector"][row["connector"]], ids["account"][row["account"]])
        except Invalid as problem:
            raise Invalid(f"routes[{number}].{problem.field}", problem.problem) from None
        wanted[route.rule] = route, each
    return wanted


def _merged(was: Route, new: Route, given: Mapping[str, Any]) -> Route:
    """Returns a stored route with the values of a row, which may leave out some."""
    return replace(was, **{name: getattr(new, name) for name in ("share", "fallback") if name in given})


async def _ids_to(desk: Desk, connectors: set[int]) -> set[int]:
    """Returns the ids of all routes to some connectors."""
    ids: set[int] = set()
    only = next(iter(connectors)) if len(connectors) == 1 else 0
    place: Key | None = None
    while part := await desk.store.routing_lists.routes(RouteQuery(connector=only, after=place)):
        ids |= {each.id for each in part if each.connector in connectors}
        last = part[-1]
        place = last.prefix, last.network, last.priority, last.id
    return ids


async def change(desk: Desk, id: int, connector: str, **rule: Any) -> str:
    """Replaces a route by another route, in a single commit. Returns the note of `add`."""
    was = await show(desk, id)
    wanted = {**_DEFAULTS, **rule, "connector": connector}
    if was == {"id": id, **wanted}:
        return ""
    route = await _route(desk, wanted)
    others = [each for each in await _near(desk, route) if each.id != id]
    if any(each.rule == route.rule for each in others):
        raise AlreadyThere("route", _called(wanted))
    note = _standing(route, others, await desk.connector_names())
    details = _details(wanted) | {"was": " ".join(filter(None, (_target(was), *_details(was).values())))}
    try:
        await desk.audited("route.set", _target(wanted), details).network.change_routes([route], [id])
    except Missing:
        raise NoSuch("route", str(id)) from None
    return note


async def remove(desk: Desk, id: int) -> None:
    """Removes a route. The audit log keeps its values, so that a person can add it again."""
    gone = await show(desk, id)
    was = {"prefix": _target(gone)} | _details(gone)
    try:
        await desk.audited("route.remove", str(id), was).network.change_routes((), [id])
    except Missing:
        raise NoSuch("route", str(id)) from None


async def explain_number(desk: Desk, number: str, account: str = "", **rest: str) -> dict[str, Any]:
    """Returns the connector for a number and the price of a segment, from the present rows of the store.

    Running gateways apply these rows within seconds. `rest["from"]` is the sender.
    """
    return decision_row(desk, await decide(desk, number, account, rest.get("from", "")))


def permitted(desk: Desk, row: dict[str, Any]) -> dict[str, Any]:
    """Returns the row without its amounts if the actor may not read prices."""
    if desk.may(Scope.READ_PRICES):
        return row
    return {name: None if name in AMOUNTS else value for name, value in row.items()}


def decision_row(desk: Desk, found: RouteDecision) -> dict[str, Any]:
    """Returns the values of DECISION that the actor may read."""
    row = permitted(desk, {each.name: getattr(found, each.name) for each in DECISION})
    return row | {"candidates": [permitted(desk, asdict(each)) for each in found.candidates]}


async def decide(desk: Desk, number: str, account: str = "", sender: str = "") -> RouteDecision:
    """Decides for an account, or for an account without its own routes and prices. Raises Invalid, NoSuch."""
    number = phone.number_of(number)
    if not phone.is_destination(number):
        raise Invalid("number", "give a number in international form: 7 to 15 digits with the country code")
    found = await account_of(desk.store, account) if account else None
    owner = Account(0, "", "", b"") if found is None else found[0]
    ported, of = desk.ported(), ""
    if ported is not None:
        if unknown := ported.unknown([number]):
            await ported.ask(unknown)
        of = ported.find(number)
    tables = await desk.store.network.tables(large=False)
    keys = deciding_keys(number, owner, tables.sender_rules, desk.now, sender, of)
    tables = (await desk.store.large_tables.deciding(keys)).joined(tables)
    quality, obstacles = await present_quality(desk), await present_obstacles(desk)
    decision = explain(number, owner, tables, desk.simulated, desk.now, sender, quality, obstacles, ported)
    if not account:
        return decision
    if owner.prefixes and not number.startswith(owner.prefixes):
        allowed = ", ".join(owner.prefixes)
        return _refused(decision, f"{account} may send only to numbers that begin with {allowed} (`prefixes`)")
    suppression = await desk.store.suppressions.find(owner.id, number)
    if suppression is not None:
        since = format_utc(suppression.since)[:10]
        return _refused(decision, f"The number is suppressed for {account} since {since}, by {suppression.source}")
    return decision


def _refused(decision: RouteDecision, reason: str) -> RouteDecision:
    return replace(decision, connector=None, reasons=[f"{reason}: a message to it is refused.", *decision.reasons])


async def present_obstacles(desk: Desk) -> Obstacles:
    """Returns the obstacles of connectors by the nodes' reports."""
    return reported_obstacles(await desk.store.network.link_states(), desk.now)


async def live(desk: Desk, shown: Sequence[Mapping[str, Any]]) -> tuple[dict[int, float], dict[str, str]]:
    """Returns the live shares of some routes by their ids, and the obstacles of connectors by their names."""
    tables = await desk.store.network.tables(large=False)
    groups = await desk.store.routing_lists.routes_to([(each["network"], each["prefix"]) for each in shown])
    totals = await desk.store.series.totals(shares_query(desk.now))
    names = tables.connector_names()
    configured = {each.name: word for each in tables.connectors if (word := configured_obstacle(each))}
    moment = {names[of]: word for of, word in (await present_obstacles(desk)).items() if of in names}
    return live_shares(groups, totals), {**moment, **configured}


async def present_quality(desk: Desk) -> Quality:
    """Returns the quality of connectors by the series of the last hours."""
    return measure(await desk.store.series.totals(quality_query(desk.now)), desk.now)


AMOUNTS: Final = frozenset({"price", "cost", "best_cost", "margin"})
"""Fields of decisions and destinations that take the scope `prices:read`, too."""

_DEFAULTS: Final = {
    "prefix": "", "priority": 0, "network": "", "account": "", "plan": "", "sender": "", "share": 1, "fallback": False,
}  # fmt: skip
UNIQUE: Final = ("prefix", "network", "account", "plan", "sender", "connector", "priority")
"""Fields that no two routes have alike."""
ORDER: Final = ("prefix", "network", "priority", "id")
"""The fields by which routes are listed, the highest priority first."""


async def _route(desk: Desk, row: Mapping[str, Any]) -> Route:
    owner = await account_id(desk.store, row["account"]) if row["account"] else 0
    return _made(row, await connector_id(desk.store, row["connector"]), owner)


def _made(row: Mapping[str, Any], connector: int, account: int) -> Route:
    """Raises Invalid."""
    check_destination("route", row["prefix"], row["network"])
    if row["account"] and row["plan"]:
        raise Invalid("plan", "a route is for an account or a plan, not both")
    rest = {name: row[name] for name in ("network", "plan", "sender", "share", "fallback")}
    return Route(0, row["prefix"], connector, row["priority"], account=account, **rest)


def _details(row: Mapping[str, Any]) -> dict[str, str]:
    """Returns the values that differ from their default, and the priority, for the audit log."""
    details = {"connector": row["connector"], "priority": str(row["priority"])}
    for name in ("account", "plan", "sender", "share", "fallback"):
        if row[name] != _DEFAULTS[name]:
            details[name] = str(row[name]).lower() if name == "fallback" else str(row[name])
    return details


def _target(row: Mapping[str, Any]) -> str:
    return audited_target(row["prefix"], row["network"])


def _called(row: Mapping[str, Any]) -> str:
    numbers = numbers_of(row["prefix"], row["network"])
    owner = (
        f" for the account {row['account']}"
        if row["account"]
        else f" for the plan {row['plan']}"
        if row["plan"]
        else ""
    )
    sender = f" from {row['sender']}" if row["sender"] else ""
    return f"of {numbers}{owner}{sender} to {row['connector']} with priority {row['priority']}"


def _decided(_: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    price = "" if answer["price"] is None else f"{counted(str(answer['price']), 'credit')} a segment"
    network = f" (network {answer['network']})" if answer["network"] else ""
    if answer["connector"]:
        way = f"goes to {answer['connector']}" + (f", for {price}" if price else "")
    else:
        way = "goes nowhere" + (f"; its price is {price}" if price else "")
    return "\n".join([f"{answer['number']}{network} {way}.", *answer["reasons"]])


def _read_sender(text: str) -> str:
    problem = text and phone.sender_problem(text.removesuffix("*") or "x", msisdn_allowed=True)
    if problem:
        raise ValueError(f"{text!r}: {problem}; a pattern ends with *, such as ACME*")
    return text


_ID = Field("id", Whole(), "The route's key, as in the list.")
CONNECTOR = Field("connector", Reference("connector"), "The connector that takes the numbers.")
PREFIX = Field(
    "prefix",
    Text(read_prefix, pattern="([1-9][0-9]{0,14})?"),
    'First digits of the numbers; "": all numbers.',
    "",
    example="4477",
    empty="(all)",
    cell=lambda row: row["prefix"] or ("" if row.get("network") else "(all)"),
)
PRIORITY = Field(
    "priority",
    Whole(-MAX_PRIORITY, MAX_PRIORITY),
    "Of routes that match equally well, the highest goes first.",
    0,
    example="10",
)
NETWORK = Field(
    "network",
    Text(read_any_mccmnc, pattern="([0-9]{5,6})?"),
    "MCCMNC of the numbers' network, such as 26201, instead of a prefix.",
    "",
)
ACCOUNT = Field(
    "account", Reference("account", optional=True), "Only messages of this account.", "", empty="(any)", example="acme"
)
PLAN = Field(
    "plan",
    Text(lambda text: check_name("plan", text) if text else "", "[A-Za-z0-9._-]{0,64}"),
    "Only messages of accounts with this price plan.",
    "",
)
SENDER = Field("sender", Text(_read_sender), "Only messages with this sender ID; may end with *.", "", example="ACME*")
SHARE = Field(
    "share",
    Whole(0, MAX_SHARE),
    "Weight among routes of equal priority; 0: only if no other can send.",
    1,
    example="30",
)
FALLBACK = Field("fallback", Flag(), "Whether routes that match less well may be tried next.", False)
RULE = (PREFIX, CONNECTOR, PRIORITY, NETWORK, ACCOUNT, PLAN, SENDER, SHARE, FALLBACK)
"""The fields of a route."""
LISTED = (replace(PREFIX, default=""), *RULE[1:-2], replace(SHARE, default=KEEP), replace(FALLBACK, default=KEEP))
"""The fields of a route in a list. Without a share or `fallback`, a route that exists keeps its own."""
_STANDING = Field(
    "note",
    Text(),
    "How it stands among routes that match equally well, in sentences; else empty.",
    example="It shares the prefix 49 with op1; for failover, give the routes different priorities.",
)

DECISION = (
    Field("number", Text(), "The number.", example="491701234567"),
    Field("connector", Text(), "The connector that takes the number; null: none does.", nullable=True, example="op1"),
    Field("network", Text(), "MCCMNC of its network.", empty="not known", example="26201"),
    Field("price", Credits(), "Credits a segment; null: it has no price.", nullable=True),
    Field("reasons", Words(), "The reasons, as sentences.", example="The route of prefix 49 chose op1."),
    Field(
        "candidates",
        Rows(
            (
                Field("connector", Text(), "The connector.", example="op1"),
                Field("usable", Flag(), "Whether it can send now."),
                Field("why", Text(), "The rule that chose it, or the reason why it cannot send.", example="prefix 49"),
                Field("price", Credits(), "Credits a segment, as of the number; null: it has no price.", nullable=True),
                Field("cost", Credits(), "Credits a delivered segment; null: not known.", nullable=True),
                Field("margin", Credits(), "Credits that a delivered segment earns; null: not known.", nullable=True),
                Field(
                    "quality",
                    Decimal(1),
                    "Share of delivered messages in the network or country; null: too few ended in the last hours.",
                    nullable=True,
                ),
            ),
            "RouteCandidate",
        ),
        "The connectors in the order of their tries.",
    ),
)
"""The route and the price of a number."""

ROUTES = Resource(
    name="route",
    plural="routes",
    summary="The connector for each prefix or network",
    more="The best matching route wins. A route for the account goes before a route for its plan, and both go before "
    "other routes. Then a route for the sender goes before a route for any sender, a route for the network before a "
    "route for a prefix, and a longer prefix before a shorter prefix.\n\n"
    "Of routes that match equally well, and have a connector that can send, the route with the highest priority "
    "takes the message. Routes of equal priority share the numbers by their weights, and a number keeps its "
    "connector. Routes that match less well are tried only after a route with `fallback`.",
    nothing='There is no route yet. Add one: heliograph route add --prefix "" --connector NAME',
    key=("id",),
    fields=(_ID, *RULE),
    scopes=Scopes(Scope.READ_ROUTES, Scope.WRITE_ROUTES),
    operations=(
        Operation(
            "list",
            "GET /routes",
            find,
            "Routes by prefix and network",
            reads=(
                Field("connector", CONNECTOR.type, "Only routes to this connector.", None),
                Field("prefix", Text(read_prefix), "Only routes for numbers with this prefix.", "", example="4917"),
            ),
            answers=Answer.EACH,
            order=ORDER,
            examples=("route list", "route list --prefix 4917 --connector op1"),
        ),
        Operation(
            "add",
            "POST /routes",
            add,
            "Add a route",
            reads=(replace(PREFIX, default=""), *RULE[1:]),
            answers=(_ID, *RULE, _STANDING),
            answer_name="AddedRoute",
            status=201,
            conflicts=True,
            examples=(
                'route add --prefix "" --connector op1           # all numbers',
                "route add --prefix 4477 --connector uk --priority 10",
                "route add --network 26201 --connector op2 --account acme",
                "route add --prefix 49 --connector op1 --share 95      # and for op2 --share 5",
            ),
            done=lambda _, answer: f"Route {answer['id']} {_called(answer)}. {answer['note']}".rstrip(),
        ),
        Operation(
            "import",
            "POST /routes/import",
            put,
            "Set a list of routes, all or none",
            reads=(
                Field("routes", Rows(LISTED, "RouteRow", MOST_AT_ONCE), "The routes."),
                Field("replace", Flag(), "Remove all other routes to the connectors in the list.", False),
                Field("dry_run", Flag(), "Only count the changes, without making them.", False),
            ),
            answers=change_counts("Routes", "gives another share or `fallback`"),
            read_name="NewRoutes",
            answer_name="RouteChanges",
            id="put_routes",
            octets=IMPORT_OCTETS,
        ),
        Operation(
            "remove",
            "DELETE /routes/{id}",
            remove,
            "Remove a route",
            examples=("route remove 3", "route remove --prefix 4477 --connector uk"),
            done="Route {id} is removed.",
        ),
        Operation(
            "explain",
            "GET /decision",
            explain_number,
            "Show the connector and the price for a number, with the reasons",
            reads=(
                Field(
                    "number",
                    Text(pattern="[1-9][0-9]{6,14}"),
                    "The number: digits with country code.",
                    example="491701234567",
                ),
                Field("account", Reference("account", optional=True), "The account that sends.", "", example="acme"),
                Field("from", Text(), "The sender ID.", "", example="ACME"),
            ),
            answers=DECISION,
            arguments=("number",),
            examples=("route explain 491701234567", "route explain 491701234567 --account acme --from ACME --json"),
            id="decide",
            answer_name="Decision",
            done=_decided,
        ),
    ),
)
