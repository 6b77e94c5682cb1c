"""Connections that were turned away: counted for the metrics, told by one line of the log a minute."""

from typing import Final

from heliograph.app.ports import Journal

REPORT_S: Final = 60.0
"""Seconds between two lines for the same reason."""


class TurnedAway:
    """Connections that were refused, or closed to make room, by reason. Times are seconds of a monotonic clock."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._report_next: dict[str, float] = {}
        self._unsaid: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        """Since the start."""

    def note(self, why: str, client: str, now: float) -> None:
        """Counts one. The first in a minute is told with its client's address, and with how many others there were
        since the line before."""
        self.counts[why] = self.counts.get(why, 0) + 1
        if now < self._report_next.get(why, now):
            self._unsaid[why] = self._unsaid.get(why, 0) + 1
            return
        self._report_next[why] = now + REPORT_S
        self._journal.say("warning", "http.turned_away", reason=why, client=client, unsaid=self._unsaid.pop(why, 0))
