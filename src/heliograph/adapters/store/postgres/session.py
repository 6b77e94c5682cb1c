"""What a session of ours relies on, whatever the server, the database or the role has for a default."""

from functools import partial
from typing import Any

from heliograph.adapters.store.postgres.db import Db
from heliograph.adapters.store.postgres.encoding import ENCODERS
from heliograph.adapters.store.postgres.limits import Limits

SCHEMA = "heliograph"

_SETTINGS = {
    "search_path": SCHEMA,
    "timezone": "UTC",
    "jit": "off",
    # rows are locked in one order and read again when they are free, rather than given up
    "default_transaction_isolation": "read committed",
    # a plan made while a table was empty would read all of it ever after
    "enable_seqscan": "off",
    "plan_cache_mode": "force_generic_plan",
    # a client that vanished must not keep its locks: seconds, seconds, milliseconds
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "client_connection_check_interval": "2000",
    # the connection that records may have nothing to do for a night
    "idle_session_timeout": "0",
}

# What was committed is on disk, and stays so when the server's default becomes another: a session that has set
# nothing follows that at once.
_DURABLE = "SELECT set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), false)"

_KNOWS_TRANSACTION_TIMEOUT = 17
"""The version of PostgreSQL that brought it."""


async def settle(db: Db, limits: Limits, *, patient: bool, **more: str) -> None:
    """Sets all of it in one go, after the connection is made: a pooler refuses a connection that brings parameters
    which it does not know."""
    settings = _bounds(limits, patient=patient) | _SETTINGS | more
    if db.get_server_version().major >= _KNOWS_TRANSACTION_TIMEOUT:
        settings["transaction_timeout"] = "0"
    statements = [f"SET {name} = '{value}'" for name, value in settings.items()]
    await db.execute("; ".join([*statements, _DURABLE]))


def _bounds(limits: Limits, *, patient: bool) -> dict[str, str]:
    """In milliseconds; 0 is none."""
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
    """From now on arrays of these rows are encoded from facts. What the driver promises are encoders of scalars alone
    (`set_type_codec`); what that calls takes any type, and is nowhere promised: `pyproject.toml` says which releases of
    the driver have it."""
    settings = db._protocol.get_settings()  # noqa: SLF001 - as above
    for name, element, array in await db.fetch(_ROW_TYPES, SCHEMA, list(ENCODERS)):
        settings.add_python_codec(
            array, f"{name}[]", SCHEMA, [], "scalar", partial(ENCODERS[name], element), _never_sent, "binary"
        )


def _never_sent(octets: bytes) -> None:
    raise NotImplementedError("no statement of ours asks for an array of rows")
