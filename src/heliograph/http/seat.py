"""The server's view of a connection: its timeouts, when it may be closed, and its client."""

from typing import Final

from heliograph.http import limits
from heliograph.http.asgi import Headers
from heliograph.http.exchange import Exchange
from heliograph.http.request_scope import Endpoints
from heliograph.http.server_state import ServerState
from heliograph.http.short_cut import PendingRequest
from heliograph.net.clients import ClientLoad
from heliograph.net.flow import Flow, Transport

# Phases of a connection, by the event that it waits for.

IDLE: Final = 0
"""For a request."""
HEAD: Final = 1
"""For the rest of a head."""
BODY: Final = 2
"""For the rest of a body."""
ANSWER: Final = 3
"""For our answer."""
LEAVING: Final = 4
"""For the client's end after our last answer."""


def patience(phase: int) -> float:
    """Returns the seconds that a client may take for its next step in this phase. Our own answer may take any time."""
    if phase == IDLE:
        return limits.IDLE_TIMEOUT_S
    if phase == HEAD:
        return limits.HEAD_TIMEOUT_S
    if phase == BODY:
        return limits.BODY_TIMEOUT_S
    return limits.LEAVE_TIMEOUT_S if phase == LEAVING else float("inf")


class Seat:
    """The seat of a connection.

    `phase`: the event that it waits for, since the loop's time `since`.

    `latest`: the last request that was read.
    """

    __slots__ = (
        "begun_at", "ends", "flow", "headers", "is_paused", "latest", "load", "phase", "since", "state",
        "transport", "unfinished_of", "waiting",
    )  # fmt: skip

    transport: Transport
    ends: Endpoints
    flow: Flow
    load: ClientLoad

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self.phase = IDLE
        self.since = state.now
        self.begun_at = 0.0
        self.unfinished_of: ClientLoad | None = None
        self.latest: PendingRequest | None = None
        self.headers: Headers = []
        self.waiting: list[Exchange] = []
        """Requests that wait for their turn."""
        self.is_paused = False
        """Whether reading is paused until the client may send again."""

    # --- time

    def overdue(self, now: float) -> bool:
        """True if the client has taken too long for its next step."""
        waited = now - self.since
        if self.flow.writing_paused:
            return waited > limits.WRITE_TIMEOUT_S
        if self.flow.reading_paused and self.phase != LEAVING:
            return False
        if self.phase == HEAD and self.latest is not None and not self.latest.complete:
            return False  # the server is slow, not the client
        return waited > patience(self.phase)

    def spare(self, now: float) -> bool:
        """True if the connection has been idle for so long that a new connection may replace it."""
        return self.phase == IDLE and not self.flow.writing_paused and now - self.since > limits.SPARE_TIMEOUT_S

    # --- room

    def may_go(self) -> bool:
        """Whether the server owes the client no answer."""
        latest = self.latest
        return latest is None or latest.complete or self.phase == LEAVING or (self.phase == BODY and not self.waiting)

    def cut(self) -> None:
        """Closes the connection of a client that is overdue or makes room. A client that reads nothing gets no time to
        read the last answer.
        """
        if self.flow.writing_paused:
            self.transport.abort()
        else:
            self.transport.close()

    def note_unfinished(self) -> None:
        """Updates the client's count of unfinished requests: requests that have started and are still incomplete."""
        clients = self.state.clients
        unfinished = self.phase in (HEAD, BODY, LEAVING) and self.may_go() and not self.transport.is_closing()
        if not unfinished:
            clients.finish(self)
        elif self.unfinished_of is None:
            load = self.requester(self.headers) if self.phase == BODY else self.load
            clients.begin(self, load, self.state.loop.time())

    # --- charges

    def requester(self, headers: Headers) -> ClientLoad:
        """Returns the load of the client of a request with these headers."""
        return self.state.load_of(self.ends, headers) if self.load.stands_for_others else self.load

    def charge(self, headers: Headers, work: float) -> None:
        """Charges the client of a refused request for seconds of work."""
        if work > limits.FREE_WORK_S:
            self.state.clients.charge(self.requester(headers), work, self.state.loop.time())

    def wait(self, headers: Headers, octets: int) -> int:
        """Counts a request by its octets. Returns 0 if it may be answered, otherwise the seconds until the client may
        send again, for example 3. Until then reading is paused."""
        state = self.state
        load, now = self.requester(headers), state.loop.time()
        seconds = load.wait(now)
        if seconds <= 0.0 or load.is_proxy:
            state.clients.count(load, octets, now)
            return 0
        state.clients.note_over(load)
        if load is self.load:
            self.pause()
        return int(seconds) + 1

    def resume(self) -> None:
        """Continues with the buffered octets."""
        raise NotImplementedError

    def shutdown(self) -> None:
        """Closes as soon as the open requests have been answered."""
        raise NotImplementedError

    def pause(self) -> None:
        """Stops reading until `resume`."""
        if not self.transport.is_closing():
            self.is_paused = True
            self.load.held_back.add(self)
            self.flow.pause_reading()
