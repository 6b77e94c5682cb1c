"""Rows of the large tables in the in-memory store."""

from dataclasses import replace

from heliograph.app.ports.large_tables import DecidingKeys, LargeRows
from heliograph.domain.money.pricing import DEFAULT_PLAN
from tests.support.memory_rows import MemoryPart


class MemoryLargeTables(MemoryPart):
    """`app.ports.LargeTables`."""

    async def deciding(self, keys: DecidingKeys) -> LargeRows:
        rows = self._open()
        networks = [each for prefix, each in sorted(rows.networks.items()) if prefix in keys.prefixes]
        network = keys.network or (networks[-1].mccmnc if networks else "")

        def fits(of: str, prefix: str) -> bool:
            return of == network if of else prefix in keys.prefixes

        routes = [
            replace(each)
            for each in rows.routes.values()
            if fits(each.network, each.prefix)
            and each.account in (0, keys.account)
            and each.plan in ("", keys.plan)
            and each.sender in keys.senders
        ]
        prices = [
            replace(each)
            for each in rows.prices.values()
            if each.plan in (keys.plan, DEFAULT_PLAN) and each.prefix in keys.prefixes
        ]
        held = next((each for each in rows.prices.values() if each.plan == keys.plan and each.since <= keys.at), None)
        if held is not None and held not in prices:
            prices.append(replace(held))
        connectors = {each.connector for each in routes}
        costs = [
            each for each in rows.costs.values() if each.connector in connectors and fits(each.network, each.prefix)
        ]
        return LargeRows(networks, routes, prices, costs)
