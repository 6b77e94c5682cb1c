"""Offers the catalogue of a database's schema, in a form in which two of them can be compared."""

import re
import sqlite3
from pathlib import Path

import asyncpg

Catalogue = list[tuple[str, ...]]

_POSTGRES = """
SELECT 'column', c.relname || '.' || a.attname, concat_ws(
    ' ', a.attnum, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, l.collname,
    pg_get_expr(d.adbin, d.adrelid)
)
FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
LEFT JOIN pg_collation AS l ON l.oid = a.attcollation
WHERE c.relnamespace = 'heliograph'::regnamespace AND c.relkind IN ('r', 'c')
UNION ALL
SELECT 'relation', relname, concat_ws(' ', relkind, relpersistence, reloptions::text)
FROM pg_class WHERE relnamespace = 'heliograph'::regnamespace
UNION ALL
SELECT 'constraint', conrelid::regclass::text || '.' || conname, pg_get_constraintdef(oid)
FROM pg_constraint WHERE connamespace = 'heliograph'::regnamespace
UNION ALL
SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'heliograph'
UNION ALL
SELECT 'function', oid::regprocedure::text, pg_get_functiondef(oid)
FROM pg_proc WHERE pronamespace = 'heliograph'::regnamespace
UNION ALL
SELECT 'trigger', tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
"""


async def of_postgres(url: str) -> Catalogue:
    """Relations, columns with their types and defaults, constraints, indexes, functions and triggers."""
    db = await asyncpg.connect(url, server_settings={"search_path": "heliograph"})
    try:
        return sorted(tuple(map(str, row)) for row in await db.fetch(_POSTGRES))
    finally:
        await db.close()


def of_sqlite(path: Path) -> Catalogue:
    """Tables, their columns, indexes with their columns and predicates, and triggers."""
    db = sqlite3.connect(path)
    try:
        found: Catalogue = []
        for _, table, kind, columns, without_rowid, strict in db.execute("PRAGMA main.table_list").fetchall():
            [text] = db.execute(
                "SELECT sql FROM sqlite_schema WHERE name = ? UNION ALL SELECT '' LIMIT 1", (table,)
            ).fetchone()
            counts = "AUTOINCREMENT" in (text or "").upper()
            found.append(("table", table, kind, str(columns), f"{without_rowid} {strict} {counts}"))
            found += [("column", table, *map(str, row)) for row in db.execute(f"PRAGMA table_xinfo('{table}')")]
            for _, index, unique, origin, partial in db.execute(f"PRAGMA index_list('{table}')").fetchall():
                # the index of a key that is made by itself has a number in its name
                name = re.sub(r"_\d+$", "", index)
                found.append(("index", table, name, f"{unique} {origin} {partial}"))
                found += [("indexed", name, *map(str, row)) for row in db.execute(f"PRAGMA index_xinfo('{index}')")]
        found += [
            (kind, name, re.sub(r"\s+", " ", text))
            for kind, name, text in db.execute(
                "SELECT type, name, sql FROM sqlite_schema WHERE type IN ('index', 'trigger') AND sql IS NOT NULL"
            )
        ]
        return sorted(found)
    finally:
        db.close()
