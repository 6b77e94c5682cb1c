"""The clients of a server, and the choice of the connection that is closed when the server is full.

A client is an IP address; for IPv6, the /64 network of a subscriber. Each client may have a number of connections and
of *unfinished* requests. An unfinished request has started and is still incomplete, and only the client can complete
it.

1. A client over its limit loses its own slowest unfinished requests first, then its connections without a request.
2. If the whole server is full, the slowest unfinished requests are closed. Then the connections that have been idle
   longest are closed, then those of the client with the most connections.
3. So a newcomer is refused only while no other client has more connections than it has.

A trusted proxy serves many clients. Its connections count for no client. Its unfinished requests count for the client
that it names, for example in X-Forwarded-For.
"""

from collections.abc import Callable
from dataclasses import dataclass
from heapq import nsmallest
from typing import Final, Protocol

from heliograph.net import limits
from heliograph.net.flow import Transport

ROOM: Final = 64
"""Most connections of a client that are closed or resumed at once. A thousand at once would delay all others."""

TOO_MANY: Final = "connections"
"""A new connection was refused: its address has reached its limit."""

FULL: Final = "full"
"""A new connection was refused: the server is full, and no connection could be closed for it."""

UNFINISHED: Final = "unfinished"
"""A connection was closed for its slow request, to make room."""

IDLE: Final = "idle"
"""A connection without a request was closed to make room."""


OVER: Final = "share"
"""A request was refused: its client has used up its share."""

REASONS: Final = (TOO_MANY, FULL, UNFINISHED, IDLE, OVER)


@dataclass(frozen=True, slots=True)
class Shares:
    """Limits of a server, and of each client's share of it; 0 means no limit."""

    connections: int = 4_096
    """Connections of all."""
    connections_of_one: int = 0
    unfinished_of_one: int = 0
    """Unfinished requests older than a second."""
    refused_work: float = 0.0
    """Seconds of work a second on a client's refused requests."""
    requests: float = 0.0
    """Requests of a client a second."""
    octets: float = 0.0
    """Octets of bodies of a client a second."""


class Held(Protocol):
    """A connection as its server sees it."""

    transport: Transport
    since: float
    """The loop's time at the start of the present wait."""

    load: "ClientLoad"
    """The load of the address that it came from."""

    begun_at: float
    """The loop's time when its unfinished request was first seen."""

    unfinished_of: "ClientLoad | None"
    """The client to which its unfinished request counts."""

    def spare(self, now: float) -> bool:
        """True if it has been idle for so long that a new connection may replace it."""

    def may_go(self) -> bool:
        """True if the server owes it no answer."""

    def overdue(self, now: float) -> bool:
        """True if the client has taken too long for its next step."""

    def cut(self) -> None:
        """Closes the connection: its client has taken too long, or has to make room."""

    def resume(self) -> None:
        """Continues with the octets that were held."""

    def shutdown(self) -> None:
        """Closes as soon as the open requests have been answered."""


class ClientLoad:
    """The connections and unfinished requests of a client, and the used part of its share.

    `is_proxy`: trusted to serve many clients, so it has no share of its own.

    `stands_for_others`: its requests may name their client.
    """

    __slots__ = (
        "connections", "full_until", "held_back", "is_proxy", "name", "octets_until", "requests_until",
        "stands_for_others", "unfinished", "work_until",
    )  # fmt: skip

    def __init__(self, name: str, *, is_proxy: bool, is_local: bool) -> None:
        self.name = name
        self.is_proxy = is_proxy
        self.stands_for_others = is_proxy or is_local
        self.held_back: set[Held] = set()
        """Connections that are not read until the client may send again."""
        self.work_until = self.requests_until = self.octets_until = 0.0
        """The loop's time from which on its share covers its use."""
        self.connections: set[Held] = set()
        self.unfinished: dict[Held, None] = {}
        """Slowest first."""
        self.full_until = 0.0
        """Until this time there is no point in searching its connections for an idle connection."""

    def paid_at(self) -> float:
        """Returns the time at which its use no longer counts."""
        return max(self.work_until, self.requests_until, self.octets_until)

    def wait(self, now: float) -> float:
        """Returns the seconds for which the client has to wait; 0 or less if it may send."""
        volume = max(self.requests_until, self.octets_until) - limits.BURST_S
        return max(volume, self.work_until - limits.WORK_BURST_S) - now


