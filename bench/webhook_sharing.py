"""Measures the delay of an account's callbacks while another account's receivers accept connections and never answer.

    .venv/bin/python bench/webhook_sharing.py [--hosts 2000] [--seconds 30]

All receivers are on loopback. A busy callback is offered again after two seconds, a failed callback after five, like
the gateway's first retries. Prints how long the other account's callbacks were pending.
"""

import argparse
import asyncio
import contextlib
import time

import uvloop

from heliograph.adapters.webhook.local import WebhookSettings
from heliograph.adapters.webhook.process import ProcessSender
from heliograph.app.webhook_job import TryResult, WebhookJob

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
BUSY_S, FAILED_S = 2.0, 5.0
HOSTILE, OTHER = 1, 2
FIRST_HOSTILE = 1_000_000


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers each request at once."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
            writer.write(ANSWER)
    writer.close()


async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Never answers."""
    with contextlib.suppress(ConnectionError):
        while await reader.read(65_536):
            pass
    writer.close()


class Receivers:
    """Posts, and repeats undelivered callbacks."""

    def __init__(self, sender: ProcessSender, hosts: int, mute: int, good: int) -> None:
        self._sender = sender
        self._hosts = hosts
        self._mute = mute
        self._good = good
        self._owed: dict[int, float] = {}
        self.times: list[float] = []
        sender.on_sent(self._on_sent)

    def post(self, key: int) -> None:
        """Posts a callback: a hostile account's, or the other's."""
        hostile = key >= FIRST_HOSTILE
        number = key % self._hosts
        host = f"127.1.{number // 250}.{number % 250 + 1}:{self._mute}" if hostile else f"127.0.0.1:{self._good}"
        self._owed.setdefault(key, time.monotonic())
        account = HOSTILE if hostile else OTHER
        url = f"http://{host}/{key}"
        self._sender.post([WebhookJob(key, f"dlr_{key}", url, b"id=1", "text/plain", (b"s" * 32,), account=account)])

    def _on_sent(self, results: list[TryResult]) -> None:
        for result in results:
            if result.code == 200:
                self.times.append(time.monotonic() - self._owed.pop(result.key))
            else:
                pause = BUSY_S if result.busy else FAILED_S
                asyncio.get_running_loop().call_later(pause, self.post, result.key)

    @property
    def waiting(self) -> int:
        """Pending callbacks of the other account."""
        return sum(key < FIRST_HOSTILE for key in self._owed)


async def measure(hosts: int, seconds: float) -> None:
    mute = await asyncio.start_server(hold, "0.0.0.0", 0, backlog=4_096)
    good = await asyncio.start_server(answer, "127.0.0.1", 0)
    sender = ProcessSender(WebhookSettings(allowed=("127.0.0.0/8",)))
    await sender.start()
    ports = [server.sockets[0].getsockname()[1] for server in (mute, good)]
    receivers = Receivers(sender, hosts, *ports)
    for number in range(hosts):
        receivers.post(FIRST_HOSTILE + number)
    await asyncio.sleep(1.0)
    began = time.monotonic()
    for key in range(int(seconds * 4)):
        receivers.post(key)
        await asyncio.sleep(max(0.0, began + (key + 1) / 4 - time.monotonic()))
    times = sorted(receivers.times)
    if times:
        print(f"{len(times)} delivered, {receivers.waiting} still owed after {seconds:g} s")
        middle, last = times[len(times) // 2], times[int(len(times) * 0.99)]
        print(f"median {middle:.3f} s, 99% {last:.3f} s, longest {times[-1]:.3f} s")
    else:
        print(f"none delivered, {receivers.waiting} owed after {seconds:g} s")
    await sender.close()
    mute.close()
    good.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    uvloop.run(measure(options.hosts, options.seconds))


if __name__ == "__main__":
    main()
