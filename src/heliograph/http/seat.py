"""A connection's seat in its server: how long it may wait, whether it makes room, and what its client is charged."""

from typing import Final

from heliograph.http import limits
from heliograph.http.asgi import Headers
from heliograph.http.exchange import Exchange
from heliograph.http.request_scope import Endpoints
from heliograph.http.server_state import ServerState
from heliograph.http.short_cut import PendingRequest
from heliograph.net.clients import ClientLoad
from heliograph.net.flow import Flow, Transport

# Phases of a connection, by what it waits for.

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
    """Returns the seconds that a client may take for what it is to do in this phase; we may take any time to answer."""
    if phase == IDLE:
        return limits.IDLE_TIMEOUT_S
    if phase == HEAD:
        return limits.HEAD_TIMEOUT_S
    if phase == BODY:
        return limits.BODY_TIMEOUT_S
    return limits.LEAVE_TIMEOUT_S if phase == LEAVING else float("inf")


class Seat:
    """The seat of a connection which has been in its `phase` since the loop's time `since`; `latest` is the request
    read last."""

    __slots__ = (
        "begun_at", "ends", "flow", "headers", "is_held_back", "latest", "load", "phase", "since", "state",
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
        """Requests that wait for those before them."""
        self.is_held_back = False
        """Whether nothing is read until the client may ask for something again."""

    # --- time

    def overdue(self, now: float) -> bool:
        """Whether the client has taken too long for what it is to do next."""
        waited = now - self.since
        if self.flow.writing_paused:
            return waited > limits.WRITE_TIMEOUT_S
        if self.flow.reading_paused and self.phase != LEAVING:
            return False
        if self.phase == HEAD and self.latest is not None and not self.latest.complete:
            return False  # it is we who are slow
        return waited > patience(self.phase)

    def spare(self, now: float) -> bool:
        """Whether the connection has been idle for so long that a new one may take its place."""
        return self.phase == IDLE and not self.flow.writing_paused and now - self.since > limits.SPARE_TIMEOUT_S

    # --- room

    def may_go(self) -> bool:
        """Whether the client is owed no answer."""
        latest = self.latest
        return latest is None or latest.complete or self.phase == LEAVING or (self.phase == BODY and not self.waiting)

    def cut(self) -> None:
        """Hangs up on a client that is overdue or makes room; one that takes nothing takes no rest either."""
        if self.flow.writing_paused:
            self.transport.abort()
        else:
            self.transport.close()

    def note_unfinished(self) -> None:
        """Tells the clients' counts whether nothing but the rest of a request is waited for."""
        clients = self.state.clients
        unfinished = self.phase in (HEAD, BODY, LEAVING) and self.may_go() and not self.transport.is_closing()
        if not unfinished:
            clients.finish(self)
        elif self.unfinished_of is None:
            load = self.requester(self.headers) if self.phase == BODY else self.load
            clients.begin(self, load, self.state.loop.time())

    # --- charges

    def requester(self, headers: Headers) -> ClientLoad:
        """Returns the load of the client that a request with these headers is of."""
        return self.state.load_of(self.ends, headers) if self.load.stands_for_others else self.load

    def charge(self, headers: Headers, work: float) -> None:
        """Charges the client of a request that was refused for so many seconds of work."""
        if work > limits.FREE_WORK_S:
            self.state.clients.charge(self.requester(headers), work, self.state.loop.time())

    def wait(self, headers: Headers, octets: int) -> int:
        """Counts a request that has come, with so many octets, and returns 0 if it is to be answered; else the seconds
        after which its client may come again, before which nothing more is read of it."""
        state = self.state
        load, now = self.requester(headers), state.loop.time()
        seconds = load.wait(now)
        if seconds <= 0.0 or load.is_proxy:
            state.clients.count(load, octets, now)
            return 0
        state.clients.note_over(load)
        if load is self.load:
            self.hold_back()
        return int(seconds) + 1

    def go_on(self) -> None:
        """Reads on what was held back."""
        raise NotImplementedError

    def shutdown(self) -> None:
        """Closes as soon as what is under way has been answered."""
        raise NotImplementedError

    def hold_back(self) -> None:
        """Reads nothing more until `go_on`."""
        if not self.transport.is_closing():
            self.is_held_back = True
            self.load.held_back.add(self)
            self.flow.pause_reading()
