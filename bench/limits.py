"""Counts the instructions a message of an account's limits: for each kind of limit, and for all together.

    python -m bench.limits [--sizes "1 40"] [--kinds "none daily all"]

A request goes through the gate to its commit as in the gateway: admitted, composed, judged, recorded in SQLite,
watched. The rest is the same for every account. callgrind counts in separate processes, without their start and end. So
the count is independent of other load, and shows a change of 0.1 %. `--sizes` are the messages of a commit: some forty
under load, one for lone messages. Run it with the interpreter in `.native/bin` for the compiled modules.
"""

import argparse
import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.adapters.store.sqlite.record import record
from heliograph.adapters.store.sqlite.worker import FileConnection
from heliograph.adapters.system.clock import SystemClock
from heliograph.api.messages import V2
from heliograph.app.configuration import Account, ApiKey, RegisteredSender
from heliograph.app.facts import Accept, Facts, MessageEnd, Verdict
from heliograph.app.observing.traffic import TrafficWatch
from heliograph.app.sending.authenticate import Admission
from heliograph.app.sending.compose import Composer, SendRules
from heliograph.app.sending.directory import Directory
from heliograph.app.sending.fields import Fields
from heliograph.app.sending.principal import Principal
from heliograph.app.sending.send import Sending
from heliograph.domain.limits.gate import SenderState
from heliograph.domain.message.ids import IdSequence
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import Kind

SENDER: Final = "Bench"
PRICE: Final = 35_000

LIMITS: Final[dict[str, dict[str, Any]]] = {
    "networks": {"networks": ("127.0.0.0/8",)},
    "requests": {"request_rate": 1e6, "request_burst": 1_000_000},
    "rate": {"rate": 1e6},
    "prefixes": {"prefixes": ("49", "44", "1")},
    "daily": {"daily_messages": 10**8, "daily_spend": 10**14, "max_waiting": 10**6},
}
"""Limits by kind, each wider than the traffic."""

KINDS: Final = ("none", *LIMITS, "senders", "limits", "guard", "all")
"""`limits` are all that an account can have; `all` is the pumping guard too."""

WARM_UP: Final = 200
"""Messages before the counted messages."""

COUNTED: Final = 800

ROUND: Final = 400
"""Messages between two counts of the guard. It counts them all here, and in the gateway up to a thousand a second."""


class NoIntake:
    away = False

    """Takes nothing: requests are committed by hand."""

    def accept(self, accept: Accept, then: object) -> bool:
        raise NotImplementedError


async def open_account(store: SqliteStore, kind: str, now: int) -> None:
    fields = {
        name: value
        for each, values in LIMITS.items()
        if kind in (each, "limits", "all")
        for name, value in values.items()
    }
    account = Account(0, "bench", "-", bytes(32), created=now, guard="off", **fields)
    account = await store.accounts.create(account, ApiKey("key", 0, bytes(32), now), 10**15, [])
    if kind in ("senders", "limits", "all"):
        await store.senders.put([RegisteredSender(account.id, SENDER, SenderState.APPROVED, now)])


async def send(folder: Path, kind: str, size: int) -> None:
    """Sends commits of `size` messages, and has callgrind count all but the first."""
    path = folder / "bench.db"
    store = await SqliteStore.open(path)
    clock = SystemClock()
    await open_account(store, kind, clock.now())
    directory = Directory(store.table_changes, store.accounts, fallback=1)
    await directory.refresh(clock.now())
    view = await directory.account("bench")
    assert view is not None
    who, admission, watch = Principal(view, V2), Admission(), TrafficWatch()
    sending = Sending(Composer(directory, lambda _: None, SendRules()), store.customers, NoIntake(), clock)
    if kind in ("guard", "all"):
        watch.watched = frozenset([view.account.id])
    connection, keys = FileConnection(path, 5_000, read_only=False), IdSequence(0)

    def commit(first: int) -> None:
        ms = clock.now()
        accepts = []
        for number in range(first, first + size):
            fields = Fields(
                [f"491{number * 7_919 % 400_000:08}"], SENDER, "Your code is 123456. Do not share it.", None, Kind.TEXT,
                wants_receipt=True, url="http://customer.example/receipts",
            )  # fmt: skip
            now = clock.monotonic()
            if view.policy is not None:
                admission.admit(view, "127.0.0.1", now)
            accept = sending.prepare(who, fields)
            message = accept.messages[0]
            accept.key = message.key = keys.next(ms)
            accepts.append(accept)
        facts = Facts(accepts=accepts)
        record(connection, facts, 1)
        assert all(accept.verdict is Verdict.ACCEPTED for accept in accepts)
        facts.finals = [MessageEnd(1, accept.key, Delivery.DELIVRD, "000", ms, owed=True) for accept in accepts]
        watch.committed(facts, ms, 0.001)
        if watch.watched and first % ROUND < size:
            watch.take(ms)

    for first in range(0, WARM_UP, size):
        commit(first)
    control("-i", "on")
    for first in range(WARM_UP, WARM_UP + COUNTED, size):
        commit(first)
    control("-i", "off")
    connection.close()
    await store.close()


def control(*arguments: str) -> None:
    """Tells the callgrind that this process runs under."""
    subprocess.run(["callgrind_control", *arguments, str(os.getpid())], check=False, capture_output=True)


def counted(kind: str, size: int) -> float:
    """Returns instructions a message, in a process with commits of this size."""
    with TemporaryDirectory() as name:
        out = Path(name) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}"]
        subprocess.run(
            [*command, sys.executable, "-m", "bench.limits", "--one", kind, str(size), name],
            check=True, capture_output=True, env=os.environ | {"PYTHONHASHSEED": "0"},
        )  # fmt: skip
        return total_of(out.read_text(errors="replace")) / COUNTED


def total_of(text: str) -> int:
    """Returns the sum in a file of callgrind. Raises ValueError without a sum."""
    found = re.search(r"^totals: (\d+)", text, re.MULTILINE)
    if found is None:
        raise ValueError("callgrind wrote no sum")
    return int(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1 40", help="messages of a commit, with spaces")
    parser.add_argument("--kinds", default=" ".join(KINDS), help="of limits, with spaces")
    parser.add_argument("--one", nargs=3, metavar=("KIND", "SIZE", "FOLDER"), help="send, in a process to be counted")
    options = parser.parse_args()
    if options.one:
        kind, size, folder = options.one
        asyncio.run(send(Path(folder), kind, int(size)))
        return
    for size in map(int, options.sizes.split()):
        plain = None
        for kind in options.kinds.split():
            cost = counted(kind, size)
            plain = cost if plain is None else plain
            print(
                f"{size:3} a commit  {kind:10} {cost:9,.0f} instructions a message  {cost - plain:+8,.0f}", flush=True
            )


if __name__ == "__main__":
    main()
