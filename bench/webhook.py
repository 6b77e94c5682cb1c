"""CPU a callback, inside the gateway's process and in a process of its own, against a receiver that does nothing.

    .venv/bin/python bench/webhook.py [--seconds 5] [--outstanding 256]

Prints microseconds of CPU a callback, in user mode and in the kernel, and callbacks a second. Every callback must be
answered 200 and be counted once by the receiver, or there is no result.
"""

import argparse
import asyncio
import multiprocessing
import os
import socket
import time
from collections.abc import Callable
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import cast

import uvloop

from heliograph.adapters.webhook.local import LocalSender, WebhookSettings
from heliograph.adapters.webhook.process import ProcessSender
from heliograph.app.webhook_job import TryResult, WebhookJob

BODY = (
    b"id=01935b7e-7f3a-7c2d-9b1f-0123456789ab&message_status=DELIVRD&subdate=2026-11-20+06%3A40%3A00"
    b"&donedate=2026-11-20+06%3A40%3A02&err=000&text=Your+code+is+123456"
)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
TICKS = os.sysconf("SC_CLK_TCK")


class Receiver(asyncio.Protocol):
    """Answers as soon as a request's last octets are there. Relies on a single request at a time."""

    def __init__(self, counted: "Synchronized[int]") -> None:
        self._counted = counted

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if data.endswith(BODY):
            self._counted.value += 1
            self._transport.write(ANSWER)


def receive(sock: socket.socket, counted: "Synchronized[int]") -> None:
    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(lambda: Receiver(counted), sock=sock)
        await server.serve_forever()

    uvloop.run(serve())


def cpu(pid: int) -> tuple[float, float]:
    """Seconds in user mode and in the kernel that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) / TICKS, int(fields[12]) / TICKS


class Load:
    """Keeps this many callbacks pending, each to its own URL, until the time is over."""

    def __init__(self, sender: LocalSender | ProcessSender, url: str, outstanding: int) -> None:
        self._sender = sender
        self._url = url
        self._outstanding = outstanding
        self._posted = 0
        self._running = True
        self._over = asyncio.Event()
        self.sent = 0
        sender.on_sent(self._on_sent)

    def _jobs(self, count: int) -> list[WebhookJob]:
        first = self._posted
        self._posted += count
        form = "application/x-www-form-urlencoded"
        return [
            WebhookJob(key, f"dlr_01935b7e-7f3a-7c2d-9b1f-{key:012x}", f"{self._url}{key}", BODY, form, (b"s" * 32,))
            for key in range(first, first + count)
        ]

    def _on_sent(self, results: list[TryResult]) -> None:
        wrong = [one for one in results if one.code != 200]
        if wrong:
            raise SystemExit(f"not delivered: {wrong[0]}")
        self.sent += len(results)
        if self._running:
            self._sender.post(self._jobs(len(results)))
        elif self.sent == self._posted:
            self._over.set()

    async def run(self, seconds: float) -> None:
        self._sender.post(self._jobs(self._outstanding))
        await asyncio.sleep(seconds)
        self._running = False
        await self._over.wait()


async def measure(name: str, seconds: float, outstanding: int, url: str, counted: Callable[[], int]) -> None:
    settings = WebhookSettings(allowed=("127.0.0.0/8",))
    sender: LocalSender | ProcessSender
    pids = {"gateway": os.getpid()}
    if name == "process":
        sender = ProcessSender(settings)
        await sender.start()
        pids["sender"] = sender.pid or 0
    else:
        sender = LocalSender(settings)
    await Load(sender, url, outstanding).run(0.5)
    before, counted_before, started = {who: cpu(pid) for who, pid in pids.items()}, counted(), time.monotonic()
    load = Load(sender, url, outstanding)
    await load.run(seconds)
    took = time.monotonic() - started
    if counted() - counted_before != load.sent:
        raise SystemExit(f"{load.sent} results, but {counted() - counted_before} requests: no result")
    for who, pid in pids.items():
        user, kernel = (b - a for a, b in zip(before[who], cpu(pid), strict=True))
        per = 1e6 / load.sent
        print(f"{name:8} {who:8} {load.sent / took:10,.0f} {user * per:10.2f} {kernel * per:10.2f}")
    await sender.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--outstanding", type=int, default=256)
    parser.add_argument("--form", choices=["local", "process"], action="append")
    options = parser.parse_args()
    counted = multiprocessing.Value("q", 0, lock=False)
    sock = socket.create_server(("127.0.0.1", 0), backlog=1024)
    url = f"http://127.0.0.1:{sock.getsockname()[1]}/dlr/"
    child = multiprocessing.Process(target=receive, args=(sock, counted), daemon=True)
    child.start()
    print(f"{'form':8} {'process':8} {'per second':>10} {'user us':>10} {'kernel us':>10}")
    for name in options.form or ["local", "process"]:
        uvloop.run(measure(name, options.seconds, options.outstanding, url, lambda: int(counted.value)))
    child.terminate()


if __name__ == "__main__":
    main()
