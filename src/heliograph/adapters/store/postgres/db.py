"""The part of asyncpg's connection that the store uses, and the limits on connections and calls."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from heliograph.app.ports import HOLD_S


class Db(Protocol):
    """A connection, or a fake of it. A row is a sequence that knows its columns' names."""

    async def execute(self, query: str, *values: Any) -> str:
        """The command's tag, such as `UPDATE 1`. Without values, the query may be several statements."""

    async def executemany(self, query: str, rows: Any) -> None: ...

    async def fetch(self, query: str, *values: Any) -> list[Any]: ...

    async def fetchrow(self, query: str, *values: Any) -> Any | None: ...

    async def fetchval(self, query: str, *values: Any) -> Any:
        """The first column of the first row; None if there is none."""

    def transaction(self, *, isolation: str = ..., readonly: bool = ...) -> AbstractAsyncContextManager[Any]: ...

    async def close(self, *, timeout: float) -> None: ...  # noqa: ASYNC109 - as asyncpg has it

    def terminate(self) -> None: ...

    def is_closed(self) -> bool: ...

    def get_server_version(self) -> Any: ...


@dataclass(frozen=True)
class DatabaseLimits:
    """Limits on connections and calls; times are in seconds."""

    pool: int = 8
    """Connections in the pool. The connection that records is not part of it."""
    waiting: int = 1_000
    """Calls that may wait for a connection. A further call raises Unavailable."""
    acquire: float = 2.0
    """Time to wait for a connection of the pool to come free."""
    connect: float = 3.0
    statement: float = 10.0
    """PostgreSQL's statement_timeout; audit, recovery and migrations have none."""
    lock: float = 5.0
    """PostgreSQL's lock_timeout."""
    idle: float = 2.0
    """PostgreSQL's idle_in_transaction_session_timeout, after which the locks of a node that vanished during a
    transaction are free. Less than `lock`, so that a transaction that waits for them gets them."""
    commit: float = HOLD_S
    """Time for a commit with requests, which wait no longer. A commit without requests has the other limits alone:
    after an outage it may be large."""
    resolve: float = 4.0
    """Time to find out, after a connection was lost during COMMIT, whether the commit was done."""

    @property
    def silence(self) -> float:
        """Time without an answer after which the server is taken to be gone."""
        return self.statement + 2.0
