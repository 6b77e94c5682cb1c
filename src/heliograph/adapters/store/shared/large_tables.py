"""`app.ports.LargeTables` and `RoutingLists`: rows of routes, prices, costs and networks, read by their indexes."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from heliograph.adapters.store.shared.rows import route_of
from heliograph.adapters.store.shared.steps import Operations, Q, Query, Row, Steps, browse, listing
from heliograph.app.configuration import Cost, MobileNetwork, Price, Route
from heliograph.app.ports.large_tables import (
    CostQuery,
    DecidingKeys,
    DestinationQuery,
    LargeRows,
    PriceQuery,
    RouteQuery,
)
from heliograph.domain.money.pricing import DEFAULT_PLAN
from heliograph.domain.numbers.phone import prefixes


class StoredLargeTables(Operations):
    @browse
    def deciding(self, keys: DecidingKeys) -> Steps[LargeRows]:
        prefixes = list(keys.prefixes)
        networks = yield Q.networks_of_number(prefixes=prefixes)
        if keys.are_several:
            of_number = sorted({mccmnc for _, mccmnc, _ in networks})
        else:
            of_number = [keys.network or (networks[-1][1] if networks else "")]
        routes = yield Q.routes_of_number(
            prefixes=prefixes, networks=of_number, accounts=[0, keys.account], plans=["", keys.plan],
            senders=list(keys.senders),
        )  # fmt: skip
        plans = [keys.plan, DEFAULT_PLAN]
        prices = yield Q.prices_of_number(
            prefixes=prefixes, networks=of_number, plans=plans, plan=keys.plan, now=keys.at
        )
        connectors = sorted({row[2] for row in routes})
        costs = yield Q.costs_of_number(prefixes=prefixes, networks=of_number, connectors=connectors)
        return LargeRows(
            [MobileNetwork(*row) for row in networks],
            [route_of(row) for row in routes],
            [Price(*row) for row in prices],
            [Cost(*row) for row in costs],
        )

    @listing
    def prices_of(self, plan: str, networks: Sequence[str], prefixes: Sequence[str]) -> Steps[list[Price]]:
        rows = yield Q.prices_of_destinations(plan=plan, networks=list(networks), prefixes=list(prefixes))
        return [Price(*row) for row in rows]

    @listing
    def networks_of(self, prefixes: Sequence[str]) -> Steps[list[MobileNetwork]]:
        rows = yield Q.networks_of_number(prefixes=list(prefixes))
        return [MobileNetwork(*row) for row in rows]

    @listing
    def costs_of(self, connector: int, networks: Sequence[str], prefixes: Sequence[str]) -> Steps[list[Cost]]:
        rows = yield Q.costs_of_number(prefixes=list(prefixes), networks=list(networks), connectors=[connector])
        return [Cost(*row) for row in rows]

    @browse
    def destinations(self, query: DestinationQuery) -> Steps[list[str]]:
        found: list[str] = []
        for span in _spans(query.near):
            # no digit is below 0, so that this is the next prefix
            low = span["low"] if query.after is None else max(span["low"], f"{query.after}0")
            high, limit = span["high"], query.limit - len(found)
            if limit and low < high:
                rows = {*(yield Q.network_prefixes(low=low, high=high, limit=limit))}
                for plan in query.plans:
                    rows.update((yield Q.priced_prefixes(plan=plan, now=query.now, low=low, high=high, limit=limit)))
                if query.are_routed:
                    rows.update((yield Q.routed_prefixes(low=low, high=high, limit=limit)))
                found += sorted(prefix for (prefix,) in rows)[:limit]
        return found


class StoredRoutingLists(Operations):
    @browse
    def routes(self, query: RouteQuery) -> Steps[list[Route]]:
        prefix, network, priority, route = query.after or ("", "", 1 << 62, 0)
        place = {"prefix": prefix, "network": network, "priority": priority, "route": route}
        spans = [{**span, **place, "connector": query.connector} for span in _spans(query.near)]
        found = yield from _listed_from(query, Q.list_routes_up, Q.list_routes_down, Q.count_routes, spans)
        return [route_of(row) for row in found]

    @browse
    def count_routes(self, query: RouteQuery) -> Steps[int]:
        spans = [{**span, "connector": query.connector} for span in _spans(query.near)]
        return (yield from _sum(Q.count_routes, spans))

    @listing
    def route(self, route: int) -> Steps[Route | None]:
        rows = yield Q.route_by_id(route=route)
        return route_of(rows[0]) if rows else None

    @listing
    def routes_to(self, targets: Sequence[tuple[str, str]]) -> Steps[list[Route]]:
        networks, starts = {network for network, _ in targets}, {prefix for _, prefix in targets}
        rows = yield Q.routes_to(networks=sorted(networks), prefixes=sorted(starts))
        return [route_of(row) for row in rows]

    @listing
    def routed_connectors(self) -> Steps[set[int]]:
        rows = yield Q.routed_connectors()
        return {connector for (connector,) in rows}

    @browse
    def prices(self, query: PriceQuery) -> Steps[list[tuple[Price, bool]]]:
        spans = yield from _price_spans(query)
        found = yield from _listed_from(query, Q.list_prices_up, Q.list_prices_down, Q.count_prices_in, spans)
        return [(Price(*row), bool(holds)) for *row, holds in found]

    @browse
    def count_prices(self, query: PriceQuery) -> Steps[int]:
        return (yield from _sum(Q.count_prices_in, (yield from _price_spans(query))))

    @browse
    def plan_names(self) -> Steps[list[str]]:
        priced = yield Q.plans_with_prices()
        routed = yield Q.plans_with_routes()
        return sorted({name for (name,) in (*priced, *routed)})

    @browse
    def costs(self, query: CostQuery) -> Steps[list[Cost]]:
        connectors = [query.connector] if query.connector else [of for (of,) in (yield Q.connectors_with_costs())]
        last, *place = query.after or (0, "", "", -1)
        spans = []
        for connector in connectors:
            network, prefix, since = place if connector == last else ("", "", -1)
            if connector >= last:
                key = {"connector": connector, "network": network, "prefix": prefix, "since": since}
                spans.append({**key, "past": int(query.past), "now": query.now})
        found = yield from _listed(Q.list_costs, Q.list_costs, spans, query.limit, 0)
        return [Cost(*row) for row in found]

    @listing
    def count_costs(self, connector: int) -> Steps[int]:
        ((count,),) = yield Q.count_costs(connector=connector)
        return int(count)

    @listing
    def networks(self, after: str, limit: int, mccmnc: str | None = None) -> Steps[list[MobileNetwork]]:
        rows = yield Q.list_networks(after=after, limit=limit, mccmnc=mccmnc)
        return [MobileNetwork(*row) for row in rows]

    @listing
    def count_networks(self) -> Steps[int]:
        ((count,),) = yield Q.count_networks()
        return int(count)


Span = dict[str, Any]
"""Parameters of a statement for a part of the rows, for example from the prefix `low` until before `high`."""

_BEHIND_DIGITS: Final = "a"
"""A character that sorts behind all digits, in every collation of PostgreSQL."""


def _spans(digits: str) -> list[Span]:
    """Returns the spans of prefixes near to digits, in their order: each shorter prefix, then all longer ones."""
    shorter = [{"low": each, "high": f"{each}0"} for each in reversed(prefixes(digits)[1:])]
    return [*shorter, {"low": digits, "high": digits + _BEHIND_DIGITS}]


def _price_spans(query: PriceQuery) -> Steps[list[Span]]:
    plans = [query.plan] if query.plan else [name for (name,) in (yield Q.plans_with_prices())]
    last, *place = query.after or ("", "", "", -1)
    spans = []
    for plan in plans:
        prefix, network, since = place if plan == last else ("", "", -1)
        if plan >= last:
            key = {"plan": plan, "prefix": prefix, "network": network, "since": since}
            key |= {"past": int(query.past), "now": query.now}
            spans += [{**key, **span} for span in _spans(query.near)]
    return spans


def _listed_from(
    query: RouteQuery | PriceQuery,
    rows_up: Callable[..., Query],
    rows_down: Callable[..., Query],
    count_of: Callable[..., Query],
    spans: Sequence[Span],
) -> Steps[list[Row]]:
    """Returns the rows that the query wants, in their order; read backwards if it counts from the end."""
    if not query.is_from_end:
        return (yield from _listed(rows_up, count_of, spans, query.limit, query.first))
    found = yield from _listed(rows_down, count_of, spans[::-1], query.limit, query.first)
    return found[::-1]


def _listed(
    rows_of: Callable[..., Query], count_of: Callable[..., Query], spans: Sequence[Span], limit: int, first: int
) -> Steps[list[Row]]:
    """Returns `limit` rows of the spans, one span after the other, without the first rows."""
    found: list[Row] = []
    for span in spans:
        if len(found) == limit:
            break
        if first:
            ((count,),) = yield count_of(**span)
            if count <= first:
                first -= count
                continue
        found += yield rows_of(**span, limit=limit - len(found), first=first)
        first = 0
    return found


def _sum(count_of: Callable[..., Query], spans: Sequence[Span]) -> Steps[int]:
    total = 0
    for span in spans:
        ((count,),) = yield count_of(**span)
        total += count
    return total
