"""`app.ports.Network`: connectors, routes, prices, numbers, and the states of links that nodes report.
`app.ports.Senders`: sender IDs of accounts that have a registry."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from heliograph.adapters.store.shared.listed_tables import LISTED_TABLES, ListedTable
from heliograph.adapters.store.shared.lists import ALL, KEPT_REVISIONS, MOST_NOTED, LongList, in_order, note
from heliograph.adapters.store.shared.rows import (
    connector_of,
    connector_values,
    hold_of,
    report_of,
    report_values,
    route_of,
    template_of,
    texts_of,
)
from heliograph.adapters.store.shared.steps import Operations, Q, Query, Runner, Steps, lookup, read, write
from heliograph.app.configuration import (
    Changes,
    Connector,
    Cost,
    Exists,
    Missing,
    MobileNetwork,
    NumberOwner,
    Plan,
    Price,
    RegisteredSender,
    Route,
    RouteColumns,
    RouteWay,
    Tables,
    inbound_way,
)
from heliograph.app.ports import ConnectorReport, NodeReport
from heliograph.app.ports.encryption import UnreadableValues
from heliograph.app.ports.network import KEPT_DAYS, Cursor, NetworkColumns, Page
from heliograph.app.ports.series import DAY_MS
from heliograph.domain.limits.gate import SenderState
from heliograph.domain.money.costs import CostColumns
from heliograph.domain.money.pricing import PriceColumns
from heliograph.domain.numbers.number_rules import InboundNumber
from heliograph.domain.numbers.sender_rules import SenderRule
from heliograph.domain.pace.pace import LearntPace

MOST_DUE: Final = 5_000
"""Prices or costs that may begin, or end, at a moment one by one. More, such as a new list, make the table be read
again."""


NO_PREFIXES: Final = ("none",)
"""Prefixes that no number has: an account with damaged prefixes answers to no phone."""


class StoredNetwork(Operations):
    def __init__(self, runner: Runner, unreadable: UnreadableValues) -> None:
        super().__init__(runner)
        self._unreadable = unreadable
        self._long_list = LongList(runner, "price")
        self._long_routes = LongList(runner, "route")

    @read
    def tables(self, *, large: bool = True) -> Steps[Tables]:
        tables = yield from _small_tables(self._unreadable)
        if not large:
            return tables
        routes = yield Q.routes()
        prices = yield Q.prices()
        networks = yield Q.mobile_networks()
        costs = yield Q.costs()
        tables.routes = [route_of(row) for row in routes]
        tables.prices = [Price(*row) for row in prices]
        tables.networks = [MobileNetwork(*row) for row in networks]
        tables.costs = [Cost(*row) for row in costs]
        return tables

    @write
    def add_connector(self, connector: Connector) -> Steps[Connector]:
        yield tables_changed()
        added = yield Q.add_connector(**connector_values(connector))
        if not added:
            raise Exists(f"there is a connector {connector.name} already")
        return replace(connector, id=added[0][0])

    @write
    def update_connector(self, connector: Connector) -> Steps[None]:
        yield tables_changed()  # another change of connectors waits here, so no namesake can come in between
        if (yield Q.namesake(id=connector.id, name=connector.name)):
            raise Exists(f"there is a connector {connector.name} already")
        if not (yield Q.update_connector(**connector_values(connector), id=connector.id)):
            raise Missing("no such connector")

    @write
    def remove_connector(self, name: str) -> Steps[None]:
        """Removes the connector. Rows of the queue keep its number, so that `Queue.next_due` and `Queue.claim` still
        find them."""
        yield tables_changed()
        removed = yield Q.remove_connector(name=name)
        if not removed:
            raise Missing(f"there is no connector {name}")
        yield from note("route", None)
        yield from note("cost", None)
        yield Q.remove_routes(connector=removed[0][0])
        yield Q.clear_costs(connector=removed[0][0])
        yield Q.remove_numbers(connector=removed[0][0])
        yield Q.remove_link_states(connector=removed[0][0])
        yield Q.remove_operator_parts(connector=removed[0][0])
        yield Q.remove_operator_pace(connector=removed[0][0])

    @write
    def add_route(self, route: Route) -> Steps[Route]:
        yield tables_changed()
        if not (yield Q.connector_exists(connector=route.connector)):
            raise Missing("no such connector")
        added = yield Q.add_routes(rows=_encoded(_rows([route])))
        if not added:
            raise Exists("there is such a route already")
        yield from note("route", [("", route.network, route.prefix)])
        return replace(route, id=added[0][0])

    async def change_routes(self, added: Sequence[Route], removed: Sequence[int]) -> int:
        if not await self._long_routes.is_needed(len(added) + len(removed), ()):
            return await self._change_routes(added, removed)
        rows = await asyncio.to_thread(_rows, added)
        keys = [(route,) for route in removed]
        return await self._long_routes.put([rows], (), None, {route.connector for route in added}, keys)

    @write
    def _change_routes(self, added: Sequence[Route], removed: Sequence[int]) -> Steps[int]:
        yield tables_changed()
        targets = {("", route.network, route.prefix) for route in added}
        for route in removed:
            gone = yield Q.remove_route(route=route)
            if not gone:
                raise Missing("no such route")
            targets.add(("", *gone[0]))
        for connector in {route.connector for route in added}:
            if not (yield Q.connector_exists(connector=connector)):
                raise Missing("no such connector")
        new = yield Q.add_routes(rows=_encoded(_rows(added)))
        yield from note("route", targets)
        return len(new)

    @write
    def set_price(self, price: Price) -> Steps[Price]:
        yield tables_changed()
        ((inbound,),) = yield put_price(price)
        yield from note_prices([price])
        return replace(price, inbound=inbound)

    @write
    def remove_price(self, plan: str, network: str, prefix: str, since: int | None = None) -> Steps[None]:
        yield tables_changed()
        if not (yield Q.remove_price(plan=plan, network=network, prefix=prefix, since=since)):
            raise Missing("no such price")
        yield from note("price", [(plan, network, prefix)])

    async def set_prices(self, prices: Sequence[Price], replaced: Sequence[str]) -> None:
        if await self._long_list.is_needed(len(prices), replaced):
            parts = await asyncio.to_thread(_parts, prices, frozenset(replaced))
            await self._long_list.put(parts, replaced, _price_keys(prices) if len(prices) <= MOST_NOTED else None)
        else:
            await self._set_prices(sorted(prices, key=_key), replaced)

    @write
    def _set_prices(self, prices: Sequence[Price], replaced: Sequence[str]) -> Steps[None]:
        yield tables_changed()
        if replaced:
            yield Q.clear_prices(plans=list(replaced))
        yield from note("price", None if replaced else _price_keys(prices))
        for price in prices:
            yield put_price(price)

    @write
    def save_link_states(self, reports: Sequence[ConnectorReport]) -> Steps[None]:
        # in a fixed order, so that two nodes do not deadlock
        for each in sorted(reports, key=lambda report: (report.connector, report.node)):
            yield Q.save_link_state(**report_values(each))

    @lookup
    def link_states(self) -> Steps[list[ConnectorReport]]:
        rows = yield Q.link_states()
        return [report_of(row) for row in rows]


class StoredNodes(Operations):
    """`app.ports.Nodes`."""

    @write
    def report(self, report: NodeReport) -> Steps[None]:
        yield Q.save_node_report(
            node=report.node,
            host=report.host,
            version=report.version,
            roles=",".join(report.roles),
            directory=report.directory,
            started=report.started,
            at=report.at,
        )

    @lookup
    def reports(self) -> Steps[list[NodeReport]]:
        rows = yield Q.node_reports()
        return [
            NodeReport(node, host, version, tuple(filter(None, roles.split(","))), *rest)
            for node, host, version, roles, *rest in rows
        ]

    @write
    def remove(self, node: int) -> Steps[None]:
        yield Q.remove_node_report(node=node)


def _small_tables(unreadable: UnreadableValues) -> Steps[Tables]:
    """The tables without routes, prices, costs and networks of numbers."""
    ((revision,),) = yield Q.revision()
    connectors = yield Q.connectors()
    numbers = yield Q.numbers()
    templates = yield Q.templates()
    senders = yield Q.senders()
    holds = yield Q.traffic_holds()
    suspended = yield Q.suspended_accounts()
    plan_of = yield Q.plan_of_accounts()
    plans = yield Q.plans()
    sender_rules = yield Q.sender_rules()
    return Tables(
        revision,
        [connector_of(row, unreadable) for row in connectors],
        [],
        [],
        [InboundNumber(*row[:5]) for row in numbers],
        {row[2]: _owner_of(row, unreadable) for row in numbers},
        [template_of(row, unreadable) for row in templates],
        [RegisteredSender(row[0], row[1], SenderState(row[2]), *row[3:]) for row in senders],
        [hold_of(row) for row in holds],
        [account for (account,) in suspended],
        dict(plan_of),
        plans=[Plan(*row) for row in plans],
        sender_rules=[SenderRule(*row) for row in sender_rules],
    )


def _owner_of(row: tuple[Any, ...], unreadable: UnreadableValues) -> NumberOwner:
    way = inbound_way(row[10], row[5])
    try:
        prefixes = texts_of(row[11])
    except ValueError:
        unreadable.note("account.prefixes", f"the account with the id {row[2]}")
        prefixes = NO_PREFIXES
    return NumberOwner(row[2], row[6], way, bool(row[7]), row[8], row[9], prefixes)


def _decoded(columns: Sequence[Any]) -> list[list[Any]]:
    """The columns of a page, which come as JSON arrays. A thread that reads a row at a time would wait for the
    interpreter's lock as often, while the event loop is busy."""
    return [msgspec.json.decode(column) if column else [] for column in columns]


