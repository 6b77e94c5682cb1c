"""How long things may take, and how many there may be."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Seconds, unless said otherwise."""

    pool: int = 8
    """Connections, beside the one that records."""
    waiting: int = 1_000
    """Calls that may wait for a connection; one more is refused as Unavailable."""
    acquire: float = 2.0
    """For a connection of the pool to come free."""
    connect: float = 3.0
    statement: float = 10.0
    """PostgreSQL's statement_timeout; audit, recovery and migrations have none."""
    lock: float = 5.0
    """PostgreSQL's lock_timeout."""
    idle: float = 2.0
    """PostgreSQL's idle_in_transaction_session_timeout: what a node that vanished in the middle of a transaction had
    locked is free after it. Less than `lock`, so that who waits for it gets it."""
    resolve: float = 4.0
    """For finding out, after a connection was lost in the middle of a commit, whether that came about."""

    @property
    def silence(self) -> float:
        """After so long without an answer the server is taken to be gone."""
        return self.statement + 2.0
