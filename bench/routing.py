"""Large tables of routing: loading, decisions, a change of a row, and coverage.

    python -m bench.routing [--rows 1e6] [--networks 1000] [--listed 2e5] [--postgres]

The tables have so many routes, prices and costs each: two routes a prefix to two of 20 connectors, prices in two plans,
costs of two connectors, and a plan with `min_margin`, which needs the costs. Figures are processor seconds of the event
loop and the store's threads together, and the longest turn of the event loop. The store is SQLite.

With `--postgres` it is a server on this machine, which is started for that. Its processor seconds are told beside.
"""

import argparse
import asyncio
import gc
import random
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import asyncpg
from tests.support.postgres import Server

from bench.loop.processes import cpu_seconds, family
from heliograph.adapters.store.postgres import PostgresStore
from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.configuration import Account, ApiKey, Connector, Cost, MobileNetwork, Plan, Price, Route, Tables
from heliograph.app.ports import Store
from heliograph.app.routing.candidates import RouteRequest
from heliograph.app.routing.coverage import coverage
from heliograph.app.sending.directory import Directory
from heliograph.composition.gateway import GC_THRESHOLDS

CONNECTORS: Final = 20
DECISIONS: Final = 50_000
MOST_ROUTES: Final = 10_000
"""Routes of a list."""


def resident_mb() -> float:
    """Returns the memory of this process."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096 / 1e6


class LargeRows:
    """The rows of the tables. Each is made when it is written."""

    def __init__(self, rows: int, connectors: list[int]) -> None:
        self._chance = random.Random(1)
        self._connectors = connectors
        prefixes: set[str] = set()
        while len(prefixes) < rows // 2:
            prefixes.add(str(self._chance.randrange(10**4, 10**8)))
        self.prefixes = sorted(prefixes, key=lambda _: self._chance.random())

    def _pairs(self) -> Iterator[tuple[str, int, int]]:
        for index, prefix in enumerate(self.prefixes):
            for second in (0, 1):
                yield prefix, second, self._connectors[(index + second) % CONNECTORS]

    def tables(self) -> Iterator[tuple[str, tuple[str, ...], Iterator[tuple[Any, ...]]]]:
        """Yields the name, the columns and the rows of each table."""
        routes = ((prefix, of, 10 - second, "", 0, "", "", 1, False) for prefix, second, of in self._pairs())
        columns = "prefix", "connector", "priority", "network", "account", "plan", "sender", "share", "fallback"
        yield "route", columns, routes
        amount = self._chance.randrange
        prices = ((("default", "gold")[n], prefix, "", 0, amount(50_000, 90_000)) for prefix, n, _ in self._pairs())
        yield "price", ("plan", "prefix", "network", "since", "price"), prices
        costs = ((of, "", prefix, 0, amount(1_000, 49_000), 0) for prefix, _, of in self._pairs())
        yield "cost", ("connector", "network", "prefix", "since", "submitted", "delivered"), costs


def fill(file: Path, rows: int, connectors: list[int]) -> list[str]:
    """Writes the tables into the store's file, and returns their prefixes."""
    large = LargeRows(rows, connectors)
    with sqlite3.connect(file) as db:
        for table, columns, values in large.tables():
            marks = ", ".join("?" * len(columns))
            db.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", values)
        db.commit()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    return large.prefixes


def fill_database(url: str, rows: int, connectors: list[int]) -> list[str]:
    """Writes the tables into the store's database, and returns their prefixes."""
    large = LargeRows(rows, connectors)

    async def copy() -> None:
        db = await asyncpg.connect(url)
        for table, columns, values in large.tables():
            await db.copy_records_to_table(table, records=values, columns=columns, schema_name="heliograph")
            await db.execute(f"VACUUM ANALYZE heliograph.{table}")
        await db.close()

    asyncio.run(copy())
    return large.prefixes


Fill = Callable[[int, list[int]], list[str]]


@asynccontextmanager
async def opened_file() -> AsyncIterator[tuple[Store, Fill, None]]:
    """Opens a store in a new file. It comes with its `fill`, and without a server."""
    with TemporaryDirectory(prefix="heliograph-") as folder:
        file = Path(folder) / "heliograph.db"
        store = await SqliteStore.open(file)
        yield store, partial(fill, file), None
        await store.close()


@asynccontextmanager
async def opened_database() -> AsyncIterator[tuple[Store, Fill, Server]]:
    """Opens a store on a new server."""
    server = Server(shared_buffers="256MB", max_wal_size="4GB")
    server.start()
    try:
        store = await PostgresStore.open(server.url())
        yield store, partial(fill_database, server.url()), server
        await store.close()
    finally:
        server.remove()


class Turns:
    """The longest turn of the event loop, in seconds of its thread's processor time."""

    def __init__(self, server: Server | None) -> None:
        self.longest = 0.0
        self._server = server
        run = asyncio.Handle._run  # noqa: SLF001 - the only place that sees each turn

        def timed(handle: Any) -> None:
            started = time.thread_time()
            run(handle)
            self.longest = max(self.longest, time.thread_time() - started)

        asyncio.Handle._run = timed  # type: ignore[assignment]  # noqa: SLF001

    async def measure(self, name: str, work: Awaitable[object]) -> None:
        """Awaits `work`, and prints its figures."""
        await asyncio.sleep(0)
        memory, cpu, loop, wall = resident_mb(), time.process_time(), time.thread_time(), time.perf_counter()
        self.longest, server = 0.0, self._server_seconds()
        await work
        await asyncio.sleep(0)
        cpu, loop = time.process_time() - cpu, time.thread_time() - loop
        served = f", {self._server_seconds() - server:6.2f} s of the server's" if self._server else ""
        print(
            f"{name:24} {cpu:6.2f} s of processor, {loop:6.2f} s of it the loop's{served}, "
            f"{time.perf_counter() - wall:6.2f} s in all, longest turn {self.longest * 1_000:6.1f} ms, "
            f"{resident_mb() - memory:+5.0f} MB",
            flush=True,
        )

    def _server_seconds(self) -> float:
        return sum(map(cpu_seconds, family(self._server.pid))) if self._server else 0.0


