"""Leases: which nodes are alive, and which workers and bind slots are theirs."""

from heliograph.adapters.store.postgres.db import Db

KEPT_MS = 7 * 24 * 3_600_000
"""Milliseconds for which the rows of dead nodes are kept."""

# By the server's clock: of two nodes' clocks nobody knows which one is right.
_HEARTBEAT = """
INSERT INTO node (number, until) VALUES ($1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint + $2::bigint)
ON CONFLICT (number) DO UPDATE SET until = excluded.until WHERE NOT node.gone
RETURNING 1
"""
_RELEASE = "SELECT release_dead_nodes((extract(epoch FROM clock_timestamp()) * 1000)::bigint - $1::bigint, $2)"
_WORKER = "SELECT lease_worker_number($1)"
_BINDS = "SELECT lease_bind_slots($1, $2, $3, $4)"


async def heartbeat(db: Db, node: int, lasts: int) -> bool:
    return await db.fetchval(_HEARTBEAT, node, lasts) is not None


async def release_dead(db: Db, ago: int) -> list[int]:
    await db.execute("SET LOCAL statement_timeout = 0")
    return list(await db.fetchval(_RELEASE, ago, KEPT_MS))


async def lease_worker(db: Db, node: int) -> int | None:
    number: int | None = await db.fetchval(_WORKER, node)
    return number


async def lease_binds(db: Db, connector: int, node: int, binds: int, want: int) -> list[int]:
    return sorted(await db.fetchval(_BINDS, connector, node, binds, want))
