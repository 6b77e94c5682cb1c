"""The pumping guard: traffic of watched accounts by range of numbers, such as `49170`, and held messages."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from heliograph.app.configuration import TrafficHold
from heliograph.domain.limits.pumping import TrafficCount, TrafficFigures


@dataclass(frozen=True, slots=True)
class HeldTraffic:
    """A hold with the number of its messages, up to a limit, and their price (micro-credits)."""

    hold: TrafficHold
    messages: int
    price: int


class Guard(Protocol):
    """Counts traffic by account, range and hour over all nodes, and keeps the holds. Each hold that begins or ends adds
    one to the revision of `Network`, whose tables include the holds.
    """

    async def add(self, counts: Sequence[TrafficCount], since: int) -> list[TrafficFigures]:
        """Adds the counts, each of an hour. Returns the figures of the same hours over all nodes, and of the hours
        before them from `since` (ms) on.
        """

    async def hold(self, hold: TrafficHold, quiet: int) -> bool:
        """Holds a range from now on. Does nothing and returns False if it is held already, or was released since
        `quiet` (ms)."""

    async def holds(self, limit: int) -> list[HeldTraffic]:
        """Returns all holds, by account and prefix; of each the messages are counted up to `limit`."""

    async def release(self, account: int, prefix: str, now: int) -> None:
        """Releases a range; `let_go` then makes its held messages due. Raises Missing if the range is not held."""

    async def refund(self, account: int, prefix: str, now: int, limit: int) -> int:
        """Cancels and refunds up to `limit` held messages of a range, which stays held. Returns how many. Raises
        Missing if it is not held."""

    async def let_go(self, now: int, limit: int) -> int:
        """Makes up to `limit` held messages due if their range is no longer held. Returns how many."""

    async def forget(self, before: int, limit: int) -> int:
        """Deletes up to `limit` hours before `before`; returns how many."""
