"""The schema's versions: numbered SQL files of a package, each applied once, in order."""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path


class SchemaTooNew(Exception):
    """A newer version of the program has used this store; this one would not understand it."""


class SchemaChanged(Exception):
    """A migration that this store has been through was different from the one of the same number here."""


@dataclass(frozen=True)
class Migration:
    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return sha256(self.text.encode()).hexdigest()


def shipped(folder: Path) -> list[Migration]:
    """The migrations in the folder, `NNNN_name.sql`, in order."""
    return sorted(
        (
            Migration(int(file.name[:4]), file.name[5:-4], file.read_text("utf-8"))
            for file in folder.iterdir()
            if file.name.endswith(".sql")
        ),
        key=lambda migration: migration.number,
    )


def missing(applied: Iterable[tuple[int, str, str]], migrations: list[Migration]) -> list[Migration]:
    """The migrations still to be applied, by the number, name and checksum of those that were.

    Raises SchemaTooNew and SchemaChanged.
    """
    known = {migration.number: migration for migration in migrations}
    numbers = set()
    for number, name, checksum in applied:
        if number not in known:
            raise SchemaTooNew(
                f"the store's schema has version {number} ({name}) and this program knows only up to "
                f"{max(known)}: a newer version of it has been used here; run that one, or restore a backup"
            )
        if checksum != known[number].checksum:
            raise SchemaChanged(f"the store's schema was made by another version {number} ({name}) than this one")
        numbers.add(number)
    return [migration for migration in migrations if migration.number not in numbers]
