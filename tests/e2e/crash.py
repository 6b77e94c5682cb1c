"""The long form of `test_durability.py`: `make crash KILLS=50`, and `STORE=postgres` for the same on PostgreSQL."""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.crash import WINDOW, Toll, kill_under_load

STORES = ("sqlite", "postgres")


@contextmanager
def _settings(store: str) -> Iterator[dict[str, str]]:
    if store == "sqlite":
        yield {}
        return
    from tests.support.postgres import Server  # it is looked for where it is wanted only

    server = Server()
    server.start()
    try:
        yield {"HELIOGRAPH_DATABASE_URL": server.url()}
    finally:
        server.remove()


def table(store: str, toll: Toll, seconds: float) -> str:
    rows = {
        "store": store,
        "kills": toll.kills,
        "minutes": f"{seconds / 60:.1f}",
        "messages answered 200": toll.answered,
        "requests without an answer": toll.unanswered,
        "messages the operator has": toll.taken,
        "lost": len(toll.lost),
        "sent though nobody asked": len(toll.invented),
        f"repeats in all, and most after one kill (window {WINDOW})": f"{sum(toll.repeats)}, {max(toll.repeats)}",
        "repeats per kill": f"{sum(toll.repeats) / toll.kills:.2f}",
        "receipts that reached the customer": toll.receipts,
        "receipts lost": len(toll.lost_receipts),
        "receipts posted once more": toll.receipts_again,
        "wrong charges (credits)": toll.wrong_charges,
        "problems found by the audit": len(toll.problems),
    }
    return "\n".join(f"{what:<60} {count!s:>12}" for what, count in rows.items())


def main() -> None:
    options = argparse.ArgumentParser(prog="make crash", description=__doc__)
    options.add_argument("--kills", type=int, default=50)
    options.add_argument("--store", choices=STORES, default="sqlite")
    given = options.parse_args()
    start = time.monotonic()

    def tell(kill: int, answered: int) -> None:
        if kill % 5 == 0 or kill == given.kills:
            print(f"{kill} kills, {answered} messages answered, {time.monotonic() - start:.0f} s", flush=True)

    with _settings(given.store) as settings, tempfile.TemporaryDirectory(prefix="crash-") as folder:
        toll = kill_under_load(Path(folder), given.kills, settings, tell)
    print(table(given.store, toll, time.monotonic() - start))
    for fault in toll.faults():
        print(f"BROKEN: {fault}")
    sys.exit(1 if toll.faults() else 0)


if __name__ == "__main__":
    main()
