"""Commits: the hot path, and what is owed after a crash."""

from typing import Protocol

from heliograph.app.facts import Facts
from heliograph.app.marks import Recovery


class Commits(Protocol):
    """Makes facts true, all of a call in one transaction."""

    async def record(self, facts: Facts) -> None:
        """Makes all of `facts` true, or none; sets the verdict of each accept.

        A request that is refused (credit, suspension, reference) leaves no trace and does not fail the others.
        Requests are judged in order: two for the last credit, the first one gets it. Submissions, finals and
        callbacks that are recorded already, and queue rows that are gone, are passed over. A final whose message is
        Cancelled is passed over.

        Raises StoreRejected if a value of one of them cannot be written. `app.commit.isolate` then records the others.
        Whatever is raised, each accept is UNAVAILABLE.
        """

    async def recover(self, worker: int, node: int) -> Recovery:
        """Returns the work above the marks that was not finished. On an embedded store, first gives up the claims of
        other nodes."""
