"""Measures the cost of a row in a store, with its share of the commit.

    .venv/bin/python bench/store.py [--folder DIR] [--rounds 200] [--postgres]

Prints the medians of microseconds of CPU and of wall clock a row, for accepted messages, operators' answers, final
states and callback results, at several sizes of a transaction. `DIR` should be on the disk that is to be measured.

With `--postgres`, a server of its own is started in `DIR` (synced commits, over TCP on this machine), and the CPU of
all of its processes is told beside that of this one: here / server / wall clock. The first column of wall clock, times
the size, is the round trip of a commit.
"""

import argparse
import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from tests.support.postgres import Server

from heliograph.adapters.store.postgres import PostgresStore
from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.adapters.store.sqlite.record import record
from heliograph.adapters.store.sqlite.worker import FileConnection
from heliograph.app.configuration import Account, ApiKey
from heliograph.app.facts import Accept, CallbackDone, CallbackEnd, Facts, Message, MessageEnd, Submission, Verdict
from heliograph.app.ports import Store
from heliograph.domain.message.ids import IdSequence
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import Kind, State
from heliograph.domain.message.way import Way

SIZES = (1, 16, 64, 256, 1_000)
START = 1_700_000_000_000
ACCOUNTS = 16


class Load:
    """Facts as the gateway makes them; time goes on by a millisecond a transaction."""

    def __init__(self) -> None:
        self._now = START
        self._sequence = IdSequence(0)

    def accepts(self, count: int) -> Facts:
        self._now += 1
        return Facts(accepts=[self._accept(number % ACCOUNTS + 1, 1) for number in range(count)])

    def batch(self, count: int) -> Facts:
        self._now += 1
        return Facts(accepts=[self._accept(1, count)])

    def _accept(self, account: int, count: int) -> Accept:
        key = self._sequence.next(self._now) if count > 1 else 0
        messages = [self._message(account, number) for number in range(count)]
        return Accept(
            account,
            messages,
            count * 35_000,
            self._now,
            batch=count > 1,
            key=key or messages[0].key,
            tail=messages[0].tail,
        )

    def _message(self, account: int, number: int) -> Message:
        key = self._sequence.next(self._now)
        return Message(
            account=account,
            destination=f"4917000{number:05d}",
            sender="Heliograph",
            kind=Kind.TEXT,
            content="Your code is 123456. Do not give it to anybody.",
            segments=1,
            price=35_000,
            time=self._now,
            expires=self._now + 86_400_000,
            state=State.SENT,
            connector=1,
            wants_receipt=True,
            callback_url="https://customer.example/receipts",
            way=Way.WEBHOOK,
            key=key,
            tail=key * 0x9E3779B97F4A7C15 & (1 << 62) - 1,
        )

    def submissions(self, keys: list[int]) -> Facts:
        return Facts(
            submissions=[Submission(1, key, 0, 1, f"{key * 2654435761 & 0xFFFFFFFF:08X}", 0, self._now) for key in keys]
        )

    def finals(self, keys: list[int]) -> Facts:
        return Facts(finals=[MessageEnd(1, key, Delivery.DELIVRD, "000", self._now, owed=True) for key in keys])

    def callbacks(self, keys: list[int]) -> Facts:
        return Facts(callbacks=[CallbackDone(1, key, CallbackEnd.DELIVERED, 200, 1, self._now) for key in keys])


def measure(session: FileConnection, rows: int, makes: Iterator[Facts]) -> tuple[float, float]:
    """Medians of microseconds a row: CPU of this thread, wall clock."""
    cpu: list[float] = []
    wall: list[float] = []
    for facts in makes:
        cpu_start, wall_start = time.thread_time_ns(), time.perf_counter_ns()
        record(session, facts, 1)
        wall.append((time.perf_counter_ns() - wall_start) / rows / 1e3)
        cpu.append((time.thread_time_ns() - cpu_start) / rows / 1e3)
        assert all(accept.verdict is Verdict.ACCEPTED for accept in facts.accepts)
    return median(cpu), median(wall)


def life(
    session: FileConnection, load: Load, size: int, rounds: int, make: Callable[[int], Facts]
) -> dict[str, tuple[float, float]]:
    """The stages of a message's life, in order."""
    keys: list[list[int]] = []

    def accepts() -> Iterator[Facts]:
        for _ in range(rounds):
            facts = make(size)
            keys.append([message.key for accept in facts.accepts for message in accept.messages])
            yield facts

    results = {"accept": measure(session, size, accepts())}
    for name, stage in (("submission", load.submissions), ("final", load.finals), ("callback", load.callbacks)):
        results[name] = measure(session, size, (stage(each) for each in keys))
    return results


