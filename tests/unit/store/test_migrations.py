"""The migrations of both stores, as files: what needs no database to be seen."""

import pytest

from heliograph.adapters.store.postgres import schema as postgres
from heliograph.adapters.store.shared.schema import Schema
from heliograph.adapters.store.sqlite import schema as sqlite
from tests.support.schema_versions import released

SCHEMAS = pytest.mark.parametrize(
    ("engine", "schema"), [("postgres", postgres.shipped()), ("sqlite", sqlite.shipped())], ids=["postgres", "sqlite"]
)


@SCHEMAS
def test_they_are_numbered_without_a_gap_or_a_repetition(engine: str, schema: Schema) -> None:
    """Two that were made side by side and have one number: no database can be opened with them."""
    assert [migration.number for migration in schema.migrations] == list(range(2, schema.version + 1)), engine


@SCHEMAS
def test_each_has_the_schema_that_it_starts_from(engine: str, schema: Schema) -> None:
    """That is `shipped().creation.script` of the version before, kept when that was released."""
    assert [start.version for start in released(engine)] == list(range(1, schema.version))
