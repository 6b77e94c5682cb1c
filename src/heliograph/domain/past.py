"""The past of a database: whether it still has all commits that it confirmed to a data directory.

    data directory (`known`)                    database (`found`)
    moves 412, forks a b        <--compare-->   moves 371, forks a

1. Each data directory has a *mark* in the database, a number that only this directory moves on. It keeps the highest
   number that was confirmed.
2. A database with a lower number went back in time: it lost confirmed commits.
3. A person may accept the loss, which adds a *fork* to the database: a random number. A directory that has never seen
   the newest fork knows that its loss was accepted.
"""

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from heliograph.domain.calendar import DAY_MS, format_utc

KEPT_MS: Final = 400 * DAY_MS
"""Milliseconds for which the mark of a directory is kept in the database after its last move."""

JUDGED_MS: Final = 365 * DAY_MS
"""Milliseconds for which a directory judges by its last move. Shorter than KEPT_MS, so that a mark that was deleted for
its age is not taken for a loss."""


@dataclass(frozen=True, slots=True)
class KnownPast:
    """The past that a data directory saw confirmed."""

    directory: int
    """Random number of the directory."""
    moves: int = 0
    """How often the mark was moved on; 0: never."""
    at: int = 0
    """Time of the last move, in ms since the epoch."""
    timeline: int = 0
    """PostgreSQL's timeline at the last move, for example 3; 0 on SQLite."""
    forks: tuple[int, ...] = ()
    """All forks that the directory has seen, the newest last."""
    writer: int = 0
    """PostgreSQL: the connection that commits, by its row in `writer`; 0: none yet."""
    commits: int = 0
    """Confirmed commits of that connection."""


@dataclass(frozen=True, slots=True)
class FoundPast:
    """The past that a database has for a data directory."""

    moves: int = 0
    """0 if the directory has no mark."""
    at: int = 0
    timeline: int = 0
    """The timeline of the server that answered."""
    forks: tuple[int, ...] = ()
    """The accepted losses, the newest last."""
    commits: int | None = None
    """Commits of the directory's connection; None if its row is gone."""


class PastState(Enum):
    """The result of a comparison."""

    WHOLE = auto()
    """Nothing is missing."""
    LOST = auto()
    """Confirmed commits are missing. A person must decide."""
    ACCEPTED = auto()
    """Confirmed commits are missing, and a person accepted that."""


def compare(known: KnownPast, found: FoundPast, now: int) -> PastState:
    """Compares the past of a data directory with the past of its database."""
    if now - known.at > JUDGED_MS:
        return PastState.WHOLE
    is_whole = (
        found.moves >= known.moves
        and (found.commits is None or found.commits >= known.commits)
        and (not known.forks or known.forks[-1] in found.forks)
    )
    if is_whole:
        return PastState.WHOLE
    is_accepted = bool(found.forks) and found.forks[-1] not in known.forks
    return PastState.ACCEPTED if is_accepted else PastState.LOST


def moved(known: KnownPast, found: FoundPast, now: int) -> KnownPast:
    """Returns the known past after the directory's mark was moved on from the found one."""
    return replace(
        known,
        moves=max(known.moves, found.moves + 1),
        at=now,
        timeline=found.timeline,
        forks=_all_forks(known.forks, found.forks),
    )


def follow(known: KnownPast, found: FoundPast) -> KnownPast:
    """Returns the known past of a directory that goes on upon a database whose loss was accepted."""
    forks = _all_forks(known.forks, found.forks)
    return KnownPast(known.directory, found.moves, found.at, found.timeline, forks)


def describe_loss(known: KnownPast, found: FoundPast) -> str:
    """Describes a loss for people: between which times it lies, and on which timelines."""
    before = f" (timeline {known.timeline})" if known.timeline else ""
    after = f" (timeline {found.timeline})" if found.timeline else ""
    if not found.moves:
        return (
            f"it has no mark of this data directory{after}, and a mark of {format_utc(known.at)}{before} was confirmed"
            "; or it is another database than before"
        )
    if found.moves < known.moves:
        return (
            f"its newest mark of this data directory is of {format_utc(found.at)}{after}, and a mark of "
            f"{format_utc(known.at)}{before} was confirmed"
        )
    if found.commits is not None and found.commits < known.commits:
        missing = known.commits - found.commits
        return f"it lacks {missing:,} of the last confirmed commits, after {format_utc(known.at)}{before}{after}"
    return f"it is older than a loss that a person accepted{after}"


def _all_forks(known: tuple[int, ...], found: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the forks of both, the newest found one last."""
    return (*(fork for fork in known if fork not in found), *found)
