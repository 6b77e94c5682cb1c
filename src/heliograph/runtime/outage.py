"""The store is away: said once, then ever more seldom while it lasts, and once when it is back."""

from typing import Final

from heliograph.app.ports import Clock, Journal

AGAIN_S: Final = (5.0, 60.0)
"""Seconds until it is said again: the first time, and at the most. Each time it is twice as long."""


class Outage:
    """Several tasks find that the store is away, each by itself and again and again. It is back when all of them that
    found it away have found it there."""

    def __init__(self, clock: Clock, journal: Journal) -> None:
        self._clock = clock
        self._journal = journal
        self._without: set[str] = set()
        self._since = 0.0
        self._next = 0.0
        self._pause = AGAIN_S[0]

    def found_away(self, task: str, problem: BaseException) -> None:
        """`task` could not use the store. Its errors have words for people, save that of a time that is over."""
        now = self._clock.monotonic()
        words = str(problem) or "no answer in time"
        if not self._without:
            self._since, self._pause, self._next = now, AGAIN_S[0], now + AGAIN_S[0]
            self._journal.say("error", "store.unavailable", task=task, problem=words)
        elif now >= self._next:
            self._pause = min(2 * self._pause, AGAIN_S[1])
            self._next = now + self._pause
            self._journal.say("error", "store.unavailable", task=task, problem=words, for_s=round(now - self._since))
        self._without.add(task)

    def found_there(self, task: str) -> None:
        """`task` has used the store."""
        if task in self._without:
            self._without.remove(task)
            if not self._without:
                lasted = round(self._clock.monotonic() - self._since)
                self._journal.say("info", "store.recovered", for_s=lasted)
