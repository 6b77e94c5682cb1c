"""The requests that wait for their answers: SMPP v3.4, 2.7 (windowing) and 3.2 (sequence_number)."""

from collections import deque

from heliograph.smpp.constants import GENERIC_NACK, MAX_SEQUENCE, RESPONSE_BIT
from heliograph.smpp.error import WindowFullError

_STALE_SLACK = 64


Pending = tuple[int, object, float]
"""A request under way: its command id, its token, and when it is due in seconds of the session's clock."""


class Window:
    """Assigns sequence numbers and keeps each request until it is answered, times out or is lost.

        open(token) --> [ oldest ... newest ] --> close(sequence)   a response arrived: frees a slot
                          at most `limit`     --> expire(now)       the response timeout passed: frees a slot
                                              --> drain()           the connection closed: empties the window

    Requests of the link itself (bind, unbind, enquire_link) are kept too, but use no slot. A full window must not
    prevent a test or the end of the link.

    All operations take constant time on average. One queue of deadlines replaces a timer for each request. This works
    because every counted request has the same timeout and the clock is monotonic.
    """

    __slots__ = ("_counted", "_link", "_next", "_order", "limit", "timeout")

    def __init__(self, limit: int, timeout: float, first_sequence: int = 1) -> None:
        """Makes a window of at most `limit` counted requests, each to be answered within `timeout` seconds."""
        self.limit = limit
        self.timeout = timeout
        self._next = first_sequence
        self._counted: dict[int, Pending] = {}
        self._link: dict[int, Pending] = {}
        self._order: deque[int] = deque()

    @property
    def in_flight(self) -> int:
        """Counted requests waiting."""
        return len(self._counted)

    @property
    def room(self) -> int:
        """The number of requests that may still be opened now."""
        return max(0, self.limit - len(self._counted))

    def open(self, command_id: int, token: object, now: float) -> int:
        """Takes a slot and returns a sequence number. Raises `WindowFullError` if no slot is free."""
        counted = self._counted
        if len(counted) >= self.limit:
            raise WindowFullError(f"{len(counted)} requests wait for their answers")
        sequence = self._next
        if sequence in counted or sequence in self._link:
            sequence = self._next_free(sequence)
        self._next = sequence + 1 if sequence < MAX_SEQUENCE else 1
        counted[sequence] = (command_id, token, now + self.timeout)
        order = self._order
        order.append(sequence)
        if len(order) > 2 * len(counted) + _STALE_SLACK:
            self._order = deque(counted)
        return sequence

    def open_link_request(self, command_id: int, deadline: float) -> int:
        """A sequence number for bind, unbind or enquire_link, outside the limit."""
        sequence = self._next_free(self._next)
        self._next = sequence + 1 if sequence < MAX_SEQUENCE else 1
        self._link[sequence] = (command_id, None, deadline)
        return sequence

    def take_sequence(self) -> int:
        """A sequence number for a request without an answer (outbind, alert_notification)."""
        sequence = self._next_free(self._next)
        self._next = sequence + 1 if sequence < MAX_SEQUENCE else 1
        return sequence

    def close(self, sequence: int, response_id: int) -> Pending | None:
        """Frees the slot of an answered request and returns the request.

        Returns None if no request waits that `response_id` could answer. A request of another type keeps its slot.
        """
        requests = self._counted
        pending = requests.get(sequence)
        if pending is None:
            requests = self._link
            pending = requests.get(sequence)
            if pending is None:
                return None
        if pending[0] | RESPONSE_BIT != response_id and response_id != GENERIC_NACK:
            return None
        del requests[sequence]
        return pending

    def expire(self, now: float) -> list[tuple[int, Pending]]:
        """Removes and returns the requests that timed out by `now`, oldest first. Requests of the link come last."""
        due = []
        while (first := self._oldest()) is not None and first[1][2] <= now:
            self._order.popleft()
            del self._counted[first[0]]
            due.append(first)
        for sequence, pending in list(self._link.items()):
            if pending[2] <= now:
                del self._link[sequence]
                due.append((sequence, pending))
        return due

    def next_deadline(self) -> float | None:
        """Returns when the next request times out, or None if no request waits."""
        deadlines = [pending[2] for pending in self._link.values()]
        if (first := self._oldest()) is not None:
            deadlines.append(first[1][2])
        return min(deadlines, default=None)

    def drain(self) -> list[Pending]:
        """Removes and returns all counted requests, oldest first, and drops the requests of the link."""
        lost = list(self._counted.values())
        self._counted.clear()
        self._link.clear()
        self._order.clear()
        return lost

    def _oldest(self) -> tuple[int, Pending] | None:
        """The counted request that has waited longest. Drops answered ones from the queue's front."""
        order = self._order
        counted = self._counted
        while order:
            pending = counted.get(order[0])
            if pending is not None:
                return order[0], pending
            order.popleft()
        return None

    def _next_free(self, sequence: int) -> int:
        while sequence in self._counted or sequence in self._link:
            sequence = sequence + 1 if sequence < MAX_SEQUENCE else 1
        return sequence