class Clients:
    """Connections and unfinished requests of a server, by client. Times are the loop's."""

    __slots__ = ("_by_name", "_full_until", "connections", "counts", "note", "owing", "shares", "unfinished")

    def __init__(self, shares: Shares, note: Callable[[str, str], None]) -> None:
        """`note` is called with the reason (one of the words above) and the client for each connection that is refused
        or closed.
        """
        self.shares = shares
        self.note = note
        self._by_name: dict[str, ClientLoad] = {}
        self.counts = bool(shares.requests or shares.octets)
        """Whether every request has to be counted."""
        self.owing: dict[ClientLoad, None] = {}
        """Clients that have used up some of their share lately."""
        self._full_until = 0.0
        self.connections: set[Held] = set()
        self.unfinished: dict[Held, None] = {}
        """Connections with an unfinished request, slowest first."""

    def load(self, name: str, *, is_proxy: bool = False, is_local: bool = False) -> ClientLoad:
        """Returns the load of the client with this name; a new client starts at zero."""
        found = self._by_name.get(name)
        return ClientLoad(name, is_proxy=is_proxy, is_local=is_local) if found is None else found

    # --- connections

    def enter(self, held: Held, now: float, tick: float) -> str:
        """Adds a new connection. Returns "" if it may stay, otherwise the reason for refusing it.

        `tick` is the time until which a vain search for an idle connection is not repeated.
        """
        load = held.load
        self._by_name[load.name] = load
        load.connections.add(held)
        self.connections.add(held)
        most = self.shares.connections_of_one
        beyond = most and len(load.connections) > most and not load.is_proxy
        if beyond and not self._make_room_of(load, now, tick):
            return self._refuse(held, TOO_MANY)
        if len(self.connections) > self.shares.connections and not self._make_room(load, now, tick):
            return self._refuse(held, FULL)
        return ""

    def is_unwelcome(self, name: str, now: float, tick: float) -> bool:
        """True if `enter` would certainly refuse a connection of this client, or if the client must wait and enough of
        its connections do so already. The refusal is noted.
        """
        load = self._by_name.get(name)
        if load is None:
            return False
        if load.full_until == tick and len(load.connections) >= self.shares.connections_of_one:
            self.note(TOO_MANY, name)
            return True
        if len(load.held_back) >= ROOM and load.wait(now) > 0.0:
            self.note(OVER, name)
            return True
        return False

    def leave(self, held: Held) -> None:
        """Forgets a connection; harmless if it has left before."""
        self.finish(held)
        load = held.load
        self.connections.discard(held)
        load.connections.discard(held)
        load.held_back.discard(held)
        self._drop(load)

    # --- unfinished requests

    def begin(self, held: Held, load: ClientLoad, now: float) -> None:
        """Notes that a connection has an unfinished request, which is this client's."""
        held.unfinished_of = load
        held.begun_at = now
        self._by_name[load.name] = load
        self.unfinished[held] = None
        load.unfinished[held] = None
        self._trim(load, now)

    def finish(self, held: Held) -> None:
        """Notes that a connection has no unfinished request any more."""
        load = held.unfinished_of
        if load is not None:
            held.unfinished_of = None
            self.unfinished.pop(held, None)
            load.unfinished.pop(held, None)
            self._drop(load)

    # --- shares

    def charge(self, load: ClientLoad, work: float, now: float) -> None:
        """Charges a client for seconds of work on a refused request, for example 0.006."""
        share = self.shares.refused_work
        if share and not load.is_proxy:
            load.work_until = _later(load.work_until, work / share, now)
            self._owe(load)

    def count(self, load: ClientLoad, octets: int, now: float) -> None:
        """Counts a request that is to be answered.

        A client that owes work is charged for the octets before they are read: its requests may come all at once.
        """
        if load.is_proxy:
            return
        if load.work_until > now:
            self.charge(load, octets * limits.WORK_OF_OCTET_S, now)
        if not self.counts:
            return
        shares = self.shares
        if shares.requests:
            load.requests_until = _later(load.requests_until, 1 / shares.requests, now)
        if shares.octets:
            load.octets_until = _later(load.octets_until, octets / shares.octets, now)
        self._owe(load)

    def note_over(self, load: ClientLoad) -> None:
        """Reports that a request was refused since its client has to wait."""
        self.note(OVER, load.name)

    def _owe(self, load: ClientLoad) -> None:
        self._by_name[load.name] = load
        self.owing[load] = None

    def _forgive(self, now: float) -> None:
        """Resumes connections of clients that may send again, and drops clients without load."""
        for load in list(self.owing):
            if load.wait(now) <= 0.0:
                for held in list(load.held_back)[:ROOM]:
                    load.held_back.discard(held)
                    held.resume()
            if load.paid_at() <= now and not load.held_back:
                del self.owing[load]
                self._drop(load)

    def tick(self, now: float) -> None:
        """Resumes waiting clients, and closes the slowest unfinished requests of clients over their limit. Called about
        once a second.
        """
        if self.owing:
            self._forgive(now)
        most = self.shares.unfinished_of_one
        if most and len(self.unfinished) > most:
            for load in {held.unfinished_of for held in self.unfinished}:
                if load is not None:
                    self._trim(load, now)

    def _trim(self, load: ClientLoad, now: float) -> None:
        most = self.shares.unfinished_of_one
        if most and not load.is_proxy:
            for _ in range(min(len(load.unfinished) - most, ROOM)):
                if not self._cut_slowest(load.unfinished, now):
                    break

    def _cut_slowest(self, unfinished: dict[Held, None], now: float) -> bool:
        """Closes the slowest request unless it is younger than a second."""
        slowest = next(iter(unfinished), None)
        if slowest is None or now - slowest.begun_at <= limits.UNFINISHED_SPARE_S:
            return False
        self._cut(slowest, UNFINISHED, now)
        return True

    # --- room

    def _make_room_of(self, load: ClientLoad, now: float, tick: float) -> bool:
        if self._cut_slowest(load.unfinished, now):
            return True
        if load.full_until == tick:
            return False
        if self._cut_idle(load.connections, now):
            return True
        load.full_until = tick
        return False

    def _make_room(self, newcomer: ClientLoad, now: float, tick: float) -> bool:
        if self._cut_slowest(self.unfinished, now):
            return True
        if self._full_until == tick:
            return False
        if self._cut_idle(self.connections, now) or self._cut_busiest(newcomer, now):
            return True
        if len(newcomer.connections) == 1:
            self._full_until = tick  # no client may displace another that has fewer connections
        return False

    def _cut_idle(self, connections: set[Held], now: float) -> bool:
        """Closes the connections that have been idle for longest. Otherwise a client that opens as many connections as
        possible, and sends nothing, would lock out all others.
        """
        spare = [each for each in connections if each.spare(now)]
        for each in nsmallest(ROOM, spare, key=_since):
            self._cut(each, IDLE, now)
        return bool(spare)

    def _cut_busiest(self, newcomer: ClientLoad, now: float) -> bool:
        """Closes connections of the client with the most, as long as it has more than the newcomer."""
        busiest, most = None, len(newcomer.connections)
        for load in self._by_name.values():
            if len(load.connections) > most and not load.is_proxy:
                busiest, most = load, len(load.connections)
        if busiest is None:
            return False
        room = min(ROOM, (most - len(newcomer.connections) + 1) // 2)
        spare = [each for each in busiest.connections if each.may_go()]
        for each in nsmallest(room, spare, key=_since):
            self._cut(each, IDLE if each.unfinished_of is None else UNFINISHED, now)
        return bool(spare)

    def _cut(self, held: Held, why: str, now: float) -> None:
        load = held.unfinished_of
        whose = held.load if load is None else load
        self.note(why, whose.name)
        if load is not None:
            self.charge(whose, limits.WORK_OF_UNFINISHED_S, now)
        self.leave(held)
        held.cut()

    def _refuse(self, held: Held, why: str) -> str:
        self.note(why, held.load.name)
        self.leave(held)
        return why

    def _drop(self, load: ClientLoad) -> None:
        idle = not load.connections and not load.unfinished and load not in self.owing
        if idle and self._by_name.get(load.name) is load:
            del self._by_name[load.name]


def _later(until: float, seconds: float, now: float) -> float:
    return min(max(until, now) + seconds, now + limits.BURST_S + limits.MOST_WAIT_S)


def _since(held: Held) -> float:
    return held.since
