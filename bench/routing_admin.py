"""Administration of large tables of routing: a number explained, pages of lists, changes by key, reports.

    python -m bench.routing_admin [--rows 1e6] [--only explain]

SQLite has so many routes, prices, costs and networks each. Figures are processor seconds of the event loop and the
store's threads together, and the memory that the work took beside the memory at rest.
"""

import argparse
import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.routing import CONNECTORS, fill
from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.adapters.system.clock import SystemClock
from heliograph.app.configuration import Account, ApiKey, Connector, Plan
from heliograph.app.resources import costs, coverage, networks, plans, prices, routes
from heliograph.app.resources.desk import Desk

Work = Callable[[Desk, list[str]], Awaitable[object]]

WORK: Final[dict[str, Work]] = {
    "explain a number": lambda desk, prefixes: routes.decide(desk, f"{prefixes[0]}1234567"[:15], "acme", "ACME"),
    "list routes": lambda desk, _: routes.find(desk),
    "list networks": lambda desk, _: networks.find(desk),
    "list prices": lambda desk, _: prices.find(desk),
    "list costs": lambda desk, _: costs.find(desk),
    "list plans": lambda desk, _: plans.find(desk),
    "change a route": lambda desk, prefixes: routes.change(desk, 5, "c1", prefix=prefixes[0], priority=77),
    "remove a route": lambda desk, _: routes.remove(desk, 7),
    "compare 1,000 costs": lambda desk, prefixes: compare(desk, prefixes[:1_000]),
    "compare 200,000 costs": lambda desk, prefixes: compare(desk, prefixes[:200_000]),
    "page of coverage": lambda desk, _: coverage.find(desk, "gold", limit=10_000),
    "coverage, all": lambda desk, _: cover(desk),
}


async def compare(desk: Desk, prefixes: list[str]) -> None:
    wanted = [{"prefix": each, "network": "", "submitted": 7} for each in prefixes]
    await costs.put_all(desk, "c1", wanted, dry_run=True)


async def cover(desk: Desk) -> None:
    async for _ in coverage.parts(desk, "gold"):
        pass


def peak_mb() -> float:
    """Returns the peak memory of this process since `forget_peak`."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1e3


def forget_peak() -> float:
    """Begins a new peak, and returns the memory now."""
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    return peak_mb()


async def measure(name: str, work: Callable[[], Awaitable[object]]) -> None:
    memory, cpu = forget_peak(), time.process_time()
    await work()
    cpu = time.process_time() - cpu
    print(f"{name:22} {cpu * 1_000:9.1f} ms of processor, {peak_mb() - memory:+6.0f} MB", flush=True)


async def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    arguments.add_argument("--rows", type=lambda text: int(float(text)), default=1_000_000)
    arguments.add_argument("--only", default="", help="a part of the names of the work")
    chosen = arguments.parse_args()
    with TemporaryDirectory(prefix="heliograph-") as folder:
        file = Path(folder) / "heliograph.db"
        store = await SqliteStore.open(file)
        connectors = [(await store.network.add_connector(Connector(0, f"c{each}"))).id for each in range(CONNECTORS)]
        account = Account(0, "acme", "-", bytes(32), plan="gold")
        await store.accounts.create(account, ApiKey("key", 0, bytes(32), 0), 0, [])
        await store.plans.put(Plan("gold", min_margin="0.0001"))
        prefixes = fill(file, chosen.rows, connectors)
        with sqlite3.connect(file) as db:
            rows = ((prefix + digit, "26201", "A network") for prefix in prefixes for digit in "12")
            db.executemany("INSERT OR IGNORE INTO mobile_network (prefix, mccmnc, name) VALUES (?, ?, ?)", rows)
        db.close()
        desk = Desk(store, SystemClock())
        for name, work in WORK.items():
            if chosen.only in name:
                for _ in range(2):  # the second time is without imports and cold pages

                    async def once(work: Work = work) -> None:
                        await work(desk, prefixes)

                    await measure(name, once)
        await store.close()


if __name__ == "__main__":
    asyncio.run(main())
