"""The store as one object: its ports. Facts are recorded on a connection of their own; everything else uses a pool."""

import asyncio
from typing import Self

from heliograph.adapters.store.postgres.commits import PostgresCommits
from heliograph.adapters.store.postgres.database import Database
from heliograph.adapters.store.postgres.db import DatabaseLimits
from heliograph.adapters.store.postgres.leases import PostgresLeases
from heliograph.adapters.store.postgres.operations import PostgresCustomers, PostgresSuppressions
from heliograph.adapters.store.postgres.schema import migrate, shipped
from heliograph.adapters.store.postgres.servers import Servers, check_session
from heliograph.adapters.store.shared.bundle import Bundle
from heliograph.adapters.store.shared.schema import Schema
from heliograph.app import ports


class PostgresStore(Bundle):
    """`app.ports.Store` on a PostgreSQL database, which any number of processes may have open."""

    customers_of = PostgresCustomers
    suppressions_of = PostgresSuppressions

    def __init__(self, servers: Servers) -> None:
        """The schema must be there; see `open`."""
        self._database = database = Database(servers)
        super().__init__(database)
        commits = PostgresCommits(database, self._runner)
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
        serves: bool = False,
    ) -> Self:
        """Brings the schema up to date and opens the store; connections are made when they are needed.

        `serves`: for a gateway, which needs more than a command: sessions that last longer than a transaction.
        Raises Unavailable when the database cannot be used, SchemaTooNew or SchemaChanged when it is not for this
        version of the program.
        """
        servers = Servers(url, limits or DatabaseLimits())
        if serves:
            await check_session(servers)
        await migrate(servers, schema or shipped())
        return cls(servers)

    async def close(self) -> None:
        """Closes all connections. Later calls raise Unavailable."""
        await asyncio.gather(self._recorder.close(), self._database.close())
