"""Logs an outage of the store when it begins, with growing pauses while it lasts, and when it ends."""

from math import inf
from typing import Final

from heliograph.app.ports import Clock, Journal

AGAIN_S: Final = (5.0, 60.0)
"""Seconds until an outage is logged again: the first pause and the longest. Each pause doubles."""

CALM_S: Final = 60.0
"""Seconds. An outage that begins within this time of the last outage counts as the same, and is logged as rarely."""


class Outage:
    """Tracks whether the store is away. Several tasks report it, each repeatedly. The store is back when all tasks that
    found it away have used it again."""

    def __init__(self, clock: Clock, journal: Journal) -> None:
        self._clock = clock
        self._journal = journal
        self._without: set[str] = set()
        self._began = 0.0
        self._ended = -inf
        self._next = 0.0
        self._pause = 0.0
        self._told = False

    def found_away(self, task: str, problem: BaseException) -> None:
        """Notes that `task` could not use the store. `problem` has words for people, unless it is a timeout."""
        now = self._clock.monotonic()
        if not self._without:
            self._began = now
            if now - self._ended >= CALM_S:
                self._next, self._pause = now, AGAIN_S[0] / 2
        self._without.add(task)
        if now >= self._next:
            self._pause = min(2 * self._pause, AGAIN_S[1])
            self._next, self._told = now + self._pause, True
            words, lasted = str(problem) or "no answer in time", round(now - self._began)
            self._journal.log("error", "store.unavailable", task=task, problem=words, for_s=lasted)

    def found_there(self, task: str) -> None:
        """Notes that `task` has used the store."""
        if task not in self._without:
            return
        self._without.remove(task)
        if not self._without:
            self._ended = self._clock.monotonic()
            if self._told:
                self._told = False
                self._journal.log("info", "store.recovered", for_s=round(self._ended - self._began))
