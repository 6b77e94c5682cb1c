"""Measures reads of inbound messages among many.

    .venv/bin/python bench/inbound.py [--folder DIR] [--size 1e6] [--postgres]

Fills a store with `--size` messages of 100 accounts and 100,000 phones, through the store itself, and prints the
milliseconds (p50 and p99 of 200) of a customer's pull anywhere, of a wait for the newest, and of searches by number.
"""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from statistics import quantiles
from tempfile import TemporaryDirectory

from tests.support.postgres import Server

from heliograph.adapters.store.postgres import PostgresStore
from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.configuration import Account, ApiKey
from heliograph.app.facts import Facts, InboundMessage
from heliograph.app.ports import Store
from heliograph.app.records import InboundQuery
from heliograph.domain.message.ids import IdSequence

START = 1_700_000_000_000
ACCOUNTS = 100
PHONES = 100_000
TRANSACTION = 5_000
ROUNDS = 200
TEXT = "Yes, please deliver it on Friday."


def message(number: int) -> InboundMessage:
    """The message of this number; a millisecond of time holds a thousand."""
    phone = f"447700{number * 7_919 % PHONES:06d}"
    octets = TEXT.encode()
    return InboundMessage(
        number % ACCOUNTS + 1, 1, phone, f"33{number % ACCOUNTS:02d}", TEXT, octets, 0, START + number
    )


async def fill(store: Store, size: int) -> list[int]:
    """Stores them, and returns a thousandth of their keys."""
    for number in range(ACCOUNTS):
        account = Account(0, f"account{number}", "-", bytes(32), created=START)
        await store.accounts.create(account, ApiKey("key", 0, bytes(32), START), 0, [])
    await store.commits.recover(0, 1)
    sequence, keys = IdSequence(0), []
    for first in range(0, size, TRANSACTION):
        messages = [message(number) for number in range(first, min(first + TRANSACTION, size))]
        for each in messages:
            each.key, each.tail = sequence.next(each.at), 1
        keys += [each.key for each in messages[:: min(1_000, TRANSACTION)]]
        await store.commits.record(Facts(inbound=messages))
    return keys


async def measure(store: Store, size: int) -> None:
    keys = await fill(store, size)
    chance = Random(1)

    def account() -> int:
        return chance.randrange(ACCOUNTS) + 1

    def phone() -> str:
        return f"447700{chance.randrange(PHONES):06d}"

    asks: dict[str, Callable[[], Awaitable[object]]] = {
        "pull a hundred, anywhere": lambda: store.pulls.page(account(), chance.choice(keys), 100),
        "the newest of a hundred accounts": lambda: store.pulls.newest(range(1, ACCOUNTS + 1)),
        "newest fifty of all": lambda: store.inbound.find(InboundQuery()),
        "newest fifty of an account": lambda: store.inbound.find(InboundQuery(account())),
        "by phone, of all": lambda: store.inbound.find(InboundQuery(None, phone())),
        "by phone, of an account": lambda: store.inbound.find(InboundQuery(account(), phone())),
        "by a number that nobody has": lambda: store.inbound.find(InboundQuery(account(), "49170")),
        "by phone, of an account, far back": lambda: store.inbound.find(
            InboundQuery(account(), phone(), before=chance.choice(keys))
        ),
    }
    for name, ask in asks.items():
        print(f"{size:>12,}  {name:<40} {await timed(ask)}", flush=True)


async def timed(ask: Callable[[], Awaitable[object]]) -> str:
    times = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        await ask()
        times.append(1_000 * (time.perf_counter() - begun))
    cuts = quantiles(times, n=100)
    return f"{cuts[49]:8.2f} {cuts[98]:8.2f}"


async def run(path: Path, size: int) -> None:
    store = await SqliteStore.open(path)
    await measure(store, size)
    await store.close()


async def run_on_server(folder: Path | None, size: int) -> None:
    server = Server(folder, fsync="off", shared_buffers="256MB", max_wal_size="4GB")
    server.start()
    try:
        store = await PostgresStore.open(server.url())
        await measure(store, size)
        await store.close()
    finally:
        server.remove()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--size", default="1e5")
    parser.add_argument("--postgres", action="store_true")
    options = parser.parse_args()
    print(f"{'stored':>12}  {'':<40} {'p50 ms':>8} {'p99 ms':>8}")
    size = int(float(options.size))
    if options.postgres:
        asyncio.run(run_on_server(options.folder, size))
        return
    with TemporaryDirectory(dir=options.folder) as folder:
        asyncio.run(run(Path(folder) / "inbound.db", size))


if __name__ == "__main__":
    main()