def _owned_page(page_of: Callable[..., Query], table: ListedTable, after: Cursor, limit: int) -> Steps[Page[Any]]:
    """The next rows of a plan or connector, in columns. The rows of the next owner are in a page of their own: SQLite
    would have to sort a page of several."""
    owner, *place = after
    key = dict(zip(table.first, place, strict=True))
    ((following, *texts),) = yield page_of(**{table.owner: owner}, **key, limit=limit)
    columns = _decoded(texts)
    found = [(owner, *columns)] if columns[0] else []
    if len(columns[0]) == limit:
        return found, (owner, *(column[-1] for column in columns[: len(key)]))
    return found, None if following is None else (following, *table.first.values())


def _ways(texts: Sequence[str]) -> list[tuple[RouteWay, ...]]:
    """Most targets have the same routes as another: each JSON text is read once, into the same tuple."""
    known = {text: tuple(map(_way_of, msgspec.json.decode(text))) for text in set(texts)}
    return [known[text] for text in texts]


def _way_of(way: Sequence[int]) -> RouteWay:
    connector, priority, share, fallback = way
    return connector, priority, share, bool(fallback)  # SQLite keeps 0 and 1, and compiled code takes no int for a bool


def _rows(routes: Iterable[Route]) -> list[Sequence[Any]]:
    """The rows of routes, the first of those with the same rule."""
    rows: dict[tuple[object, ...], Sequence[Any]] = {}
    for each in routes:
        rows.setdefault(each.rule, (*each.rule, each.share, each.fallback))
    return list(rows.values())


