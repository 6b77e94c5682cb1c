"""The pumping guard: traffic of watched accounts by range of numbers, such as `49170`, and held messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from heliograph.app.configuration import TrafficHold
from heliograph.domain.limits.pumping import QUIET_MS, TrafficCount, TrafficFigures


@dataclass(frozen=True, slots=True)
class HeldTraffic:
    """A hold with the number of its messages, up to a limit, and their price (micro-credits)."""

    hold: TrafficHold
    messages: int
    price: int

    def is_listed(self, now: int) -> bool:
        """Returns True if people are told of it: it holds messages, or was observed a short time ago."""
        return now - self.hold.since < QUIET_MS if self.hold.is_observed else self.messages > 0


class Guard(Protocol):
    """Counts traffic by account, range and hour over all nodes, and keeps the holds. Each hold that begins or ends adds
    one to the revision of `Network`, whose tables include the holds.
    """

    async def add(self, counts: Sequence[TrafficCount], since: int) -> list[TrafficFigures]:
        """Adds the counts, each of an hour. Returns the figures of the same hours over all nodes, and of the hours
        before them from `since` (ms) on.
        """

    async def hold(self, hold: TrafficHold, quiet: int) -> bool:
        """Holds a range from now on, or notes it as observed. Does nothing and returns False if it is held already, was
        noted since `quiet` (ms), or was released since then. A held range that is noted as observed holds no longer."""

    async def holds(self, limit: int) -> list[HeldTraffic]:
        """Returns all holds, by account and prefix; of each the messages are counted up to `limit`."""

    async def release(self, account: int, prefix: str, now: int) -> None:
        """Releases a range; `let_go` then makes its held messages due. Raises Missing if the range is not held."""

    async def release_all(self, account: int, now: int) -> int:
        """Releases all ranges of an account. Returns how many. With 0 as `now` they may be held again at once."""

    async def refund(self, account: int, prefix: str, now: int, limit: int) -> int:
        """Cancels and refunds up to `limit` held messages of a range, which stays held. Returns how many. Raises
        Missing if it is not held."""

    async def let_go(self, now: int, limit: int) -> int:
        """Makes up to `limit` held messages due if their range is no longer held. Returns how many."""

    async def forget(self, before: int, limit: int) -> int:
        """Deletes up to `limit` hours before `before`; returns how many."""
