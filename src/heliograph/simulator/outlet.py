"""How the octets of a link are written: at once, gathered, in pieces, or slowly."""

import asyncio
from collections import deque
from typing import Final, Protocol

PACE_S: Final = 0.02
"""A slow link carries about so much time's worth of octets at once."""


class Writable(Protocol):
    """What an outlet writes to."""

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


class Outlet:
    """Writes to a transport in the manner that the behaviour asks for.

    Order is kept, and nothing is lost but by `abandon`.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        transport: Writable,
        *,
        split_octets: int = 0,
        merge_ms: float = 0.0,
        bytes_per_s: int = 0,
    ) -> None:
        self._loop = loop
        self._transport = transport
        self._merge_s = merge_ms / 1000
        self._rate = bytes_per_s
        self._piece = piece_octets(split_octets, bytes_per_s)
        self._plain = not (self._piece or merge_ms)
        self._pieces: deque[bytes] = deque()
        self._gathered: list[bytes] = []
        self._timer: asyncio.Handle | None = None
        self._merging: asyncio.Handle | None = None
        self._finishing = False

    def write(self, data: bytes) -> None:
        if self._plain:
            self._transport.write(data)
            return
        if self._merge_s:
            self._gathered.append(data)
            if self._merging is None:
                self._merging = self._loop.call_later(self._merge_s, self._merge)
        else:
            self._pass_on(data)

    def finish(self) -> None:
        """Closes the transport once everything is written to it."""
        self._finishing = True
        self._close_if_done()

    def abandon(self) -> None:
        """Forgets what is not written yet."""
        for handle in (self._timer, self._merging):
            if handle is not None:
                handle.cancel()
        self._timer = self._merging = None
        self._pieces.clear()
        self._gathered.clear()

    def _merge(self) -> None:
        self._merging = None
        data = b"".join(self._gathered)
        self._gathered.clear()
        self._pass_on(data)

    def _pass_on(self, data: bytes) -> None:
        self._pieces.extend(pieces(data, self._piece))
        if self._timer is None:
            self._write_piece()

    def _write_piece(self) -> None:
        """One piece now, the next one in the loop's next turn, or when the link has room for it."""
        self._timer = None
        if self._pieces:
            piece = self._pieces.popleft()
            self._transport.write(piece)
            if self._rate:
                self._timer = self._loop.call_later(len(piece) / self._rate, self._write_piece)
            elif self._pieces:
                self._timer = self._loop.call_soon(self._write_piece)
        self._close_if_done()

    def _close_if_done(self) -> None:
        if self._finishing and self._timer is None and self._merging is None:
            self._transport.close()


def piece_octets(split_octets: int, bytes_per_s: int) -> int:
    """How large a piece may be; 0: any size."""
    paced = max(1, int(bytes_per_s * PACE_S)) if bytes_per_s else 0
    return min(filter(None, (split_octets, paced)), default=0)


def pieces(data: bytes, octets: int) -> list[bytes]:
    """`data` cut into pieces of at most `octets`; 0: in one."""
    if not octets:
        return [data]
    return [data[start : start + octets] for start in range(0, len(data), octets)]
