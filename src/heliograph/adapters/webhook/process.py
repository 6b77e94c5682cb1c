"""The webhook sender in a process of its own: the same `LocalSender`, its jobs and results over a pair of sockets.

Names, TLS and slow receivers then cost the gateway's process nothing. All jobs of a turn of the loop travel in one
frame, and so do all results. Run as `python -m heliograph.adapters.webhook.process FD` this is the child.
"""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import cast

import msgspec
import uvloop

from heliograph.adapters.webhook.frame import JOBS_PER_FRAME, FrameReader, framed
from heliograph.adapters.webhook.local import LocalSender, WebhookSettings
from heliograph.app.webhook_job import TryResult, WebhookJob

log = logging.getLogger(__name__)

RESPAWN_SECONDS = 0.1
"""The pause before the second start in a row; doubles up to `RESPAWN_LONGEST_SECONDS`. The first start is at once."""
RESPAWN_LONGEST_SECONDS = 10.0
STEADY_SECONDS = 10.0
"""Seconds. A child that lived longer died by chance, and the next is started at once."""
WATCH_SECONDS = 1.0
SILENCE_SECONDS = 10.0
"""Seconds without a result, beyond the longest life of a job, after which a child counts as stuck."""
EXIT_SECONDS = 2.0
"""Seconds, beyond its drain, for the child to end by itself."""


class SocketEnd(asyncio.Protocol):
    """An end of the pair of sockets between parent and child: writes and reads whole frames."""

    def __init__(self, on_frame: Callable[[bytes], None]) -> None:
        self._on_frame = on_frame
        self._reader = FrameReader()
        self._transport: asyncio.Transport | None = None
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the other end is gone."""

    def write(self, payload: bytes) -> None:
        if self._transport is not None:
            self._transport.write(framed(payload))

    def close(self) -> None:
        """Ends the channel once all that was written is on its way."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Ends the channel at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        for payload in self._reader.feed(data):
            self._on_frame(payload)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the protocol's signature
        self._transport = None
        if not self.ended.done():
            self.ended.set_result(None)


