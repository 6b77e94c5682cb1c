"""Settings of every connection, independent of the defaults of server, database and role."""

from functools import partial
from typing import Any

from heliograph.adapters.store.postgres.db import DatabaseLimits, Db
from heliograph.adapters.store.postgres.encoding import ENCODERS

SCHEMA = "heliograph"

_SETTINGS = {
    "search_path": SCHEMA,
    "timezone": "UTC",
    "jit": "off",
    # rows are locked in a fixed order, and read again once they are free
    "default_transaction_isolation": "read committed",
    # a plan made while a table was empty would read all of it ever after
    "enable_seqscan": "off",
    "plan_cache_mode": "force_generic_plan",
    # a client that vanished must not keep its locks: seconds, seconds, probes, milliseconds. A client that vanished
    # between preparing and executing a statement does not count as idle: 11 s of silence end it.
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "11000",
    "client_connection_check_interval": "2000",
    # the connection that records may be idle for a whole night
    "idle_session_timeout": "0",
}

# Commits are on disk, even if the server's default changes: a session without its own setting follows the default at
# once.
_DURABLE = "SELECT set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), false)"

_KNOWS_TRANSACTION_TIMEOUT = 17
"""First major version of PostgreSQL with `transaction_timeout`."""


async def settle(db: Db, limits: DatabaseLimits, *, patient: bool, **more: str) -> None:
    """Makes the settings in a single round trip, after the connection is open. A pooler such as PgBouncer refuses
    connections that bring parameters it does not know."""
    settings = _bounds(limits, patient=patient) | _SETTINGS | more
    if db.get_server_version().major >= _KNOWS_TRANSACTION_TIMEOUT:
        settings["transaction_timeout"] = "0"
    statements = [f"SET {name} = '{value}'" for name, value in settings.items()]
    await db.execute("; ".join([*statements, _DURABLE]))


def _bounds(limits: DatabaseLimits, *, patient: bool) -> dict[str, str]:
    """Returns the server's time limits in milliseconds; 0 is none."""
    bounds = {
        "statement_timeout": limits.statement,
        "lock_timeout": limits.lock,
        "idle_in_transaction_session_timeout": limits.idle,
    }
    return {name: "0" if patient else str(int(seconds * 1000)) for name, seconds in bounds.items()}


_ROW_TYPES = """
SELECT typname, oid, typarray FROM pg_type WHERE typnamespace = $1::regnamespace AND typname = ANY ($2::name[])
"""


async def set_encoders(db: Any) -> None:
    """Makes the driver encode arrays of rows from facts.

    The driver's public `set_type_codec` takes encoders of scalars alone. The function that it calls takes any type, and
    is not public: `pyproject.toml` says which releases of the driver have it.
    """
    settings = db._protocol.get_settings()  # noqa: SLF001 - as above
    for name, element, array in await db.fetch(_ROW_TYPES, SCHEMA, list(ENCODERS)):
        settings.add_python_codec(
            array, f"{name}[]", SCHEMA, [], "scalar", partial(ENCODERS[name], element), _never_sent, "binary"
        )


def _never_sent(octets: bytes) -> None:
    raise NotImplementedError("no statement of ours asks for an array of rows")
