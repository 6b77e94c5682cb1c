"""Reads a connection in bounded portions, one in each turn of the loop.

A single read may bring 256 KiB, and the next read follows in the same turn. That is 16,000 requests to answer
while all other connections wait.
"""

import asyncio
from collections.abc import Callable
from typing import Final

PORTION_OCTETS: Final = 16_384
"""Octets read in a turn: about a hundred receipts, or five hundred responses to submit_sm."""


class BoundedReader:
    """Passes octets on to `take` in portions. Reading is paused while octets are buffered."""

    __slots__ = ("_held", "_is_due", "_loop", "_paused", "_portion", "_take", "_transport")

    def __init__(
        self, transport: asyncio.Transport, take: Callable[[bytes], None], portion: int = PORTION_OCTETS
    ) -> None:
        """Makes a reader of the running loop that passes octets to `take`, at most `portion` in a turn."""
        self._loop = asyncio.get_running_loop()
        self._transport = transport
        self._take = take
        self._held = b""
        self._paused = False
        self._portion = portion
        self._is_due = False
        """True if a portion is passed on in the next turn. A client that is paused and resumed has one of these only;
        with two it would get two portions a turn from then on."""

    def feed(self, data: bytes) -> None:
        """Passes on `data` at once if it is short and nothing is buffered; otherwise appends it to the buffer."""
        if self._held or self._paused or len(data) > self._portion:
            if not self._held:
                self._transport.pause_reading()
                self._pass_soon()
            self._held += data
        else:
            self._take(data)

    def pause(self) -> None:
        """Stops passing octets on until `resume`."""
        self._paused = True
        self._transport.pause_reading()

    def resume(self) -> None:
        """Resumes after `pause`."""
        self._paused = False
        if self._held:
            self._pass_soon()
        else:
            self._transport.resume_reading()

    def finish(self) -> None:
        """Passes on all buffered octets, because the connection is closed."""
        self._paused = False
        held, self._held = self._held, b""
        for start in range(0, len(held), self._portion):
            self._take(held[start : start + self._portion])

    # --- inside

    def _pass_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._loop.call_soon(self._pass_portion)

    def _pass_portion(self) -> None:
        self._is_due = False
        if self._paused or not self._held:
            return
        portion, self._held = self._held[: self._portion], self._held[self._portion :]
        try:
            self._take(portion)
        except BaseException:
            # The loop aborts a connection if its `data_received` raises. For calls from here, we must do so.
            self._held = b""
            self._transport.abort()
            raise
        if self._held:
            self._pass_soon()
        elif not self._paused:
            self._transport.resume_reading()
