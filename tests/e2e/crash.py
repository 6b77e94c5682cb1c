"""The long form of `test_durability.py`: `make crash KILLS=50`, `STORE=postgres` for the same on PostgreSQL, and
`STORE=postgres NODES=3` for several gateways on it, one of which is killed at a time.
`FAILOVER=1` is for two operators."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.support.crash import WINDOW, Toll, kill_under_load
from tests.support.stores import STORES, store_settings


def table(store: str, toll: Toll, seconds: float) -> str:
    rows = {
        "store": store,
        "nodes": toll.nodes,
        "kills": toll.kills,
        "minutes": f"{seconds / 60:.1f}",
        "messages answered 200": toll.answered,
        "requests without an answer": toll.unanswered,
        "messages the operator has": toll.taken,
        "submitted again over SMPP": toll.submitted_again,
        "of them answered with two ids": len(toll.two_ids),
        "times that the first of two operators was gone": toll.cuts,
        "messages that the second operator has": toll.diverted,
        "with both operators": len(toll.with_both),
        "lost": len(toll.lost),
        "sent though nobody asked": len(toll.invented),
        f"repeats in all, and most after one kill (window {WINDOW})": f"{sum(toll.repeats)}, {max(toll.repeats)}",
        "repeats per kill": f"{sum(toll.repeats) / toll.kills:.2f}",
        "receipts that reached the customer": toll.receipts,
        "receipts lost": len(toll.lost_receipts),
        "receipts posted once more": toll.receipts_again,
        "messages from phones acknowledged": toll.from_phones,
        "of them lost": len(toll.lost_from_phones),
        "of them with two ids": len(toll.doubled_from_phones),
        "nodes given up alive": toll.given_up,
        "longest that nothing was sent (s)": f"{toll.pause:.1f}",
        "longest from a 200 to the operator (s)": f"{toll.wait:.1f}",
        "wrong charges (credits)": toll.wrong_charges,
        "problems found by the audit": len(toll.problems),
    }
    return "\n".join(f"{what:<60} {count!s:>12}" for what, count in rows.items())


def main() -> None:
    options = argparse.ArgumentParser(prog="make crash", description=__doc__)
    options.add_argument("--kills", type=int, default=50)
    options.add_argument("--store", choices=STORES, default="sqlite")
    options.add_argument("--nodes", type=int, default=1)
    options.add_argument("--smpp", action="store_true", help="customers bind by SMPP")
    options.add_argument("--failover", action="store_true", help="two operators, of which the first refuses and dies")
    given = options.parse_args()
    if given.nodes > 1 and given.store == "sqlite":
        options.error("several nodes need --store postgres")
    start = time.monotonic()

    def tell(kill: int, answered: int) -> None:
        if kill % 5 == 0 or kill == given.kills:
            print(f"{kill} kills, {answered} messages answered, {time.monotonic() - start:.0f} s", flush=True)

    with store_settings(given.store) as settings, tempfile.TemporaryDirectory(prefix="crash-") as folder:
        toll = kill_under_load(
            Path(folder), given.kills, settings, tell, given.nodes, smpp=given.smpp, failover=given.failover
        )
    print(table(given.store, toll, time.monotonic() - start))
    for fault in toll.faults():
        print(f"BROKEN: {fault}")
    sys.exit(1 if toll.faults() else 0)


if __name__ == "__main__":
    main()
