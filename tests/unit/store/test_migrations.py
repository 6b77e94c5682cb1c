"""The migrations of both stores, as files: what needs no database to be seen."""

import pytest

from heliograph.adapters.store.postgres import schema as postgres
from heliograph.adapters.store.shared.schema import Migration
from heliograph.adapters.store.sqlite import schema as sqlite


@pytest.mark.parametrize("migrations", [postgres.shipped(), sqlite.shipped()], ids=["postgres", "sqlite"])
def test_they_are_numbered_without_a_gap_or_a_repetition(migrations: list[Migration]) -> None:
    """Two that were made side by side and have one number: no database can be opened with them."""
    assert [migration.number for migration in migrations] == list(range(1, len(migrations) + 1))