def decide(directory: Directory, prefixes: list[str], account: int) -> float:
    """Returns the microseconds of a decision: price, connector, and cost where the plan has rules."""
    chance = random.Random(2)
    requests = [RouteRequest(account, chance.choice(prefixes) + "1234567", "") for _ in range(DECISIONS)]
    started = time.process_time()
    for request in requests:
        request.network = directory.network(request.destination) if directory.knows_networks else ""
        request.price = directory.price("gold", request.destination, request.network) or 0
        directory.route(request)
    return (time.process_time() - started) / DECISIONS * 1e6


def cover(networks: int) -> float:
    """Returns the processor seconds of a coverage of so many networks by all connectors."""
    prefixes = [str(10_000 + each) for each in range(networks)]
    connectors = [Connector(each + 1, f"c{each}") for each in range(CONNECTORS)]
    routes = [Route(0, prefix, each.id, each.id) for prefix in prefixes for each in connectors]
    prices = [Price("gold", prefix, 50_000) for prefix in prefixes]
    costs = [Cost(each.id, prefix, "", 40_000) for prefix in prefixes for each in connectors]
    known = [MobileNetwork(prefix, f"{prefix}0") for prefix in prefixes]
    tables = Tables(1, connectors, routes, prices, networks=known, costs=costs)
    started = time.process_time()
    assert len(coverage(prefixes, tables, "gold", {}, 0)) == networks
    return time.process_time() - started


async def main() -> None:
    gc.set_threshold(*GC_THRESHOLDS)
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--rows", type=lambda text: int(float(text)), default=1_000_000)
    arguments.add_argument("--networks", type=int, default=1_000)
    arguments.add_argument("--listed", type=lambda text: int(float(text)), default=200_000, help="rows of a list")
    arguments.add_argument("--postgres", action="store_true")
    chosen = arguments.parse_args()
    print(f"coverage of {chosen.networks} networks: {cover(chosen.networks):.2f} s of processor")
    async with opened_database() if chosen.postgres else opened_file() as (store, fill_store, server):
        connectors = [(await store.network.add_connector(Connector(0, f"c{each}"))).id for each in range(CONNECTORS)]
        account = Account(0, "acme", "-", bytes(32), plan="gold")
        account = await store.accounts.create(account, ApiKey("key", 0, bytes(32), 0), 0, [])
        await store.plans.put(Plan("gold", min_margin="0.0001"))
        # in a process of its own, so that the tables do not take memory that the rows have left
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            prefixes = process.submit(fill_store, chosen.rows, connectors).result()
        directory, turns = Directory(store.table_changes, store.accounts), Turns(server)
        await turns.measure("load", directory.refresh(0))
        print(f"decision, by prefix only  {decide(directory, prefixes, 0):6.2f} us")
        print(f"decision, with a margin   {decide(directory, prefixes, account.id):6.2f} us")
        await store.network.add_route(Route(0, "4917", connectors[0]))
        await turns.measure("a changed route", directory.refresh(1))
        await store.network.set_price(Price("gold", "4917", 60_000))
        await turns.measure("a changed price", directory.refresh(2))
        await store.network.set_prices([Price("gold", "49", 60_000)], ["silver"])
        await turns.measure("all prices, first round", directory.refresh(3))
        await turns.measure("all prices, other rounds", rounds(directory))
        await put_lists(store, prefixes[: chosen.listed], connectors)


async def put_lists(store: Store, prefixes: list[str], connectors: list[int]) -> None:
    prices = [Price("gold", prefix, 60_000) for prefix in prefixes]
    costs = [Cost(connectors[0], prefix, "", 40_000) for prefix in prefixes]
    routes = [Route(0, prefix, connectors[0]) for prefix in prefixes[:MOST_ROUTES]]
    await put_list(store, f"{len(prices)} prices", store.network.set_prices(prices, []))
    await put_list(store, f"{len(prices)} prices, replacing", store.network.set_prices(prices, ["gold"]))
    await put_list(store, f"{len(costs)} costs", store.costs.put(costs))
    await put_list(store, f"{len(costs)} costs, replacing", store.costs.put(costs, connectors[:1]))
    await put_list(store, f"{len(routes)} routes", store.network.change_routes(routes, []))
    networks = [MobileNetwork(prefix, "26201") for prefix in prefixes]
    await put_list(store, f"{len(networks)} networks", store.mobile_networks.put(networks, replace_all=True))


async def put_list(store: Store, name: str, work: Awaitable[object]) -> None:
    """Awaits `work`, and prints the longest time that another write waited meanwhile."""
    done, longest, started = asyncio.ensure_future(work), 0.0, time.perf_counter()
    while not done.done():
        begun = time.perf_counter()
        await store.upkeep.probe()
        longest = max(longest, time.perf_counter() - begun)
        await asyncio.sleep(0.005)
    await done
    seconds = time.perf_counter() - started
    print(f"{name:24} {seconds:6.2f} s in all, longest wait of another write {longest * 1_000:6.1f} ms", flush=True)


async def rounds(directory: Directory) -> None:
    """Refreshes until nothing is left to be read."""
    while await directory.refresh(4):
        pass


if __name__ == "__main__":
    asyncio.run(main())
