"""What one row costs in the embedded store's writer thread, its share of the commit included.

    .venv/bin/python bench/store.py [--folder DIR] [--rounds 200]

Prints the medians of microseconds of CPU and of wall clock a row, for accepted messages, operators' answers, final
states and callback results, at several sizes of a transaction. `DIR` should be on the disk that is to be measured.
"""

import argparse
import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.adapters.store.sqlite.record import record
from heliograph.adapters.store.sqlite.worker import Session
from heliograph.app.accounts import Account, ApiKey
from heliograph.app.facts import Accept, CallbackDone, CallbackEnd, Facts, Final, Message, Submission, Verdict
from heliograph.domain.ids import IdSequence
from heliograph.domain.message import Kind, State
from heliograph.domain.receipt import Delivery

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
            key=key,
            tail=key * 0x9E3779B97F4A7C15 & (1 << 62) - 1,
        )

    def submissions(self, keys: list[int]) -> Facts:
        return Facts(
            submissions=[Submission(key, 0, 1, f"{key * 2654435761 & 0xFFFFFFFF:08X}", 0, self._now) for key in keys]
        )

    def finals(self, keys: list[int]) -> Facts:
        return Facts(finals=[Final(key, Delivery.DELIVRD, "000", self._now, owed=True) for key in keys])

    def callbacks(self, keys: list[int]) -> Facts:
        return Facts(callbacks=[CallbackDone(key, CallbackEnd.DELIVERED, 200, 1, self._now) for key in keys])


def measure(session: Session, rows: int, makes: Iterator[Facts]) -> tuple[float, float]:
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
    session: Session, load: Load, size: int, rounds: int, make: Callable[[int], Facts]
) -> dict[str, tuple[float, float]]:
    """The stages of a message's life, one after the other."""
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
    for number in range(ACCOUNTS):
        account = Account(0, f"bench{number}", "-", bytes(32), created=START)
        await store.create_account(account, ApiKey("key", 0, bytes(32), START), 10**15, [])
    await store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    with TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "bench.db"
        asyncio.run(prepare(path))
        session = Session(path, 10_000, read_only=False)
        load = Load()
        print("microseconds a row, CPU / wall clock   accept         submission     final          callback")
        for size in SIZES:
            show(f"{size} requests", life(session, load, size, options.rounds, load.accepts))
        show("1 request of 1000", life(session, load, 1_000, options.rounds // 4, load.batch))
        session.close()


def show(name: str, results: dict[str, tuple[float, float]]) -> None:
    print(f"{name:<37}", *(f"{cpu:6.2f} /{wall:7.2f}" for cpu, wall in results.values()))


if __name__ == "__main__":
    main()
