"""Offers versions of the schema: released versions, and made-up future versions."""

from dataclasses import replace
from pathlib import Path

from heliograph.adapters.store.shared.schema import Migration, Schema

RELEASED = Path(__file__).parent.parent / "vectors" / "schemas"
"""`ENGINE-NNNN.sql`: the script that made a new store of each version that a migration starts from."""


def released(engine: str) -> list[Schema]:
    """The schemas of former versions, oldest first."""
    return [
        Schema(file.read_text(), migrations=(Migration(int(file.stem[-4:]), "", ""),))
        for file in sorted(RELEASED.glob(f"{engine}-*.sql"))
    ]


def later(now: Schema, *texts: str, functions: str = "") -> Schema:
    """The schema after these migrations, and its files with their additions."""
    added = [Migration(number, f"later_{number}", text) for number, text in enumerate(texts, now.version + 1)]
    return replace(
        now,
        tables="\n".join([now.tables, *texts, ""]),
        functions=now.functions + functions,
        migrations=(*now.migrations, *added),
    )
