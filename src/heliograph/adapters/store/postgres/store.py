"""The store as one object: its ports. Facts are recorded on one connection, everything else is done on a pool."""

import asyncio
from typing import Self

from heliograph.adapters.store.postgres.commits import PostgresCommits
from heliograph.adapters.store.postgres.customers import PostgresCustomers
from heliograph.adapters.store.postgres.database import Database
from heliograph.adapters.store.postgres.driver import STATEMENTS
from heliograph.adapters.store.postgres.leases import PostgresLeases
from heliograph.adapters.store.postgres.limits import DatabaseLimits
from heliograph.adapters.store.postgres.network import PostgresNetwork
from heliograph.adapters.store.postgres.schema import migrate, shipped
from heliograph.adapters.store.postgres.servers import Servers
from heliograph.adapters.store.postgres.suppressions import PostgresSuppressions
from heliograph.adapters.store.shared.bundle import Bundle
from heliograph.adapters.store.shared.schema import Schema
from heliograph.adapters.store.shared.sealing import Sealer
from heliograph.app import ports
from heliograph.app.ports.encryption import KeyVault


class PostgresStore(Bundle):
    """`app.ports.Store` on one PostgreSQL database, which any number of processes may have open."""

    customers_of = PostgresCustomers
    suppressions_of = PostgresSuppressions
    network_of = PostgresNetwork

    def __init__(self, servers: Servers, vault: KeyVault | None) -> None:
        """The schema must be there; see `open`."""
        self._database = database = Database(servers)
        sealer = None if vault is None else Sealer(vault)
        super().__init__(database, sealer, STATEMENTS)
        commits = PostgresCommits(database, self._runner, sealer)
        self._recorder = commits.recorder
        self.commits: ports.Commits = commits
        self.leases: ports.Leases = PostgresLeases(database, commits.recorder)

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        limits: DatabaseLimits | None = None,
        schema: Schema | None = None,
        vault: KeyVault | None = None,
    ) -> Self:
        """Brings the schema up to date and opens the store; connections are made when they are needed. `vault` is the
        master key, if there is one; before anything else is asked, `encryption.refresh` must read the keys.

        Raises Unavailable when the database cannot be used, SchemaTooNew or SchemaChanged when it is not for this
        version of the program.
        """
        servers = Servers(url, limits or DatabaseLimits())
        await migrate(servers, schema or shipped())
        return cls(servers, vault)

    async def close(self) -> None:
        """Closes all connections. Later calls raise Unavailable."""
        await asyncio.gather(self._recorder.close(), self._database.close())
