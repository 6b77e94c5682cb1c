"""What the store does for the configuration: accounts and their credit, connectors, routes, prices."""

from collections.abc import Sequence
from typing import Any, Protocol

from heliograph.app.configuration import (
    Account,
    ApiKey,
    Connector,
    LedgerEntry,
    Price,
    Route,
    Tables,
)
from heliograph.app.ports.carrier_state import ConnectorReport


class Configuring(Protocol):
    """A part of `Store`. Each change adds one to the revision."""

    async def revision(self) -> int:
        """Grows with each change of accounts, keys, connectors, routes or prices, in any process."""

    async def tables(self) -> Tables: ...

    async def create_account(self, account: Account, key: ApiKey, credit: int, prices: Sequence[Price]) -> Account:
        """Creates it with its first key, its opening credit (a ledger entry if not 0) and own prices, if any; the
        account's id is given here, and stands in what is returned. Raises Exists."""

    async def update_account(self, account: int, changes: dict[str, Any]) -> Account:
        """Changes fields out of ACCOUNT_FIELDS. Raises Missing."""

    async def account(self, name: str) -> tuple[Account, list[ApiKey]] | None:
        """The account with its keys, revoked ones included."""

    async def account_by_id(self, account: int) -> Account | None: ...

    async def accounts(self) -> list[tuple[Account, int]]:
        """Every account with its balance, by name."""

    async def add_credit(self, account: int, amount: int, note: str, now: int) -> int:
        """Tops up (or, below zero, takes back) and writes the ledger; returns the new balance. Raises Missing."""

    async def ledger(self, account: int, limit: int, before: int | None = None) -> list[LedgerEntry]:
        """Entries, newest first, those before the key `before`."""

    async def add_key(self, key: ApiKey) -> None: ...

    async def revoke_key(self, account: int, key: str, now: int) -> None:
        """Raises Missing if there is no such key that is not revoked."""

    async def add_connector(self, connector: Connector) -> Connector:
        """Its id is given here, from 1 on, and never again. Raises Exists."""

    async def update_connector(self, connector: Connector) -> None:
        """Raises Missing."""

    async def remove_connector(self, name: str) -> None:
        """Its routes go with it; messages waiting for it are routed anew. Raises Missing."""

    async def add_route(self, route: Route) -> Route:
        """Raises Exists for the same prefix, connector and priority."""

    async def remove_route(self, route: int) -> None:
        """Raises Missing."""

    async def set_price(self, price: Price) -> None: ...

    async def remove_price(self, plan: str, prefix: str) -> None:
        """Raises Missing."""

    async def save_link_states(self, states: Sequence[ConnectorReport]) -> None:
        """Does not count as a change."""

    async def link_states(self) -> list[ConnectorReport]: ...