def _encoded(rows: Sequence[Sequence[Any]]) -> str:
    return msgspec.json.encode(rows).decode()


class StoredTableChanges(Operations):
    """`app.ports.TableChanges`."""

    def __init__(self, runner: Runner, unreadable: UnreadableValues) -> None:
        super().__init__(runner)
        self._unreadable = unreadable

    @lookup
    def revision(self) -> Steps[int]:
        ((revision,),) = yield Q.revision()
        return int(revision)

    @read
    def changes(self, since: int | None, was: int, now: int) -> Steps[Changes]:
        tables = yield from _small_tables(self._unreadable)
        ((next_price, next_cost),) = yield Q.next_dates(now=now)
        found = Changes(tables, next_price=next_price, next_cost=next_cost)
        # a revision of the future was read before the store was restored from a copy
        if since is None or not tables.revision - KEPT_REVISIONS <= since <= tables.revision:
            return found
        whole = {kind for (kind,) in (yield Q.changed_tables(since=since))}
        was, now = sorted((was, now))  # the clock may have been set back: later rows hold no more
        ((prices_due, costs_due),) = yield Q.due(was=was, now=now, limit=MOST_DUE)
        if prices_due >= MOST_DUE:
            whole.add("price")
        if costs_due >= MOST_DUE:
            whole.add("cost")
        found.whole = frozenset(whole)
        if "route" not in whole:
            routes = yield Q.changed_routes(since=since)
            found.route_keys = list(dict.fromkeys((network, prefix) for prefix, network, *_ in routes))
            present = [row for row in routes if row[2] is not None]
            ways = _ways([text for *_, text in present])
            found.routes = [(*target, of) for (*target, _), of in zip(present, ways, strict=True)]
        if "price" not in whole:
            prices = yield Q.changed_prices(since=since, was=was, now=now)
            found.price_keys = list(dict.fromkeys((plan, prefix, network) for plan, prefix, network, *_ in prices))
            found.prices = [price_row for price_row in prices if price_row[3] is not None]
        if "cost" not in whole:
            costs = yield Q.changed_costs(since=since, was=was, now=now)
            found.cost_keys = list(
                dict.fromkeys((connector, network, prefix) for connector, network, prefix, *_ in costs)
            )
            found.costs = [cost_row for cost_row in costs if cost_row[3] is not None]
        return found

    @lookup
    def network_page(self, after: Cursor | None, limit: int) -> Steps[Page[NetworkColumns]]:
        rows = yield Q.network_page(prefix="" if after is None else after[0], limit=limit)
        prefixes, networks = _decoded(rows[0])
        return [(prefixes, networks)], (prefixes[-1],) if len(prefixes) == limit else None

    @lookup
    def route_page(self, after: Cursor | None, limit: int) -> Steps[Page[RouteColumns]]:
        prefix, network, account, plan, sender = ("", "", -1, "", "") if after is None else after
        rows = yield Q.route_page(
            prefix=prefix, network=network, account=account, plan=plan, sender=sender, limit=limit
        )
        *targets, texts = _decoded(rows[0])
        prefixes, networks, accounts, plans, senders = targets
        found = (prefixes, networks, accounts, plans, senders, _ways(texts))
        return [found] if texts else [], tuple(each[-1] for each in targets) if len(texts) == limit else None

    @lookup
    def price_page(self, after: Cursor | None, limit: int) -> Steps[Page[PriceColumns]]:
        return _owned_page(Q.price_page, LISTED_TABLES["price"], after or ("", "", "", -1), limit)

    @lookup
    def cost_page(self, after: Cursor | None, limit: int) -> Steps[Page[CostColumns]]:
        return _owned_page(Q.cost_page, LISTED_TABLES["cost"], after or (0, "", "", -1), limit)