class ProcessSender:
    """Implements the port `WebhookSender` through a child process, which it starts again whenever it dies.

    Must be made and used on a running loop; `start` comes before the first job.
    """

    def __init__(self, settings: WebhookSettings) -> None:
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(list[TryResult]).decode
        self._on_sent: Callable[[list[TryResult]], None] | None = None
        self._on_lost: Callable[[], None] | None = None
        self._owed: set[int] = set()
        self._out: list[WebhookJob] = []
        self._busy: list[TryResult] = []
        self._channel: SocketEnd | None = None
        self._child: subprocess.Popen[bytes] | None = None
        self._heard = 0.0
        self._stopping = asyncio.Event()
        self._keeper: asyncio.Task[None] | None = None
        self._watch: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        """The child's process id; None while there is no child."""
        return None if self._child is None else self._child.pid

    async def start(self) -> None:
        """Starts the child and returns as soon as jobs may be posted; the child posts them once it is up.

        Raises OSError if no process can be started.
        """
        channel = await self._spawn()
        self._keeper = self._loop.create_task(self._keep(channel))
        self._watch = self._loop.call_later(WATCH_SECONDS, self._look)

    def on_sent(self, listener: Callable[[list[TryResult]], None]) -> None:
        self._on_sent = listener

    def on_lost(self, listener: Callable[[], None]) -> None:
        self._on_lost = listener

    def post(self, jobs: Sequence[WebhookJob]) -> None:
        if not jobs:
            return
        room = self._settings.limits.outstanding - len(self._owed)
        if self._channel is None or self._stopping.is_set():
            room = 0
        taken, refused = jobs[:room], jobs[room:]
        if taken:
            if not self._owed:
                self._heard = self._loop.time()
            self._owed.update([job.key for job in taken])
            if not self._out:
                self._loop.call_soon(self._flush)
            self._out += taken
        if refused:
            if not self._busy:
                self._loop.call_soon(self._refuse)
            self._busy += [TryResult(job.key, 0, "the sender has too much to do", busy=True) for job in refused]

    async def close(self) -> None:
        """Lets the child finish its jobs for a while; reports the rest as lost."""
        self._stopping.set()
        if self._watch is not None:
            self._watch.cancel()
        self._flush()
        channel = self._channel
        if channel is not None:
            channel.write(self._encode([]))
            await asyncio.wait((channel.ended,), timeout=self._settings.limits.drain_seconds + EXIT_SECONDS)
            channel.abort()  # a close would wait until a stuck child has read its jobs
        if self._keeper is not None:
            await self._keeper
        if self._channel is not None:  # a child that was being started meanwhile
            self._channel.close()
        await self._reap()
        self._refuse()
        self._lose()

    # --- the child

    async def _keep(self, channel: SocketEnd) -> None:
        """Waits for the child's death and starts the next, until the sender is closed."""
        pause = 0.0
        while not self._stopping.is_set():
            born = self._loop.time()
            await channel.ended
            self._channel = None
            await self._reap()
            if self._loop.time() - born >= STEADY_SECONDS:
                pause = 0.0
            while not await self._stopped_within(pause):
                log.warning("the process that posts callbacks has died and is started again")
                pause = min(max(RESPAWN_SECONDS, 2 * pause), RESPAWN_LONGEST_SECONDS)
                try:
                    channel = await self._spawn()
                    break
                except OSError as error:
                    log.warning("the process that posts callbacks cannot be started: %s", error.strerror)
            self._lose()

    async def _stopped_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
        return self._stopping.is_set()

    async def _spawn(self) -> SocketEnd:
        ours, theirs = socket.socketpair()
        try:
            ours.setblocking(False)
            # fork and exec of a large process can take a while: not on the loop.
            self._child = await asyncio.to_thread(start_child, theirs)
            _, channel = await self._loop.create_unix_connection(lambda: SocketEnd(self._on_frame), sock=ours)
        except BaseException:
            ours.close()
            raise
        channel.write(self._encode(self._settings))
        self._heard = self._loop.time()
        self._channel = channel
        return channel

    async def _reap(self) -> None:
        child = self._child
        if child is not None:
            self._child = None
            child.kill()
            await asyncio.to_thread(child.wait)

    def _look(self) -> None:
        """Kills a stuck child, which would keep its jobs for ever. The watcher handles it like any other death."""
        self._watch = self._loop.call_later(WATCH_SECONDS, self._look)
        limits = self._settings.limits
        silence = self._loop.time() - self._heard - limits.wait_seconds - limits.try_seconds
        if self._owed and self._child is not None and silence > SILENCE_SECONDS:
            log.error("the process that posts callbacks does not answer; it is killed")
            self._child.kill()

    # --- frames

    def _flush(self) -> None:
        out, self._out = self._out, []
        if self._channel is not None:
            for at in range(0, len(out), JOBS_PER_FRAME):
                self._channel.write(self._encode(out[at : at + JOBS_PER_FRAME]))

    def _on_frame(self, payload: bytes) -> None:
        self._heard = self._loop.time()
        results = self._decode(payload)
        self._owed.difference_update([sent.key for sent in results])
        if self._on_sent is not None:
            # Not from here: a fault of the listener would end the channel.
            self._loop.call_soon(self._on_sent, results)

    def _refuse(self) -> None:
        busy, self._busy = self._busy, []
        if busy and self._on_sent is not None:
            self._on_sent(busy)

    def _lose(self) -> None:
        if self._owed:
            self._owed.clear()
            self._out.clear()
            if self._on_lost is not None:
                self._on_lost()


def start_child(theirs: socket.socket) -> subprocess.Popen[bytes]:
    """Starts the child with its socket only, without other files and without the gateway's settings."""
    with theirs:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-P", "-m", "heliograph.adapters.webhook.process", str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            env={name: value for name, value in os.environ.items() if not name.startswith("HELIOGRAPH_")},
        )


class SenderProcess:
    """The child: takes settings, then jobs. It ends after an empty list of jobs, or when its parent is gone."""

    def __init__(self) -> None:
        self._sender: LocalSender | None = None
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(list[WebhookJob]).decode
        self._channel: SocketEnd | None = None
        self._last = asyncio.Event()

    async def run(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        _, channel = await loop.create_unix_connection(lambda: SocketEnd(self._on_frame), sock=sock)
        self._channel = channel
        last = asyncio.ensure_future(self._last.wait())
        await asyncio.wait((last, channel.ended), return_when=asyncio.FIRST_COMPLETED)
        last.cancel()
        if self._sender is not None and not channel.ended.done():
            await self._sender.close()
            channel.close()
            await channel.ended

    def _on_frame(self, payload: bytes) -> None:
        if self._sender is None:
            self._sender = LocalSender(msgspec.msgpack.decode(payload, type=WebhookSettings))
            self._sender.on_sent(self._on_sent)
            return
        jobs = self._decode(payload)
        if jobs:
            self._sender.post(jobs)
        else:
            self._last.set()

    def _on_sent(self, results: list[TryResult]) -> None:
        if self._channel is not None:
            self._channel.write(self._encode(results))


def main() -> None:
    """Runs the child. Ignores the signals of a terminal and of a service manager: its parent decides when it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sock = socket.socket(fileno=int(sys.argv[1]))
    sock.setblocking(False)
    uvloop.run(SenderProcess().run(sock))


if __name__ == "__main__":
    main()
