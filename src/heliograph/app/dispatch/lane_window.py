"""The window of a lane: its parts from the commit that marks them to the commit of their outcome (drawing in `lane`).

1. `marked`: the commit under way writes the attempt mark. `committed` makes the parts ready.
2. `ready`: the parts wait for a slot of the window, the end of a pause, and the pace. `pump` submits them.
3. `flying`: the parts are written and have no outcome yet. `answered` takes them out.
4. The slot stays in use while the outcome is among the facts: gathered, then in the commit under way.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from heliograph.app.dispatch.lane_item import LaneItem
from heliograph.app.ports import Carrier, Part
from heliograph.domain.pace.breaker import Breaker
from heliograph.domain.pace.pace import Pace
from heliograph.domain.text.segment import HEADER_OCTETS

NO_QUOTA: Final = 1 << 40
"""Quota of a lane without a cap."""

TROUBLES = 3
"""Parts deferred in a row after which the whole lane pauses, because the messages are then hardly the reason."""


class LaneWindow:
    """Keeps the parts of a lane that are marked, ready or in flight, and decides when they are written.

    Window, pause and pace limit that. Times are monotonic seconds.
    """

    __slots__ = (
        "_committing", "_gathered", "_troubles", "breaker", "cap", "carrier", "down_since", "drains", "flying",
        "in_flight", "marked", "off", "pace", "paused_until", "quota", "ready", "took",
    )  # fmt: skip

    carrier: Carrier | None
    """None while the connector is disabled, or other nodes have its binds."""
    marked: list[Part]
    """Parts that are sent right after the commit under way."""
    ready: deque[Part]
    """Parts that may be written as window, pause and pace allow."""
    flying: set[Part]
    """Parts that were written and have no outcome yet."""
    in_flight: int
    """Slots of the window in use: by parts in flight, and by parts with an outcome that is not committed yet."""
    pace: Pace
    """The rate that the operator accepts, as measured, up to the configured rate."""
    took: int
    """Taken parts that are not counted in `pace` yet, since the pace is free."""
    paused_until: float
    """Time before which nothing is written."""
    down_since: float | None
    """Since when no bind is up; None if a bind is up, or if that was not noticed yet."""
    off: bool
    """Whether nothing is to be sent at this time of day."""
    drains: bool
    """Whether nothing new is to be sent, because of the connector's state."""
    quota: int
    """Parts that may still be marked, where the connector has a cap. It is set again each second."""
    cap: str
    """The cap that stops the lane, such as `at its cap for today`; empty below it."""
    breaker: Breaker
    """Lets only single messages through while the operator fails most of them."""
    _gathered: int
    """Outcomes among the facts being gathered."""
    _committing: int
    """Outcomes among the facts being committed."""
    _troubles: int
    """Parts deferred in a row."""

    def __init__(self, rate: float = 0.0) -> None:
        """`rate`: parts a second, 0 for no limit."""
        self.carrier = None
        self.marked, self.ready, self.flying = [], deque(), set()
        self.pace, self.took, self.paused_until, self.off = Pace(rate), 0, 0.0, False
        self.quota, self.cap, self.drains = NO_QUOTA, "", False
        self.breaker, self.down_since = Breaker(), None
        self.in_flight = self._gathered = self._committing = self._troubles = 0

    @property
    def capacity(self) -> int:
        """Slots of the window, over all binds that are up; 0 if nothing is to be sent."""
        return 0 if self.carrier is None or self.off else self.carrier.capacity

    @property
    def header_octets(self) -> int:
        """See `app.ports.Carrier`."""
        return HEADER_OCTETS if self.carrier is None else self.carrier.header_octets

    @property
    def busy(self) -> bool:
        """Whether there are parts, or outcomes that are not committed yet."""
        return bool(self.marked or self.ready or self.in_flight)

    def parts(self) -> Iterator[Part]:
        """Yields all parts."""
        yield from self.marked
        yield from self.ready
        yield from self.flying

    def is_sending_to(self, destination: str) -> bool:
        """Returns whether a part to this number is marked, ready or in flight."""
        return any(part.message.destination == destination for part in self.parts())

    @property
    def only_finishes(self) -> bool:
        """Whether only the rest of messages is sent that are sent in part: the connector drains, or is at its cap."""
        return self.drains or self.quota <= len(self.marked)

    def note_down(self, now: float) -> float:
        """Notes that no bind is up. Returns since when."""
        if self.down_since is None:
            self.down_since = now
        return self.down_since

    # --- around a commit

    def will_have_room(self, now: float) -> bool:
        """Returns whether the next commit could mark more parts."""
        return self._may_send(now) and self._free() + self._gathered > 0

    def begin(self, now: float) -> None:
        """Begins a commit: the outcomes gathered so far are part of it."""
        self._committing += self._gathered
        self._gathered = 0
        self._count_taken(now)

    def room(self, now: float) -> int:
        """Returns how many parts the commit under way may mark. It frees the slots of its outcomes."""
        if not self._may_send(now):
            return 0
        free = self._free() + self._committing
        if not self.only_finishes:
            free = min(free, self.quota - len(self.marked))
        return min(1, free) if self.breaker.is_open else free

    def committed(self, is_accepted: Callable[[LaneItem], bool]) -> None:
        """Applies a successful commit: answered parts leave the window, and marked parts of accepted messages become
        ready."""
        self.in_flight -= self._committing
        self._committing = 0
        marked, self.marked = self.marked, []
        self.quota -= len(marked)
        for part in marked:
            if is_accepted(part.owner):
                self.ready.append(part)

    def refused(self, is_accepted: Callable[[LaneItem], bool]) -> None:
        """Applies a failed commit: marked parts of messages that it would have accepted leave."""
        self.marked = [part for part in self.marked if is_accepted(part.owner)]

    def pump(self, now: float) -> float | None:
        """Submits the ready parts as window, pause and pace allow. Must be called right after a commit, and at the time
        that it returns: when the pace allows the next part. Returns None without such a time."""
        ready, carrier = self.ready, self.carrier
        if not ready or carrier is None or now < self.paused_until:
            return None
        room = min(len(ready), carrier.capacity - self.in_flight)
        if room <= 0:
            return None
        room = self.pace.take(now, room)
        parts = [ready.popleft() for _ in range(room)]
        if parts:
            for part in parts:
                part.written = now
            self.in_flight += len(parts)
            self.flying.update(parts)
            carrier.submit(parts)
        if ready and carrier.capacity > self.in_flight:
            return self.pace.ready_at(now)
        return None

    # --- answers

    def answered(self, part: Part) -> bool:
        """Notes that a part has its outcome in the facts being gathered; False if it was not in flight."""
        if part not in self.flying:
            return False
        self.flying.remove(part)
        self._gathered += 1
        return True

    def taken(self, part: Part, now: float) -> None:
        """Notes that the operator took a part."""
        self._troubles = 0
        if self.pace.is_free:
            self.took += 1
        else:
            self.pace.taken(part.written, now)

    def throttled(self, part: Part, now: float, pause: float) -> None:
        """Notes that the operator throttled a part. `pause` is the configured pause, beside the pauses of the pace."""
        self.paused_until = max(self.paused_until, now + pause)
        self._count_taken(now)
        self.pace.throttled(part.written, now)

    def hold(self, now: float, pause: float) -> None:
        """Notes a deferred part. Pauses the lane after `TROUBLES` deferred parts in a row."""
        self._troubles += 1
        if self._troubles >= TROUBLES:
            self.paused_until = max(self.paused_until, now + pause)

    # --- inside

    def _may_send(self, now: float) -> bool:
        """Returns whether a pause is over; with an open breaker, whether a test message may go."""
        if now < self.paused_until:
            return False
        return not self.breaker.is_open or (
            self.breaker.may_test(now) and not (self.flying or self.ready or self.marked)
        )

    def _free(self) -> int:
        """Returns the slots that no part has or will have; may be negative after the operator reduced its window."""
        return self.capacity - self.in_flight - len(self.ready) - len(self.marked)

    def _count_taken(self, now: float) -> None:
        if self.took:
            self.pace.took_freely(now, self.took)
            self.took = 0
