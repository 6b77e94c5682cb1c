"""`app.ports.LargeTables`: rows of routes, prices, costs and networks, read by their indexes."""

from heliograph.adapters.store.shared.rows import route_of
from heliograph.adapters.store.shared.steps import Operations, Q, Steps, browse
from heliograph.app.configuration import Cost, MobileNetwork, Price
from heliograph.app.ports.large_tables import DecidingKeys, LargeRows
from heliograph.domain.money.pricing import DEFAULT_PLAN


class StoredLargeTables(Operations):
    @browse
    def deciding(self, keys: DecidingKeys) -> Steps[LargeRows]:
        prefixes = list(keys.prefixes)
        networks = yield Q.networks_of_number(prefixes=prefixes)
        network = keys.network or (networks[-1][1] if networks else "")
        routes = yield Q.routes_of_number(
            prefixes=prefixes, network=network, accounts=[0, keys.account], plans=["", keys.plan],
            senders=list(keys.senders),
        )  # fmt: skip
        plans = [keys.plan, DEFAULT_PLAN]
        prices = yield Q.prices_of_number(prefixes=prefixes, plans=plans, plan=keys.plan, now=keys.at)
        connectors = sorted({row[2] for row in routes})
        costs = yield Q.costs_of_number(prefixes=prefixes, network=network, connectors=connectors)
        return LargeRows(
            [MobileNetwork(*row) for row in networks],
            [route_of(row) for row in routes],
            [Price(*row) for row in prices],
            [Cost(*row) for row in costs],
        )
