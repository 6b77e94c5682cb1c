"""Tells systemd how the gateway is (sd_notify(3)): ready, alive, stopping. Without systemd nothing is sent."""

import asyncio
import os
import socket
from collections.abc import Mapping
from contextlib import suppress

WATCHDOG_SHARE = 0.5
"""Share of the watchdog's time between two signs of life, as sd_watchdog_enabled(3) advises."""


class ServiceManager:
    """The datagram socket in the variable NOTIFY_SOCKET, and the watchdog's time in WATCHDOG_USEC."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        usec = environ.get("WATCHDOG_USEC", "")
        # a child of the service inherits the variables, but the watchdog is for one process
        is_meant = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        self._every = int(usec) / 1_000_000 * WATCHDOG_SHARE if usec.isdecimal() and is_meant else 0.0
        self._beating: asyncio.Task[None] | None = None

    def ready(self) -> None:
        """Says that the gateway serves, and gives signs of life from the running loop."""
        self._tell("READY=1")
        if self._address and self._every:
            self._beating = asyncio.get_running_loop().create_task(self._beat())

    def stopping(self) -> None:
        """Says that a stop has begun. Signs of life go on, because a stop may take longer than the watchdog's time."""
        self._tell("STOPPING=1")

    def stopped(self) -> None:
        if self._beating is not None:
            self._beating.cancel()

    async def _beat(self) -> None:
        while True:
            self._tell("WATCHDOG=1")
            await asyncio.sleep(self._every)

    def _tell(self, state: str) -> None:
        if not self._address:
            return
        # systemd that does not listen is no reason to stop
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as told:
            told.setblocking(False)
            told.sendto(state.encode(), self._address)
