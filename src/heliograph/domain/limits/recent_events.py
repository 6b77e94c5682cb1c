"""Limits events by key within a sliding window, for example 5 replies to a phone in 10 minutes."""

from collections import OrderedDict, deque
from typing import Generic, TypeVar

Key = TypeVar("Key")


class RecentEvents(Generic[Key]):
    """The times of the latest events of each key, in memory.

    ```
    replies = RecentEvents(most=5, window_ms=600_000, keys=10_000)
    replies.take("491701234567", at=1_700_000_000_000)  # True; False for the sixth within ten minutes
    ```
    """

    def __init__(self, most: int, window_ms: int, keys: int) -> None:
        """`most`: events of a key within `window_ms` milliseconds; 0: no limit. `keys`: keys that are remembered, those
        with the latest events."""
        self._most = most
        self._window_ms = window_ms
        self._keys = keys
        self._times: OrderedDict[Key, deque[int]] = OrderedDict()

    def take(self, key: Key, at: int) -> bool:
        """Notes an event at a time (ms) and returns True, or returns False if the limit is reached."""
        if self.is_full(key, at):
            return False
        self.note(key, at)
        return True

    def is_full(self, key: Key, at: int) -> bool:
        """Returns whether the limit is reached. A clock that was set back starts the window anew."""
        times = self._times.get(key)
        return times is not None and len(times) == self._most and 0 <= at - times[0] < self._window_ms

    def note(self, key: Key, at: int) -> None:
        """Notes an event."""
        if not self._most:
            return
        times = self._times.get(key)
        if times is None:
            times = self._times[key] = deque(maxlen=self._most)
            if len(self._times) > self._keys:
                self._times.popitem(last=False)
        times.append(at)
        self._times.move_to_end(key)