class StoredCosts(Operations):
    def __init__(self, runner: Runner) -> None:
        super().__init__(runner)
        self._long_list = LongList(runner, "cost")

    async def put(self, costs: Sequence[Cost], replaced: Sequence[int] = ()) -> None:
        if not await self._long_list.is_needed(len(costs), replaced):
            await self._put(costs, replaced)
            return
        rows = await asyncio.to_thread(
            lambda: in_order(
                [(of.connector, of.network, of.prefix, of.since, of.submitted, of.delivered, of.until) for of in costs]
            )
        )
        connectors = {*replaced, *(each.connector for each in costs)}
        keys = _cost_keys(costs) if len(costs) <= MOST_NOTED else None
        await self._long_list.put([rows], replaced, keys, connectors)

    @write
    def _put(self, costs: Sequence[Cost], replaced: Sequence[int]) -> Steps[None]:
        yield tables_changed()
        for connector in sorted({*replaced, *(each.connector for each in costs)}):
            if not (yield Q.connector_exists(connector=connector)):
                raise Missing("no such connector")
        for connector in replaced:
            yield Q.clear_costs(connector=connector)
        yield from note("cost", None if replaced else _cost_keys(costs))
        for each in costs:
            yield Q.put_cost(
                connector=each.connector, prefix=each.prefix, network=each.network, submitted=each.submitted,
                delivered=each.delivered, since=each.since, until=each.until,
            )  # fmt: skip

    @write
    def remove(self, connector: int, network: str, prefix: str, since: int | None = None) -> Steps[None]:
        yield tables_changed()
        if not (yield Q.remove_cost(connector=connector, network=network, prefix=prefix, since=since)):
            raise Missing("no such cost")
        yield from note("cost", [(str(connector), network, prefix)])


class StoredPlans(Operations):
    @write
    def put(self, plan: Plan) -> Steps[None]:
        yield tables_changed()
        yield Q.put_plan(
            name=plan.name, routing=plan.routing, min_margin=plan.min_margin, unknown_cost=plan.unknown_cost,
            min_quality=plan.min_quality,
        )  # fmt: skip

    @write
    def remove(self, name: str) -> Steps[None]:
        if not (yield Q.remove_plan(name=name)):
            raise Missing("no such plan")
        yield tables_changed()


class StoredMeasurements(Operations):
    @write
    def add_parts(self, day: int, parts: Mapping[int, int]) -> Steps[None]:
        yield Q.forget_operator_parts(before=day - KEPT_DAYS * DAY_MS)
        for connector, count in sorted(parts.items()):  # two nodes lock the rows in the same order
            yield Q.add_operator_parts(connector=connector, day=day, parts=count)

    @lookup
    def parts(self, since: int) -> Steps[dict[tuple[int, int], int]]:
        rows = yield Q.operator_parts(since=since)
        return {(connector, day): count for connector, day, count in rows}

    @write
    def keep_paces(self, paces: Mapping[int, LearntPace]) -> Steps[None]:
        for connector, pace in sorted(paces.items()):
            yield Q.keep_operator_pace(connector=connector, rate=pace.rate, is_limit=pace.is_limit)

    @lookup
    def paces(self) -> Steps[dict[int, LearntPace]]:
        rows = yield Q.operator_paces()
        return {connector: LearntPace(rate, bool(is_limit)) for connector, rate, is_limit in rows}


