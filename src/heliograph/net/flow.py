"""Flow control of a connection, in both directions."""

import asyncio
from typing import Protocol


class Transport(Protocol):
    """The part of `asyncio.Transport` that a connection needs."""

    def write(self, data: bytes) -> None: ...

    def write_eof(self) -> None: ...

    def close(self) -> None: ...

    def abort(self) -> None: ...

    def is_closing(self) -> bool: ...

    def get_extra_info(self, name: str) -> object: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Flow:
    """Flow control state: whether reading is paused, and whether the transport takes more octets."""

    __slots__ = ("_drained", "_transport", "reading_paused", "writing_paused")

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._drained: asyncio.Event | None = None
        self.reading_paused = False
        self.writing_paused = False

    def pause_reading(self) -> None:
        if not self.reading_paused:
            self.reading_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self.reading_paused:
            self.reading_paused = False
            self._transport.resume_reading()

    def pause_writing(self) -> None:
        self.writing_paused = True
        self._drained = asyncio.Event()

    def resume_writing(self) -> None:
        self.writing_paused = False
        if self._drained is not None:
            self._drained.set()
            self._drained = None

    async def drain(self) -> None:
        """Waits until the transport takes more, or the connection is lost."""
        if self._drained is not None:
            await self._drained.wait()
