"""TLS handshakes in progress. They are not connections of the server yet, and have their own limits.

Each client (as in `clients`) and all clients together may have a number of handshakes. At the limit, the slowest
handshake of the client, or of all, is closed if it is older than a second. If all are younger, the slowest of the
client with the most handshakes is closed, provided that it has more than the newcomer.

A client that has used up its share of work gets no handshake: a handshake costs more than refusing a request.
"""

import contextlib
import socket
from typing import Final

from heliograph.net import limits
from heliograph.net.clients import OVER, TOO_MANY, UNFINISHED, ClientLoad, Clients
from heliograph.net.tls import DONE, FAILED, LATE, REFUSED, Tls

LEAST_OF_ALL: Final = 64
"""Handshakes that may always be under way, however low the limit of connections is."""

SHARE_OF_CONNECTIONS: Final = 8
"""Connections per handshake: 4,096 connections allow 512 handshakes at once."""


class Handshake:
    """A handshake in progress. `load`: its client. `begun`: the loop's time of its start."""

    __slots__ = ("_connected", "begun", "is_cut", "load")

    def __init__(self, connected: socket.socket, load: ClientLoad, begun: float) -> None:
        self._connected = connected
        self.load = load
        self.begun = begun
        self.is_cut = False

    def cut(self) -> None:
        """Ends the handshake. The event loop has the socket, and notices the end."""
        self.is_cut = True
        with contextlib.suppress(OSError):
            self._connected.shutdown(socket.SHUT_RDWR)


class Handshakes:
    """The handshakes of a listener."""

    def __init__(self, tls: Tls, clients: Clients) -> None:
        self.tls = tls
        self._clients = clients
        shares = clients.shares
        self._most = most_handshakes(shares.connections)
        self._most_of_one = shares.unfinished_of_one
        self._under_way: dict[Handshake, None] = {}
        """Slowest first."""
        self._by_client: dict[str, dict[Handshake, None]] = {}

    def __len__(self) -> int:
        return len(self._under_way)

    def begin(self, connected: socket.socket, load: ClientLoad, now: float) -> Handshake | None:
        """Starts the handshake of a client that has just connected. Returns None and counts it if a limit forbids
        it.
        """
        own = self._by_client.get(load.name, {})
        reason = ""
        if load.wait(now) > 0.0 and not load.is_proxy:
            reason = OVER
        elif self._most_of_one and len(own) >= self._most_of_one and not load.is_proxy:
            reason = "" if self._cut_slowest(own, now) else TOO_MANY
        elif len(self._under_way) >= self._most and not self._make_room(own, now):
            reason = TOO_MANY
        if reason:
            self.tls.handshakes[REFUSED] += 1
            self._clients.note(reason, load.name)
            return None
        begun = Handshake(connected, load, now)
        self._under_way[begun] = None
        self._by_client.setdefault(load.name, {})[begun] = None
        return begun

    def end(self, handshake: Handshake, problem: BaseException | None, now: float) -> None:
        """Notes the result of a handshake: `problem` is None if the client is connected. The work of a failed handshake
        is charged to its client.
        """
        self._forget(handshake)
        if problem is None:
            self.tls.handshakes[DONE] += 1
            return
        late = handshake.is_cut or isinstance(problem, ConnectionError)
        self.tls.handshakes[LATE if late else FAILED] += 1
        self._clients.charge(handshake.load, limits.WORK_OF_HANDSHAKE_S, now)

    def cut_all(self) -> None:
        """Ends every handshake: the server stops."""
        for handshake in list(self._under_way):
            self._forget(handshake)
            handshake.cut()

    def _make_room(self, own: dict[Handshake, None], now: float) -> bool:
        if self._cut_slowest(self._under_way, now):
            return True
        busiest = max(self._by_client.values(), key=len)
        if len(busiest) <= len(own) + 1:
            return False
        self._cut(next(iter(busiest)))
        return True

    def _cut_slowest(self, among: dict[Handshake, None], now: float) -> bool:
        slowest = next(iter(among))
        if now - slowest.begun <= limits.UNFINISHED_SPARE_S:
            return False
        self._cut(slowest)
        return True

    def _cut(self, handshake: Handshake) -> None:
        self._clients.note(UNFINISHED, handshake.load.name)
        self._forget(handshake)
        handshake.cut()

    def _forget(self, handshake: Handshake) -> None:
        self._under_way.pop(handshake, None)
        name = handshake.load.name
        own = self._by_client.get(name)
        if own is not None:
            own.pop(handshake, None)
            if not own:
                del self._by_client[name]


def most_handshakes(connections: int) -> int:
    """Returns how many handshakes may be under way beside so many connections."""
    return max(LEAST_OF_ALL, connections // SHARE_OF_CONNECTIONS)
