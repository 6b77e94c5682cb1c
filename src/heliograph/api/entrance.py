"""Where connections come in, and which of them the event loop need not know of.

A client that opens a connection for each request has mostly sent it when the connection is accepted. If its head is
known, and says that nothing follows, that connection is read once, written to once and closed. To have the event loop
watch it would make such a request half as dear again.
"""

import asyncio
import errno
import socket
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from heliograph.api.fast_send.connection import HotConnection
from heliograph.api.fast_send.head import LONGEST_HEAD, PlainSend
from heliograph.http.brief import BriefTransport
from heliograph.http.state import State

MOST_ACCEPTED: Final = 64
"""Connections accepted in one turn of the loop, so that those who are connected have theirs."""

PAUSE_S: Final = 0.5
"""Seconds until connections are accepted again, when the system had no room for one."""

TELL_S: Final = 60.0
"""Seconds between two lines of the log about it, at least."""

_LOOK: Final = int(socket.MSG_DONTWAIT | socket.MSG_PEEK)
_READ: Final = int(socket.MSG_DONTWAIT)
_STREAM: Final = int(socket.SOCK_STREAM)

_NO_ROOM: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

_MOST_OCTETS: Final = LONGEST_HEAD + 2_048
"""A brief request is not longer; one that is has its connection watched."""


class Entrance:
    """Accepts connections from sockets that listen, until it is closed."""

    def __init__(self, state: State, listening: Sequence[socket.socket]) -> None:
        self._state = state
        self._connect: Any = partial(HotConnection, state)  # a protocol, though it is derived from none
        self._listening = list(listening)
        self._entering: set[asyncio.Task[None]] = set()
        self._pause: asyncio.TimerHandle | None = None
        self._tell_next = 0.0
        self._silent: list[socket.socket] = []
        """Who has sent nothing yet: they are looked at once more, a turn of the loop later."""
        for each in self._listening:
            each.setblocking(False)
        self._listen()

    @property
    def port(self) -> int:
        """The first socket's."""
        port: int = self._listening[0].getsockname()[1]
        return port

    async def close(self) -> None:
        """Accepts nothing more. Who has said something has their connection then; who has not, and has only just come,
        is let go."""
        if self._pause is None:
            self._look_away()
        else:
            self._pause.cancel()
        for each in self._listening + self._silent:
            each.close()
        self._listening, self._silent = [], []
        if self._entering:
            await asyncio.wait(self._entering)

    # --- accepting

    def _listen(self) -> None:
        self._pause = None
        for each in self._listening:
            self._state.loop.add_reader(each, self._accept, each, int(each.family))

    def _look_away(self) -> None:
        for each in self._listening:
            self._state.loop.remove_reader(each)

    def _accept(self, listening: socket.socket, family: int) -> None:
        for _ in range(MOST_ACCEPTED):
            try:
                connected = _accepted(listening, family)
            except BlockingIOError:
                return
            except OSError as problem:
                if problem.errno in _NO_ROOM:
                    self._hold_off(problem)
                    return
                continue  # it is about a connection that has gone again
            if not self._enter(connected):
                self._silent.append(connected)
                if len(self._silent) == 1:
                    self._state.loop.call_soon(self._look_again)

    def _hold_off(self, problem: OSError) -> None:
        """Until connections have been closed: a socket that listens stays ready, and the loop would spin."""
        if self._pause is not None:
            return  # another socket has met the same
        loop = self._state.loop
        if loop.time() >= self._tell_next:
            self._tell_next = loop.time() + TELL_S
            self._state.api.note_no_room(problem)
        self._look_away()
        self._pause = loop.call_later(PAUSE_S, self._listen)

    # --- what has come

    def _enter(self, connected: socket.socket) -> bool:
        """False where nothing has come that would tell what connection it is to be."""
        state = self._state
        if state.api.choose is not None or len(state.connections) >= state.max_connections:
            self._watch(connected)
            return True
        try:
            octets = connected.recv(_MOST_OCTETS, _LOOK)
        except BlockingIOError:
            return False
        except OSError:
            connected.close()
            return True
        found = state.heads.find(octets)
        if found is None or found[0].keep_alive:
            self._watch(connected)
        else:
            connected.recv(len(octets), _READ)  # what nobody has read makes a reset of closing
            self._be_brief(connected, found[0], found[1])
        return True

    def _look_again(self) -> None:
        silent, self._silent = self._silent, []
        for connected in silent:
            if not self._enter(connected):
                self._watch(connected)

    def _be_brief(self, connected: socket.socket, send: PlainSend, body: bytes) -> None:
        connection = HotConnection(self._state)
        connection.connection_made(BriefTransport(connected, self._state, connection.connection_lost))
        connection.take(send, body)

    def _watch(self, connected: socket.socket) -> None:
        """Leaves a connection to the event loop."""
        task = self._state.loop.create_task(self._hand_over(connected))
        self._entering.add(task)
        task.add_done_callback(self._entering.discard)

    async def _hand_over(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._state.loop.connect_accepted_socket(self._connect, connected)
        except OSError:
            connected.close()  # the client has gone


def _accepted(listening: Any, family: int) -> socket.socket:
    """What `accept` returns, which makes enums of family and type each time: a third of what it costs."""
    return socket.socket(family, _STREAM, 0, listening._accept()[0])  # noqa: SLF001 - it is where `accept` begins
