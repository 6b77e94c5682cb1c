"""Writes the octets of a link: at once, gathered, in pieces, or slowly."""

import asyncio
from collections import deque
from typing import Final, Protocol

PACE_S: Final = 0.02
"""Seconds that a piece takes on a slow link."""


class Writable(Protocol):
    """The part of a transport that a writer uses."""

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


class LinkWriter:
    """Writes to a transport in the manner of the behaviour, for example in pieces.

    Keeps the order, and loses octets only by `abandon`.
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
        """Closes the transport once everything is written."""
        self._finishing = True
        self._close_if_done()

    def abandon(self) -> None:
        """Drops the octets that are not written yet."""
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
        """Writes a piece. The next piece follows in the loop's next turn, or when a slow link has carried this
        piece.
        """
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
    """Returns the largest size of a piece; 0 is any size."""
    paced = max(1, int(bytes_per_s * PACE_S)) if bytes_per_s else 0
    return min(filter(None, (split_octets, paced)), default=0)


def pieces(data: bytes, octets: int) -> list[bytes]:
    """Cuts `data` into pieces of at most `octets`; 0 leaves it whole."""
    if not octets:
        return [data]
    return [data[start : start + octets] for start in range(0, len(data), octets)]
