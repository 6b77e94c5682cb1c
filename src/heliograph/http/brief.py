"""The transport of a connection whose only request is here, and whose answer is the last that it carries.

The event loop need not know of such a connection: there is nothing more to read, and an answer of some hundred octets
fits into the buffer of a socket that has sent nothing yet.
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Final

from heliograph.http import limits
from heliograph.http.state import State

_FLAGS: Final = int(socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)

_ASKED: Final = {"peername": socket.socket.getpeername, "sockname": socket.socket.getsockname}


class BriefTransport:
    """A `flow.Transport` on a connected socket. It hears of a client who goes only when it writes to them."""

    __slots__ = ("_lost", "_rest", "_socket", "_state")

    def __init__(self, connected: socket.socket, state: State, lost: Callable[[Exception | None], None]) -> None:
        """`lost` is told when it is closed, whatever is still on its way then."""
        self._socket = connected
        self._state = state
        self._lost: Callable[[Exception | None], None] | None = lost
        self._rest = b""
        """What the socket had no room for: it follows when the transport is closed."""

    def write(self, data: bytes) -> None:
        if self.is_closing():
            return
        if self._rest:
            self._rest += data
            return
        try:
            sent = self._socket.send(data, _FLAGS)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.abort()  # the client has gone
            return
        if sent < len(data):
            self._rest = data[sent:]

    def close(self) -> None:
        lost, self._lost = self._lost, None  # of two that hold each other the collector would have to hear
        if lost is None:
            return
        if self._rest:
            self._state.start(_send_rest(self._socket, self._rest))
        else:
            self._socket.close()
        lost(None)

    def abort(self) -> None:
        self._rest = b""
        self.close()

    def is_closing(self) -> bool:
        return self._lost is None

    def get_extra_info(self, name: str) -> object:
        """`peername` and `sockname`; None where the client has gone."""
        try:
            return _ASKED[name](self._socket)
        except OSError:
            return None

    def pause_reading(self) -> None:
        """There is nothing more to read."""

    def resume_reading(self) -> None:
        """As above."""

    def write_eof(self) -> None:
        """It is to be closed anyway."""


async def _send_rest(connected: socket.socket, rest: bytes) -> None:
    connected.setblocking(False)
    try:
        async with asyncio.timeout(limits.WRITE_TIMEOUT_S):
            await asyncio.get_running_loop().sock_sendall(connected, rest)
    except OSError:
        pass  # nobody is there any more to tell of it; TimeoutError is one
    finally:
        connected.close()
