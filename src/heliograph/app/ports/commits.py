"""Commits: the hot path, and the work left over by a crash."""

from typing import Protocol

from heliograph.app.facts import Facts
from heliograph.app.marks import Recovery


class Commits(Protocol):
    """Commits facts: all facts of a call in one transaction."""

    async def record(self, facts: Facts) -> None:
        """Commits all of `facts`, or none. Sets the verdict of each accept.

        A refused request (credit, suspension, reference) changes nothing and does not fail the others. Requests are
        judged in order: if two requests compete for the last credit, the first gets it.

        Facts that are already recorded (submissions, message ends, callbacks) and queue rows that are gone are skipped.
        An end for a Cancelled message is skipped.

        Raises StoreRejected if a value of a fact cannot be written. `app.commit.isolate` then records the other facts.
        After any exception, each accept is UNAVAILABLE.
        """

    async def recover(self, worker: int, node: int) -> Recovery:
        """Returns the work above the marks that was not finished. On an embedded store, first gives up the claims of
        other nodes."""
