"""Lists of prices in a single statement, so that a slow network does not multiply by their number."""

from collections import Counter
from collections.abc import Sequence

from heliograph.adapters.store.shared.network import StoredNetwork
from heliograph.adapters.store.shared.steps import Q, Steps
from heliograph.app.configuration import Price


class PostgresNetwork(StoredNetwork):
    """`app.ports.Network` on PostgreSQL."""

    def _put_prices(self, prices: Sequence[Price]) -> Steps[None]:
        counts = Counter((price.plan, price.prefix) for price in prices)
        # A statement does not see its own writes. So a price that stays because of another price of the list comes
        # after it.
        later = [price for price in prices if price.inbound is None and counts[price.plan, price.prefix] > 1]
        at_once = [price for price in prices if price.inbound is not None or counts[price.plan, price.prefix] == 1]
        yield Q.put_prices(
            plans=[price.plan for price in at_once],
            prefixes=[price.prefix for price in at_once],
            dates=[price.since for price in at_once],
            prices=[price.price for price in at_once],
            inbound=[price.inbound for price in at_once],
        )
        yield from super()._put_prices(later)
