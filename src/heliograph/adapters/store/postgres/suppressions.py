"""Suppressions by the functions that record them too (`functions.sql`)."""

from heliograph.adapters.store.shared.steps import Q, Steps
from heliograph.adapters.store.shared.suppressions import StoredSuppressions


class PostgresSuppressions(StoredSuppressions):
    """`app.ports.Suppressions` on PostgreSQL."""

    def _suppress(self, account: int, number: str, now: int, source: str) -> Steps[bool]:
        ((added,),) = yield Q.suppress_number(account=account, number=number, now=now, source=source)
        return bool(added)
