"""`app.ports.Network`: connectors, routes, prices, numbers, and the states of links that nodes report.
`app.ports.Senders`: sender IDs of accounts that have a registry."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from heliograph.adapters.store.shared.rows import connector_of, connector_values, report_of, report_values, template_of
from heliograph.adapters.store.shared.steps import Operations, Q, Query, Row, Steps, lookup, read, write
from heliograph.app.configuration import (
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
    Tables,
    TrafficHold,
    inbound_way,
)
from heliograph.app.ports import ConnectorReport
from heliograph.app.ports.network import KEPT_DAYS
from heliograph.app.ports.series import DAY_MS
from heliograph.domain.limits.gate import SenderState
from heliograph.domain.numbers.number_rules import InboundNumber
from heliograph.domain.numbers.sender_rules import SenderRule
from heliograph.domain.pace.pace import LearntPace


class StoredNetwork(Operations):
    @lookup
    def revision(self) -> Steps[int]:
        ((revision,),) = yield Q.revision()
        return int(revision)

    @read
    def tables(self) -> Steps[Tables]:
        ((revision,),) = yield Q.revision()
        connectors = yield Q.connectors()
        routes = yield Q.routes()
        prices = yield Q.prices()
        numbers = yield Q.numbers()
        templates = yield Q.templates()
        senders = yield Q.senders()
        holds = yield Q.traffic_holds()
        suspended = yield Q.suspended_accounts()
        plan_of = yield Q.plan_of_accounts()
        networks = yield Q.mobile_networks()
        costs = yield Q.costs()
        plans = yield Q.plans()
        sender_rules = yield Q.sender_rules()
        return Tables(
            revision,
            [connector_of(row) for row in connectors],
            [_route_of(row) for row in routes],
            [Price(*row) for row in prices],
            [InboundNumber(*row[:5]) for row in numbers],
            {
                row[2]: NumberOwner(row[2], row[6], inbound_way(row[10], row[5]), bool(row[7]), *row[8:10])
                for row in numbers
            },
            [template_of(row) for row in templates],
            [RegisteredSender(row[0], row[1], SenderState(row[2]), *row[3:]) for row in senders],
            [TrafficHold(*row) for row in holds],
            [account for (account,) in suspended],
            dict(plan_of),
            [MobileNetwork(*row) for row in networks],
            [Cost(*row) for row in costs],
            [Plan(*row) for row in plans],
            [SenderRule(*row) for row in sender_rules],
        )

    @write
    def add_connector(self, connector: Connector) -> Steps[Connector]:
        yield tables_changed()
        added = yield Q.add_connector(**connector_values(connector))
        if not added:
            raise Exists(f"there is a connector {connector.name} already")
        return replace(connector, id=added[0][0])

    @write
    def update_connector(self, connector: Connector) -> Steps[None]:
        # another change of connectors waits here, so no namesake can come in between
        yield tables_changed()
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
        yield Q.remove_routes(connector=removed[0][0])
        yield Q.clear_costs(connector=removed[0][0])
        yield Q.remove_numbers(connector=removed[0][0])
        yield Q.remove_link_states(connector=removed[0][0])
        yield Q.remove_operator_parts(connector=removed[0][0])
        yield Q.remove_operator_pace(connector=removed[0][0])

    @write
    def add_route(self, route: Route) -> Steps[Route]:
        if not (yield Q.connector_exists(connector=route.connector)):
            raise Missing("no such connector")
        added = yield _add(route)
        if not added:
            raise Exists("there is such a route already")
        yield tables_changed()
        return replace(route, id=added[0][0])

    @write
    def change_routes(self, added: Sequence[Route], removed: Sequence[int]) -> Steps[int]:
        for route in removed:
            if not (yield Q.remove_route(route=route)):
                raise Missing("no such route")
        for connector in {route.connector for route in added}:
            if not (yield Q.connector_exists(connector=connector)):
                raise Missing("no such connector")
        count = 0
        for each in added:
            new = yield _add(each)
            count += len(new)
        yield tables_changed()
        return count

    @write
    def set_price(self, price: Price) -> Steps[Price]:
        ((inbound,),) = yield put_price(price)
        yield tables_changed()
        return replace(price, inbound=inbound)

    @write
    def remove_price(self, plan: str, prefix: str, since: int | None = None) -> Steps[None]:
        if not (yield Q.remove_price(plan=plan, prefix=prefix, since=since)):
            raise Missing("no such price")
        yield tables_changed()

    @write
    def set_prices(self, prices: Sequence[Price], replaced: Sequence[str]) -> Steps[None]:
        yield tables_changed()
        if replaced:
            yield Q.clear_prices(plans=list(replaced))
        yield from self._put_prices(sorted(prices, key=lambda price: (price.plan, price.prefix, price.since)))

    def _put_prices(self, prices: Sequence[Price]) -> Steps[None]:
        """A step that an engine may replace. Prices of a prefix are ordered by date."""
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


def _route_of(row: Row) -> Route:
    number, prefix, connector, priority, network, account, plan, sender, share, fallback = row
    return Route(number, prefix, connector, priority, network, account, plan, sender, share, bool(fallback))


def _add(route: Route) -> Query:
    return Q.add_route(
        prefix=route.prefix, connector=route.connector, priority=route.priority, network=route.network,
        account=route.account, plan=route.plan, sender=route.sender, share=route.share, fallback=route.fallback,
    )  # fmt: skip


class StoredCosts(Operations):
    @write
    def put(self, costs: Sequence[Cost], replaced: Sequence[int] = ()) -> Steps[None]:
        yield tables_changed()
        for connector in sorted({*replaced, *(each.connector for each in costs)}):
            if not (yield Q.connector_exists(connector=connector)):
                raise Missing("no such connector")
        for connector in replaced:
            yield Q.clear_costs(connector=connector)
        for each in costs:
            yield Q.put_cost(
                connector=each.connector, prefix=each.prefix, network=each.network, submitted=each.submitted,
                delivered=each.delivered, since=each.since,
            )  # fmt: skip

    @write
    def remove(self, connector: int, network: str, prefix: str, since: int | None = None) -> Steps[None]:
        if not (yield Q.remove_cost(connector=connector, network=network, prefix=prefix, since=since)):
            raise Missing("no such cost")
        yield tables_changed()


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
    @write
    def put(self, networks: Sequence[MobileNetwork], *, replace_all: bool = False) -> Steps[None]:
        yield tables_changed()
        if replace_all:
            yield Q.clear_mobile_networks()
        for each in networks:
            yield Q.put_mobile_network(prefix=each.prefix, mccmnc=each.mccmnc, name=each.name)

    @write
    def remove(self, prefix: str) -> Steps[None]:
        if not (yield Q.remove_mobile_network(prefix=prefix)):
            raise Missing("no such prefix")
        yield tables_changed()


def put_price(price: Price) -> Query:
    return Q.put_price(
        plan=price.plan, prefix=price.prefix, since=price.since, price=price.price, inbound=price.inbound
    )


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
