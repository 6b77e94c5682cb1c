"""The store as one object: its ports. Facts are recorded on a connection of their own; everything else uses a pool."""

import asyncio
from functools import partial
from typing import Self

from heliograph.adapters.store.postgres.commits import PostgresCommits
from heliograph.adapters.store.postgres.database import Database
from heliograph.adapters.store.postgres.db import DatabaseLimits
from heliograph.adapters.store.postgres.driver import drive
from heliograph.adapters.store.postgres.faults import FAULTS, translated
from heliograph.adapters.store.postgres.leases import PostgresLeases
from heliograph.adapters.store.postgres.operations import PostgresCustomers, PostgresSuppressions
from heliograph.adapters.store.postgres.schema import migrate, shipped
from heliograph.adapters.store.postgres.servers import Servers, check_session
from heliograph.adapters.store.shared.bundle import Bundle
from heliograph.adapters.store.shared.past import StoredPast, find_past
from heliograph.adapters.store.shared.schema import Schema
from heliograph.adapters.store.shared.steps import Runner
from heliograph.app import ports
from heliograph.domain.past import FoundPast, KnownPast


class PostgresStore(Bundle):
    """`app.ports.Store` on a PostgreSQL database, which any number of processes may have open."""

    customers_of = PostgresCustomers
    suppressions_of = PostgresSuppressions

    def __init__(self, servers: Servers) -> None:
        """The schema must be there; see `open`."""
        self._database = database = Database(servers)
        self.past_of = partial(PostgresPast, database=database)
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
        guard: ports.PastGuard | None = None,
    ) -> Self:
        """Brings the schema up to date and opens the store; connections are made when they are needed.

        `serves`: for a gateway, which needs more than a command: sessions that last longer than a transaction.
        `guard` keeps a gateway away from a server that lost confirmed commits.
        Raises Unavailable when the database cannot be used, SchemaTooNew or SchemaChanged when it is not for this
        version of the program.
        """
        servers = Servers(url, limits or DatabaseLimits(), guard)
        if serves:
            await check_session(servers)
        await migrate(servers, schema or shipped())
        return cls(servers)

    async def close(self) -> None:
        """Closes all connections. Later calls raise Unavailable."""
        await asyncio.gather(self._recorder.close(), self._database.close())


class PostgresPast(StoredPast):
    """`app.ports.Past` on a database."""

    def __init__(self, runner: Runner, database: Database) -> None:
        super().__init__(runner)
        self._servers = database.servers

    async def move(self, known: KnownPast, now: int) -> FoundPast:
        self._servers.note_commits()
        return await super().move(known, now)

    async def find(self, known: KnownPast) -> FoundPast:
        """Asks on a new connection, about which the guard judges first."""
        db = await self._servers.connect()
        try:
            return await drive(db, partial(find_past, known))
        except FAULTS as fault:
            raise translated(fault) from fault
        finally:
            db.terminate()
