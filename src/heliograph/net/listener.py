"""Accepting connections from the sockets that listen."""

import asyncio
import errno
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Final

from heliograph.net import limits
from heliograph.net.clients import ClientLoad
from heliograph.net.handshakes import Handshake, Handshakes

BACKLOG: Final = 2_048
"""Connections that wait to be accepted; the operating system may allow fewer."""

EVERYWHERE: Final = "::"
"""The host that means all addresses of this machine."""

MOST_ACCEPTED: Final = 64
"""Most connections accepted in a turn of the loop, so that open connections get their turn."""

MOST_LOOKED_AT: Final = 256
"""The same limit for connections that are closed at once, which cost next to nothing."""

PAUSE_S: Final = 0.5
"""Seconds until the next accept after the system had no file descriptor left."""

REPORT_S: Final = 60.0
"""Least seconds between two reports of a lack of file descriptors."""

_NO_ROOM: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


def _nobody(host: str) -> ClientLoad:
    return ClientLoad(host, is_proxy=False, is_local=False)


async def listen(host: str, port: int) -> list[socket.socket]:
    """Opens a listening socket for each address of the host: all of them, or raises OSError.

    Address families that the system does not know are left out. The host `::` means all addresses, IPv4 included. Port
    0 chooses a free port.
    """
    if host == EVERYWHERE and socket.has_dualstack_ipv6():
        return [socket.create_server((host, port), family=socket.AF_INET6, backlog=BACKLOG, dualstack_ipv6=True)]
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    listening: list[socket.socket] = []
    with ExitStack() as opened:
        for family, address in dict.fromkeys((info[0], info[4]) for info in found):
            try:
                one = socket.create_server(address, family=family, backlog=BACKLOG)
            except OSError as problem:
                if problem.errno != errno.EAFNOSUPPORT:
                    raise
            else:
                listening.append(opened.enter_context(one))
        if not listening:
            raise OSError(errno.EAFNOSUPPORT, f"The system knows no family of {host}'s addresses")
        opened.pop_all()
    return listening


class Listener:
    """Accepts connections until it is closed, and leaves each to the event loop."""

    def __init__(
        self,
        listening: Sequence[socket.socket],
        connect: Callable[[], Any],
        note_no_room: Callable[[OSError], None],
        handshakes: Handshakes | None = None,
        is_unwelcome: Callable[[str], bool] | None = None,
        load_of: Callable[[str], ClientLoad] = _nobody,
    ) -> None:
        """`connect`: makes the protocol of an accepted connection.

        `note_no_room`: called, at most once a minute, when the system refuses to accept more connections.

        `handshakes`: connections then use TLS, and count for the client that `load_of` returns.

        `is_unwelcome`: tells by the host whether a connection is closed at once.
        """
        self._loop = asyncio.get_running_loop()
        self._connect = connect
        self._note_no_room = note_no_room
        self._handshakes = handshakes
        self._load_of = load_of
        self._is_unwelcome = is_unwelcome
        self._listening = list(listening)
        self._entering: set[asyncio.Task[None]] = set()
        self._pause: asyncio.TimerHandle | None = None
        self._report_next = 0.0
        for each in self._listening:
            each.setblocking(False)
        self._watch()

    @property
    def port(self) -> int:
        """The port of the first socket."""
        port: int = self._listening[0].getsockname()[1]
        return port

    async def close(self) -> None:
        """Accepts nothing more, and ends handshakes; waits until the connections that were just accepted have their
        protocol."""
        if self._pause is None:
            self._look_away()
        else:
            self._pause.cancel()
        for each in self._listening:
            each.close()
        self._listening = []
        if self._handshakes is not None:
            self._handshakes.cut_all()
        if self._entering:
            await asyncio.wait(self._entering)

    def _watch(self) -> None:
        self._pause = None
        for each in self._listening:
            self._loop.add_reader(each, self._accept, each)

    def _look_away(self) -> None:
        for each in self._listening:
            self._loop.remove_reader(each)

    def _accept(self, listening: socket.socket) -> None:
        accepted = 0
        for _ in range(MOST_LOOKED_AT):
            try:
                connected, address = listening.accept()
            except BlockingIOError:
                return
            except OSError as problem:
                if problem.errno in _NO_ROOM:
                    self._hold_off(problem)
                    return
                continue  # the error is about a connection that has gone again
            if self._is_unwelcome is not None and self._is_unwelcome(address[0]):
                connected.close()
                continue
            handshake = None
            if self._handshakes is not None:
                handshake = self._handshakes.begin(connected, self._load_of(address[0]), self._loop.time())
                if handshake is None:
                    connected.close()
                    continue
            task = self._loop.create_task(self._hand_over(connected, handshake))
            self._entering.add(task)
            task.add_done_callback(self._entering.discard)
            accepted += 1
            if accepted == MOST_ACCEPTED:
                return

    def _hold_off(self, problem: OSError) -> None:
        """Pauses until connections have been closed: a socket that listens stays ready, and the loop would spin."""
        if self._pause is not None:
            return  # another socket has had the same error
        loop = self._loop
        if loop.time() >= self._report_next:
            self._report_next = loop.time() + REPORT_S
            self._note_no_room(problem)
        self._look_away()
        self._pause = loop.call_later(PAUSE_S, self._watch)

    async def _hand_over(self, connected: socket.socket, handshake: Handshake | None) -> None:
        connected.setblocking(False)
        if handshake is None or self._handshakes is None:
            with suppress(OSError):  # the client has gone
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                await self._loop.connect_accepted_socket(self._connect, connected)
                return
            connected.close()
            return
        problem: BaseException | None = None
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(
                self._connect,
                connected,
                ssl=self._handshakes.tls.context,
                ssl_handshake_timeout=limits.HANDSHAKE_TIMEOUT_S,
                ssl_shutdown_timeout=limits.GOODBYE_TIMEOUT_S,
            )
        except OSError as error:
            problem = error
            connected.close()  # the client has gone, or does not speak TLS
        finally:
            self._handshakes.end(handshake, problem, self._loop.time())
