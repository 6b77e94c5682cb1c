"""Keeps a gateway away from a database that lost confirmed commits (`domain.past`).

start     the file `database.json` has the last confirmed past; the store compares before it writes anything
run       `keep` moves the mark on while there are commits, and writes the file after it
          each new connection of the store is compared, too
lost      `check` refuses every call of the store; requests get 503, and nothing is sent to operators
accepted  at a start: goes on upon the found past. In a run: Fenced, because its memory belongs to the lost past.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from threading import Lock
from typing import Final

import msgspec

from heliograph.app.facts import Facts
from heliograph.app.ports import Clock, Fenced, Journal, Past, PastLost, Unavailable
from heliograph.domain.past import FoundPast, KnownPast, PastState, compare, describe_loss, follow, moved
from heliograph.runtime.disk import replace_file
from heliograph.runtime.outage import Outage

FILE_NAME: Final = "database.json"

MOVE_S: Final = 2.0
"""Seconds between two moves of the mark while there are commits. A loss of less than this is found by the number of
commits, unless the gateway was killed as well."""

IDLE_S: Final = 60.0
"""Seconds between two moves without commits, for changes by administrators."""

ADVICE: Final = "Bring the newer data back, or accept the loss with: heliograph restored"


def load_past(data: Path) -> KnownPast | None:
    """Returns the past that a data directory knows; None if it has seen none. Raises Unavailable."""
    file = data / FILE_NAME
    try:
        return msgspec.json.decode(file.read_bytes(), type=KnownPast)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "its text is damaged"
        raise Unavailable(
            f"{file} cannot be read: {reason}. It tells whether the database lost commits; remove it to do without"
        ) from None


def save_past(data: Path, known: KnownPast) -> None:
    """Replaces the file, and returns when it is on disk. Raises OSError."""
    replace_file(data / FILE_NAME, msgspec.json.format(msgspec.json.encode(known)) + b"\n", alone=True)


def new_number() -> int:
    """Returns a random number for a directory or a fork."""
    return secrets.randbits(62) + 1


class PastKeeper:
    """The past of a running gateway. Implements `app.ports.PastGuard`, and watches commits."""

    def __init__(
        self, data: Path, clock: Clock, journal: Journal, in_thread: Callable[..., Awaitable[None]] = asyncio.to_thread
    ) -> None:
        """Reads the file. Raises Unavailable."""
        self._data = data
        self._in_thread = in_thread
        self._clock = clock
        self._journal = journal
        self.known = load_past(data) or KnownPast(new_number())
        self.problem = ""
        """Why the database is refused; empty if it is not."""
        self.on_lost: Callable[[], None] = lambda: None
        """Called when a loss is found."""
        self._runs = False
        self._has_commits = True
        self._moved = -inf
        self._unsaved = ""
        """Why the file could not be written the last time; empty if it could."""
        self._saving = Lock()

    # --- the guard

    def judge(self, found: FoundPast, asked: KnownPast | None = None) -> None:
        match compare(asked or self.known, found, self._clock.now()):
            case PastState.WHOLE:
                if self.problem:
                    self.problem = ""
                    self._journal.log("info", "past.whole")
            case PastState.LOST:
                self._refuse(found)
                self.check()
            case PastState.ACCEPTED if self._runs:
                raise Fenced("a person accepted that the database lost commits of this run")
            case PastState.ACCEPTED:
                self._journal.log("warning", "past.accepted", problem=describe_loss(self.known, found))
                self.known, self.problem = follow(self.known, found), ""

    def note_commits(self, writer: int, commits: int) -> None:
        self.known = replace(self.known, writer=writer, commits=commits)

    def note_move(self, moves: int) -> None:
        self.known = replace(self.known, moves=max(moves, self.known.moves))

    def check(self) -> None:
        if self.problem:
            raise PastLost(f"the database lost confirmed commits: {self.problem}. {ADVICE}")

    def _refuse(self, found: FoundPast) -> None:
        if self.problem:
            return
        self.problem = describe_loss(self.known, found)
        self._journal.log("error", "past.lost", problem=self.problem, advice=ADVICE)
        if self._runs:
            self._save()  # with the number of commits, so that the next start finds the loss, too
        self.on_lost()

    # --- the mark

    def begin(self) -> None:
        """From now on this process has work of this past in its memory."""
        self._runs = True

    async def keep(self, past: Past, outage: Outage) -> None:
        """Moves the mark on until cancelled. Raises Fenced if a person accepted a loss."""
        while True:
            try:
                if self.problem:
                    known = self.known
                    self.judge(await past.find(known), known)
                elif self._has_commits or self._clock.monotonic() - self._moved >= IDLE_S:
                    await self._move(past)
                outage.found_there("past")
            except Fenced:
                raise
            except Unavailable as problem:
                self._has_commits = True  # the commits before it still have no mark
                outage.found_away("past", problem)
            await asyncio.sleep(MOVE_S)

    def committed(self, facts: Facts, now: int, seconds: float) -> None:  # noqa: ARG002 - as the port has it
        """A watcher of commits."""
        self._has_commits = True

    async def finish(self, past: Past) -> None:
        """Moves the mark on for the last time, at a planned end."""
        if not self.problem:
            with suppress(Unavailable):
                await self._move(past)

    async def _move(self, past: Past) -> None:
        self._has_commits = False
        now, known = self._clock.now(), self.known
        found = await past.move(known, now)
        self.judge(found, known)
        self.known = moved(self.known, found, now)
        self._moved = self._clock.monotonic()
        await self._in_thread(self._save)

    def _save(self) -> None:
        try:
            with self._saving:
                save_past(self._data, self.known)
            self._unsaved = ""
        except OSError as problem:
            before, self._unsaved = self._unsaved, problem.strerror or str(problem)
            if self._unsaved != before:  # tried again every two seconds
                self._journal.log("error", "past.unsaved", problem=self._unsaved)
