"""Suppressions by the functions that record them too (`functions.sql`)."""

from collections.abc import Sequence

from heliograph.adapters.store.shared.steps import Q, Steps
from heliograph.adapters.store.shared.suppressions import StoredSuppressions


class PostgresSuppressions(StoredSuppressions):
    """`app.ports.Suppressions` on PostgreSQL."""

    def _suppress(self, account: int, numbers: Sequence[str], now: int, source: str) -> Steps[int]:
        ((added,),) = yield Q.suppress_numbers(account=account, numbers=list(numbers), now=now, source=source)
        return int(added)