class StoredMobileNetworks(Operations):
    def __init__(self, runner: Runner) -> None:
        super().__init__(runner)
        self._long_list = LongList(runner, "network")

    async def put(self, networks: Sequence[MobileNetwork], *, replace_all: bool = False) -> None:
        replaced = ALL if replace_all else ()
        if await self._long_list.is_needed(len(networks), replaced):
            rows = await asyncio.to_thread(lambda: in_order(_network_rows(networks)))
            await self._long_list.put([rows], replaced, None)
        else:
            await self._put(_network_rows(networks), replace_all=replace_all)

    @write
    def _put(self, rows: Sequence[Sequence[Any]], *, replace_all: bool) -> Steps[None]:
        yield tables_changed()
        yield from note("network", None)
        if replace_all:
            yield Q.clear_mobile_networks()
        yield Q.put_mobile_networks(rows=_encoded(rows))

    @write
    def remove(self, prefix: str) -> Steps[None]:
        yield tables_changed()
        if not (yield Q.remove_mobile_network(prefix=prefix)):
            raise Missing("no such prefix")
        yield from note("network", None)


def _network_rows(networks: Iterable[MobileNetwork]) -> list[tuple[str, str, str]]:
    """The rows of networks, the last of those with the same prefix."""
    return list({each.prefix: (each.prefix, each.mccmnc, each.name) for each in networks}.values())


def put_price(price: Price) -> Query:
    return Q.put_price(
        plan=price.plan, prefix=price.prefix, network=price.network, since=price.since, price=price.price,
        inbound=price.inbound,
    )  # fmt: skip


def _key(price: Price) -> tuple[str, str, str, int]:
    return price.plan, price.prefix, price.network, price.since


def _parts(prices: Sequence[Price], replaced: Collection[str]) -> list[list[Sequence[Any]]]:
    """Returns the rows of a long list. A statement does not see its own rows, so a price that may take a value of
    another in the list comes in a later part."""
    parts: list[list[Sequence[Any]]] = [[]]
    before, part = None, 0
    for each in in_order(prices, _key):
        part = part + 1 if each.inbound is None and before == (each.plan, each.prefix, each.network) else 0
        before = each.plan, each.prefix, each.network
        if part == len(parts):
            parts.append([])
        earliest = 2 if each.plan in replaced else 0
        parts[part].append((*_key(each), each.price, each.inbound, earliest))
    return parts


def note_prices(prices: Sequence[Price]) -> Steps[None]:
    """Notes that prices changed, after `tables_changed`."""
    yield from note("price", _price_keys(prices))


def _price_keys(prices: Iterable[Price]) -> set[tuple[str, str, str]]:
    return {(price.plan, price.network, price.prefix) for price in prices}


def _cost_keys(costs: Iterable[Cost]) -> set[tuple[str, str, str]]:
    return {(str(each.connector), each.network, each.prefix) for each in costs}


def tables_changed() -> Query:
    """Adds 1 to the revision, which every process that serves customers checks."""
    return Q.tables_changed()


class StoredSenders(Operations):
    @write
    def put(self, senders: Sequence[RegisteredSender]) -> Steps[int]:
        # another change of a registry waits for the revision
        yield tables_changed()
        new = 0
        for each in senders:
            if not (yield Q.account_by_id(account=each.account)):
                raise Missing("no such account")
            known = yield Q.sender_known(account=each.account, sender=each.sender)
            new += not known
            yield Q.put_sender(
                account=each.account, sender=each.sender, state=each.state.value, since=each.since, note=each.note
            )
        return new

    @write
    def remove(self, account: int, sender: str) -> Steps[None]:
        yield tables_changed()
        if not (yield Q.remove_sender(account=account, sender=sender)):
            raise Missing("no such sender")


class StoredSenderRules(Operations):
    @write
    def add(self, rule: SenderRule) -> Steps[SenderRule]:
        added = yield Q.add_sender_rule(country=rule.country, kind=rule.kind, action=rule.action, value=rule.value)
        if not added:
            raise Exists("there is such a rule already")
        yield tables_changed()
        return replace(rule, id=added[0][0])

    @write
    def remove(self, rule: int) -> Steps[None]:
        if not (yield Q.remove_sender_rule(rule=rule)):
            raise Missing("no such rule")
        yield tables_changed()
