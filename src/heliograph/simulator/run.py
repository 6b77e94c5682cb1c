"""The simulated operator as a program that runs until SIGINT or SIGTERM."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from heliograph.simulator.behaviour import Behaviour
from heliograph.simulator.smsc import Simulator


def run(host: str, port: int, behaviour: Behaviour, log: Path | None = None, live: bool = False) -> int:
    """Listens until SIGINT or SIGTERM; returns the exit code.

    `log` gets a JSON line for each event; `-` is standard output. `live` draws a table; otherwise a line shows the
    address. Raises OSError if it cannot listen or write.
    """
    import uvloop

    with _opened(log) as stream, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(host, port, behaviour, stream, live=live))
    return 0


async def _serve(host: str, port: int, behaviour: Behaviour, log: BinaryIO | None, *, live: bool) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    simulator = Simulator(behaviour, log)
    port = await simulator.start(host, port)
    title = f"simulated operator on [{host}]:{port}" if ":" in host else f"simulated operator on {host}:{port}"
    drawing = None
    if live:
        from heliograph.simulator.live_table import show

        drawing = asyncio.create_task(show(simulator, title))
    else:
        print(title, file=sys.stderr if log is sys.stdout.buffer else sys.stdout, flush=True)
    try:
        await stopped.wait()
    finally:
        if drawing is not None:
            drawing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await drawing
        await simulator.stop()


@contextlib.contextmanager
def _opened(log: Path | None) -> Iterator[BinaryIO | None]:
    if log is None:
        yield None
    elif str(log) == "-":
        yield sys.stdout.buffer
    else:
        with log.open("ab") as stream:
            yield stream