async def prepare(path: Path) -> None:
    store = await SqliteStore.open(path)
    await open_accounts(store)
    await store.close()


async def open_accounts(store: Store) -> None:
    for number in range(ACCOUNTS):
        account = Account(0, f"bench{number}", "-", bytes(32), created=START)
        await store.accounts.create(account, ApiKey("key", 0, bytes(32), START), 10**15, [])


# --- PostgreSQL


def server_cpu(folder: Path) -> float:
    """Returns the CPU seconds of the server in this folder and of its children, ended children included."""
    tick = os.sysconf("SC_CLK_TCK")
    main = (folder / "data" / "postmaster.pid").read_text().splitlines()[0]
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        if stat.parent.name == main:
            total += sum(map(int, fields[11:15]))
        elif fields[1] == main:
            total += sum(map(int, fields[11:13]))
    return total / tick


async def measure_server(
    store: PostgresStore, folder: Path, rows: int, makes: Iterator[Facts]
) -> tuple[float, float, float]:
    """Microseconds a row: CPU of this process, CPU of the server (both means), wall clock (median)."""
    wall: list[float] = []
    cpu, count, busy = 0, 0, server_cpu(folder)
    for facts in makes:
        cpu_start, wall_start = time.process_time_ns(), time.perf_counter_ns()
        await store.commits.record(facts)
        wall.append((time.perf_counter_ns() - wall_start) / rows / 1e3)
        cpu += time.process_time_ns() - cpu_start
        count += rows
        assert all(accept.verdict is Verdict.ACCEPTED for accept in facts.accepts)
    return cpu / count / 1e3, (server_cpu(folder) - busy) / count * 1e6, median(wall)


async def life_on_server(
    store: PostgresStore, folder: Path, load: Load, size: int, rounds: int, make: Callable[[int], Facts]
) -> dict[str, tuple[float, float, float]]:
    keys: list[list[int]] = []

    def accepts() -> Iterator[Facts]:
        for _ in range(rounds):
            facts = make(size)
            keys.append([message.key for accept in facts.accepts for message in accept.messages])
            yield facts

    results = {"accept": await measure_server(store, folder, size, accepts())}
    for name, stage in (("submission", load.submissions), ("final", load.finals), ("callback", load.callbacks)):
        results[name] = await measure_server(store, folder, size, (stage(each) for each in keys))
    return results


async def all_on_server(folder: Path | None, rounds: int) -> None:
    server = Server(folder, fsync="on", full_page_writes="on", shared_buffers="256MB", max_wal_size="4GB")
    server.start()
    try:
        store = await PostgresStore.open(server.url())
        await open_accounts(store)
        await store.commits.recover(0, 1)
        load = Load()
        print("microseconds a row, CPU here / server / wall clock  accept  submission  final  callback")
        for size in SIZES:
            await life_on_server(store, server.folder, load, size, 10, load.accepts)
            show(f"{size} requests", await life_on_server(store, server.folder, load, size, rounds, load.accepts))
        show("1 request of 1000", await life_on_server(store, server.folder, load, 1_000, rounds // 4, load.batch))
        problems = await store.upkeep.audit()
        assert problems == [], problems[:3]
        await store.close()
    finally:
        server.remove()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--postgres", action="store_true")
    options = parser.parse_args()
    if options.postgres:
        import uvloop

        uvloop.run(all_on_server(options.folder, options.rounds))
        return
    with TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "bench.db"
        asyncio.run(prepare(path))
        session = FileConnection(path, 10_000, read_only=False)
        load = Load()
        print("microseconds a row, CPU / wall clock   accept         submission     final          callback")
        for size in SIZES:
            show(f"{size} requests", life(session, load, size, options.rounds, load.accepts))
        show("1 request of 1000", life(session, load, 1_000, options.rounds // 4, load.batch))
        session.close()


def show(name: str, results: Mapping[str, tuple[float, ...]]) -> None:
    print(f"{name:<20}", *(" /".join(f"{value:7.2f}" for value in values) for values in results.values()), sep="  ")


if __name__ == "__main__":
    main()
