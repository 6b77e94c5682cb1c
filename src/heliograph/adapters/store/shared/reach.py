"""How far the rows reach, as both stores ask them. Each query reads a whole table, or an index of it."""

from heliograph.domain.ids import time_of

_GOING = """
    SELECT count(*) FROM message AS m WHERE m.state = 1 AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = m.key)
"""
_SENT_WHOLE = "(SELECT count(*) FROM sent AS s WHERE s.key = m.key) >= m.segments"

#: By the names of app.operators.Reach.
COUNTS = {
    "scheduled": "SELECT count(*) FROM message AS m WHERE m.state = 0",
    "unsent": f"{_GOING} AND NOT {_SENT_WHOLE}",
    "awaiting": f"{_GOING} AND {_SENT_WHOLE} AND m.wants_receipt",
    "owed": """
        SELECT count(*) FROM final AS f WHERE f.owed AND f.state IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM callback AS c WHERE c.key = f.key)
    """,
}

NEWEST_KEY = "SELECT max(key) FROM message"

NEWEST = (
    "SELECT max(at) FROM ledger",
    "SELECT max(at) FROM sent",
    "SELECT max(at) FROM final",
    "SELECT max(at) FROM callback",
    "SELECT max(at) FROM moved",
)


def latest(key: int | None, times: list[int | None]) -> int | None:
    """The newest of all, in milliseconds."""
    known = [at for at in times if at is not None]
    return max(known if key is None else [*known, time_of(key)], default=None)
