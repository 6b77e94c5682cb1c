"""Schemas and their versions: makes the tables of an engine, and migrates tables of an older version.

`schema.sql` (with `functions.sql` on PostgreSQL) describes the present tables, and makes new stores. A migration,
`migrations/NNNN_name.sql`, brings a store that is in use from the version before to NNNN; both change together, and the
script that made the version before is kept in `tests/vectors/schemas`. Version 1 is the first `schema.sql`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from heliograph.adapters.store.shared.sql import fill

CREATION = "schema"
"""Name of the step that creates a new store."""

Applied = Sequence[tuple[int, str, str]]
"""Rows of the table `migration`: number, name and checksum of each step that a store has been through, in order."""


class SchemaTooNew(Exception):
    """A newer version of the program has used this store; this version would not understand it."""


class SchemaChanged(Exception):
    """A migration that this store went through differs from the migration of the same number here."""


@dataclass(frozen=True)
class Step:
    """A step to version `number`, from nothing or from the version before."""

    number: int
    name: str
    script: str
    checksum: str


@dataclass(frozen=True)
class Migration:
    number: int
    name: str
    text: str


@dataclass(frozen=True)
class Schema:
    tables: str
    functions: str = ""
    """Replaced as a whole by each migration."""
    migrations: tuple[Migration, ...] = ()

    @property
    def version(self) -> int:
        return self.migrations[-1].number if self.migrations else 1

    @property
    def creation(self) -> Step:
        script = self.tables + self.functions
        return Step(self.version, CREATION, script, _checksum(script))

    def next_step(self, applied: Applied) -> Step | None:
        """Returns the next step; None if the store is up to date. Raises SchemaTooNew and SchemaChanged."""
        if not applied:
            return self.creation
        steps = [self._step(migration) for migration in self.migrations]
        known = {(step.number, step.name): step for step in [self.creation, *steps]}
        newest = 0
        for number, name, checksum in applied:
            newest = max(number, newest)
            if number > self.version:
                raise SchemaTooNew(
                    f"the store's schema has version {number} ({name}) and this program knows only up to "
                    f"{self.version}: a newer version has been used here; run the newer version, or restore a backup"
                )
            if name == CREATION and number < self.version:
                continue  # the script of that version is gone
            if (number, name) not in known or known[number, name].checksum != checksum:
                raise SchemaChanged(
                    f"the store's schema was made by another version {number} ({name}) than this version"
                )
        return next((step for step in steps if step.number > newest), None)

    def _step(self, migration: Migration) -> Step:
        newest = migration.number == self.version
        script = f"{migration.text}\n{self.functions}" if newest else migration.text
        return Step(migration.number, migration.name, script, _checksum(migration.text))


def read(folder: Path) -> Schema:
    """Reads the files of an engine, with their fragments filled in."""
    functions = folder / "functions.sql"
    return Schema(
        fill((folder / "schema.sql").read_text("utf-8")),
        fill(functions.read_text("utf-8")) if functions.exists() else "",
        tuple(
            Migration(int(file.name[:4]), file.name[5:-4], fill(file.read_text("utf-8")))
            for file in sorted((folder / "migrations").glob("*.sql"))
        ),
    )


def _checksum(text: str) -> str:
    return sha256(text.encode()).hexdigest()
