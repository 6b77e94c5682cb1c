"""Classifies faults of the database and of the connections to it."""

import asyncpg

from heliograph.app.ports import Away, Fenced, Unavailable

_READ_ONLY = "25006"

_OUTAGES = frozenset({"08", "53", "57", "58", "F0"})
"""Classes of SQLSTATE: connection, resources, operator intervention, system error, configuration file."""

_OUTAGE_CODES = frozenset(
    {
        _READ_ONLY,
        "28000",  # authorization
        "28P01",  # password
        "3D000",  # no such database
        "42501",  # not allowed to
        "55P03",  # lock_timeout
        "XX000",  # internal error, such as a file that cannot grow for a disk quota or a limit of its size
        "XX001",  # data corrupted
        "XX002",  # index corrupted
    }
)

LASTING_CODES = frozenset({"28000", "28P01", "3D000", "42501", "XX001", "XX002"})
"""Outages that do not end by themselves: the role, the password, the database, rights, corrupted pages."""

_AGAIN = frozenset({"40001", "40P01"})
"""Serialization failure and deadlock: this transaction was rolled back, because another transaction was in the way."""

_REPEAT = "23505"
"""Unique violation."""

_UNFIT = frozenset({"22", "23", "54"})
"""Classes of SQLSTATE: data, integrity, limits. A row is at fault, and will be."""

_UNCODABLE = "22000"
"""SQLSTATE that the driver itself gives a value that it cannot encode; its message quotes the value."""

_FENCED = "HG001"

_CONTESTED = "HG002"

_STATEMENT_CODES = frozenset({"26000", "42P05"})
"""A prepared statement is missing, or is there already: the session is not the one that prepared it."""

SESSION_LOST = (
    "a pooler in front of the database gives each transaction another session. Set pool_mode = session in PgBouncer, "
    "or name the database's servers in the URL"
)


FAULTS = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)
"""Exceptions of a connection and of its statements."""


def code_of(fault: BaseException) -> str:
    """Returns the SQLSTATE, or ''."""
    return str(getattr(fault, "sqlstate", None) or "")


def is_loss(fault: BaseException) -> bool:
    """Returns whether the connection is lost. Its last statement may or may not have been done."""
    if isinstance(fault, asyncpg.PostgresError):
        code = code_of(fault)
        return code[:2] == "08" or code in ("57P01", "57P02", "57P03", "57P05", "25P03", "25P04")
    if isinstance(fault, asyncpg.InterfaceError):
        # an InterfaceError may also mean a value that no column accepts
        return not isinstance(fault, ValueError)
    return isinstance(fault, OSError | TimeoutError | asyncpg.InternalClientError)


def is_broken_off(fault: BaseException) -> bool:
    """Returns whether a connection broke off while it was opened, so that the next may succeed. The driver has no
    exception for a server that closes an idle session, for example if the role may be idle for milliseconds only."""
    return isinstance(fault, ConnectionError) if isinstance(fault, OSError) else is_loss(fault)


def is_elsewhere(fault: BaseException) -> bool:
    """Returns whether the server takes no more writes. Another server may, and only a new connection finds it."""
    return code_of(fault) == _READ_ONLY


def is_outage(fault: BaseException) -> bool:
    """Returns whether the database is unavailable, as opposed to a wrong row."""
    if is_loss(fault):
        return True
    code = code_of(fault)
    return code[:2] in _OUTAGES or code in _OUTAGE_CODES


def is_passing(fault: BaseException) -> bool:
    """Returns whether the transaction was rolled back only because another transaction was in its way."""
    return code_of(fault) in _AGAIN


def contested_keys(fault: BaseException) -> set[int]:
    """Returns the keys of contested messages from phones, if the transaction was rolled back because of them."""
    return set(map(int, str(getattr(fault, "detail", "")).split())) if code_of(fault) == _CONTESTED else set()


def is_repeat(fault: BaseException) -> bool:
    """Returns whether a row is there already."""
    return code_of(fault) == _REPEAT


def is_unfit(fault: BaseException) -> bool:
    """Returns whether a value to be written is at fault, as found by the server, the driver or Python."""
    return isinstance(fault, ValueError | OverflowError) or code_of(fault)[:2] in _UNFIT


def translated(fault: Exception) -> Exception:
    """Returns the exception of the port that the fault means, or the fault itself."""
    if code_of(fault) == _FENCED:
        return Fenced("the work of this node was given to others")
    if code_of(fault) in _STATEMENT_CODES:
        return Unavailable(SESSION_LOST)
    if is_outage(fault) or is_passing(fault):
        kind = Unavailable if code_of(fault) in LASTING_CODES else Away
        return kind(f"the database cannot be used: {describe(fault)}")
    return fault


def describe(fault: BaseException) -> str:
    """Describes the fault for the log and for users, without values and without the URL, which has the password."""
    if isinstance(fault, asyncpg.PostgresError) and code_of(fault) != _UNCODABLE:
        # the message names columns and constraints; the values are in its detail
        return f"{type(fault).__name__}: {fault.args[0] if fault.args else ''}"
    if isinstance(fault, OSError) and fault.strerror:
        return f"{type(fault).__name__}: {fault.strerror}"
    return type(fault).__name__
