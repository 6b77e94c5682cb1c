"""Group commit: where facts and requests wait for it, and who looks on."""

from collections.abc import Callable
from typing import Protocol

from heliograph.app.facts import Accept, Facts


class Intake(Protocol):
    """Takes requests for the next commit."""

    @property
    def away(self) -> bool:
        """True while `accept` refuses all requests because the store does not answer."""

    def accept(self, accept: Accept, then: Callable[[Accept], None]) -> bool:
        """Queues an accept for the next commit. `then` is called once, on the event loop, after the commit has set
        `accept.verdict`.

        Returns False if too much waits already, or the store is away. Then nothing was done, `then` is not called, and
        the customer must retry later.
        """


class Gathering(Protocol):
    """The facts that the next commit will write."""

    @property
    def facts(self) -> Facts: ...

    def wake(self) -> None:
        """Starts a commit soon, since facts wait to be written."""

    def wake_later(self) -> None:
        """Starts a commit within an interval, for facts that no caller waits for."""

    def wake_feeder(self) -> None:
        """Starts the queue's feeder, since rows may be claimed."""

    def wake_lookups(self) -> None:
        """Starts the lookups in the store that a receipt or an inbound message waits for."""


class Watcher(Protocol):
    """Observes facts once they are committed: for metrics, traces, people. Must be cheap, not raise, and change
    nothing."""

    def committed(self, facts: Facts, now: int, seconds: float) -> None:
        """Called on the event loop after each commit, when its requests have their answers; `now` is in ms, `seconds`
        is the duration of the write."""
